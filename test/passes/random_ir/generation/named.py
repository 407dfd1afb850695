"""Random named operations of `linalg`."""

from ..facts import Invalid
from ..operations.contractions import (
    CONVOLUTIONS,
    PRODUCTS,
    WINDOW_DIMENSIONS,
    Convolution,
    Product,
)
from ..operations.elements import Constant
from ..operations.named import (
    ELEMENTWISE,
    Broadcast,
    Elementwise,
    Reduce,
    Transpose,
)
from ..operations.scalar_table import ARITHMETIC, BITWISE, COMBINERS, domain_of
from ..types import FLOATS, Type
from .builder import small_kinds


def draw_types(builder, element):
    """The element type of a result whose operands are of `element`: sometimes a
    wider one.
    """
    wider = {
        "f16": ["f32"],
        "bf16": ["f32"],
        "f32": ["f64"],
        "i8": ["i32"],
        "i16": ["i32"],
        "i32": ["i64"],
    }.get(element, [])
    return builder.random.choice([element, element, element, *wider])


def operand_of_shape(builder, element, shape):
    """A tensor that is there, or a new constant."""
    try:
        return builder.of_type(Type(element, tuple(shape)))
    except Invalid:
        builder.check_size(shape)
        kind = builder.random.choice(small_kinds(element))
        return builder.add(
            Constant(
                Type(element, tuple(shape)),
                kind,
                builder.random.randrange(2**31),
            ),
            is_hidden=builder.chance(0.5),
        )


def product(builder):
    """A product of matrices or vectors, of a tensor that is there."""
    name = builder.random.choice(list(PRODUCTS))
    letters = PRODUCTS[name]
    first = builder.random.choice([0, 1])
    value = builder.tensor(
        lambda type: type.rank == len(letters[first]) and type.element != "i1"
    )
    type = builder.type(value)
    sizes = dict(zip(letters[first], type.shape, strict=True))
    for letter in letters[1 - first]:
        sizes.setdefault(
            letter, builder.random.choice([*builder.sizes, 1, 2, 3])
        )
    points = 1
    for size in sizes.values():
        points *= max(size, 1)
    if points > 50 * builder.most_elements:
        raise Invalid("too many products")
    other = operand_of_shape(
        builder, type.element, [sizes[letter] for letter in letters[1 - first]]
    )
    init = builder.initial(
        Type(
            draw_types(builder, type.element),
            tuple(sizes[letter] for letter in letters[2]),
        )
    )
    builder.add(
        Product(name), *([value, other] if first == 0 else [other, value]), init
    )


def image(builder, letters):
    """A tensor that windows slide over: one that is there, or a new constant."""
    try:
        return builder.tensor(
            lambda type: (
                type.rank == len(letters)
                and type.element != "i1"
                and 0 not in type.shape
            )
        )
    except Invalid:
        sizes = {
            letter: builder.random.choice(
                [3, 4, 5, 7, 9] if letter in WINDOW_DIMENSIONS else [1, 2, 3, 5]
            )
            for letter in letters
        }
        element = builder.random.choice(
            [element for element in builder.elements if element != "i1"]
        )
        return operand_of_shape(
            builder, element, [sizes[letter] for letter in letters]
        )


def convolution(builder):
    """A convolution, or a combination of the elements in windows."""
    random = builder.random
    name = random.choice(list(CONVOLUTIONS))
    letters = CONVOLUTIONS[name]
    value = image(builder, letters[0])
    type = builder.type(value)
    sizes = dict(zip(letters[0], type.shape, strict=True))
    filter = []
    for letter in letters[1]:
        is_window = letter in WINDOW_DIMENSIONS
        filter.append(
            random.randint(1, min(3, sizes[letter]))
            if is_window
            else sizes.get(letter) or random.choice([1, 2, 3, 5, 8])
        )
    spatial = [letter for letter in letters[1] if letter in WINDOW_DIMENSIONS]
    strides = tuple(random.choice([1, 1, 2, 3]) for _ in spatial)
    dilations = tuple(random.choice([1, 1, 2]) for _ in spatial)
    shape, count = Convolution.result_shape(
        name, type.shape, filter, strides, dilations
    )
    if count * max(1, Type("f32", shape).size) > 50 * builder.most_elements:
        raise Invalid("too many products")
    is_pooling = name.startswith("pooling")
    other = operand_of_shape(builder, type.element, filter)
    init = builder.initial(
        Type(
            type.element if is_pooling else draw_types(builder, type.element),
            shape,
        )
    )
    builder.add(Convolution(name, strides, dilations), value, other, init)


def transpose(builder):
    source = builder.tensor(lambda type: type.rank > 1)
    type = builder.type(source)
    permutation = list(range(type.rank))
    builder.random.shuffle(permutation)
    result = Type(type.element, tuple(type.shape[dim] for dim in permutation))
    builder.add(
        Transpose(tuple(permutation)), source, builder.overwritten(result)
    )


def broadcast(builder):
    source = builder.tensor(lambda type: type.rank < 4)
    shape, dims = list(builder.type(source).shape), []
    for _ in range(builder.random.choice([1, 1, 2])):
        shape.insert(builder.random.randint(0, len(shape)), None)
    for dim, size in enumerate(shape):
        if size is None:
            dims.append(dim)
            shape[dim] = builder.random.choice([*builder.sizes, 1, 2, 3])
    builder.check_size(shape)
    builder.add(
        Broadcast(tuple(dims)),
        source,
        builder.overwritten(Type(builder.type(source).element, tuple(shape))),
    )


def reduce(builder):
    source = builder.tensor(lambda type: type.rank > 0)
    type = builder.type(source)
    dims = tuple(
        sorted(
            builder.random.sample(
                range(type.rank), builder.random.randint(1, type.rank)
            )
        )
    )
    names = (
        BITWISE if type.element == "i1" else COMBINERS[domain_of(type.element)]
    )
    name = builder.random.choice([names[0], *names])
    result = Type(
        type.element,
        tuple(size for dim, size in enumerate(type.shape) if dim not in dims),
    )
    builder.add(Reduce(name, dims), source, builder.initial(result))


def elementwise(builder):
    value = builder.tensor(lambda type: type.element != "i1")
    type = builder.type(value)
    names = [
        name
        for name, pair in ELEMENTWISE.items()
        if pair[0 if type.element in FLOATS else 1]
    ]
    operation = Elementwise(
        builder.random.choice(names), is_map=builder.chance(0.5)
    )
    operands = [
        value,
        *(
            builder.like(value)
            for _ in range(
                ARITHMETIC[operation.scalar_name(type.element)].arity - 1
            )
        ),
    ]
    builder.add(operation, *operands, builder.overwritten(type))
