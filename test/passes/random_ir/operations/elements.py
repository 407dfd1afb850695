"""Operations of `tensor` on single elements, and those that make new tensors."""

from dataclasses import dataclass, replace
from math import inf, prod

from ..facts import Facts, of_integer
from ..inputs import dense_literal, draw, facts_of_kind
from ..program import Known, Operation, Region
from ..types import Type
from .scalar_rules import require
from .scalars import known
from .slices import check_index, joined


@dataclass(frozen=True)
class Extract(Operation):
    """Operands: a tensor, and an index for each dimension. Also in the body of
    a `linalg.generic`.
    """

    def infer(self, operands, context):
        source, *indices = operands
        require(
            not source.type.is_scalar and len(indices) == source.type.rank,
            "another number of indices",
        )
        for index, size in zip(indices, source.type.shape, strict=True):
            check_index(index, size)
        return known(operands, Type(source.type.element), source.facts)

    def render(self, statement, printer):
        source, *indices = statement.operands
        element = f"{printer.name(source)}[{printer.names(indices)}]"
        printer.line(
            f"{printer.name(statement.results[0])} = tensor.extract {element} : {printer.type(source)}"
        )


@dataclass(frozen=True)
class Insert(Operation):
    """Operands: a number, a tensor, and an index for each dimension."""

    def infer(self, operands, context):
        number, destination, *indices = operands
        require(
            number.type == Type(destination.type.element)
            and len(indices) == destination.type.rank,
            "a number of another type",
        )
        for index, size in zip(indices, destination.type.shape, strict=True):
            check_index(index, size)
        return joined(operands, destination.type, number, destination)

    def render(self, statement, printer):
        number, destination, *indices = statement.operands
        text = f"{printer.name(number)} into {printer.name(destination)}[{printer.names(indices)}] : {printer.type(destination)}"
        printer.line(
            f"{printer.name(statement.results[0])} = tensor.insert {text}"
        )


@dataclass(frozen=True)
class FromElements(Operation):
    shape: tuple[int, ...]

    def infer(self, operands, context):
        require(
            len(operands) == prod(self.shape) > 0
            and len({operand.type for operand in operands}) == 1,
            "operands of different types",
        )
        require(
            operands[0].type.is_scalar and operands[0].type.element != "index",
            "no numbers",
        )
        return joined(
            operands, Type(operands[0].type.element, self.shape), *operands
        )

    def render(self, statement, printer):
        (result,) = statement.results
        printer.line(
            f"{printer.name(result)} = tensor.from_elements {printer.names(statement.operands)} : {printer.type(result)}"
        )


@dataclass(frozen=True)
class Splat(Operation):
    """A tensor of one number: by `tensor.splat` or, if `is_fill`, by
    `linalg.fill`.
    """

    shape: tuple[int, ...]
    is_fill: bool

    def infer(self, operands, context):
        (number,) = operands
        require(
            number.type.is_scalar and number.type.element != "index",
            "not a number",
        )
        return known(
            operands, Type(number.type.element, self.shape), number.facts
        )

    def resized(self, resize):
        return replace(self, shape=tuple(map(resize, self.shape)))

    def render(self, statement, printer):
        (number,), (result,) = statement.operands, statement.results
        name, type = printer.name(result), printer.type(result)
        if not self.is_fill:
            printer.line(
                f"{name} = tensor.splat {printer.name(number)} : {type}"
            )
            return
        printer.line(f"{name}_empty = tensor.empty() : {type}")
        printer.line(
            f"{name} = linalg.fill ins({printer.typed([number])}) outs({name}_empty : {type}) -> {type}"
        )


@dataclass(frozen=True)
class Empty(Operation):
    """A tensor that is only overwritten: its elements are not known."""

    type: Type

    def infer(self, operands, context):
        return [Known(self.type, Facts(0, 0, error=inf))]

    def resized(self, resize):
        return replace(
            self,
            type=Type(self.type.element, tuple(map(resize, self.type.shape))),
        )

    def render(self, statement, printer):
        printer.line(
            f"{printer.name(statement.results[0])} = tensor.empty() : {self.type}"
        )


@dataclass(frozen=True)
class Generate(Operation):
    """The region yields the element at the indices that are its arguments."""

    shape: tuple[int, ...]
    body: Region

    def regions(self):
        return (self.body,)

    def with_regions(self, regions):
        return replace(self, body=regions[0])

    def resized(self, resize):
        return replace(self, shape=tuple(map(resize, self.shape)))

    def infer(self, operands, context):
        require(len(self.body.yields) == 1, "not one number")
        indices = [
            Known(Type("index"), of_integer("index", 0, max(size - 1, 0)))
            for size in self.shape
        ]
        (element,) = context.run_region(self.body, indices)
        require(
            element.type.is_scalar and element.type.element != "index",
            "not a number",
        )
        is_uniform = element.is_uniform and all(
            value.is_uniform for value in context.captured(self.body)
        )
        return [
            Known(
                Type(element.type.element, self.shape),
                element.facts,
                is_uniform,
            )
        ]

    def render(self, statement, printer):
        (result,) = statement.results
        printer.line(f"{printer.name(result)} = tensor.generate {{")
        printer.line(
            f"^bb0({', '.join(f'{printer.name(argument)}: index' for argument in self.body.arguments)}):"
        )
        printer.region(
            self.body, f"tensor.yield {printer.typed(self.body.yields)}"
        )
        printer.line(f"}} : {printer.type(result)}")


@dataclass(frozen=True)
class Constant(Operation):
    """A constant tensor, of numbers of a kind (`inputs.KINDS`)."""

    type: Type
    kind: str
    seed: int

    def infer(self, operands, context):
        return [Known(self.type, facts_of_kind(self.kind, self.type.element))]

    def resized(self, resize):
        return replace(
            self,
            type=Type(self.type.element, tuple(map(resize, self.type.shape))),
        )

    def render(self, statement, printer):
        literal = dense_literal(
            self.type.element,
            draw(self.kind, self.type.element, self.type.shape, self.seed),
        )
        printer.line(
            f"{printer.name(statement.results[0])} = arith.constant {literal} : {self.type}"
        )
