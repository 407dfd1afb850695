"""Facts about the results of scalar operations, from those of their operands.

A rule maps the element type of the result and the facts of each operand to the
facts of the result; it raises `Invalid` where executions may differ, or where
the operation is not defined.
"""

from dataclasses import replace
from math import inf, sqrt

from ..facts import (
    Facts,
    Invalid,
    approximated,
    is_representable,
    join,
    of_integer,
    product_of,
    rounded,
)
from ..types import INTEGERS, integer_range


def require(condition, reason):
    if not condition:
        raise Invalid(reason)


#
# Floats
#


def common(a, b, low, high, grain):
    return Facts(
        low,
        high,
        grain,
        a.error + b.error,
        a.special or b.special,
        a.zero_sign and b.zero_sign,
    )


def add(element, a, b):
    return rounded(
        element,
        common(a, b, a.low + b.low, a.high + b.high, min(a.grain, b.grain)),
        2,
    )


def subtract(element, a, b):
    return add(element, a, negated(element, b))


def negated(element, a):
    return a.with_range(-a.high, -a.low)


def multiply(element, a, b):
    return rounded(element, product_of(a, b), 2)


def divide(element, a, b):
    """By numbers that cannot be zero: their error must not change that."""
    require(b.low > 0 or b.high < 0, "division by what may be zero")
    least = min(abs(b.low), abs(b.high))
    require(b.error < least / 4, "division by what may be zero")
    corners = [x / y for x in (a.low, a.high) for y in (b.low, b.high)] + (
        [0.0] if b.special else []
    )
    error = (a.error + max(map(abs, corners)) * b.error) / (least - b.error)
    return rounded(
        element,
        Facts(
            min(corners),
            max(corners),
            0.0,
            error,
            a.special or b.special,
            a.zero_sign and b.zero_sign,
        ),
        2,
    )


def remainder(element, a, b):
    require(
        a.is_exact and b.is_exact and (b.low > 0 or b.high < 0),
        "the remainder has jumps, and none for a zero",
    )
    require(
        a.grain and b.grain, "the remainder of numbers that need many steps"
    )
    return Facts(
        min(a.low, 0),
        max(a.high, 0),
        min(a.grain, b.grain),
        0.0,
        a.special or b.special,
        a.zero_sign,
    )


def maximum(element, a, b):
    return replace(
        common(
            a, b, max(a.low, b.low), max(a.high, b.high), min(a.grain, b.grain)
        ),
        error=max(a.error, b.error),
    )


def minimum(element, a, b):
    return negated(
        element, maximum(element, negated(element, a), negated(element, b))
    )


def maximum_number(element, a, b):
    """As `maximum`, but a NaN is ignored: the other operand may be any number
    of its range. Zeros of both signs are equal.
    """
    return replace(
        maximum(element, a, b), low=min(a.low, b.low), zero_sign=False
    )


def minimum_number(element, a, b):
    return replace(
        minimum(element, a, b), high=max(a.high, b.high), zero_sign=False
    )


def absolute(element, a):
    low = 0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return replace(a, low=low, high=a.magnitude, zero_sign=True)


def copy_sign(element, a, b):
    require(
        b.zero_sign and b.is_exact and not b.special,
        "the sign of a zero or NaN that is not known",
    )
    return replace(a, low=-a.magnitude, high=a.magnitude)


def to_whole(element, a):
    """Any of the roundings to whole numbers."""
    require(a.is_exact, "a rounding to whole numbers has jumps")
    return replace(a, low=a.low - 1, high=a.high + 1, grain=max(a.grain, 1.0))


def multiply_add(element, a, b, c):
    """One rounding; f16 and bf16 are computed in f32, where the sum may be
    rounded once more.
    """
    product = product_of(a, b)
    result = rounded(
        element,
        common(
            product,
            c,
            product.low + c.low,
            product.high + c.high,
            min(product.grain, c.grain),
        ),
        2,
    )
    is_wide = element in ("f32", "f64")
    return result if is_wide or result.grain else approximated(element, result)


def square_root(element, a):
    require(a.low >= 0 and a.is_exact, "the root of what may be negative")
    return rounded(
        element, replace(a, low=sqrt(a.low), high=sqrt(a.high), grain=0.0)
    )


def function(low, high, results, slope=inf):
    """The rule of a function that is approximated on operands from `low` to
    `high`.

    `results(low, high)` bounds the results, `slope` the derivative; without
    one, operands must be exact.
    """

    def rule(element, a):
        require(
            low <= a.low and a.high <= high,
            "an operand outside of the range where the function is tested",
        )
        require(
            a.is_exact
            or (
                slope < inf
                and low <= a.low - a.error
                and a.high + a.error <= high
            ),
            "an operand that is not exact",
        )
        bounds = results(a.low, a.high)
        error = a.error * slope if a.error else 0.0
        return approximated(
            element, Facts(*bounds, 0.0, error, a.special, a.zero_sign)
        )

    return rule


def except_f64(rule):
    """A rule for the narrower floats only."""

    def narrow(element, *operands):
        require(element != "f64", "no operation on f64")
        return rule(element, *operands)

    return narrow


def power(element, a, b):
    require(
        0.25 <= a.low and a.high <= 4 and b.magnitude <= 4,
        "a power outside of the range where it is tested",
    )
    require(a.is_exact and b.is_exact, "an operand that is not exact")
    return approximated(
        element, Facts(0.0, 256.0, 0.0, 0.0, a.special or b.special)
    )


#
# Integers
#


def of_corners(combine):
    """The rule of an operation that is monotonous in each operand."""

    def rule(element, a, b):
        corners = [
            combine(x, y) for x in (a.low, a.high) for y in (b.low, b.high)
        ]
        return of_integer(element, min(corners), max(corners))

    return rule


def of_any(element, *operands):
    return of_integer(element)


def of_bits(element, a, b):
    """And, or, exclusive or: non-negative operands give no more bits than they
    have.
    """
    bits = int(max(a.high, b.high)).bit_length()
    return (
        of_integer(element, 0, 2**bits - 1)
        if a.low >= 0 and b.low >= 0
        else of_integer(element)
    )


def quotient(element, a, b):
    """Of a positive divisor; every other one has a result too, of which nothing
    is known.
    """
    return (
        of_integer(element, min(a.low, 0) - 1, max(a.high, 0) + 1)
        if b.low > 0
        else of_integer(element)
    )


def rounded_quotient(element, a, b):
    require(b.low > 0, "division by what may be zero")
    return quotient(element, a, b)


def unsigned_quotient(element, a, b):
    return (
        of_integer(element, 0, a.high)
        if b.low > 0 and a.low >= 0
        else of_integer(element)
    )


def signed_remainder(element, a, b):
    return (
        of_integer(element, 0 if a.low >= 0 else 1 - b.high, b.high - 1)
        if b.low > 0
        else of_integer(element)
    )


def unsigned_remainder(element, a, b):
    return (
        of_integer(element, 0, b.high - 1) if b.low > 0 else of_integer(element)
    )


def unsigned_extreme(choose):
    def rule(element, a, b):
        is_ordered = a.low >= 0 and b.low >= 0
        return (
            of_integer(element, choose(a.low, b.low), choose(a.high, b.high))
            if is_ordered
            else of_integer(element)
        )

    return rule


def right_shift(element, a, b):
    return of_integer(element, 0, a.high) if a.low >= 0 else of_integer(element)


def absolute_integer(element, a):
    low, _ = integer_range(element)
    return (
        of_integer(element)
        if a.low == low
        else of_integer(element, 0, a.magnitude)
    )


def bit_count(element, a):
    return of_integer(element, 0, INTEGERS[element])


#
# Comparisons and conversions
#


def comparison(element, a, b):
    require(
        a.is_exact and b.is_exact, "a comparison of numbers that are not exact"
    )
    return of_integer("i1")


def test_of_float(element, a):
    require(a.is_exact or not a.special, "a test of numbers that are not exact")
    return of_integer("i1")


def selection(element, condition, a, b):
    return join(a, b)


def float_to_float(element, a):
    return rounded(element, a, 2)


def integer_to_float(element, a):
    facts = rounded(element, replace(a, low=float(a.low), high=float(a.high)))
    # There may be an f32 in between.
    is_direct = element in ("f32", "f64") or is_representable(
        "f32", a.magnitude, 1.0
    )
    return facts if is_direct else approximated(element, facts)


def unsigned_to_float(element, a, width):
    return integer_to_float(
        element, a if a.low >= 0 else Facts(0, 2**width - 1, 1.0)
    )


def float_to_integer(element, a):
    """Rounds towards zero; what is out of range becomes the nearest number, and
    a NaN zero.
    """
    require(a.is_exact, "a conversion to an integer has jumps")
    least, greatest = integer_range(element)
    return (
        of_integer(element)
        if a.special or a.low < least or a.high > greatest
        else of_integer(element, int(a.low), int(a.high))
    )


def float_to_unsigned(element, a):
    """The numbers of an unsigned type beyond those of the signed one wrap
    around.
    """
    return of_integer(element) if a.low <= -1 else float_to_integer(element, a)


def resized_integer(element, a):
    return of_integer(element, a.low, a.high)


def sign_extended(source, element, a):
    # A boolean is a number of one bit, which is its sign.
    return (
        of_integer(element, -a.high, -a.low)
        if source == "i1"
        else of_integer(element, a.low, a.high)
    )


def zero_extended(element, a, width):
    return (
        of_integer(element, a.low, a.high)
        if a.low >= 0
        else of_integer(element, 0, 2**width - 1)
    )


def bits_of_float(element, a):
    require(
        a.is_exact and not a.special and a.zero_sign,
        "the bits of numbers that are not exact",
    )
    return of_integer(element)
