"""Parts of real models: several operations that end in one kernel, or in the
epilogue of a product.
"""

from ..facts import Invalid
from ..operations.contractions import Product
from ..operations.elements import Constant, Splat
from ..operations.named import Broadcast, Reduce, Transpose
from ..operations.scalars import Arithmetic, Compare, Number, Select
from ..types import Type
from .builder import small_kinds


def float_matrix(builder):
    return builder.tensor(
        lambda type: type.is_float and type.rank == 2 and 0 not in type.shape
    )


def filled(builder, type, number):
    scalar = builder.add(Number(type.element, number), is_hidden=True)
    return builder.add(Splat(type.shape, is_fill=True), scalar, is_hidden=True)


def along_rows(builder, vector, type):
    """A vector with an element for each row, repeated for all columns."""
    return builder.add(
        Broadcast((1,)), vector, builder.overwritten(type), is_hidden=True
    )


def dense(builder):
    """A product of matrices, either of them transposed, with a bias and an
    activation.
    """
    left = float_matrix(builder)
    type = builder.type(left)
    rows, depth = type.shape
    columns = builder.random.choice([*builder.sizes, 1, 5, 16])
    if columns == 0 or rows * columns * depth > 200 * builder.most_elements:
        raise Invalid("too many products")
    right = operand(builder, type.element, (depth, columns))
    result = Type(type.element, (rows, columns))
    value = builder.add(
        Product("matmul"),
        left,
        right,
        filled(builder, result, 0.0),
        is_hidden=builder.chance(0.7),
    )
    if builder.chance(0.8):
        bias = operand(builder, type.element, (columns,))
        repeated = builder.add(
            Broadcast((0,)), bias, builder.overwritten(result), is_hidden=True
        )
        value = builder.add(
            Arithmetic("arith.addf"),
            value,
            repeated,
            is_hidden=builder.chance(0.5),
        )
    zero = filled(builder, result, 0.0)
    if builder.chance(0.6):
        activated = builder.add(Arithmetic("arith.maximumf"), value, zero)
        if builder.chance(0.5) and builder.known(activated).facts.is_exact:
            # Where the gradient passes.
            builder.add(
                Select(),
                builder.add(Compare("ogt"), value, zero),
                activated,
                zero,
            )


def operand(builder, element, shape):
    """A tensor of that shape, or the transpose of one, from a value that is
    there or from a new constant.
    """
    if len(shape) == 2 and builder.chance(0.4):
        source = operand_of(builder, Type(element, shape[::-1]))
        return builder.add(
            Transpose((1, 0)),
            source,
            builder.overwritten(Type(element, shape)),
            is_hidden=True,
        )
    return operand_of(builder, Type(element, shape))


def operand_of(builder, type):
    try:
        return builder.of_type(type)
    except Invalid:
        builder.check_size(type.shape)
        kind = builder.random.choice(small_kinds(type.element))
        return builder.add(
            Constant(type, kind, builder.random.randrange(2**31)),
            is_hidden=True,
        )


def softmax(builder):
    """Exponentials of each row, divided by their sum."""
    source = float_matrix(builder)
    type = builder.type(source)
    rows = Type(type.element, type.shape[:1])
    greatest = builder.add(
        Reduce("arith.maximumf", (1,)),
        source,
        filled(builder, rows, -8.0),
        is_hidden=builder.chance(0.7),
    )
    difference = builder.add(
        Arithmetic("arith.subf"),
        source,
        along_rows(builder, greatest, type),
        is_hidden=True,
    )
    # Not below the tested range of the exponential, so that the sum is not
    # zero.
    bounded = builder.add(
        Arithmetic("arith.maximumf"),
        difference,
        filled(builder, type, -8.0),
        is_hidden=True,
    )
    bounded = builder.add(
        Arithmetic("arith.minimumf"),
        bounded,
        filled(builder, type, 0.0),
        is_hidden=True,
    )
    exponentials = builder.add(
        Arithmetic("math.exp"), bounded, is_hidden=builder.chance(0.5)
    )
    total = builder.add(
        Reduce("arith.addf", (1,)),
        exponentials,
        filled(builder, rows, 0.0),
        is_hidden=builder.chance(0.7),
    )
    # That the sum is positive does not follow from the range of the terms.
    total = builder.add(
        Arithmetic("arith.maximumf"),
        total,
        filled(builder, rows, 0.125),
        is_hidden=True,
    )
    builder.add(
        Arithmetic("arith.divf"), exponentials, along_rows(builder, total, type)
    )


def centered(builder):
    """Each row minus its mean, and the sum of the squares of the
    differences."""
    source = float_matrix(builder)
    type = builder.type(source)
    rows = Type(type.element, type.shape[:1])
    total = builder.add(
        Reduce("arith.addf", (1,)),
        source,
        filled(builder, rows, 0.0),
        is_hidden=builder.chance(0.5),
    )
    # The mean of a power of two of elements stays exact.
    scale = filled(builder, rows, 0.125 if type.shape[1] >= 8 else 0.5)
    mean = builder.add(
        Arithmetic("arith.mulf"), total, scale, is_hidden=builder.chance(0.5)
    )
    rest = builder.add(
        Arithmetic("arith.subf"), source, along_rows(builder, mean, type)
    )
    squares = builder.add(Arithmetic("arith.mulf"), rest, rest, is_hidden=True)
    builder.add(Reduce("arith.addf", (1,)), squares, filled(builder, rows, 0.0))
