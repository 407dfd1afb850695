"""Operations of CHLO, the dialect of functions that are made of StableHLO
operations, as far as JAX lowers to them.
"""

import numpy as np
from jax import lax

from operations.element_types import FLOATS, INTEGERS
from operations.forms import Group, operation
from operations.special_values import numbers, of_shape, one, pairs
from operations.tolerances import Ulps

#: Functions of many steps, whose roundings add up.
LONG = Ulps(16)


def _positive(count):
    """Numbers from 2.5 to 6.5: the functions with poles and zeros at 0, 1, 2
    and at negative integers are smooth there.
    """
    return lambda dtype: [
        numbers(dtype, (43,), seed, 2.5, 6.5) for seed in range(count)
    ]


def _moderate(dtype):
    """Special values and others, none so small that a product with it is
    subnormal, which XLA's CPU backend replaces by zero.
    """
    values = one(dtype)[0]
    wide = np.abs(values.astype(np.float64))
    return [values[(wide > 1e-4) | (wide == 0) | np.isnan(wide)]]


def _orders(dtype):
    """Small integers, then numbers."""
    return [np.arange(43).astype(dtype) % 4 + 1, *_positive(1)(dtype)]


def _unary(name, function, inputs=_moderate):
    return operation(
        f"chlo.{name}", FLOATS, inputs, ("all", function), tolerance=LONG
    )


FUNCTIONS = Group(
    "CHLO",
    "Operations of the dialect CHLO that JAX lowers to; capture expands them to StableHLO operations.",
    [
        *_unary("acos", lax.acos),
        *_unary("acosh", lax.acosh),
        *_unary("asin", lax.asin),
        *_unary("asinh", lax.asinh),
        *_unary("atan", lax.atan),
        *_unary("atanh", lax.atanh),
        *_unary("bessel_i1e", lax.bessel_i1e),
        *_unary("cosh", lax.cosh),
        *_unary("digamma", lax.digamma, _positive(1)),
        *_unary("erf", lax.erf),
        *_unary("erf_inv", lax.erf_inv),
        *_unary("erfc", lax.erfc),
        *_unary("lgamma", lax.lgamma, _positive(1)),
        *operation("chlo.mulhi", INTEGERS, pairs, ("all", lax.mulhi)),
        *operation("chlo.next_after", FLOATS, pairs, ("all", lax.nextafter)),
        *_unary("polygamma", lax.polygamma, _orders),
        *_unary("sinh", lax.sinh),
        *_unary("square", lax.square),
        *operation(
            "chlo.top_k",
            (*INTEGERS, *FLOATS),
            of_shape((4, 9)),
            ("some", lambda x: lax.top_k(x, 3)),
            ("all", lambda x: lax.top_k(x, 9)),
        ),
        *_unary("zeta", lax.zeta, _positive(2)),
    ],
)
