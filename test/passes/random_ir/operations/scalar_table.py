"""The operations of `arith` and `math` that programs have."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

from ..facts import Facts
from ..types import FLOATS, INTEGERS
from . import scalar_rules as rules


@dataclass(frozen=True)
class ScalarOp:
    """`domain`: "float" or "int" elements of the operands; `arity`: the number
    of operands.
    """

    arity: int
    domain: str
    #: Element type of the result and facts of the operands -> facts of the
    #: result.
    rule: Callable[..., Facts]


#: The operands on which functions without poles are tested.
TESTED = (-1e4, 1e4)

#: Operations whose operands and result have one type.
ARITHMETIC = {
    "arith.addf": ScalarOp(2, "float", rules.add),
    "arith.subf": ScalarOp(2, "float", rules.subtract),
    "arith.mulf": ScalarOp(2, "float", rules.multiply),
    "arith.divf": ScalarOp(2, "float", rules.divide),
    "arith.remf": ScalarOp(2, "float", rules.remainder),
    "arith.negf": ScalarOp(1, "float", rules.negated),
    "arith.maximumf": ScalarOp(2, "float", rules.maximum),
    "arith.minimumf": ScalarOp(2, "float", rules.minimum),
    "arith.maxnumf": ScalarOp(2, "float", rules.maximum_number),
    "arith.minnumf": ScalarOp(2, "float", rules.minimum_number),
    "math.absf": ScalarOp(1, "float", rules.absolute),
    "math.copysign": ScalarOp(2, "float", rules.copy_sign),
    "math.floor": ScalarOp(1, "float", rules.to_whole),
    "math.ceil": ScalarOp(1, "float", rules.to_whole),
    "math.round": ScalarOp(1, "float", rules.to_whole),
    "math.roundeven": ScalarOp(1, "float", rules.to_whole),
    "math.trunc": ScalarOp(1, "float", rules.to_whole),
    "math.fma": ScalarOp(3, "float", rules.multiply_add),
    "math.sqrt": ScalarOp(1, "float", rules.square_root),
    "math.rsqrt": ScalarOp(
        1,
        "float",
        rules.function(
            0.125, 1e4, lambda low, high: (high**-0.5, low**-0.5), 12.0
        ),
    ),
    "math.exp": ScalarOp(
        1,
        "float",
        rules.function(-10, 8, lambda low, high: (exp(low), exp(high)), 3000.0),
    ),
    "math.exp2": ScalarOp(
        1,
        "float",
        rules.function(-10, 10, lambda low, high: (2.0**low, 2.0**high), 800.0),
    ),
    "math.expm1": ScalarOp(
        1,
        "float",
        rules.function(
            -10, 8, lambda low, high: (exp(low) - 1, exp(high) - 1), 3000.0
        ),
    ),
    "math.log": ScalarOp(
        1,
        "float",
        rules.function(
            0.125, 1e4, lambda low, high: (log(low), log(high)), 8.0
        ),
    ),
    "math.log2": ScalarOp(
        1,
        "float",
        rules.function(
            0.125,
            1e4,
            lambda low, high: (log(low) * 1.5, log(high) * 1.5),
            12.0,
        ),
    ),
    "math.log1p": ScalarOp(
        1,
        "float",
        rules.function(
            -0.875, 1e4, lambda low, high: (log(1 + low), log(1 + high)), 8.0
        ),
    ),
    "math.sin": ScalarOp(
        1, "float", rules.function(*TESTED, lambda low, high: (-1.0, 1.0), 1.0)
    ),
    "math.cos": ScalarOp(
        1, "float", rules.function(*TESTED, lambda low, high: (-1.0, 1.0), 1.0)
    ),
    "math.tanh": ScalarOp(
        1, "float", rules.function(*TESTED, lambda low, high: (-1.0, 1.0), 1.0)
    ),
    "math.atan": ScalarOp(
        1, "float", rules.function(*TESTED, lambda low, high: (-1.6, 1.6), 1.0)
    ),
    # There is no code for `math.erf` on f64; JAX lowers its own to other
    # operations.
    "math.erf": ScalarOp(
        1,
        "float",
        rules.except_f64(
            rules.function(*TESTED, lambda low, high: (-1.0, 1.0), 1.2)
        ),
    ),
    "math.cbrt": ScalarOp(
        1, "float", rules.function(*TESTED, lambda low, high: (-22.0, 22.0))
    ),
    "math.powf": ScalarOp(2, "float", rules.power),
    "arith.addi": ScalarOp(2, "int", rules.of_corners(lambda x, y: x + y)),
    "arith.subi": ScalarOp(2, "int", rules.of_corners(lambda x, y: x - y)),
    "arith.muli": ScalarOp(2, "int", rules.of_corners(lambda x, y: x * y)),
    "arith.divsi": ScalarOp(2, "int", rules.quotient),
    "arith.divui": ScalarOp(2, "int", rules.unsigned_quotient),
    "arith.floordivsi": ScalarOp(2, "int", rules.rounded_quotient),
    "arith.ceildivsi": ScalarOp(2, "int", rules.rounded_quotient),
    "arith.remsi": ScalarOp(2, "int", rules.signed_remainder),
    "arith.remui": ScalarOp(2, "int", rules.unsigned_remainder),
    "arith.andi": ScalarOp(2, "int", rules.of_bits),
    "arith.ori": ScalarOp(2, "int", rules.of_bits),
    "arith.xori": ScalarOp(2, "int", rules.of_bits),
    "arith.maxsi": ScalarOp(2, "int", rules.of_corners(max)),
    "arith.minsi": ScalarOp(2, "int", rules.of_corners(min)),
    "arith.maxui": ScalarOp(2, "int", rules.unsigned_extreme(max)),
    "arith.minui": ScalarOp(2, "int", rules.unsigned_extreme(min)),
    "arith.shli": ScalarOp(2, "int", rules.of_any),
    "arith.shrui": ScalarOp(2, "int", rules.right_shift),
    "arith.shrsi": ScalarOp(2, "int", rules.right_shift),
    "math.absi": ScalarOp(1, "int", rules.absolute_integer),
    "math.ctpop": ScalarOp(1, "int", rules.bit_count),
    "math.ctlz": ScalarOp(1, "int", rules.bit_count),
    "math.cttz": ScalarOp(1, "int", rules.bit_count),
}

#: Operations that combine the elements of a reduction.
BITWISE = ["arith.andi", "arith.ori", "arith.xori"]
COMBINERS = {
    "float": [
        "arith.addf",
        "arith.mulf",
        "arith.maximumf",
        "arith.minimumf",
        "arith.maxnumf",
        "arith.minnumf",
    ],
    "int": [
        "arith.addi",
        "arith.muli",
        "arith.maxsi",
        "arith.minsi",
        "arith.maxui",
        "arith.minui",
        *BITWISE,
    ],
}

FLOAT_PREDICATES = [
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
]
INTEGER_PREDICATES = [
    "eq",
    "ne",
    "slt",
    "sle",
    "sgt",
    "sge",
    "ult",
    "ule",
    "ugt",
    "uge",
]
FLOAT_TESTS = ["math.isnan", "math.isinf", "math.isfinite"]


def is_plain(element):
    """Whether it is an integer that memory can hold."""
    return element in INTEGERS and element != "index"


@dataclass(frozen=True)
class Conversion:
    """`fits(source, target)`: whether it is one between these element types.
    `rule(source, target, facts)`: the facts of the result.
    """

    fits: Callable[[str, str], bool]
    rule: Callable[[str, str, Facts], Facts]


WIDTHS = {**INTEGERS, **{name: format.width for name, format in FLOATS.items()}}
BITS = {("f16", "i16"), ("bf16", "i16"), ("f32", "i32"), ("f64", "i64")}

CONVERSIONS = {
    "arith.extf": Conversion(
        lambda source, target: (
            are_floats(source, target) and WIDTHS[source] < WIDTHS[target]
        ),
        lambda source, target, facts: rules.float_to_float(target, facts),
    ),
    "arith.truncf": Conversion(
        lambda source, target: (
            are_floats(source, target) and WIDTHS[source] > WIDTHS[target]
        ),
        lambda source, target, facts: rules.float_to_float(target, facts),
    ),
    "arith.fptosi": Conversion(
        lambda source, target: (
            source in FLOATS and is_plain(target) and target != "i1"
        ),
        lambda source, target, facts: rules.float_to_integer(target, facts),
    ),
    "arith.fptoui": Conversion(
        lambda source, target: (
            source in FLOATS and is_plain(target) and target != "i1"
        ),
        lambda source, target, facts: rules.float_to_unsigned(target, facts),
    ),
    "arith.sitofp": Conversion(
        lambda source, target: (
            is_plain(source) and source != "i1" and target in FLOATS
        ),
        lambda source, target, facts: rules.integer_to_float(target, facts),
    ),
    "arith.uitofp": Conversion(
        lambda source, target: is_plain(source) and target in FLOATS,
        lambda source, target, facts: rules.unsigned_to_float(
            target, facts, WIDTHS[source]
        ),
    ),
    "arith.extsi": Conversion(
        lambda source, target: (
            is_plain(source)
            and is_plain(target)
            and WIDTHS[source] < WIDTHS[target]
        ),
        lambda source, target, facts: rules.sign_extended(
            source, target, facts
        ),
    ),
    "arith.extui": Conversion(
        lambda source, target: (
            is_plain(source)
            and is_plain(target)
            and WIDTHS[source] < WIDTHS[target]
        ),
        lambda source, target, facts: rules.zero_extended(
            target, facts, WIDTHS[source]
        ),
    ),
    "arith.trunci": Conversion(
        lambda source, target: (
            is_plain(source)
            and is_plain(target)
            and WIDTHS[source] > WIDTHS[target]
        ),
        lambda source, target, facts: rules.resized_integer(target, facts),
    ),
    "arith.index_cast": Conversion(
        lambda source, target: (
            (source == "index") != (target == "index")
            and {source, target} <= set(INTEGERS) - {"i1"}
        ),
        lambda source, target, facts: rules.resized_integer(target, facts),
    ),
    "arith.bitcast": Conversion(
        lambda source, target: (source, target) in BITS,
        lambda source, target, facts: rules.bits_of_float(target, facts),
    ),
}


def are_floats(source, target):
    return source in FLOATS and target in FLOATS


def domain_of(element):
    return "float" if element in FLOATS else "int"
