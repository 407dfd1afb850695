"""Checks of the arguments of operations, with the errors that users see."""

import jax
import jax.numpy as jnp

#: The reductions of `tf.distribute`.
SUM_OR_MEAN = ("SUM", "MEAN")
REDUCTIONS = (*SUM_OR_MEAN, "PRODUCT", "MIN", "MAX")


def reduction_name(reduction, allowed=REDUCTIONS):
    """Returns the reduction in upper case; ValueError if it is not in
    `allowed`.
    """
    name = str(reduction).upper()
    if name not in allowed:
        raise ValueError(f"'{reduction}' is not a valid ReduceOp")
    return name


def axis_index(axis, function):
    """Returns `axis` as an int; TypeError if it is none."""
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"{function}: expected an integer axis, found {axis!r}")
    return axis.__index__()


def require_count(replicas, function):
    """Raises ValueError if the replica count is open."""
    if replicas is None:
        raise ValueError(
            f"{function}: the shape of the result depends on the replica count, which is open in this capture: give --replicas=N"
        )


def array(leaf, function):
    """Converts a leaf of a pytree to an array; TypeError if it is none."""
    try:
        return jnp.asarray(leaf)
    except TypeError:
        raise TypeError(
            f"{function}: expected arrays, found a leaf of type '{type(leaf).__name__}'"
        ) from None


def reducible(leaf, reduction, function):
    """Converts a leaf to an array that `reduction` supports.

    The mean of integers is that of doubles. Booleans have "MIN" (all of them)
    and "MAX" (any of them).

    Raises:
      TypeError: if its dtype has no such reduction.
    """
    value = array(leaf, function)
    is_number = jnp.issubdtype(value.dtype, jnp.integer) or jnp.issubdtype(
        value.dtype, jnp.floating
    )
    if not is_number and not (
        value.dtype == bool and reduction in ("MIN", "MAX")
    ):
        raise TypeError(
            f"{function}: expected integers or floats for reduction '{reduction}', found {value.dtype.name}"
        )
    if reduction == "MEAN" and jnp.issubdtype(value.dtype, jnp.integer):
        if not jax.config.jax_enable_x64:
            raise TypeError(
                f"{function}: the mean of {value.dtype.name} is float64, which needs jax.config.update('jax_enable_x64', True)"
            )
        value = value.astype(jnp.float64)
    return value


def gatherable(leaf, axis, function):
    """Converts a leaf to an array that can be gathered along `axis`.

    Raises:
      TypeError: if it is no array of numbers.
      ValueError: if it is a scalar or has no such axis.
    """
    value = array(leaf, function)
    if jnp.issubdtype(value.dtype, jax.dtypes.extended):
        raise TypeError(
            f"{function}: expected an array of numbers, found {value.dtype.name}"
        )
    if value.ndim == 0:
        raise ValueError(
            f"{function}: expected arrays of rank 1 or more, found a scalar"
        )
    if not 0 <= axis < value.ndim:
        raise ValueError(
            f"{function}: expected an axis in [0, {value.ndim}) for an array of shape {value.shape}, found {axis}"
        )
    return value


def indices(value, function):
    """Converts numbers of rows to an array of int32 or int64.

    Raises:
      TypeError: if they are no integers, or are unsigned and may not fit.
    """
    ids = array(value, function)
    if not jnp.issubdtype(ids.dtype, jnp.integer) or ids.dtype.name in (
        "uint32",
        "uint64",
    ):
        raise TypeError(
            f"{function}: expected ids of int32 or int64, found {ids.dtype.name}"
        )
    return ids if ids.dtype.itemsize >= 4 else ids.astype(jnp.int32)
