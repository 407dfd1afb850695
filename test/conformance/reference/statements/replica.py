"""Operations of a replica context: the collectives, `merge_call`, and the
replica's number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contexts import Context, Rendezvous, statement
from ..errors import Rejected
from ..nests import leaves, map_nest, pack, regroup, same_structure, select
from ..reductions import concatenate, parse_reduce_op, reduce_parts
from ..values import IndexedSlices, Tensor, from_host, is_host, parse_tensor
from ..variables import create


def check_options(options) -> None:
    options = options or {}
    size = options.get("bytes_per_pack", 0)
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise Rejected(
            "E_OPTION_VALUE", f"expected a number of bytes, found {size!r}"
        )
    timeout = options.get("timeout_seconds")
    if timeout is not None and (
        not isinstance(timeout, (int, float)) or timeout < 0
    ):
        raise Rejected("E_OPTION_VALUE", f"expected seconds, found {timeout!r}")
    if str(options.get("implementation", "AUTO")).upper() not in (
        "AUTO",
        "RING",
        "NCCL",
    ):
        raise Rejected(
            "E_OPTION_VALUE",
            f"unknown implementation {options['implementation']!r}",
        )


def operands(worker, s, context, scope):
    """The nest of a collective with its leaves as tensors, indexed slices or
    host scalars.
    """
    nest = worker.resolve(s["value"], context, scope)
    flat = []
    for leaf in leaves(nest):
        flat.append(
            leaf
            if isinstance(leaf, IndexedSlices)
            else (yield from worker.tensor(leaf, context))
        )
    return pack(nest, iter(flat))


def fresh(value):
    """A copy of the value: every replica gets a separate, equal tensor."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(
            value.values.copy(), value.indices.copy(), value.dense_shape
        )
    return value.copy()


@statement("all_reduce", where="replica")
def all_reduce(worker, s, context, scope):
    op = parse_reduce_op(s["reduce_op"])
    check_options(s.get("options"))
    nest = yield from operands(worker, s, context, scope)
    if not worker.strategy.replicas_differ:
        return map_nest(
            lambda leaf: from_host(leaf) if is_host(leaf) else leaf, nest
        )
    return (
        yield from reduce_nest(
            worker, op, nest, context, worker.signature(s, scope)
        )
    )


def reduce_nest(worker, op: str, nest, context: Context, signature: tuple):
    """All-reduce of a nest of tensors; its derivative is the same all-reduce of
    the gradients.
    """

    def act(nests):
        everyone = yield from worker.exchange_parts(signature, nests)
        same_structure(everyone)
        columns = zip(*(leaves(n) for n in everyone), strict=True)
        reduced = [reduce_parts(op, summands(op, column)) for column in columns]
        return [pack(n, iter([fresh(r) for r in reduced])) for n in nests]

    result = yield from worker.join(context, Rendezvous(signature, nest, act))
    inputs, outputs = tuple(leaves(nest)), tuple(leaves(result))
    if all(isinstance(leaf, (Tensor, int, float)) for leaf in inputs):

        def backward(use, gradients):
            return (
                yield from reduce_nest(
                    worker,
                    op,
                    list(gradients),
                    context,
                    (*signature, "gradient"),
                )
            )

        for tape in context.tapes:
            tape.record(inputs, outputs, backward)
    return result


def summands(op: str, column: tuple) -> list:
    """One leaf from each replica as tensors. A sum of one host value is
    rejected as ambiguous: N times it, or once.
    """
    first = column[0]
    if (
        is_host(first)
        and all(type(c) is type(first) and c == first for c in column)
        and op == "SUM"
        and first != 0
    ):
        raise Rejected(
            "E_NON_DISTRIBUTED_SUM",
            f"expected a value of each replica, found the host value {first!r}",
        )
    return [from_host(c) if is_host(c) else c for c in column]


@statement("all_gather", where="replica")
def all_gather(worker, s, context, scope):
    check_options(s.get("options"))
    nest = yield from operands(worker, s, context, scope)
    if any(isinstance(leaf, IndexedSlices) for leaf in leaves(nest)):
        raise Rejected(
            "E_SPARSE_GATHER",
            "`all_gather` expected dense values, found indexed slices",
        )
    nest = map_nest(
        lambda leaf: from_host(leaf) if is_host(leaf) else leaf, nest
    )
    if not worker.strategy.replicas_differ:
        return nest
    axis = s["axis"]
    signature = worker.signature(s, scope)

    def act(nests):
        everyone = yield from worker.exchange_parts(signature, nests)
        same_structure(everyone)
        columns = list(zip(*(leaves(n) for n in everyone), strict=True))
        gathered = [concatenate(list(column), axis) for column in columns]
        sizes = [[part.shape[axis] for part in column] for column in columns]
        return [
            (pack(n, iter([g.copy() for g in gathered])), sizes) for n in nests
        ]

    result, sizes = yield from worker.join(
        context, Rendezvous(signature, nest, act)
    )
    for position, (local, output) in enumerate(
        zip(leaves(nest), leaves(result), strict=True)
    ):
        rows = sizes[position]
        start, size = sum(rows[: context.replica_id]), rows[context.replica_id]

        def backward(use, gradients, position=position, start=start, size=size):
            total = yield from reduce_nest(
                worker,
                "SUM",
                list(gradients),
                context,
                (*signature, "gradient", position),
            )
            return (use("rows", total[0], axis=axis, start=start, size=size),)

        for tape in context.tapes:
            tape.record((local,), (output,), backward)
    return result


@statement("merge_call", where="replica")
def merge_call(worker, s, context, scope):
    args = [worker.resolve(a, context, scope) for a in s.get("args") or []]
    signature = worker.signature(s, scope)

    def act(calls):
        yield from worker.exchange(signature, None)
        merged = regroup(calls)
        result = yield from worker.call(s, merged, Context("merge"), scope)
        return [barrier(select(result, index)) for index in range(len(calls))]

    return (yield from worker.join(context, Rendezvous(signature, args, act)))


def barrier(value):
    """Stops gradients: a tape takes the tensors for constants."""
    return map_nest(
        lambda leaf: leaf.alias() if isinstance(leaf, Tensor) else leaf, value
    )


@statement("replica_id", where="replica")
def replica_id(worker, s, context, scope):
    if worker.strategy.kind == "default":
        return 0
    return Tensor(
        np.asarray(context.replica_id, np.int32),
        worker.strategy.replicas_differ,
    )


@statement("num_replicas", where="replica")
def num_replicas(worker, s, context, scope):
    return worker.strategy.replicas


@statement("require_replica_context", where="replica")
def require_replica_context(worker, s, context, scope):
    return True


@statement("in_cross_replica_context")
def in_cross_replica_context(worker, s, context, scope):
    return context.kind not in ("replica", "outside")


@statement("save_ctx", where="replica")
def save_context(worker, s, context, scope):
    worker.saved[context.replica_id] = context.token


@statement("static_if_replica", where="replica")
def static_if(worker, s, context, scope):
    """A branch that each replica takes by its number when the program is
    traced: no branch remains.
    """
    taken = context.replica_id in s["ids"]
    alike = len({i in s["ids"] for i in range(worker.strategy.replicas)}) == 1
    inside = replace(context, divergent=context.divergent or not alike)
    yield from worker.block(
        s.get("then" if taken else "else") or [], inside, scope
    )


@statement("variable")
def variable(worker, s, context, scope):
    """In a replica's function replica 0 creates the variable, and the others
    get the same one.
    """
    spec = {"name": s.get("out"), **s}
    init = s["init"]
    value = (
        parse_tensor(init)
        if isinstance(init, dict) and "dtype" in init
        else worker.resolve(init, context, scope)
    )
    value = yield from worker.as_tensor(value, context)
    inside = (
        context.kind not in ("outside", "other")
        or worker.strategy.kind == "default"
    )
    owner = worker.strategy if inside else None
    if not context.in_replica:
        return create(spec, value, owner)
    signature = worker.signature(s, scope)

    def act(values):
        everyone = yield from worker.exchange_parts(signature, values)
        return [create(spec, everyone[0], owner)] * len(values)

    return (yield from worker.join(context, Rendezvous(signature, value, act)))
