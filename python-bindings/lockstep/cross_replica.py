"""The cross-replica context of the function of a `merge_call`."""

import jax
from jax.interpreters import mlir
from jaxlib.mlir import ir

from lockstep import arguments, context, primitives


class PerReplica:
    """A value with one component for each replica.

    Attributes:
      shape, dtype: of one component.
    """

    __slots__ = ("component",)

    def __init__(self, component):
        self.component = component

    @property
    def shape(self):
        return self.component.shape

    @property
    def dtype(self):
        return self.component.dtype

    def __jax_array__(self):
        raise ValueError(
            "a PerReplica value was used as an array in the function of a"
            " merge_call; reduce_to, gather and local_results make arrays of it"
            " [E_CONTEXT]"
        )

    def __repr__(self):
        return f"PerReplica({self.dtype}{list(self.shape)})"


class CrossReplica:
    """The first argument of the function of a `merge_call`.

    Its methods accept pytrees of `PerReplica` values and of arrays, which are
    equal on all replicas.
    """

    @property
    def num_replicas_in_sync(self):
        """The replica count; ValueError in a capture that is open in it."""
        replicas = _cross_replica("num_replicas_in_sync")["size"]
        arguments.require_count(replicas, "num_replicas_in_sync")
        return replicas

    def reduce_to(self, reduction, value, destinations=None):
        """Reduces per-replica values to arrays of the same shapes.

        Args:
          reduction: "SUM" or "MEAN", in upper or lower case. The mean of an
            array that all replicas share is that array; a sum of one is an
            error.
          value: what to reduce.
          destinations: accepted for likeness to `tf.distribute`; arrays have
            no place.

        Raises:
          ValueError: for another reduction, or the sum of a shared array.
          TypeError: for a dtype without that reduction.
        """
        del destinations
        mode = _cross_replica("reduce_to")
        name = arguments.reduction_name(reduction, arguments.SUM_OR_MEAN)
        leaves, structure = jax.tree.flatten(value)
        for leaf in leaves:
            if (
                not isinstance(leaf, PerReplica)
                and name == "SUM"
                and mode["size"] != 1
            ):
                raise ValueError(
                    f"reduce_to: a value that all replicas share, {leaf}, cannot be reduced with ReduceOp.SUM [E_NON_DISTRIBUTED_SUM]"
                )
        results = _bind_on_components(
            reduce_to_p,
            leaves,
            lambda leaf: arguments.reducible(leaf, name, "reduce_to"),
            reduction=name,
            **mode,
        )
        return jax.tree.unflatten(structure, results)

    def gather(self, value, axis):
        """Concatenates per-replica values along `axis`, in replica order.

        Raises:
          TypeError, ValueError: as `all_gather`.
        """
        mode = _cross_replica("gather")
        axis = arguments.axis_index(axis, "gather")
        arguments.require_count(mode["size"], "gather")
        leaves, structure = jax.tree.flatten(value)
        results = _bind_on_components(
            gather_p,
            leaves,
            lambda leaf: arguments.gatherable(leaf, axis, "gather"),
            axis=axis,
            **mode,
        )
        return jax.tree.unflatten(structure, results)

    def broadcast_to(self, value, destinations=None):
        """Returns arrays that are equal on all replicas.

        Raises:
          ValueError: for a per-replica value.
        """
        del destinations
        mode = _cross_replica("broadcast_to")
        leaves, structure = jax.tree.flatten(value)
        for leaf in leaves:
            if isinstance(leaf, PerReplica):
                raise ValueError(
                    f"broadcast_to: expected an array, found {leaf}"
                )
        arrays = [arguments.array(leaf, "broadcast_to") for leaf in leaves]
        results = broadcast_to_p.bind(*arrays, **mode) if arrays else []
        return jax.tree.unflatten(structure, results)

    def local_results(self, value):
        """Returns a tuple with each replica's value; `(value,)` for an array."""
        mode = _cross_replica("local_results")
        leaves, structure = jax.tree.flatten(value)
        if not any(isinstance(leaf, PerReplica) for leaf in leaves):
            return (value,)
        arguments.require_count(mode["size"], "local_results")
        columns = [
            local_results_p.bind(leaf.component, **mode)
            if isinstance(leaf, PerReplica)
            else [leaf] * mode["size"]
            for leaf in leaves
        ]
        return tuple(
            jax.tree.unflatten(structure, row)
            for row in zip(*columns, strict=True)
        )


def _cross_replica(function):
    """Returns the parameters of a primitive that a strategy's method binds."""
    if not context.mode().merging:
        raise RuntimeError(
            f"{function}: expected to be called in cross-replica context, the function of a merge_call [E_CONTEXT]"
        )
    return context.lowering(function)


def _bind_on_components(primitive, leaves, convert, **params):
    """Applies a primitive to the per-replica leaves, all in one operation."""
    places = [
        i for i, leaf in enumerate(leaves) if isinstance(leaf, PerReplica)
    ]
    results = list(leaves)
    if places:
        operands = [convert(leaves[place].component) for place in places]
        values = primitive.bind(*operands, **params)
        for place, value in zip(places, values, strict=True):
            results[place] = value
    return results


def _same(*avals, **_params):
    return [aval.update(weak_type=False) for aval in avals]


def _register(primitive, target, uncaptured, config=dict):
    """Registers the two lowerings of a method of the strategy."""

    def rule(ctx, *operands, captured, size, **params):
        if captured:
            return primitives.custom_call(
                ctx, target, operands, config(**params)
            )
        lower = mlir.lower_fun(uncaptured, multiple_results=True)
        return lower(ctx, *operands, captured=captured, size=size, **params)

    mlir.register_lowering(primitive, rule)


reduce_to_p = primitives.primitive("reduce_to", _same)
_register(
    reduce_to_p,
    "replica.reduce_to",
    primitives.all_reduce_jax,
    lambda reduction: {"reduction": ir.StringAttr.get(reduction)},
)

gather_p = primitives.primitive("gather", primitives.all_gather_abstract)
_register(
    gather_p,
    "replica.gather",
    primitives.all_gather_jax,
    lambda axis: {
        "axis": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis)
    },
)

broadcast_to_p = primitives.primitive("broadcast_to", _same)
_register(
    broadcast_to_p,
    "replica.broadcast_to",
    lambda *values, **_params: list(values),
)

local_results_p = primitives.primitive(
    "local_results", lambda aval, size, **_params: [*_same(aval)] * size
)
_register(
    local_results_p,
    "replica.local_results",
    lambda value, size, **_params: list(
        jax.lax.all_gather(value, context.AXIS)
    ),
)
