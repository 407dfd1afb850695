"""Named operations of `linalg` on whole tensors: rearranging, repeating,
combining along dimensions, element by element.
"""

from dataclasses import dataclass, replace
from math import prod

from ..program import Operation
from ..types import FLOATS, Type
from .combiners import combined
from .scalar_rules import require
from .scalar_table import ARITHMETIC, BITWISE, domain_of
from .scalars import known


def render_named(statement, printer, name, num_inputs, attributes=""):
    """`%r = linalg.name attributes ins(...) outs(...) -> type`"""
    inputs, (init,), (result,) = (
        statement.operands[:num_inputs],
        statement.operands[num_inputs:],
        statement.results,
    )
    printer.line(
        f"{printer.name(result)} = linalg.{name}{attributes} ins({printer.typed(inputs)})"
    )
    printer.line(f"    outs({printer.typed([init])}) -> {printer.type(result)}")


@dataclass(frozen=True)
class Transpose(Operation):
    """Operands: a tensor and one of the result's type, which is overwritten."""

    permutation: tuple[int, ...]

    def infer(self, operands, context):
        source, init = operands
        require(
            sorted(self.permutation) == list(range(source.type.rank)),
            "a tensor of another rank",
        )
        require(
            init.type
            == Type(
                source.type.element,
                tuple(source.type.shape[dim] for dim in self.permutation),
            ),
            "another type",
        )
        return known(operands, init.type, source.facts)

    def render(self, statement, printer):
        render_rearranged(
            statement,
            printer,
            "transpose",
            f"permutation = {list(self.permutation)}",
        )


@dataclass(frozen=True)
class Broadcast(Operation):
    """Operands: a tensor and one of the result's type, which is overwritten.
    `dims`: those that are new.
    """

    dims: tuple[int, ...]

    def infer(self, operands, context):
        source, init = operands
        require(
            all(dim < init.type.rank for dim in self.dims),
            "a tensor of another rank",
        )
        shape = tuple(
            size
            for dim, size in enumerate(init.type.shape)
            if dim not in self.dims
        )
        require(source.type == Type(init.type.element, shape), "another type")
        return known(operands, init.type, source.facts)

    def render(self, statement, printer):
        render_rearranged(
            statement, printer, "broadcast", f"dimensions = {list(self.dims)}"
        )


def render_rearranged(statement, printer, name, attribute):
    source, init = statement.operands
    result = printer.name(statement.results[0])
    printer.line(
        f"{result} = linalg.{name} ins({printer.typed([source])}) outs({printer.typed([init])}) {attribute}"
    )


@dataclass(frozen=True)
class Reduce(Operation):
    """`linalg.reduce` over `dims` by an operation of `COMBINERS`. Operands: a
    tensor and the initial value.
    """

    combiner: str
    dims: tuple[int, ...]

    def infer(self, operands, context):
        source, init = operands
        element = source.type.element
        require(
            all(dim < source.type.rank for dim in self.dims),
            "a tensor of another rank",
        )
        shape = tuple(
            size
            for dim, size in enumerate(source.type.shape)
            if dim not in self.dims
        )
        require(
            init.type == Type(element, shape)
            and ARITHMETIC[self.combiner].domain == domain_of(element),
            "another type",
        )
        require(
            element != "i1" or self.combiner in BITWISE,
            "arithmetic with booleans",
        )
        count = prod(source.type.shape[dim] for dim in self.dims)
        return known(
            operands,
            init.type,
            combined(element, self.combiner, source.facts, init.facts, count),
        )

    def render(self, statement, printer):
        source, init = statement.operands
        result = printer.name(statement.results[0])
        operands = (
            f"ins({printer.typed([source])}) outs({printer.typed([init])})"
        )
        printer.line(
            f"{result} = linalg.reduce {{ {self.combiner} }} {operands} dimensions = {list(self.dims)}"
        )


#: Named element-wise operations, and their scalar forms for floats and for
#: integers.
ELEMENTWISE = {
    "add": ("arith.addf", "arith.addi"),
    "sub": ("arith.subf", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli"),
    "max": ("arith.maximumf", "arith.maxsi"),
    "min": ("arith.minimumf", "arith.minsi"),
    "negf": ("arith.negf", None),
    "abs": ("math.absf", None),
    "floor": ("math.floor", None),
    "tanh": ("math.tanh", None),
    "exp": ("math.exp", None),
}


@dataclass(frozen=True)
class Elementwise(Operation):
    """A named operation (`linalg.add`), or `linalg.map` if `is_map`. The last
    operand is overwritten.
    """

    name: str
    is_map: bool

    def scalar_name(self, element):
        name = ELEMENTWISE[self.name][0 if element in FLOATS else 1]
        require(
            name is not None and element not in ("i1", "index"),
            "other elements",
        )
        return name

    def infer(self, operands, context):
        *inputs, init = operands
        element = init.type.element
        entry = ARITHMETIC[self.scalar_name(element)]
        require(
            len(inputs) == entry.arity
            and all(input.type == init.type for input in inputs),
            "operands of different types",
        )
        require(not init.type.is_scalar, "a scalar")
        return known(
            operands,
            init.type,
            entry.rule(element, *(input.facts for input in inputs)),
        )

    def simpler(self):
        if self.is_map:
            yield replace(self, is_map=False)

    def render(self, statement, printer):
        *inputs, init = statement.operands
        if not self.is_map:
            render_named(statement, printer, self.name, len(inputs))
            return
        element = printer.type(init).element
        operation = f"{{ {self.scalar_name(element)} }}"
        result = printer.name(statement.results[0])
        printer.line(
            f"{result} = linalg.map {operation} ins({printer.typed(inputs)}) outs({printer.typed([init])})"
        )
