"""Lookups of rows with sparse gradients.

JAX's own gradient of `table[ids]` is as large as the table. Here it is a
separate primitive, `slices_to_dense`, which captures preserve, so that the
compiler applies later operations on the gradient to its rows only.
"""

import jax
import jax.numpy as jnp
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from lockstep import arguments, context, primitives


def embedding_lookup(table, ids):
    """Returns the rows of `table` that `ids` name.

    The gradient with respect to the table has the rows' cotangents at their
    indices. If a compiled step only reduces it over the replicas, scales it and
    subtracts it from the table that was read, only these rows are sent and
    updated.

    Args:
      table: array of rank 1 or more, rows along its first axis.
      ids: array of integers of any shape. One outside of [0, rows) gives a row
        of zeros, which has no gradient.

    Returns:
      An array of shape `ids.shape + table.shape[1:]`.

    Raises:
      TypeError: if `ids` are no integers, or unsigned ones of 32 bits or more.
      ValueError: if the table is a scalar.
      NotImplementedError: under `jax.vmap`.
    """
    table, ids = jnp.asarray(table), arguments.indices(ids, "embedding_lookup")
    if table.ndim == 0:
        raise ValueError(
            "embedding_lookup: expected a table with rows, found a scalar [E_RANK_MISMATCH]"
        )
    rows = lookup_p.bind(
        table, ids.reshape(-1), captured=context.mode().captured
    )
    return rows.reshape(ids.shape + table.shape[1:])


def _no_batching(*_args, **_params):
    raise NotImplementedError(
        "embedding_lookup under jax.vmap is not supported: give it all ids at once"
    )


def _primitive(name, abstract_eval, target, function):
    """Makes a primitive that is `function`, or in a capture calls `target`."""
    result = core.Primitive(f"lockstep_{name}")
    result.def_abstract_eval(abstract_eval)
    result.def_impl(
        lambda *values, **params: jax.jit(lambda *v: result.bind(*v, **params))(
            *values
        )
    )
    batching.primitive_batchers[result] = _no_batching

    def lowering(ctx, *operands, captured, **params):
        if captured:
            return primitives.custom_call(
                ctx, target, operands, {}, has_side_effect=False
            )
        return mlir.lower_fun(
            lambda *v: function(*v, **params), multiple_results=False
        )(ctx, *operands)

    mlir.register_lowering(result, lowering)
    return result


# lookup: linear in the table


def _lookup_abstract(table, ids, *, captured):
    del captured
    return table.update(shape=(*ids.shape, *table.shape[1:]), weak_type=False)


def _lookup(table, ids):
    return table.at[ids].get(
        mode="fill", fill_value=0, wrap_negative_indices=False
    )


def _lookup_jvp(primals, tangents, *, captured):
    table, ids = primals
    rows = lookup_p.bind(table, ids, captured=captured)
    tangent = tangents[0]
    if type(tangent) is ad.Zero:
        return rows, ad.Zero(jax.typeof(rows).to_tangent_aval())
    return rows, lookup_p.bind(tangent, ids, captured=captured)


def _lookup_transpose(cotangent, table, ids, *, captured):
    if type(cotangent) is ad.Zero:
        return ad.Zero(table.aval), None
    return slices_to_dense_p.bind(
        cotangent, ids, rows=table.aval.shape[0], captured=captured
    ), None


lookup_p = _primitive("lookup", _lookup_abstract, "replica.lookup", _lookup)
ad.primitive_jvps[lookup_p] = _lookup_jvp
ad.primitive_transposes[lookup_p] = _lookup_transpose


# slices_to_dense: linear in the values


def _dense_abstract(values, ids, *, rows, captured):
    del ids, captured
    return values.update(shape=(rows, *values.shape[1:]), weak_type=False)


def _dense(values, ids, *, rows):
    zeros = jnp.zeros((rows, *values.shape[1:]), values.dtype)
    return zeros.at[ids].add(values, mode="drop", wrap_negative_indices=False)


def _dense_jvp(primals, tangents, **params):
    values, ids = primals
    dense = slices_to_dense_p.bind(values, ids, **params)
    tangent = tangents[0]
    if type(tangent) is ad.Zero:
        return dense, ad.Zero(jax.typeof(dense).to_tangent_aval())
    return dense, slices_to_dense_p.bind(tangent, ids, **params)


def _dense_transpose(cotangent, values, ids, *, rows, captured):
    del rows
    if type(cotangent) is ad.Zero:
        return ad.Zero(values.aval), None
    return lookup_p.bind(cotangent, ids, captured=captured), None


slices_to_dense_p = _primitive(
    "slices_to_dense", _dense_abstract, "replica.slices_to_dense", _dense
)
ad.primitive_jvps[slices_to_dense_p] = _dense_jvp
ad.primitive_transposes[slices_to_dense_p] = _dense_transpose
