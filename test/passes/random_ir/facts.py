"""Facts about the numbers in a value: their range, their grain, and the allowed
difference between executions.

The interpreter and the compiled program must have the same bits unless floats
are summed in another order or a function is approximated. Interval arithmetic
decides here whether that can change a result: with small whole numbers even
sums are exact in every order.
"""

from dataclasses import dataclass, replace

from .types import FLOATS, integer_range


class Invalid(Exception):
    """A program that is undefined, or whose result is not known."""


@dataclass(frozen=True)
class Facts:
    """`low` and `high` bound the finite numbers, which are multiples of the
    power of two `grain` (0: nothing is known).

    `error` bounds the difference to the number that exact arithmetic would
    give; 0: all executions have the same bits. `special`:
    there may be NaNs and infinities. `zero_sign`: executions agree in the signs
      of zeros.
    """

    low: float
    high: float
    grain: float = 0.0
    error: float = 0.0
    special: bool = False
    zero_sign: bool = True

    @property
    def magnitude(self):
        return max(abs(self.low), abs(self.high))

    @property
    def is_exact(self):
        return self.error == 0

    def with_range(self, low, high):
        return replace(self, low=low, high=high)


def of_integer(element, low=None, high=None):
    """Any number of an integer type, or those of a range; a range that the type
    does not hold wraps around.
    """
    least, greatest = integer_range(element)
    if low is None or low < least or high > greatest:
        low, high = least, greatest
    return Facts(low, high, grain=1.0)


def join(*all_facts):
    """Facts about a value that is one of several."""
    grains = [facts.grain for facts in all_facts]
    return Facts(
        min(facts.low for facts in all_facts),
        max(facts.high for facts in all_facts),
        min(grains),
        max(facts.error for facts in all_facts),
        any(facts.special for facts in all_facts),
        all(facts.zero_sign for facts in all_facts),
    )


def is_representable(element, magnitude, grain):
    """Whether all multiples of `grain` up to `magnitude` are numbers of the
    type.
    """
    floats = FLOATS[element]
    return grain >= floats.least and magnitude <= grain * 2**floats.digits


def rounded(element, facts, roundings=1):
    """`facts` of exact results after rounding to `element`, at most `roundings`
    times.

    Invalid: numbers that may overflow.
    """
    floats = FLOATS[element]
    if facts.magnitude + facts.error > floats.largest / 4:
        raise Invalid(f"numbers up to {facts.magnitude} overflow {element}")
    if (
        facts.grain
        and is_representable(element, facts.magnitude, facts.grain)
        and facts.is_exact
    ):
        return facts
    # Operations on the same numbers round alike. After different ones, each
    # execution rounds for itself.
    error = (
        facts.error + roundings * floats.unit * (facts.magnitude + facts.error)
        if facts.error
        else 0.0
    )
    return replace(facts, grain=0.0, error=error)


def approximated(element, facts, units=16):
    """Results of a function that is computed to within some units in the last
    place of the greatest result.
    """
    floats = FLOATS[element]
    if facts.magnitude + facts.error > floats.largest / 4:
        raise Invalid(f"numbers up to {facts.magnitude} overflow {element}")
    # Half precision is computed in f32 and rounded.
    units = units if element in ("f32", "f64") else 2
    return replace(
        facts,
        grain=0.0,
        error=facts.error
        + units * floats.unit * facts.magnitude
        + floats.least,
    )


def summed(element, terms, count, init=None):
    """The sum of `count` numbers in any order, and of an initial one. f16 and
    bf16 are summed in f32 and rounded once.
    """
    init = init or Facts(0.0, 0.0, grain=1.0)
    low, high = (
        min(terms.low * count, 0) + init.low,
        max(terms.high * count, 0) + init.high,
    )
    greatest = terms.magnitude * count + init.magnitude
    grain = min(terms.grain, init.grain)
    error = terms.error * count + init.error
    wide = "f32" if element in ("f16", "bf16") else element
    facts = Facts(
        low, high, grain, error, terms.special or init.special, zero_sign=False
    )
    if grain and error == 0 and is_representable(wide, greatest, grain):
        return rounded(element, facts)
    error += (count + 1) * FLOATS[wide].unit * (greatest + error)
    return rounded(element, replace(facts, grain=0.0, error=error))


def product_of(a, b):
    """The exact product of two floats."""
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    error = a.error * b.magnitude + b.error * a.magnitude + a.error * b.error
    return Facts(
        min(corners),
        max(corners),
        a.grain * b.grain,
        error,
        a.special or b.special,
        a.zero_sign and b.zero_sign,
    )
