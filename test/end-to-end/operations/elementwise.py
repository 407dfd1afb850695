"""Operations on each element alone."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from operations.element_types import (
    ALL,
    ANY_FLOAT,
    ANY_INTEGER,
    BOOL,
    COMPLEX,
    FLOAT_OR_COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    SMALL_FLOATS,
    SMALL_INTEGERS,
)
from operations.emitted import emit, emit_like
from operations.forms import Group, operation
from operations.special_values import numbers, one, pairs, special
from operations.tolerances import EXACT, Ulps

BITS = (*BOOL, *ANY_INTEGER)
ORDERED = (*BITS, *ANY_FLOAT)
WITH_SIGN = (*SIGNED, *SMALL_INTEGERS, *FLOAT_OR_COMPLEX)

#: XLA's functions and Lockstep's are different polynomials.
MATH = Ulps(4)


def _unary(name, function, types, tolerance=EXACT):
    return operation(name, types, one, ("all", function), tolerance=tolerance)


def _binary(name, function, types, tolerance=EXACT):
    return operation(name, types, pairs, ("all", function), tolerance=tolerance)


def _complex_parts(dtype):
    return [
        numbers(np.dtype(np.float32), (5,), 1),
        numbers(np.dtype(np.float32), (5,), 2),
    ]


def _shift_amounts(dtype):
    """Values, and amounts from 0 to beyond the width of the type; -1 is the
    largest amount of an unsigned type.
    """
    bits = jnp.iinfo(dtype).bits
    amounts = np.array(
        [0, 1, bits // 2, bits - 1, bits, bits + 1, 2 * bits, -1]
    ).astype(dtype)
    return [
        np.repeat(special(dtype), len(amounts)),
        np.tile(amounts, len(special(dtype))),
    ]


def _predicates(dtype):
    """A predicate for each element, then two values."""
    left, right = pairs(dtype)
    return [np.arange(len(left)) % 3 == 0, left, right]


def _one_predicate(dtype):
    """A scalar predicate, then two values."""
    return [np.array(True), *pairs(dtype)]


def _three_cases(dtype):
    """A number from 0 to 2 for each element, then three values."""
    left, right = pairs(dtype)
    return [
        (np.arange(len(left)) % 3).astype(np.int32),
        left,
        right,
        left[::-1].copy(),
    ]


def _bounds(dtype):
    """Lower bounds, values, upper bounds; a lower bound may be larger than the
    upper one.
    """
    left, right = pairs(dtype)
    return [left, right, np.roll(left, 5)]


def _scalar_bounds(dtype):
    values = one(dtype)[0]
    return [
        np.array(values.dtype.type(1)),
        values,
        np.array(values.dtype.type(3)),
    ]


UNARY = Group(
    "Elementwise, one operand",
    "Inputs include zeros of both signs, the limits of the type, infinities and NaN.",
    [
        *operation(
            "abs",
            (*SIGNED, *FLOAT_OR_COMPLEX),
            one,
            ("all", lax.abs),
            ("small integers", emit_like("abs"), {"types": SMALL_INTEGERS}),
        ),
        *operation(
            "cbrt",
            ANY_FLOAT,
            one,
            ("all", lax.cbrt),
            ("complex", emit_like("cbrt"), {"types": COMPLEX}),
            tolerance=MATH,
        ),
        *_unary("ceil", lax.ceil, ANY_FLOAT),
        *_unary("count_leading_zeros", lax.clz, ANY_INTEGER),
        *_unary("cosine", lax.cos, FLOAT_OR_COMPLEX, MATH),
        *_unary("exponential", lax.exp, FLOAT_OR_COMPLEX, MATH),
        *_unary("exponential_minus_one", lax.expm1, FLOAT_OR_COMPLEX, MATH),
        *_unary("floor", lax.floor, ANY_FLOAT),
        *_unary("imag", lax.imag, COMPLEX),
        *_unary("is_finite", lax.is_finite, ANY_FLOAT),
        *_unary("log", lax.log, FLOAT_OR_COMPLEX, MATH),
        *_unary("log_plus_one", lax.log1p, FLOAT_OR_COMPLEX, MATH),
        *_unary("logistic", emit_like("logistic"), FLOAT_OR_COMPLEX, MATH),
        *_unary("negate", lax.neg, NUMBERS),
        *_unary("not", lax.bitwise_not, BITS),
        *_unary("popcnt", lax.population_count, ANY_INTEGER),
        *_unary("real", lax.real, COMPLEX),
        *_unary(
            "round_nearest_afz",
            lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
            ANY_FLOAT,
        ),
        *_unary(
            "round_nearest_even",
            lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
            ANY_FLOAT,
        ),
        *_unary("rsqrt", lax.rsqrt, FLOAT_OR_COMPLEX, MATH),
        *_unary("sign", lax.sign, WITH_SIGN),
        *_unary("sine", lax.sin, FLOAT_OR_COMPLEX, MATH),
        *_unary("sqrt", lax.sqrt, FLOAT_OR_COMPLEX),
        *_unary("tan", lax.tan, FLOAT_OR_COMPLEX, MATH),
        *_unary("tanh", lax.tanh, FLOAT_OR_COMPLEX, MATH),
    ],
)

BINARY = Group(
    "Elementwise, two operands",
    "Inputs are all pairs of special values: division by zero, the smallest integer by -1, shifts beyond the width. Results are those of "
    "[numerics](../numerics.md).",
    [
        *operation(
            "add",
            NUMBERS,
            pairs,
            ("numbers", lax.add),
            ("bool", emit_like("add"), {"types": BOOL}),
        ),
        *_binary("and", lax.bitwise_and, BITS),
        *_binary("atan2", lax.atan2, FLOAT_OR_COMPLEX, MATH),
        *operation("complex", COMPLEX, _complex_parts, ("all", lax.complex)),
        *_binary("divide", lax.div, NUMBERS),
        *operation(
            "maximum",
            ORDERED,
            pairs,
            ("all", lax.max),
            ("complex", emit_like("maximum"), {"types": COMPLEX}),
        ),
        *operation(
            "minimum",
            ORDERED,
            pairs,
            ("all", lax.min),
            ("complex", emit_like("minimum"), {"types": COMPLEX}),
        ),
        *operation(
            "multiply",
            NUMBERS,
            pairs,
            ("numbers", lax.mul),
            ("bool", emit_like("multiply"), {"types": BOOL}),
        ),
        *_binary("or", lax.bitwise_or, BITS),
        *operation(
            "power",
            FLOAT_OR_COMPLEX,
            pairs,
            ("floats", lax.pow),
            ("integers", emit_like("power"), {"types": ANY_INTEGER}),
            tolerance=MATH,
        ),
        *operation(
            "remainder",
            (*ANY_INTEGER, *ANY_FLOAT),
            pairs,
            ("all", lax.rem),
            ("complex", emit_like("remainder"), {"types": COMPLEX}),
        ),
        *operation(
            "shift_left", ANY_INTEGER, _shift_amounts, ("all", lax.shift_left)
        ),
        *operation(
            "shift_right_arithmetic",
            ANY_INTEGER,
            _shift_amounts,
            ("all", lax.shift_right_arithmetic),
        ),
        *operation(
            "shift_right_logical",
            ANY_INTEGER,
            _shift_amounts,
            ("all", lax.shift_right_logical),
        ),
        *_binary("subtract", lax.sub, NUMBERS),
        *_binary("xor", lax.bitwise_xor, BITS),
    ],
)


def _total_order(direction):
    attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>, compare_type = #stablehlo<comparison_type TOTALORDER>"
    return emit(
        "compare",
        lambda left, right: left.update(dtype=np.dtype(np.bool_)),
        attributes,
    )


SELECTION = Group(
    "Comparison and selection",
    "",
    [
        *operation(
            "compare",
            ORDERED,
            pairs,
            ("EQ", lax.eq, {"types": ALL}),
            ("NE", lax.ne, {"types": ALL}),
            ("LT", lax.lt, {"types": ORDERED}),
            ("LE", lax.le, {"types": ORDERED}),
            ("GT", lax.gt, {"types": ORDERED}),
            ("GE", lax.ge, {"types": ORDERED}),
            *[
                (f"{d}, total order", _total_order(d), {"types": FLOATS})
                for d in ("EQ", "NE", "LT", "LE", "GT", "GE")
            ],
        ),
        *operation(
            "clamp",
            (*INTEGERS, *SMALL_INTEGERS, *FLOATS, *SMALL_FLOATS),
            _bounds,
            ("bounds of each element", lax.clamp),
            (
                "scalar bounds",
                lax.clamp,
                {"inputs": _scalar_bounds, "types": (*INTEGERS, *FLOATS)},
            ),
        ),
        *operation(
            "select",
            ALL,
            _predicates,
            ("predicate of each element", lambda p, x, y: lax.select(p, x, y)),
            (
                "scalar predicate",
                lambda p, x, y: lax.select(p, x, y),
                {"inputs": _one_predicate},
            ),
            ("among three", lax.select_n, {"inputs": _three_cases}),
        ),
    ],
)
