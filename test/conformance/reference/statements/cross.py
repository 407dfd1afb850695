"""Operations of a strategy in cross-replica context: running replicas,
reducing, gathering, broadcasting.
"""

from __future__ import annotations

from ..contexts import Context, statement
from ..errors import Rejected
from ..nests import is_nest, map_nest, regroup
from ..reductions import (
    concatenate,
    parse_reduce_op,
    partial,
    reduce_over_axis,
    reduce_parts,
)
from ..values import (
    Distributed,
    IndexedSlices,
    Mirrored,
    PerReplica,
    Tensor,
    from_host,
    is_host,
)
from ..variables import Component, Layout, Variable
from .replica import check_options, fresh, summands


@statement("run", "call_for_each_replica", where="cross")
def run(worker, s, context, scope):
    args = s.get("args") or []
    if not isinstance(args, list):
        raise Rejected(
            "E_ARG_TYPE",
            f"`{s['op']}` expected a list of arguments, found {args!r}",
        )
    values = [worker.resolve(a, context, scope) for a in args]
    return regroup((yield from worker.run(s, values, scope)))


## Reductions


@statement("reduce", where="cross")
def reduce(worker, s, context, scope):
    op, axis = parse_reduce_op(s["reduce_op"]), s.get("axis")
    if isinstance(axis, dict):
        axis = worker.resolve(axis, context, scope)
    value = worker.resolve(s["value"], context, scope)
    if axis is None:
        results = yield from reduce_leaves(
            worker, op, value, context, 1, worker.signature(s, scope)
        )
        return results
    parts = yield from each_replica(worker, value, context)
    shares = [partial(part, axis) for part in parts]
    if not worker.strategy.trivial:
        shares = yield from worker.exchange_parts(
            worker.signature(s, scope), shares
        )
    return reduce_over_axis(op, shares)


def each_replica(worker, value, context):
    """The value for this worker's replicas: a shared one is equal on all."""
    if is_nest(value):
        raise Rejected(
            "E_ARG_TYPE",
            f"a reduction over an axis expected one value, found {value!r}",
        )
    if isinstance(value, Variable) and value.distributed:
        return [Tensor(copy.copy()) for copy in value.copies]
    parts = (
        value.components
        if isinstance(value, Distributed)
        else [value] * worker.strategy.replicas_per_worker
    )
    tensors = []
    for part in parts:
        tensors.append((yield from worker.as_tensor(part, context)))
    return tensors


def reduce_leaves(
    worker, op: str, value, context: Context, copies: int, signature: tuple
):
    """Every leaf of a nest reduced, to so many copies: one is a plain value,
    several are mirrored.
    """
    if isinstance(value, dict):
        result = {}
        for key in sorted(value):
            result[key] = yield from reduce_leaves(
                worker, op, value[key], context, copies, signature
            )
        return {key: result[key] for key in value}
    if is_nest(value):
        result = []
        for item in value:
            result.append(
                (
                    yield from reduce_leaves(
                        worker, op, item, context, copies, signature
                    )
                )
            )
        return type(value)(result)
    return (
        yield from reduce_leaf(worker, op, value, context, copies, signature)
    )


def reduce_leaf(
    worker, op: str, value, context: Context, copies: int, signature: tuple
):
    strategy = worker.strategy
    if strategy.trivial:
        return value
    mirrored = isinstance(value, Variable) and value.layout is Layout.MIRRORED
    if mirrored or (isinstance(value, Mirrored) and strategy.mirrors):
        if op == "SUM" and strategy.replicas_differ:
            raise Rejected(
                "E_NON_DISTRIBUTED_SUM",
                "expected a value of each replica, found a mirrored one",
            )
        if isinstance(value, Mirrored) and copies == 1:
            return value.components[0]
        return (yield from worker.read(value, context)) if mirrored else value
    if isinstance(value, Variable) and value.layout is Layout.ON_READ:
        value = PerReplica(tuple(Tensor(copy.copy()) for copy in value.copies))
    if isinstance(value, Distributed):
        parts = yield from worker.exchange_parts(
            signature, list(value.components)
        )
    elif strategy.workers > 1:
        parts = yield from worker.exchange_parts(signature, [value])
    else:
        return (yield from reduce_plain(worker, op, value, context))
    reduced = (
        parts[0]
        if len(parts) == 1
        else reduce_parts(op, summands(op, tuple(parts)))
    )
    return (
        reduced
        if copies == 1
        else Mirrored(tuple(fresh(reduced) for _ in range(copies)))
    )


def reduce_plain(worker, op: str, value, context: Context):
    """One value that belongs to no replica: its mean is itself, its sum over
    replicas is undefined.
    """
    if (
        op == "SUM"
        and worker.strategy.replicas_differ
        and not (is_host(value) and value == 0)
    ):
        raise Rejected(
            "E_NON_DISTRIBUTED_SUM",
            f"expected a value of each replica, found {value!r}",
        )
    return (
        (yield from worker.read(value, context))
        if isinstance(value, (Variable, Component))
        else value
    )


def destinations(worker, s, context, scope) -> int:
    """On how many devices of this worker a result is wanted."""
    target = worker.resolve(s.get("destinations"), context, scope)
    if isinstance(target, (list, tuple)):
        raise Rejected("E_DEST_LIST", "expected one destination, found a list")
    if target is None:
        raise Rejected("E_DEST_NONE", "expected a destination")
    if isinstance(target, Distributed) or (
        isinstance(target, Variable) and target.distributed
    ):
        return worker.strategy.replicas_per_worker
    if isinstance(target, (Tensor, IndexedSlices, Variable, Component, str)):
        return 1
    raise Rejected(
        "E_ARG_TYPE",
        f"expected a value, a variable or a device, found {target!r}",
    )


@statement("reduce_to", where="cross")
def reduce_to(worker, s, context, scope):
    copies = destinations(worker, s, context, scope)
    op = parse_reduce_op(s["reduce_op"])
    check_options(s.get("options"))
    value = worker.resolve(s["value"], context, scope)
    return (
        yield from reduce_leaves(
            worker, op, value, context, copies, worker.signature(s, scope)
        )
    )


@statement("batch_reduce_to", where="cross")
def batch_reduce_to(worker, s, context, scope):
    op = parse_reduce_op(s["reduce_op"])
    check_options(s.get("options"))
    results = []
    for value, target in s["pairs"]:
        copies = destinations(worker, {"destinations": target}, context, scope)
        value = worker.resolve(value, context, scope)
        results.append(
            (
                yield from reduce_leaves(
                    worker,
                    op,
                    value,
                    context,
                    copies,
                    worker.signature(s, scope),
                )
            )
        )
    return results


## Gathering and broadcasting


@statement("gather", where="cross")
def gather(worker, s, context, scope):
    value = worker.resolve(s["value"], context, scope)
    strategy = worker.strategy
    if isinstance(value, Variable) and value.distributed:
        value = PerReplica(tuple(Tensor(copy.copy()) for copy in value.copies))
    components = (
        value.components if isinstance(value, Distributed) else (value,)
    )
    if any(isinstance(c, IndexedSlices) for c in components):
        raise Rejected(
            "E_SPARSE_GATHER",
            "`gather` expected a dense value, found indexed slices",
        )
    if isinstance(value, (Variable, Component)):
        return (yield from worker.read(value, context))
    if not isinstance(value, Distributed) and (
        strategy.workers == 1 or is_nest(value)
    ):
        return value
    parts = yield from worker.exchange_parts(
        worker.signature(s, scope), list(components)
    )
    if len(parts) == 1:
        return parts[0]
    return concatenate(
        [from_host(p) if is_host(p) else p for p in parts], s["axis"]
    )


@statement("broadcast_to", where="cross")
def broadcast_to(worker, s, context, scope):
    copies = destinations(worker, s, context, scope)
    value = worker.resolve(s["value"], context, scope)
    if is_host(value) or worker.strategy.trivial:
        return value
    value = (
        value
        if isinstance(value, IndexedSlices)
        else (yield from worker.tensor(value, context))
    )
    return (
        value
        if copies == 1
        else Mirrored(tuple(fresh(value) for _ in range(copies)))
    )


@statement("local_results")
def local_results(worker, s, context, scope):
    return local_values(worker, worker.resolve(s["value"], context, scope))


def local_values(worker, value) -> tuple:
    """The components of a value on this worker. If there is only one worker,
    they are plain values, which count as equal on all replicas.
    """
    if worker.strategy.trivial:
        return (value,)
    if isinstance(value, Variable) and value.distributed:
        return tuple(Tensor(copy.copy()) for copy in value.copies)

    def component(leaf, index: int):
        part = leaf.components[index] if isinstance(leaf, Distributed) else leaf
        if worker.strategy.workers == 1 and isinstance(
            part, (Tensor, IndexedSlices)
        ):
            return part.alias(varying=False)
        return part

    if isinstance(value, Distributed) or is_nest(value):
        indices = range(worker.strategy.replicas_per_worker)
        return tuple(
            map_nest(lambda leaf, index=index: component(leaf, index), value)
            for index in indices
        )
    return (value,)
