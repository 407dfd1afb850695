"""Reductions, windows, and a function mapped over elements."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from operations.element_types import BOOL, FLOATS, INTEGERS, NUMBERS, STORABLE
from operations.emitted import computation, emit_like
from operations.forms import Group, operation
from operations.special_values import (
    numbers,
    of_shape,
    random_of_shape,
    special,
)
from operations.tolerances import ACCUMULATED, EXACT

BITS = (*BOOL, *INTEGERS)
CUBE = random_of_shape((3, 4, 5))


def _small(*shapes):
    """Floats from 0.5 to 1.5 and integers from 0 to 2: products of many of them
    neither overflow nor vanish.
    """
    return lambda dtype: [
        numbers(dtype, shape, seed) % 3
        if dtype.kind in "iu"
        else numbers(dtype, shape, seed, 0.5, 1.5)
        for seed, shape in enumerate(shapes)
    ]


def _reduction(computation, initial, dimensions):
    """A reduction by `lax.reduce`, which does not widen sums of narrow types as
    `jnp.sum` does.
    """

    def function(x):
        value = initial(x.dtype) if callable(initial) else x.dtype.type(initial)
        return lax.reduce(x, np.array(value, x.dtype), computation, dimensions)

    return function


def _lowest(dtype):
    """The initial value of a maximum."""
    return (
        False
        if dtype == np.bool_
        else -jnp.inf
        if jnp.issubdtype(dtype, jnp.floating)
        else jnp.iinfo(dtype).min
    )


def _highest(dtype):
    """The initial value of a minimum."""
    return (
        True
        if dtype == np.bool_
        else jnp.inf
        if jnp.issubdtype(dtype, jnp.floating)
        else jnp.iinfo(dtype).max
    )


def _all_ones(dtype):
    return True if dtype == np.bool_ else np.array(-1).astype(dtype)


def _argument(function):
    """The index of an extreme element, a reduction of values and indices
    together: of the first one if several are equal, or of a NaN.
    """
    return lambda x: function(x, 1, np.int32)


def _special(dtype):
    """Rows of special values, some of them more than once."""
    values = special(dtype)
    return [values[np.random.default_rng(1).integers(0, len(values), (9, 7))]]


def _sum_and_product(x, y):
    """A reduction of two operands by a computation on all of them."""
    zero, one = np.zeros((), x.dtype), np.ones((), x.dtype)
    return lax.reduce(
        (x, y), (zero, one), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)
    )


def _windows(computation, initial, **attributes):
    def function(x):
        value = initial(x.dtype) if callable(initial) else initial
        settings = {
            "window_dimensions": (2, 3),
            "window_strides": (1, 1),
            "padding": "VALID",
            **attributes,
        }
        return lax.reduce_window(
            x, np.array(value, x.dtype), computation, **settings
        )

    return function


def _sum_and_maximum_windows(x, y):
    zero, lowest = np.zeros((), x.dtype), np.array(_lowest(x.dtype), y.dtype)
    return lax.reduce_window(
        (x, y),
        (zero, lowest),
        lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])),
        (2, 2),
        (1, 2),
        "VALID",
    )


def _ones(count):
    return lambda dtype: [np.ones((2, count), dtype)]


REDUCTIONS = Group(
    "Reductions",
    "Sums and products of f16 and bf16 accumulate in f32 and round once ([numerics](../numerics.md)).",
    [
        *operation(
            "map",
            NUMBERS,
            of_shape((3, 5), (3, 5)),
            (
                "two operands",
                emit_like(
                    "map", "dimensions = array<i64: 0, 1>", computation("add")
                ),
            ),
        ),
        *operation(
            "reduce",
            NUMBERS,
            CUBE,
            ("sum, last dimension", _reduction(lax.add, 0, (2,))),
            ("sum, first dimension", _reduction(lax.add, 0, (0,))),
            ("sum, middle dimension", _reduction(lax.add, 0, (1,))),
            ("sum, two dimensions apart", _reduction(lax.add, 0, (0, 2))),
            ("sum, all dimensions", _reduction(lax.add, 0, (0, 1, 2))),
            ("sum, initial value other than 0", _reduction(lax.add, 3, (1,))),
            (
                "sum of 5,000 ones",
                _reduction(lax.add, 0, (1,)),
                {"inputs": _ones(5000)},
            ),
            (
                "sum over no elements",
                _reduction(lax.add, 3, (1,)),
                {"inputs": of_shape((3, 0))},
            ),
            (
                "sum of no sums",
                _reduction(lax.add, 0, (1,)),
                {"inputs": of_shape((0, 3))},
            ),
            (
                "sum with infinities and NaN",
                _reduction(lax.add, 0, (1,)),
                {"inputs": _special, "types": FLOATS},
            ),
            (
                "product",
                _reduction(lax.mul, 1, (2,)),
                {"inputs": _small((3, 4, 5))},
            ),
            (
                "maximum",
                _reduction(lax.max, _lowest, (1,)),
                {"types": STORABLE, "inputs": _special, "tolerance": EXACT},
            ),
            (
                "minimum",
                _reduction(lax.min, _highest, (0,)),
                {"types": STORABLE, "inputs": _special, "tolerance": EXACT},
            ),
            (
                "and",
                _reduction(lax.bitwise_and, _all_ones, (1,)),
                {"types": BITS},
            ),
            ("or", _reduction(lax.bitwise_or, 0, (1,)), {"types": BITS}),
            ("xor", _reduction(lax.bitwise_xor, 0, (1,)), {"types": BITS}),
            (
                "argmax",
                _argument(lax.argmax),
                {"types": STORABLE, "inputs": _special},
            ),
            (
                "argmin",
                _argument(lax.argmin),
                {"types": STORABLE, "inputs": _special},
            ),
            (
                "two operands",
                _sum_and_product,
                {"inputs": _small((3, 5), (3, 5))},
            ),
            (
                "two slices of one operand",
                lambda x: (
                    lax.reduce_sum(x[0:2], (0,)),
                    lax.reduce_sum(x[1:3], (0,)),
                ),
            ),
            tolerance=ACCUMULATED,
        ),
        *operation(
            "reduce_window",
            NUMBERS,
            random_of_shape((7, 9)),
            ("sum", _windows(lax.add, 0)),
            ("sum, strides", _windows(lax.add, 0, window_strides=(2, 3))),
            ("sum, padding", _windows(lax.add, 0, padding=((1, 0), (0, 2)))),
            (
                "sum, same padding",
                _windows(lax.add, 0, padding="SAME", window_strides=(2, 2)),
            ),
            (
                "sum, window dilation",
                _windows(lax.add, 0, window_dilation=(2, 3)),
            ),
            ("sum, base dilation", _windows(lax.add, 0, base_dilation=(2, 3))),
            (
                "sum, window of one element",
                _windows(
                    lax.add, 0, window_dimensions=(1, 1), window_strides=(2, 1)
                ),
            ),
            ("product", _windows(lax.mul, 1), {"inputs": _small((7, 9))}),
            (
                "maximum",
                _windows(lax.max, _lowest),
                {"types": STORABLE, "tolerance": EXACT},
            ),
            (
                "maximum, padding",
                _windows(lax.max, _lowest, padding="SAME"),
                {"types": STORABLE, "tolerance": EXACT},
            ),
            (
                "minimum",
                _windows(lax.min, _highest),
                {"types": STORABLE, "tolerance": EXACT},
            ),
            (
                "two operands",
                _sum_and_maximum_windows,
                {"inputs": random_of_shape((4, 5), (4, 5))},
            ),
            ("no elements", _windows(lax.add, 0), {"inputs": of_shape((0, 9))}),
            ("cumulative sum", lambda x: lax.cumsum(x, axis=1)),
            (
                "cumulative sum of 5,000 ones",
                lambda x: lax.cumsum(x, axis=1),
                {"inputs": _ones(5000)},
            ),
            (
                "cumulative sum, reversed",
                lambda x: lax.cumsum(x, axis=0, reverse=True),
            ),
            (
                "cumulative product",
                lambda x: lax.cumprod(x, axis=1),
                {"inputs": _small((3, 8))},
            ),
            (
                "cumulative maximum",
                lambda x: lax.cummax(x, axis=1),
                {"tolerance": EXACT},
            ),
            tolerance=ACCUMULATED,
        ),
    ],
)
