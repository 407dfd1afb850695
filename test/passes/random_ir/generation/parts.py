"""Random operations that take parts of tensors, put them together, and give
them other shapes.
"""

from ..facts import Invalid
from ..operations.shapes import Cast, Collapse, Expand
from ..operations.slices import (
    Concat,
    CopyRows,
    ExtractSlice,
    InsertSlice,
    Pad,
    Slice,
)
from ..types import Type


def draw_extent(builder, size):
    """Offset, number of elements and stride of a part of a dimension."""
    random = builder.random
    stride = random.choices([1, 2, 3], [6, 2, 1])[0]
    offset = random.randrange(size) if size and builder.chance(0.7) else 0
    most = (size - offset + stride - 1) // stride
    extent = random.choice(
        [
            most,
            random.randint(0, most),
            min(1, most),
            *(s for s in builder.sizes if s <= most),
        ]
    )
    return offset, extent, stride


def draw_slice(builder, shape):
    """A part of a tensor of that shape, mostly along one dimension, and the
    indices that it needs.
    """
    offsets, sizes, strides, indices = [], [], [], []
    whole = builder.random.randrange(len(shape)) if shape else 0
    for dim, size in enumerate(shape):
        if dim != whole and builder.chance(0.5):
            offset, extent, stride = 0, size, 1
        else:
            offset, extent, stride = draw_extent(builder, size)
            room = size - (extent - 1) * stride
            if extent and room > 1 and builder.chance(0.35):
                try:
                    indices.append(builder.clamped_index(room))
                    offset = None
                except Invalid:
                    pass
        offsets.append(offset)
        sizes.append(extent)
        strides.append(stride)
    return Slice(tuple(offsets), tuple(sizes), tuple(strides)), indices


def draw_drops(builder, sizes):
    return tuple(size == 1 and builder.chance(0.6) for size in sizes)


def extract_slice(builder):
    """Part of a tensor; often two parts of the same one."""
    source = builder.tensor(lambda type: type.rank > 0)
    for _ in range(builder.random.choice([1, 1, 2])):
        part, indices = draw_slice(builder, builder.type(source).shape)
        builder.add(
            ExtractSlice(part, draw_drops(builder, part.sizes)),
            source,
            *indices,
        )


def insert_slice(builder):
    """A tensor of which a part is replaced, by a value that is there or by one
    part of itself.
    """
    destination = builder.tensor(lambda type: type.rank > 0)
    type = builder.type(destination)
    part, indices = draw_slice(builder, type.shape)
    drops = draw_drops(builder, part.sizes)
    shape = tuple(
        size for size, drop in zip(part.sizes, drops, strict=True) if not drop
    )
    try:
        source = builder.of_type(Type(type.element, shape))
    except Invalid:
        other, more = draw_slice(builder, type.shape)
        other = Slice(other.offsets, part.sizes, part.strides)
        source = builder.add(ExtractSlice(other, drops), destination, *more)
    builder.add(InsertSlice(part, drops), source, destination, *indices)


def copy_rows(builder):
    """Some rows of a tensor replaced by those of another one of its type."""
    source = builder.tensor(lambda type: type.rank > 0 and 0 not in type.shape)
    destination = builder.like(source)
    builder.add(
        CopyRows(),
        source,
        destination,
        builder.clamped_index(builder.type(source).shape[0] + 1),
    )


def pad(builder):
    source = builder.tensor(lambda type: 0 < type.rank)
    type = builder.type(source)
    low = tuple(builder.random.choice([0, 0, 1, 2]) for _ in type.shape)
    high = tuple(builder.random.choice([0, 0, 1, 3]) for _ in type.shape)
    builder.check_size(
        a + b + size for a, b, size in zip(low, high, type.shape, strict=True)
    )
    builder.add(Pad(low, high), source, builder.number(type.element))


def concat(builder):
    first = builder.tensor(lambda type: type.rank > 0)
    type = builder.type(first)
    axis = builder.random.randrange(type.rank)

    def fits(other):
        same_rank = other.element == type.element and other.rank == type.rank
        return same_rank and all(
            a == b
            for dim, (a, b) in enumerate(
                zip(other.shape, type.shape, strict=True)
            )
            if dim != axis
        )

    parts = [
        first,
        *(
            builder.tensor(fits)
            for _ in range(builder.random.choice([1, 1, 2]))
        ),
    ]
    builder.random.shuffle(parts)
    builder.check_size([sum(builder.type(part).size for part in parts)])
    builder.add(Concat(axis), *parts)


def collapse(builder):
    source = builder.tensor(lambda type: type.rank > 1 or type.size == 1)
    shape = builder.type(source).shape
    groups = []
    for _ in shape:
        if groups and builder.chance(0.6):
            groups[-1] += 1
        else:
            groups.append(1)
    if builder.type(source).size == 1 and builder.chance(0.3):
        # All dimensions are dropped.
        groups = []
    builder.add(Collapse(tuple(groups)), source)


def expand(builder):
    source = builder.tensor(lambda type: type.rank > 0)
    shape, groups = [], []
    for size in builder.type(source).shape:
        divisors = [
            divisor for divisor in range(1, size + 1) if size % divisor == 0
        ]
        if divisors and builder.chance(0.7):
            divisor = builder.random.choice(divisors)
            shape += [divisor, size // divisor]
            groups.append(2)
        else:
            shape.append(size)
            groups.append(1)
    builder.add(Expand(tuple(shape), tuple(groups)), source)


def cast(builder):
    source = builder.tensor(lambda type: type.rank > 0)
    builder.add(
        Cast(tuple(builder.chance(0.5) for _ in builder.type(source).shape)),
        source,
    )
