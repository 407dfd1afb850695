"""Facts about the results of reductions, for any order in which elements are
combined.
"""

from dataclasses import replace

from ..facts import (
    Facts,
    Invalid,
    join,
    of_integer,
    product_of,
    rounded,
    summed,
)
from ..types import FLOATS
from .scalar_table import ARITHMETIC, BITWISE


def combined(element, combiner, terms, init, count):
    """Facts about `init` combined with `count` numbers, in any order."""
    if count == 0:
        return init
    if combiner == "arith.addf":
        return summed(element, terms, count, init)
    if combiner == "arith.mulf":
        return multiplied(element, terms, init, count)
    if combiner in ("arith.addi", "arith.muli"):
        is_sum = combiner == "arith.addi"
        return (
            of_integer(
                element,
                terms.low * count + init.low,
                terms.high * count + init.high,
            )
            if is_sum
            else of_integer(element)
        )
    facts = join(terms, init)
    if combiner in ("arith.maxnumf", "arith.minnumf"):
        return replace(facts, zero_sign=False)
    return (
        ARITHMETIC[combiner].rule(element, facts, facts)
        if combiner in BITWISE
        else facts
    )


def multiplied(element, terms, init, count):
    """The product of many numbers is known to be exact where none is greater
    than one.
    """
    is_small = terms.magnitude <= 1 and terms.grain == 1
    if not is_small and count > 4:
        raise Invalid("a product of many numbers")
    facts = init
    for _ in range(1 if is_small else count):
        facts = product_of(facts, terms)
    bounds = Facts(
        -facts.magnitude,
        facts.magnitude,
        facts.grain,
        facts.error,
        facts.special,
        zero_sign=False,
    )
    return rounded(
        element,
        bounds
        if bounds.grain
        else replace(bounds, error=bounds.error + 2.0**-20 * bounds.magnitude),
        count + 1,
    )


def multiply_accumulated(element, a, b, init, count):
    """Facts about the sum of an initial number and `count` products, none of
    which is rounded separately.
    """
    if element in FLOATS:
        return combined(element, "arith.addf", product_of(a, b), init, count)
    return combined(
        element,
        "arith.addi",
        ARITHMETIC["arith.muli"].rule(element, a, b),
        init,
        count,
    )
