"""`merge_call`: a function of all replicas' values, run once for all.

The function is traced on one replica's values. In it they are `PerReplica`
objects, which only the operations of the `CrossReplica` context accept; so the
trace is the same on every replica, and under plain JAX each replica can run it,
with collectives for these operations.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.interpreters import ad, mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from lockstep import arguments, context, primitives
from lockstep.cross_replica import CrossReplica, PerReplica


def merge_call(function, *args):
    """Calls `function(strategy, *args)` in the cross-replica context.

    Args:
      function: called with a `CrossReplica` and the arguments. It returns a
        pytree of arrays and `PerReplica` values.
      *args: pytrees. Their arrays become `PerReplica` values; Python numbers
        are unchanged.

    Returns:
      The result of `function`; of a `PerReplica` value, this replica's
      component.

    Raises:
      ValueError: if `function` uses a traced value that is no argument.
      NotImplementedError: if it is differentiated, or under `jax.vmap`.
      RuntimeError: in another `merge_call`; outside `shard_map` and capture.
    """
    context.require_replica_context("merge_call")
    mode = context.lowering("merge_call")
    leaves, structure = jax.tree.flatten(args)
    places = [i for i, leaf in enumerate(leaves) if _is_array(leaf)]
    traced = {}

    def flat(*components):
        values = list(leaves)
        for place, component in zip(places, components, strict=True):
            values[place] = PerReplica(component)
        result = function(
            CrossReplica(), *jax.tree.unflatten(structure, values)
        )
        outputs, traced["structure"] = jax.tree.flatten(result)
        traced["per_replica"] = tuple(
            i
            for i, output in enumerate(outputs)
            if isinstance(output, PerReplica)
        )
        return [
            output.component
            if isinstance(output, PerReplica)
            else arguments.array(output, "merge_call")
            for output in outputs
        ]

    components = [jnp.asarray(leaves[place]) for place in places]
    with context.merging():
        jaxpr = jax.make_jaxpr(flat)(*components)
    for constant in jaxpr.consts:
        if isinstance(constant, jax.core.Tracer):
            raise ValueError(
                f"merge_call: the function uses a value of the replica context, {jax.typeof(constant)}; pass it as an argument"
            )
    results = merge_call_p.bind(
        *components,
        jaxpr=jaxpr,
        name=getattr(function, "__name__", "merge"),
        per_replica=traced["per_replica"],
        **mode,
    )
    return jax.tree.unflatten(traced["structure"], results)


def _is_array(leaf):
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)


def _merge_jvp(primals, tangents, **params):
    if any(type(tangent) is not ad.Zero for tangent in tangents):
        raise NotImplementedError(
            "merge_call cannot be differentiated: gradients flow through all_reduce"
            " and all_gather only; apply jax.lax.stop_gradient to its arguments"
        )
    results = merge_call_p.bind(*primals, **params)
    return results, [ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results]


def _merge_lowering(ctx, *operands, jaxpr, name, per_replica, captured, size):
    """Calls a private function; a capture makes the call a `custom_call`."""
    del size
    body = core.jaxpr_as_fun(jaxpr)

    def merged(*values):
        return body(*values)

    merged.__name__ = merged.__qualname__ = name
    lower = mlir.lower_fun(jax.jit(merged), multiple_results=True)
    results = lower(ctx, *operands)
    if not captured:
        return results
    call = _last_operation()
    if call.name != "func.call":  # every result is an argument
        return results
    indices = [
        ir.IntegerAttr.get(ir.IntegerType.get_signless(64), i)
        for i in per_replica
    ]
    merge = stablehlo.CustomCallOp(
        [result.type for result in call.results],
        list(call.operands),
        call_target_name="replica.merge_call",
        has_side_effect=True,
        backend_config=ir.DictAttr.get(
            {"per_replica": ir.ArrayAttr.get(indices)}
        ),
        called_computations=ir.ArrayAttr.get([call.attributes["callee"]]),
        api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
    )
    renamed = dict(zip(call.results, merge.results, strict=True))
    results = [renamed.get(result, result) for result in results]
    call.erase()
    return results


def _last_operation():
    operations = ir.InsertionPoint.current.block.operations
    return operations[len(operations) - 1].operation


merge_call_p = primitives.primitive(
    "merge_call", lambda *_avals, jaxpr, **_params: list(jaxpr.out_avals)
)
ad.primitive_jvps[merge_call_p] = _merge_jvp
mlir.register_lowering(merge_call_p, _merge_lowering, cacheable=False)
