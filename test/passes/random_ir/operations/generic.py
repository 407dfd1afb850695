"""`linalg.generic`: loops over tensors that are accessed by affine maps."""

from dataclasses import dataclass, replace
from math import prod

from ..facts import of_integer
from ..program import Known, Operation, Region
from ..types import Type
from .combiners import combined
from .scalar_rules import require
from .scalar_table import ARITHMETIC, BITWISE, domain_of


@dataclass(frozen=True)
class Axis:
    """An index of a tensor as a sum of loop counters times coefficients, and an
    offset.
    """

    terms: tuple[tuple[int, int], ...]
    offset: int = 0

    @property
    def is_plain(self):
        """Whether it is a loop counter; then the size of the dimension is that
        of the loop.
        """
        return (
            self.offset == 0 and len(self.terms) == 1 and self.terms[0][1] == 1
        )

    def bounds(self, loops):
        """The least and the greatest index, if all loops have iterations."""
        low = self.offset + sum(
            min(c * (loops[d] - 1), 0) for d, c in self.terms
        )
        return low, self.offset + sum(
            max(c * (loops[d] - 1), 0) for d, c in self.terms
        )

    def placed(self, loops):
        """The same for loops of other sizes: one that goes backwards ends at 0."""
        low, _ = Axis(self.terms).bounds(loops)
        return replace(self, offset=-low) if low < 0 else self

    def __str__(self):
        terms = [f"d{d}" if c == 1 else f"d{d} * {c}" for d, c in self.terms]
        return " + ".join(
            [*terms, *([str(self.offset)] if self.offset or not terms else [])]
        )


def plain_axes(*dims):
    return tuple(Axis(((dim, 1),)) for dim in dims)


def render_map(num_loops, axes):
    dims = ", ".join(f"d{d}" for d in range(num_loops))
    return f"affine_map<({dims}) -> ({', '.join(map(str, axes))})>"


@dataclass(frozen=True)
class LoopIndex(Operation):
    """`linalg.index`: a counter of the loops around."""

    dim: int

    def infer(self, operands, context):
        loops = context.loops
        require(self.dim < len(loops), "more loops")
        return [
            Known(
                Type("index"),
                of_integer("index", 0, max(loops[self.dim] - 1, 0)),
            )
        ]

    def render(self, statement, printer):
        printer.line(
            f"{printer.name(statement.results[0])} = linalg.index {self.dim} : index"
        )


@dataclass(frozen=True)
class Output:
    """`axes`: a loop counter for each dimension; loops without one are
    reductions.

    `combiner`: the operation that combines the element with the number of the
    body; None: it is overwritten. `is_swapped`: the element is
    its second operand. `has_init`: whether an operand gives the elements at
      first; if not, the tensor is empty.
    """

    axes: tuple[Axis, ...]
    combiner: str | None = None
    is_swapped: bool = False
    has_init: bool = False

    @property
    def dims(self):
        return [axis.terms[0][0] for axis in self.axes]


@dataclass(frozen=True)
class Generic(Operation):
    """Operands: inputs, and an initial tensor for each output that has one. The
    body yields a number for each output.

    `loops`: sizes. `maps`: the axes of each input.
    """

    loops: tuple[int, ...]
    maps: tuple[tuple[Axis, ...], ...]
    outputs: tuple[Output, ...]
    body: Region

    def regions(self):
        return (self.body,)

    def with_regions(self, regions):
        return replace(self, body=regions[0])

    def resized(self, resize):
        loops = tuple(map(resize, self.loops))
        return replace(
            self,
            loops=loops,
            maps=tuple(
                tuple(axis.placed(loops) for axis in axes) for axes in self.maps
            ),
        )

    def simpler(self):
        for number, output in enumerate(self.outputs):
            if output.is_swapped:
                plain = replace(output, is_swapped=False)
                yield replace(
                    self,
                    outputs=(
                        *self.outputs[:number],
                        plain,
                        *self.outputs[number + 1 :],
                    ),
                )

    def is_reduction(self, dim):
        return dim not in self.outputs[0].dims

    def check_map(self, axes, shape):
        require(len(axes) == len(shape), "a tensor of another rank")
        for axis, size in zip(axes, shape, strict=True):
            if 0 in self.loops:
                # The verifier takes a loop without iterations as one that ends
                # before it begins.
                require(
                    axis.is_plain and self.loops[axis.terms[0][0]] == size,
                    "indices of loops without iterations",
                )
                continue
            low, high = axis.bounds(self.loops)
            require(
                low >= 0
                and (high == size - 1 if axis.is_plain else high < size),
                "an index outside of a tensor",
            )

    def infer(self, operands, context):
        inputs, inits = (
            operands[: len(self.maps)],
            list(operands[len(self.maps) :]),
        )
        require(
            len(inits) == sum(output.has_init for output in self.outputs),
            "another number of operands",
        )
        require(
            len(self.outputs) == len(self.body.yields),
            "another number of outputs",
        )
        for operand, axes in zip(inputs, self.maps, strict=True):
            require(not operand.type.is_scalar, "a scalar")
            self.check_map(axes, operand.type.shape)
        all_axes = [
            axis
            for axes in (*self.maps, *(output.axes for output in self.outputs))
            for axis in axes
        ]
        sized = {axis.terms[0][0] for axis in all_axes if axis.is_plain}
        require(
            sized == set(range(len(self.loops))),
            "a loop of which no tensor has the size",
        )
        elements = [
            Known(Type(operand.type.element), operand.facts, operand.is_uniform)
            for operand in inputs
        ]
        outer, context.loops = context.loops, self.loops
        yielded = context.run_region(self.body, elements)
        context.loops = outer
        is_uniform = all(
            known.is_uniform
            for known in [*operands, *yielded, *context.captured(self.body)]
        )
        return [
            self.infer_output(
                output,
                known,
                inits.pop(0) if output.has_init else None,
                is_uniform,
            )
            for output, known in zip(self.outputs, yielded, strict=True)
        ]

    def infer_output(self, output, yielded, init, is_uniform):
        element = yielded.type.element
        type = Type(element, tuple(self.loops[dim] for dim in output.dims))
        require(yielded.type.is_scalar and element != "index", "not a number")
        require(
            init is None or init.type == type,
            "an initial tensor of another type",
        )
        require(
            len(set(output.dims)) == len(output.dims),
            "a loop of two dimensions",
        )
        require(
            set(output.dims) == set(self.outputs[0].dims),
            "outputs of different loops",
        )
        count = prod(
            size
            for dim, size in enumerate(self.loops)
            if self.is_reduction(dim)
        )
        if output.combiner is None:
            require(
                len(output.dims) == len(self.loops),
                "an element that is overwritten many times",
            )
            return Known(type, yielded.facts, is_uniform)
        require(
            init is not None
            and ARITHMETIC[output.combiner].domain == domain_of(element),
            "nothing to combine with",
        )
        require(
            element != "i1" or output.combiner in BITWISE,
            "arithmetic with booleans",
        )
        return Known(
            type,
            combined(
                element, output.combiner, yielded.facts, init.facts, count
            ),
            is_uniform,
        )

    def render(self, statement, printer):
        inputs, inits = (
            statement.operands[: len(self.maps)],
            list(statement.operands[len(self.maps) :]),
        )
        types = printer.types_of(statement.results)
        destinations = []
        for output, result in zip(self.outputs, statement.results, strict=True):
            destinations.append(
                printer.name(inits.pop(0))
                if output.has_init
                else f"{printer.name(result)}_empty"
            )
            if not output.has_init:
                printer.line(
                    f"{destinations[-1]} = tensor.empty() : {printer.type(result)}"
                )
        maps = [
            render_map(len(self.loops), axes)
            for axes in (*self.maps, *(output.axes for output in self.outputs))
        ]
        iterators = [
            '"reduction"' if self.is_reduction(dim) else '"parallel"'
            for dim in range(len(self.loops))
        ]
        attributes = f"{{indexing_maps = [{', '.join(maps)}], iterator_types = [{', '.join(iterators)}]}}"
        printer.line(
            f"{printer.names(statement.results)} = linalg.generic {attributes}"
        )
        ins = f"ins({printer.typed(inputs)}) " if inputs else ""
        printer.line(f"    {ins}outs({', '.join(destinations)} : {types}) {{")
        arguments = [
            f"{printer.name(value)}: {printer.type(value)}"
            for value in self.body.arguments
        ]
        arguments += [
            f"{printer.name(result)}_old: {printer.type(result).element}"
            for result in statement.results
        ]
        printer.line(f"^bb0({', '.join(arguments)}):")
        printer.depth += 1
        printer.statements(self.body.statements)
        yields = [
            self.render_combiner(*item, printer)
            for item in zip(
                self.outputs, self.body.yields, statement.results, strict=True
            )
        ]
        elements = ", ".join(
            printer.type(result).element for result in statement.results
        )
        printer.line(f"linalg.yield {', '.join(yields)} : {elements}")
        printer.depth -= 1
        printer.line(
            f"}} -> {types}"
            if len(statement.results) == 1
            else f"}} -> ({types})"
        )

    @staticmethod
    def render_combiner(output, value, result, printer):
        """The yielded value of an output: the number of the body, or the
        combination of it with the old element.
        """
        name, base = printer.name(value), printer.name(result)
        if output.combiner is None:
            return name
        pair = (
            f"{name}, {base}_old"
            if output.is_swapped
            else f"{base}_old, {name}"
        )
        printer.line(
            f"{base}_new = {output.combiner} {pair} : {printer.type(value)}"
        )
        return f"{base}_new"
