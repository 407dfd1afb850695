"""The lowering of cumulative operations (`jnp.cumsum`, say).

JAX expresses one of n elements as a reduction of n windows of up to n elements,
and relies on XLA to recognize it. In a capture, a long one becomes a parallel
prefix, of n log n operations.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import mlir

from lockstep import context

#: Fewer elements are reduced as windows, in one kernel.
_LEAST_ELEMENTS = 64


def _accumulator(dtype):
    """16-bit floats are accumulated in 32 bits, as by other reductions."""
    is_narrow = jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize == 2
    return np.dtype(np.float32) if is_narrow else dtype


def _prefixes(combine, x, *, axis, reverse):
    wide = x.astype(_accumulator(x.dtype))
    scanned = lax.associative_scan(combine, wide, reverse=reverse, axis=axis)
    return scanned.astype(x.dtype)


def _windows(combine, identity, x, *, axis, reverse):
    size = x.shape[axis]
    if size == 0:
        return x
    shape, padding = [1] * x.ndim, [(0, 0)] * x.ndim
    shape[axis] = size
    padding[axis] = (0, size - 1) if reverse else (size - 1, 0)
    return lax.reduce_window(
        x, identity(x.dtype), combine, shape, [1] * x.ndim, padding
    )


def register():
    """Replaces JAX's lowerings; outside of a capture, they are as before."""
    _register(lax.cumsum_p, lax.add, lambda dtype: np.zeros((), dtype))
    _register(lax.cumprod_p, lax.mul, lambda dtype: np.ones((), dtype))
    _register(lax.cummax_p, lax.max, lambda dtype: _extreme(dtype, -1))
    _register(lax.cummin_p, lax.min, lambda dtype: _extreme(dtype, 1))
    _register(
        lax.cumlogsumexp_p, jnp.logaddexp, lambda dtype: _extreme(dtype, -1)
    )


def _register(primitive, combine, identity):
    def function(x, *, axis, reverse):
        if context.mode().captured and x.shape[axis] >= _LEAST_ELEMENTS:
            return _prefixes(combine, x, axis=axis, reverse=reverse)
        return _windows(combine, identity, x, axis=axis, reverse=reverse)

    mlir.register_lowering(
        primitive, mlir.lower_fun(function, multiple_results=False)
    )


def _extreme(dtype, sign):
    """The value that is larger (`sign` 1) or smaller (-1) than all others."""
    if jnp.issubdtype(dtype, jnp.floating):
        return np.array(sign * np.inf, dtype)
    limits = jnp.iinfo(dtype)
    return np.array(limits.max if sign > 0 else limits.min, dtype)
