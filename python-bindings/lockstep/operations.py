"""The functions of the replica context that a step calls."""

import jax
import jax.numpy as jnp

from lockstep import arguments, context, primitives


def all_reduce(tree, reduction):
    """Reduces every leaf of `tree` over the replicas.

    All leaves are sent in one collective. 16-bit floats are accumulated in 32
    bits and rounded once. The gradient of a sum or mean is the all-reduce, by
    the same reduction, of the incoming gradients: it is the gradient of the sum
    of all replicas' losses. Other reductions have none.

    Args:
      tree: pytree of arrays, of the same shapes on all replicas. Python
        numbers become arrays.
      reduction: "SUM", "MEAN", "PRODUCT", "MIN" or "MAX", in upper or lower
        case. If one replica has a NaN, it is the result of "MIN" and "MAX". Of
        booleans, "MIN" is whether all are true, "MAX" whether any is.

    Returns:
      A pytree of the same structure, shapes and dtypes; equal on all replicas.
      The mean of integers is float64.

    Raises:
      ValueError: for another `reduction`.
      TypeError: if a leaf has a dtype that has no such reduction, or is an
        integer under "MEAN" while `jax_enable_x64` is off.
      NotImplementedError: under `jax.vmap`, and for gradients through
        "PRODUCT", "MIN" and "MAX".
      RuntimeError: outside `shard_map` and capture, or in the function of a
        `merge_call`.
    """
    name = arguments.reduction_name(reduction)
    leaves, structure = jax.tree.flatten(tree)
    if not leaves:
        return tree
    mode = _replica_context("all_reduce")
    values = [arguments.reducible(leaf, name, "all_reduce") for leaf in leaves]
    signed = [_to_signed(value, name) for value in values]
    results = primitives.all_reduce_p.bind(*signed, reduction=name, **mode)
    results = [
        _from_signed(result, value.dtype, name)
        for result, value in zip(results, values, strict=True)
    ]
    return jax.tree.unflatten(structure, results)


def _to_signed(value, reduction):
    """Maps unsigned integers to signed ones, whose reduction is that of the
    originals.

    The compiler's integers have no sign. Sums and products do not depend on it;
    an offset of half the range keeps the order.
    """
    if not jnp.issubdtype(value.dtype, jnp.unsignedinteger):
        return value
    bits = jax.lax.bitcast_convert_type(
        value, jnp.dtype(f"int{value.dtype.itemsize * 8}")
    )
    return (
        bits ^ jnp.iinfo(bits.dtype).min
        if reduction in ("MIN", "MAX")
        else bits
    )


def _from_signed(value, dtype, reduction):
    """Undoes `_to_signed`."""
    if not jnp.issubdtype(dtype, jnp.unsignedinteger):
        return value
    bits = (
        value ^ jnp.iinfo(value.dtype).min
        if reduction in ("MIN", "MAX")
        else value
    )
    return jax.lax.bitcast_convert_type(bits, dtype)


def all_gather(tree, axis):
    """Concatenates every leaf of `tree` over the replicas, in replica order.

    The gradient is the replica's own slice of the sum of all incoming
    gradients.

    Args:
      tree: pytree of arrays of rank 1 or more, of the same shapes on all
        replicas.
      axis: dimension to concatenate along, in [0, rank) of every leaf.

    Returns:
      A pytree of the same structure and dtypes; dimension `axis` is multiplied
      by the replica count.

    Raises:
      TypeError: if `axis` is no integer, or a leaf no array of numbers.
      ValueError: if a leaf is a scalar, `axis` is out of range, or a program is
        captured without a replica count, on which the shape depends.
      NotImplementedError: under `jax.vmap`.
      RuntimeError: outside `shard_map` and capture, or in the function of a
        `merge_call`.
    """
    axis = arguments.axis_index(axis, "all_gather")
    leaves, structure = jax.tree.flatten(tree)
    if not leaves:
        return tree
    mode = _replica_context("all_gather")
    values = [arguments.gatherable(leaf, axis, "all_gather") for leaf in leaves]
    arguments.require_count(mode["size"], "all_gather")
    results = primitives.all_gather_p.bind(*values, axis=axis, **mode)
    return jax.tree.unflatten(structure, results)


def replica_id():
    """Returns this replica's number in [0, N), an int32 scalar.

    Raises:
      RuntimeError: outside `shard_map` and capture, or in the function of a
        `merge_call`.
    """
    return primitives.identity(_replica_context("replica_id")["captured"])


def num_replicas_in_sync():
    """Returns the replica count N.

    It is an int, except in a capture that is open in N, where it is an int32
    scalar: code that needs an int there (a shape, a Python loop) needs a
    capture with `--replicas=N`.

    Raises:
      RuntimeError: outside `shard_map` and capture, or in the function of a
        `merge_call`.
    """
    mode = _replica_context("num_replicas_in_sync")
    if mode["size"] is not None:
        return mode["size"]
    return primitives.num_replicas_p.bind()


def _replica_context(function):
    """Returns the parameters of a primitive that `function` binds."""
    context.require_replica_context(function)
    return context.lowering(function)
