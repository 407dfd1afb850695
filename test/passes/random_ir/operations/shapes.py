"""Operations of `tensor` that change the shape, not the elements."""

from dataclasses import dataclass, replace
from math import prod

from ..program import Operation
from ..types import Type
from .scalar_rules import require
from .scalars import known
from .slices import bracketed


def render_groups(groups):
    """Consecutive dimensions of the longer shape, by their number in each
    group.
    """
    first, texts = 0, []
    for count in groups:
        texts.append(bracketed(range(first, first + count)))
        first += count
    return bracketed(texts)


@dataclass(frozen=True)
class Collapse(Operation):
    """`groups`: how many dimensions become one; they add up to the rank.
    Without groups, all dimensions are dropped.
    """

    groups: tuple[int, ...]

    def infer(self, operands, context):
        (source,) = operands
        is_scalar = not self.groups and source.type.size == 1
        require(
            is_scalar or sum(self.groups) == source.type.rank,
            "a tensor of another rank",
        )
        sizes = list(source.type.shape)
        shape = tuple(
            prod(sizes.pop(0) for _ in range(count)) for count in self.groups
        )
        return known(operands, Type(source.type.element, shape), source.facts)

    def render(self, statement, printer):
        (source,), (result,) = statement.operands, statement.results
        text = f"{printer.name(source)} {render_groups(self.groups) if self.groups else '[]'}"
        printer.line(
            f"{printer.name(result)} = tensor.collapse_shape {text} : {printer.type(source)} into {printer.type(result)}"
        )


@dataclass(frozen=True)
class Expand(Operation):
    """`shape`: of the result; `groups`: how many of its dimensions come from
    each of the source.
    """

    shape: tuple[int, ...]
    groups: tuple[int, ...]

    def infer(self, operands, context):
        (source,) = operands
        require(
            source.type.rank == len(self.groups)
            and sum(self.groups) == len(self.shape),
            "a tensor of another rank",
        )
        sizes = list(self.shape)
        collapsed = tuple(
            prod(sizes.pop(0) for _ in range(count)) for count in self.groups
        )
        require(collapsed == source.type.shape, "another number of elements")
        return known(
            operands, Type(source.type.element, self.shape), source.facts
        )

    def resized(self, resize):
        return replace(self, shape=tuple(map(resize, self.shape)))

    def render(self, statement, printer):
        (source,), (result,) = statement.operands, statement.results
        text = f"{printer.name(source)} {render_groups(self.groups) if self.groups else '[]'} output_shape {bracketed(self.shape)}"
        printer.line(
            f"{printer.name(result)} = tensor.expand_shape {text} : {printer.type(source)} into {printer.type(result)}"
        )


@dataclass(frozen=True)
class Cast(Operation):
    """To a type with sizes that are not known, and back."""

    hides: tuple[bool, ...]

    def infer(self, operands, context):
        (source,) = operands
        require(len(self.hides) == source.type.rank, "a tensor of another rank")
        return known(operands, source.type, source.facts)

    def render(self, statement, printer):
        (source,), (result,) = statement.operands, statement.results
        type = printer.type(source)
        sizes = [
            "?" if hidden else size
            for hidden, size in zip(self.hides, type.shape, strict=True)
        ]
        hidden, name = (
            f"tensor<{'x'.join(map(str, [*sizes, type.element]))}>",
            printer.name(result),
        )
        printer.line(
            f"{name}_hidden = tensor.cast {printer.name(source)} : {type} to {hidden}"
        )
        printer.line(f"{name} = tensor.cast {name}_hidden : {hidden} to {type}")
