"""Operations of `tensor` that take parts of tensors and put them together."""

from dataclasses import dataclass, replace

from ..facts import join
from ..program import Known, Operation
from ..types import Type
from .scalar_rules import require


def joined(operands, type, *parts):
    """A value of elements of several operands."""
    return [
        Known(
            type,
            join(*(part.facts for part in parts)),
            all(operand.is_uniform for operand in operands),
        )
    ]


def bracketed(entries):
    return f"[{', '.join(map(str, entries))}]"


def check_index(index, size, extent=1, stride=1):
    """Checks that every value of a computed index is in range. `extent`: how
    many elements are accessed from there.
    """
    require(index.type == Type("index"), "another type of index")
    last = index.facts.high + (extent - 1) * stride
    require(
        index.facts.low >= 0 and last < size, "an index outside of a tensor"
    )


@dataclass(frozen=True)
class Slice:
    """Offsets, sizes and strides of a part of a tensor; an offset that is None
    is computed.
    """

    offsets: tuple[int | None, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def check(self, shape, indices):
        require(len(shape) == len(self.offsets), "a tensor of another rank")
        indices = list(indices)
        for size, offset, extent, stride in zip(
            shape, self.offsets, self.sizes, self.strides, strict=True
        ):
            if offset is None:
                check_index(indices.pop(0), size, max(extent, 1), stride)
            else:
                # The verifier wants an offset inside also where there are no
                # elements.
                require(
                    max(offset, offset + (extent - 1) * stride) < size,
                    "a slice outside of a tensor",
                )
        require(not indices, "too many indices")

    def resized(self, resize):
        return replace(self, sizes=tuple(map(resize, self.sizes)))

    def simpler(self):
        for dim, (offset, stride) in enumerate(
            zip(self.offsets, self.strides, strict=True)
        ):
            if offset:
                yield replace(
                    self,
                    offsets=(*self.offsets[:dim], 0, *self.offsets[dim + 1 :]),
                )
            if stride > 1:
                yield replace(
                    self,
                    strides=(*self.strides[:dim], 1, *self.strides[dim + 1 :]),
                )

    def render(self, indices, printer):
        names = iter(printer.name(index) for index in indices)
        offsets = [
            next(names) if offset is None else offset for offset in self.offsets
        ]
        return f"{bracketed(offsets)} {bracketed(self.sizes)} {bracketed(self.strides)}"


def dropped(sizes, drops):
    """The shape without the dimensions of size 1 that are dropped."""
    require(
        all(size == 1 for size, drop in zip(sizes, drops, strict=True) if drop),
        "a dimension that cannot be dropped",
    )
    return tuple(
        size for size, drop in zip(sizes, drops, strict=True) if not drop
    )


@dataclass(frozen=True)
class ExtractSlice(Operation):
    """Operands: the source, and the offsets that are computed."""

    slice: Slice
    drops: tuple[bool, ...]

    def infer(self, operands, context):
        source, *indices = operands
        self.slice.check(source.type.shape, indices)
        return joined(
            operands,
            Type(source.type.element, dropped(self.slice.sizes, self.drops)),
            source,
        )

    def resized(self, resize):
        return replace(self, slice=self.slice.resized(resize))

    def simpler(self):
        return (replace(self, slice=simple) for simple in self.slice.simpler())

    def render(self, statement, printer):
        source, *indices = statement.operands
        (result,) = statement.results
        text = f"{printer.name(source)}{self.slice.render(indices, printer)}"
        printer.line(
            f"{printer.name(result)} = tensor.extract_slice {text} : {printer.type(source)} to {printer.type(result)}"
        )


@dataclass(frozen=True)
class InsertSlice(Operation):
    """Operands: the source, the destination, and the offsets that are computed."""

    slice: Slice
    drops: tuple[bool, ...]

    def infer(self, operands, context):
        source, destination, *indices = operands
        require(
            source.type
            == Type(
                destination.type.element, dropped(self.slice.sizes, self.drops)
            ),
            "a source of another type",
        )
        self.slice.check(destination.type.shape, indices)
        return joined(operands, destination.type, source, destination)

    def resized(self, resize):
        return replace(self, slice=self.slice.resized(resize))

    def simpler(self):
        return (replace(self, slice=simple) for simple in self.slice.simpler())

    def render(self, statement, printer):
        source, destination, *indices = statement.operands
        text = f"{printer.name(source)} into {printer.name(destination)}{self.slice.render(indices, printer)}"
        types = f"{printer.type(source)} into {printer.type(destination)}"
        printer.line(
            f"{printer.name(statement.results[0])} = tensor.insert_slice {text} : {types}"
        )


@dataclass(frozen=True)
class CopyRows(Operation):
    """Operands: a source, a destination of the same type, and how many rows of
    the one replace those of the other: a computed size.
    """

    def infer(self, operands, context):
        source, destination, count = operands
        require(
            source.type == destination.type and source.type.rank > 0,
            "tensors of different types",
        )
        require(
            0 not in source.type.shape,
            "an offset outside of a tensor without elements",
        )
        check_index(count, source.type.shape[0] + 1)
        return joined(operands, source.type, source, destination)

    def render(self, statement, printer):
        source, destination, count = statement.operands
        (result,) = statement.results
        type, name = printer.type(source), printer.name(result)
        rest = type.shape[1:]
        place = f"{bracketed([0 for _ in type.shape])} {bracketed([printer.name(count), *rest])} {bracketed([1 for _ in type.shape])}"
        rows = f"tensor<{'x'.join(map(str, ['?', *rest, type.element]))}>"
        printer.line(
            f"{name}_rows = tensor.extract_slice {printer.name(source)}{place} : {type} to {rows}"
        )
        printer.line(
            f"{name} = tensor.insert_slice {name}_rows into {printer.name(destination)}{place} : {rows} into {type}"
        )


@dataclass(frozen=True)
class Pad(Operation):
    """Operands: the source and the number around it."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    def infer(self, operands, context):
        source, number = operands
        require(
            number.type == Type(source.type.element), "padding of another type"
        )
        require(
            len(source.type.shape) == len(self.low), "a tensor of another rank"
        )
        shape = tuple(
            low + size + high
            for low, size, high in zip(
                self.low, source.type.shape, self.high, strict=True
            )
        )
        return joined(
            operands, Type(source.type.element, shape), source, number
        )

    def simpler(self):
        for dim, (low, high) in enumerate(
            zip(self.low, self.high, strict=True)
        ):
            if low:
                yield replace(
                    self, low=(*self.low[:dim], 0, *self.low[dim + 1 :])
                )
            if high:
                yield replace(
                    self, high=(*self.high[:dim], 0, *self.high[dim + 1 :])
                )

    def render(self, statement, printer):
        source, number = statement.operands
        (result,) = statement.results
        name = printer.name(result)
        printer.line(
            f"{name} = tensor.pad {printer.name(source)} low{bracketed(self.low)} high{bracketed(self.high)} {{"
        )
        printer.line(
            f"^bb0({', '.join(f'{name}_i{dim}: index' for dim in range(len(self.low)))}):"
        )
        printer.line(
            f"  tensor.yield {printer.name(number)} : {printer.type(number)}"
        )
        printer.line(f"}} : {printer.type(source)} to {printer.type(result)}")


@dataclass(frozen=True)
class Concat(Operation):
    axis: int

    def infer(self, operands, context):
        types = [operand.type for operand in operands]
        require(
            all(
                type.rank == types[0].rank > self.axis
                and type.element == types[0].element
                for type in types
            ),
            "other types",
        )
        rests = {
            (*type.shape[: self.axis], *type.shape[self.axis + 1 :])
            for type in types
        }
        require(len(rests) == 1, "operands of different shapes")
        size = sum(type.shape[self.axis] for type in types)
        shape = (
            *types[0].shape[: self.axis],
            size,
            *types[0].shape[self.axis + 1 :],
        )
        return joined(operands, Type(types[0].element, shape), *operands)

    def render(self, statement, printer):
        (result,) = statement.results
        types = f"({printer.types_of(statement.operands)}) -> {printer.type(result)}"
        printer.line(
            f"{printer.name(result)} = tensor.concat dim({self.axis}) {printer.names(statement.operands)} : {types}"
        )
