"""Random operations on scalars, which are also operations on whole tensors,
element by element.
"""

from ..facts import Invalid
from ..operations.elements import Splat
from ..operations.scalar_table import (
    ARITHMETIC,
    BITWISE,
    CONVERSIONS,
    FLOAT_PREDICATES,
    FLOAT_TESTS,
    INTEGER_PREDICATES,
    domain_of,
)
from ..operations.scalars import (
    Arithmetic,
    Compare,
    Convert,
    Number,
    Select,
    Test,
)
from ..types import ELEMENTS, FLOATS

#: Operations that are drawn less often, since the facts after them have an
#: error.
RARE = [
    name
    for name in ARITHMETIC
    if name.startswith("math.")
    and name not in ("math.absf", "math.absi", "math.floor")
]


#: Functions of numbers that are positive and not too large.
POSITIVE = [
    "math.sqrt",
    "math.rsqrt",
    "math.log",
    "math.log2",
    "math.log1p",
    "math.powf",
]


def constant_like(builder, value, number):
    """A number in every place of a value's shape."""
    type = builder.type(value)
    scalar = builder.add(Number(type.element, number), is_hidden=True)
    return (
        scalar
        if type.is_scalar
        else builder.add(
            Splat(type.shape, is_fill=builder.chance(0.5)),
            scalar,
            is_hidden=True,
        )
    )


def another(builder, value):
    """A second operand: a value that is there, or a constant."""
    if builder.chance(0.15):
        return constant_like(
            builder,
            value,
            1
            if builder.type(value).element == "i1"
            else builder.random.choice([1, 2, 3]),
        )
    return builder.like(value)


def arithmetic(builder, accepts):
    value = builder.find(accepts)
    type = builder.type(value)
    if type.element == "i1":
        names = BITWISE
    else:
        names = [
            name
            for name, entry in ARITHMETIC.items()
            if entry.domain == domain_of(type.element)
        ]
        names = [
            name for name in names if name not in RARE or builder.chance(0.3)
        ]
    if type.element == "index":
        names = [
            "arith.addi",
            "arith.subi",
            "arith.muli",
            "arith.maxsi",
            "arith.minsi",
        ]
    name = builder.random.choice(names)
    operands = [
        value,
        *(another(builder, value) for _ in range(ARITHMETIC[name].arity - 1)),
    ]
    if (
        name
        in ("arith.divf", "arith.remf", "arith.floordivsi", "arith.ceildivsi")
        and builder.known(operands[1]).facts.low <= 0
    ):
        # A divisor that is not zero.
        least = "arith.maximumf" if type.is_float else "arith.maxsi"
        operands[1] = builder.add(
            Arithmetic(least),
            operands[1],
            constant_like(builder, operands[1], 1),
        )
    elif builder.chance(0.3):
        operands.reverse()
    if name in POSITIVE:
        operands = [between(builder, operand, 0.5, 4) for operand in operands]
    return builder.add(Arithmetic(name), *operands)


def between(builder, value, low, high):
    """The value, or the nearest number of a range."""
    facts = builder.known(value).facts
    if facts.low < low:
        value = builder.add(
            Arithmetic("arith.maximumf"),
            value,
            constant_like(builder, value, low),
            is_hidden=True,
        )
    if facts.high > high:
        value = builder.add(
            Arithmetic("arith.minimumf"),
            value,
            constant_like(builder, value, high),
            is_hidden=True,
        )
    return value


def comparison(builder, accepts):
    value = builder.find(
        lambda known: (
            accepts(known)
            and known.facts.is_exact
            and known.type.element != "i1"
        )
    )
    if builder.type(value).is_float and builder.chance(0.15):
        return builder.add(Test(builder.random.choice(FLOAT_TESTS)), value)
    predicates = (
        FLOAT_PREDICATES if builder.type(value).is_float else INTEGER_PREDICATES
    )
    return builder.add(
        Compare(builder.random.choice(predicates)),
        value,
        another(builder, value),
    )


def selection(builder, accepts):
    condition = builder.find(
        lambda known: accepts(known) and known.type.element == "i1"
    )
    shape = builder.type(condition).shape
    value = builder.find(
        lambda known: (
            accepts(known)
            and known.type.shape == shape
            and known.type.element != "i1"
        )
    )
    return builder.add(Select(), condition, value, another(builder, value))


def conversion(builder, accepts):
    value = builder.find(accepts)
    source = builder.type(value).element
    possible = [
        (name, target)
        for name, entry in CONVERSIONS.items()
        for target in [*ELEMENTS, "index"]
        if entry.fits(source, target)
    ]
    # Conversions to types of the program: the results combine with its values.
    wanted = [
        (name, target)
        for name, target in possible
        if target in builder.elements
    ]
    if not builder.type(value).is_scalar:
        possible = [
            (name, target) for name, target in possible if target != "index"
        ]
    if not possible:
        raise Invalid("no conversion")
    name, target = builder.random.choice(
        wanted if wanted and builder.chance(0.5) else possible
    )
    return builder.add(Convert(name, target), value)


def scalar_operation(builder, accepts=lambda known: known.type.is_scalar):
    """Any of these operations on values that `accepts(known)`."""
    draw = builder.random.choices(
        [arithmetic, comparison, selection, conversion], [12, 2, 3, 3]
    )[0]
    return draw(builder, accepts)


def tensor_operation(builder):
    """The same on tensors."""
    scalar_operation(builder, lambda known: not known.type.is_scalar)


def as_element(builder, value, element):
    """A scalar or tensor converted to an element type, by one conversion or
    two.
    """
    source = builder.type(value).element
    for name, conversion in CONVERSIONS.items():
        if name != "arith.bitcast" and conversion.fits(source, element):
            return builder.add(Convert(name, element), value, is_hidden=True)
    if source == element:
        return value
    if source == "index":
        return as_element(
            builder,
            builder.add(
                Convert("arith.index_cast", "i32"), value, is_hidden=True
            ),
            element,
        )
    if source in FLOATS:
        # Between f16 and bf16.
        return as_element(
            builder,
            builder.add(Convert("arith.extf", "f32"), value, is_hidden=True),
            element,
        )
    raise Invalid("no conversion")
