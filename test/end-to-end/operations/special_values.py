"""Inputs: the special values of each element type, and numbers at random."""

import jax.numpy as jnp
import numpy as np

from operations.element_types import DTYPES, is_float

#: Halves for rounding, a tenth for inexact results, numbers beyond small
#: integer types.
_NUMBERS = (
    0.0,
    1.0,
    0.5,
    1.5,
    2.5,
    3.0,
    0.1,
    7.25,
    100.75,
    1e-3,
    12345.678,
    3e9,
)


def special(dtype):
    """Special values of a dtype: zeros of both signs, limits, infinities, NaN,
    and some others; [n].
    """
    if dtype == np.bool_:
        return np.array([False, True])
    if is_float(dtype):
        limits = jnp.finfo(dtype)
        magnitudes = [*_NUMBERS, float(limits.max), float(limits.tiny), np.inf]
        return np.array(
            [sign * number for number in magnitudes for sign in (1, -1)]
            + [np.nan]
        ).astype(dtype)
    if np.issubdtype(dtype, np.complexfloating):
        parts = np.array([0, 1, -0.5, np.inf, np.nan])
        return (parts[:, None] + 1j * parts[None, :]).astype(dtype).ravel()
    limits = jnp.iinfo(dtype)
    values = {
        0,
        1,
        2,
        3,
        7,
        limits.bits - 1,
        limits.bits,
        limits.max,
        limits.max - 1,
        limits.max // 2,
    }
    if limits.min:
        values |= {-1, -2, -3, -7, limits.min, limits.min + 1, -limits.bits}
    return np.array([dtype.type(value) for value in sorted(values)])


def numbers(dtype, shape, seed=0, low=-4, high=4):
    """Numbers at random, most of them different: floats from `low` to `high`,
    integers from ten times `low`, or 0, to ten times `high`.
    """
    rng = np.random.default_rng([seed, *shape])
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    if np.issubdtype(dtype, np.complexfloating):
        return (
            rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)
        ).astype(dtype)
    if is_float(dtype):
        return rng.uniform(low, high, shape).astype(dtype)
    unsigned = np.issubdtype(dtype, np.unsignedinteger)
    return rng.integers(
        0 if unsigned else round(10 * low), round(10 * high), shape
    ).astype(dtype)


def distinct(dtype, shape, seed=0):
    """Numbers that identify positions: all different if the type has as many
    values, in a random order.
    """
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == np.bool_:
        return numbers(dtype, shape, seed)
    order = np.random.default_rng([seed, count]).permutation(count)
    return (
        (order % 16 - 8 if dtype == DTYPES["i4"] else order % 100)
        .astype(dtype)
        .reshape(shape)
    )


def one(dtype):
    """Special values and some at random; an odd number of them, so that vectors
    have a remainder: [n].
    """
    return [
        np.concatenate(
            [
                special(dtype),
                numbers(dtype, (42 + (len(special(dtype)) + 1) % 2,)),
            ]
        )
    ]


def pairs(dtype):
    """Every pair of special values, and some at random: two of [n]."""
    values = special(dtype)
    left, right = (part.ravel() for part in np.meshgrid(values, values))
    return [
        np.concatenate([left, numbers(dtype, (41,), 1)]),
        np.concatenate([right, numbers(dtype, (41,), 2)]),
    ]


def of_shape(*shapes):
    """Inputs of given shapes, of numbers that identify positions."""
    return lambda dtype: [
        distinct(dtype, shape, seed) for seed, shape in enumerate(shapes)
    ]


def random_of_shape(*shapes):
    """Inputs of given shapes, of numbers at random."""
    return lambda dtype: [
        numbers(dtype, shape, seed) for seed, shape in enumerate(shapes)
    ]
