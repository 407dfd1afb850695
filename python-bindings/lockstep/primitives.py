"""The operations of the replica context, as JAX primitives.

Each primitive has two lowerings. Under plain JAX it is the collective of
`jax.lax` on the axis `replica`; in a capture it is a `stablehlo.custom_call`
named `replica.*`. Shapes, gradients and errors are the same in both.
"""

import functools

import jax
import jax.numpy as jnp
from jax.extend import core
from jax.interpreters import ad, batching, mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from lockstep import context


def no_batching(name):
    def rule(*_args, **_params):
        raise NotImplementedError(
            f"{name} under jax.vmap is not supported: a collective is issued once a replica; call it outside the mapped function"
        )

    return rule


def primitive(name, abstract_eval):
    """Makes a primitive with several results that runs by compiling itself."""
    result = core.Primitive(f"lockstep_{name}")
    result.multiple_results = True
    result.def_abstract_eval(abstract_eval)

    def compile_and_run(*args, **params):
        return jax.jit(functools.partial(result.bind, **params))(*args)

    result.def_impl(compile_and_run)
    batching.primitive_batchers[result] = no_batching(name)
    return result


def custom_call(ctx, target, operands, config, has_side_effect=True):
    """Emits `stablehlo.custom_call @target` with the results of `ctx`."""
    call = stablehlo.CustomCallOp(
        [
            mlir.aval_to_ir_type(ctx.module_context, aval)
            for aval in ctx.avals_out
        ],
        operands,
        call_target_name=target,
        has_side_effect=has_side_effect,
        backend_config=ir.DictAttr.get(config),
        api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
    )
    return list(call.results)


def _map_linear(primitive, tangents, params):
    """Applies a linear primitive to the tangents that are not zero."""
    live = [i for i, t in enumerate(tangents) if type(t) is not ad.Zero]
    if not live:
        return None, live
    return primitive.bind(*(tangents[i] for i in live), **params), live


# all_reduce


def _all_reduce_abstract(*avals, reduction, captured, size):
    del reduction, captured, size
    return [aval.update(weak_type=False) for aval in avals]


_JAX_REDUCTIONS = {
    "SUM": jax.lax.psum,
    "MEAN": jax.lax.pmean,
    "PRODUCT": lambda value, axis: jnp.prod(
        jax.lax.all_gather(value, axis), axis=0, dtype=value.dtype
    ),
    "MIN": jax.lax.pmin,
    "MAX": jax.lax.pmax,
}


def all_reduce_jax(*values, reduction, captured, size):
    del captured, size
    return [_reduce_jax(value, reduction) for value in values]


def _reduce_jax(value, reduction):
    wide = value
    if value.dtype == bool:
        wide = value.astype(jnp.int32)
    elif (
        jnp.issubdtype(value.dtype, jnp.floating) and value.dtype.itemsize == 2
    ):
        wide = value.astype(jnp.float32)
    return _JAX_REDUCTIONS[reduction](wide, context.AXIS).astype(value.dtype)


def _all_reduce_lowering(ctx, *operands, reduction, captured, size):
    if captured:
        config = {"reduction": ir.StringAttr.get(reduction)}
        return custom_call(ctx, "replica.all_reduce", operands, config)
    rule = mlir.lower_fun(all_reduce_jax, multiple_results=True)
    return rule(
        ctx, *operands, reduction=reduction, captured=captured, size=size
    )


def _all_reduce_jvp(primals, tangents, **params):
    reduction = params["reduction"]
    if reduction not in ("SUM", "MEAN") and any(
        type(t) is not ad.Zero for t in tangents
    ):
        raise NotImplementedError(
            f"all_reduce: the reduction '{reduction}' has no gradient; put jax.lax.stop_gradient around its operand"
        )
    results = all_reduce_p.bind(*primals, **params)
    out = [ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results]
    values, live = _map_linear(all_reduce_p, tangents, params)
    for i, index in enumerate(live):
        out[index] = values[i]
    return results, out


def _all_reduce_transpose(cotangents, *operands, **params):
    out = [None] * len(operands)
    values, live = _map_linear(all_reduce_p, cotangents, params)
    for i, index in enumerate(live):
        out[index] = values[i]
    return out


all_reduce_p = primitive("all_reduce", _all_reduce_abstract)
mlir.register_lowering(all_reduce_p, _all_reduce_lowering)
ad.primitive_jvps[all_reduce_p] = _all_reduce_jvp
ad.primitive_transposes[all_reduce_p] = _all_reduce_transpose


# all_gather


def all_gather_abstract(*avals, axis, captured, size):
    del captured

    def gathered(aval):
        shape = list(aval.shape)
        shape[axis] *= size
        return aval.update(shape=tuple(shape), weak_type=False)

    return [gathered(aval) for aval in avals]


def all_gather_jax(*values, axis, captured, size):
    del captured, size
    return [
        jax.lax.all_gather(v, context.AXIS, axis=axis, tiled=True)
        for v in values
    ]


def _all_gather_lowering(ctx, *operands, axis, captured, size):
    if captured:
        config = {
            "axis": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis)
        }
        return custom_call(ctx, "replica.all_gather", operands, config)
    rule = mlir.lower_fun(all_gather_jax, multiple_results=True)
    return rule(ctx, *operands, axis=axis, captured=captured, size=size)


def _all_gather_jvp(primals, tangents, **params):
    results = all_gather_p.bind(*primals, **params)
    out = [ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results]
    values, live = _map_linear(all_gather_p, tangents, params)
    for i, index in enumerate(live):
        out[index] = values[i]
    return results, out


def _all_gather_transpose(cotangents, *operands, axis, captured, size):
    out = [None] * len(operands)
    params = {"captured": captured, "size": size}
    sums, live = _map_linear(
        all_reduce_p, cotangents, {"reduction": "SUM", **params}
    )
    for total, index in zip(sums or (), live, strict=True):
        rows = total.shape[axis] // size
        start = identity(captured) * rows
        out[index] = jax.lax.dynamic_slice_in_dim(total, start, rows, axis)
    return out


all_gather_p = primitive("all_gather", all_gather_abstract)
mlir.register_lowering(all_gather_p, _all_gather_lowering)
ad.primitive_jvps[all_gather_p] = _all_gather_jvp
ad.primitive_transposes[all_gather_p] = _all_gather_transpose


# replica_id and num_replicas_in_sync, in captures only


def _scalar(name, target):
    primitive = core.Primitive(f"lockstep_{name}")
    primitive.def_abstract_eval(lambda: jax.core.ShapedArray((), jnp.int32))
    mlir.register_lowering(
        primitive, lambda ctx: custom_call(ctx, target, (), {})
    )
    return primitive


replica_id_p = _scalar("replica_id", "replica.id")
num_replicas_p = _scalar("num_replicas_in_sync", "replica.num_in_sync")


def identity(captured):
    """Returns this replica's number, an int32 scalar."""
    if captured:
        return replica_id_p.bind()
    return jax.lax.axis_index(context.AXIS).astype(jnp.int32)
