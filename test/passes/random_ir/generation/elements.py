"""Random operations on single elements, and new tensors."""

from ..facts import Invalid, of_integer
from ..operations.elements import (
    Constant,
    Extract,
    FromElements,
    Generate,
    Insert,
    Splat,
)
from ..program import Known
from ..types import Type
from .builder import small_kinds
from .scalars import as_element, scalar_operation


def extract(builder):
    """An element, at fixed or computed indices."""
    source = builder.tensor(lambda type: 0 not in type.shape)
    builder.add(
        Extract(),
        source,
        *(draw_index(builder, size) for size in builder.type(source).shape),
    )


def draw_index(builder, size):
    try:
        if builder.chance(0.4):
            return builder.clamped_index(size)
    except Invalid:
        pass
    return builder.index(builder.random.randrange(size))


def insert(builder):
    destination = builder.tensor(lambda type: 0 not in type.shape)
    type = builder.type(destination)
    try:
        number = builder.of_type(Type(type.element))
    except Invalid:
        number = builder.number(type.element)
    builder.add(
        Insert(),
        number,
        destination,
        *(draw_index(builder, size) for size in type.shape),
    )


def from_elements(builder):
    first = builder.find(
        lambda known: known.type.is_scalar and known.type.element != "index"
    )
    shape = builder.random.choice([(), (1,), (2,), (3,), (2, 2), (1, 3)])
    count = 1
    for size in shape:
        count *= size
    builder.add(
        FromElements(shape),
        first,
        *(builder.like(first) for _ in range(count - 1)),
    )


def splat(builder):
    number = builder.find(
        lambda known: known.type.is_scalar and known.type.element != "index"
    )
    builder.add(Splat(builder.shape(), is_fill=builder.chance(0.5)), number)


def constant(builder):
    element = builder.random.choice(builder.elements)
    builder.add(
        Constant(
            Type(element, builder.shape()),
            builder.random.choice(small_kinds(element)),
            builder.random.randrange(2**31),
        )
    )


def generate(builder):
    """Elements computed from their indices, some of them gathered."""
    shape = builder.shape()
    indices = [
        Known(Type("index"), of_integer("index", 0, max(size - 1, 0)))
        for size in shape
    ]
    outside = builder.visible
    with builder.block(
        indices, [value for value in outside if builder.type(value).is_scalar]
    ) as (arguments, end):
        element = builder.random.choice(
            [
                element
                for element in builder.elements
                if element not in ("i1", "i8")
            ]
            or ["i32"]
        )
        builder.visible += [
            as_element(builder, argument, element) for argument in arguments
        ]
        tensors = [
            value
            for value in outside
            if not builder.type(value).is_scalar
            and 0 not in builder.type(value).shape
        ]
        if tensors and builder.chance(0.5) and 0 not in shape and shape:
            source = builder.random.choice(tensors)
            builder.add(
                Extract(),
                source,
                *(
                    builder.clamped_index(size)
                    for size in builder.type(source).shape
                ),
            )
        for _ in range(builder.random.randint(1, 3)):
            builder.attempt(scalar_operation)
        yielded = builder.find(
            lambda known: known.type.is_scalar and known.type.element != "index"
        )
        body = end([yielded])
    builder.add(Generate(shape, body))
