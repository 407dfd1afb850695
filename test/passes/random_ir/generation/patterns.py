"""Forms in which several operations share memory, which decisions about
in-place computation must distinguish.
"""

from ..facts import Invalid
from ..operations.collectives import AllReduce
from ..operations.named import Reduce
from ..operations.scalar_table import domain_of
from ..operations.scalars import Arithmetic
from ..operations.slices import ExtractSlice, InsertSlice, Slice
from ..types import Type
from .builder import Builder


def whole_slice(shape, dim, offset, extent):
    """`extent` rows along a dimension, all of the others."""
    offsets = tuple(
        offset if other == dim else 0 for other in range(len(shape))
    )
    return Slice(
        offsets,
        tuple(
            extent if other == dim else size for other, size in enumerate(shape)
        ),
        tuple(1 for _ in shape),
    )


def keep_all(shape):
    return tuple(False for _ in shape)


def rank_one_or_more(builder: Builder):
    return builder.tensor(
        lambda type: (
            type.rank > 0
            and type.element != "i1"
            and max(type.shape) > 1
            and 0 not in type.shape
        )
    )


def largest_dim(shape):
    return max(range(len(shape)), key=lambda dim: shape[dim])


def slices_reduced(builder):
    """The same reduction of different parts of one tensor."""
    source = rank_one_or_more(builder)
    type = builder.type(source)
    if builder.may_exchange and builder.chance(0.3):
        source = builder.add(AllReduce("sum"), source)
    dim = builder.random.randrange(type.rank)
    size = type.shape[dim]
    extent = builder.random.randint(1, max(1, size // 2))
    reduced = tuple(
        sorted(
            builder.random.sample(
                range(type.rank), builder.random.randint(1, type.rank)
            )
        )
    )
    combiner = builder.random.choice(
        ["arith.addf", "arith.maximumf"]
        if type.is_float
        else ["arith.addi", "arith.maxsi"]
    )
    offsets = builder.random.sample(
        range(size - extent + 1),
        min(size - extent + 1, builder.random.choice([2, 2, 3])),
    )
    for offset in offsets:
        part = whole_slice(type.shape, dim, offset, extent)
        rows = builder.add(
            ExtractSlice(part, keep_all(type.shape)), source, is_hidden=True
        )
        kept = tuple(
            length
            for other, length in enumerate(part.sizes)
            if other not in reduced
        )
        builder.add(
            Reduce(combiner, reduced),
            rows,
            builder.initial(Type(type.element, kept)),
        )


def shifted(builder):
    """A part of a tensor written to another place of it, which it may overlap."""
    source = rank_one_or_more(builder)
    shape = builder.type(source).shape
    dim = largest_dim(shape)
    extent = builder.random.randint(1, shape[dim] - 1)
    places = [builder.random.randint(0, shape[dim] - extent) for _ in range(2)]
    rows = builder.add(
        ExtractSlice(
            whole_slice(shape, dim, places[0], extent), keep_all(shape)
        ),
        source,
    )
    if builder.chance(0.4):
        rows = builder.add(Arithmetic(addition(builder, source)), rows, rows)
    builder.add(
        InsertSlice(
            whole_slice(shape, dim, places[1], extent), keep_all(shape)
        ),
        rows,
        source,
    )


def addition(builder, value):
    return (
        "arith.addf"
        if domain_of(builder.type(value).element) == "float"
        else "arith.addi"
    )


def swapped_halves(builder):
    """Both halves of a tensor, each in the place of the other."""
    source = rank_one_or_more(builder)
    shape = builder.type(source).shape
    dim = largest_dim(shape)
    half = shape[dim] // 2
    first, second = (
        whole_slice(shape, dim, offset, half)
        for offset in (0, shape[dim] - half)
    )
    parts = [
        builder.add(ExtractSlice(part, keep_all(shape)), source, is_hidden=True)
        for part in (first, second)
    ]
    once = builder.add(
        InsertSlice(second, keep_all(shape)),
        parts[0],
        source,
        is_hidden=builder.chance(0.5),
    )
    builder.add(InsertSlice(first, keep_all(shape)), parts[1], once)


def old_and_new(builder):
    """A tensor, a changed version of it, and a function of both."""
    source = rank_one_or_more(builder)
    changed = len(builder.visible)
    builder.random.choice([shifted, swapped_halves])(builder)
    new = [
        value
        for value in builder.visible[changed:]
        if builder.type(value) == builder.type(source)
    ]
    if not new:
        raise Invalid("no new version")
    builder.add(Arithmetic(addition(builder, source)), new[-1], source)
