"""The element types of StableHLO that are tried: the columns of the reference
page.
"""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

BOOL = ("i1",)
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("ui8", "ui16", "ui32", "ui64")
INTEGERS = (*SIGNED, *UNSIGNED)
HALF = ("f16", "bf16")
FLOATS = (*HALF, "f32", "f64")

#: Types that no variable can have. Each represents its kind: two-bit and
#: four-bit integers, floats of up to eight bits, complex numbers.
SMALL_INTEGERS = ("i4",)
SMALL_FLOATS = ("f8",)
COMPLEX = ("complex",)

STORABLE = (*BOOL, *INTEGERS, *FLOATS)
ALL = (*STORABLE, *SMALL_INTEGERS, *SMALL_FLOATS, *COMPLEX)

#: Operands of most elementwise operations, as the specification has them.
ANY_INTEGER = (*INTEGERS, *SMALL_INTEGERS)
ANY_FLOAT = (*FLOATS, *SMALL_FLOATS)
FLOAT_OR_COMPLEX = (*ANY_FLOAT, *COMPLEX)
NUMBERS = (*ANY_INTEGER, *FLOAT_OR_COMPLEX)

DTYPES = {
    "i1": np.dtype(np.bool_),
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i4": np.dtype(ml_dtypes.int4),
    "f8": np.dtype(ml_dtypes.float8_e4m3fn),
    "complex": np.dtype(np.complex64),
}

_STORED = {DTYPES[name] for name in STORABLE}
_REAL_PARTS = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}


def is_float(dtype):
    """Whether a dtype is f16, bf16, f32, f64 or a smaller float."""
    return jnp.issubdtype(dtype, jnp.floating)


def to_stored(array):
    """An array that a variable can hold, from which `from_stored` makes `array`
    again.

    Complex numbers are kept as their real and imaginary parts, along a new
    first dimension; smaller types as f32.
    """
    if array.dtype in _STORED:
        return array
    if array.dtype in _REAL_PARTS:
        return np.stack([array.real, array.imag])
    return array.astype(np.float32)


def from_stored(stored, dtype):
    """The inverse of `to_stored`, in JAX."""
    if dtype in _STORED:
        return stored
    if dtype in _REAL_PARTS:
        return lax.complex(stored[0], stored[1])
    return lax.convert_element_type(stored, dtype)


def result_to_stored(value):
    """As `to_stored`, in JAX."""
    if value.dtype in _STORED:
        return value
    if value.dtype in _REAL_PARTS:
        return jnp.stack([value.real, value.imag])
    return lax.convert_element_type(value, jnp.float32)


def like(shape, dtype):
    """The type of an array."""
    return jax.ShapeDtypeStruct(shape, dtype)
