"""Control flow, nested functions, gradients, and the user's function that
fails.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic import apply
from ..contexts import Scope, statement
from ..errors import Rejected
from ..nests import is_variable, leaves, pack
from ..tape import Tape
from ..uniformity import has_collective, returns_varying, value_varies
from ..values import IndexedSlices, Tensor
from ..variables import Component


def lookup_in(scope):
    return lambda name: scope[name] if name in scope else None


def outputs(worker, value, context, varying: bool = False):
    """The results of a sub-graph: new tensors, also where the sub-graph
    returns one from outside.
    """
    flat = []
    for leaf in leaves(value):
        if leaf is not None and not isinstance(leaf, IndexedSlices):
            leaf = yield from worker.as_tensor(leaf, context)
            leaf = apply(context.tapes, "identity", leaf)
            leaf.varying |= varying
        elif leaf is not None:
            leaf = IndexedSlices(
                leaf.values.copy(), leaf.indices.copy(), leaf.dense_shape
            ).alias(leaf.varying or varying)
        flat.append(leaf)
    return pack(value, iter(flat))


def refuse_collectives(worker, s, bodies: list, varying: bool, scope) -> None:
    if varying and any(
        has_collective(body, lookup_in(scope)) for body in bodies
    ):
        raise Rejected(
            "E_COLLECTIVE_IN_CONTROL_FLOW",
            f"a collective in a `{s['op']}` that replicas do not run alike",
        )


@statement("cond")
def cond(worker, s, context, scope):
    pred = yield from worker.tensor(
        worker.resolve(s["pred"], context, scope), context
    )
    branches = {key: _branch(s.get(key)) for key in ("then", "else")}
    varying = context.in_replica and value_varies(
        pred, worker.strategy.replicas
    )
    refuse_collectives(
        worker, s, [b["body"] for b in branches.values()], varying, scope
    )
    if isinstance(pred, Tensor) and pred.dtype != "bool":
        raise Rejected(
            "E_DTYPE_MISMATCH", f"`cond` expected a bool, found {pred.dtype}"
        )
    if isinstance(pred, Tensor) and pred.shape:
        raise Rejected(
            "E_SHAPE_MISMATCH",
            f"`cond` expected a scalar, found shape {pred.shape}",
        )
    taken = bool(pred.array) if isinstance(pred, Tensor) else bool(pred)
    untaken = branches["else" if taken else "then"]
    if isinstance(pred, Tensor) and context.in_replica:
        replicas = worker.strategy.replicas
        varying |= returns_varying(
            untaken["body"], untaken["returns"], lookup_in(scope), replicas
        )
    result = yield from worker.call(
        branches["then" if taken else "else"], [], context, scope
    )
    return (yield from outputs(worker, result, context, varying))


def _branch(branch) -> dict:
    """`{body, returns}`; a bare list of statements returns nothing."""
    if isinstance(branch, dict):
        return {
            "body": branch.get("body", branch.get("fn")) or [],
            "returns": branch.get("returns"),
        }
    return {"body": branch or [], "returns": None}


@statement("while")
def counted_loop(worker, s, context, scope):
    count = yield from worker.tensor(
        worker.resolve(s["trip_count"], context, scope), context
    )
    varying = context.in_replica and value_varies(
        count, worker.strategy.replicas
    )
    refuse_collectives(worker, s, [s["body"]], varying, scope)
    carried = worker.resolve(s["init"], context, scope)
    if isinstance(count, Tensor):
        # The trip count is not known statically: the carried values may still
        # be the initial ones.
        varying |= context.in_replica and value_varies(
            carried, worker.strategy.replicas
        )
        count = int(count.array)
    carried = yield from outputs(worker, carried, context)
    for _ in range(count):
        inner = Scope(scope, {s["carry"]: carried})
        yield from worker.block(s["body"], context, inner)
        carried = yield from outputs(
            worker, worker.resolve(s["yield"], context, inner), context
        )
    return (yield from outputs(worker, carried, context, varying))


@statement("nested_function")
def nested_function(worker, s, context, scope):
    args = [worker.resolve(a, context, scope) for a in s.get("args") or []]
    result = yield from worker.call(s, args, context, scope)
    return (yield from outputs(worker, result, context))


@statement("python_raise")
def python_raise(worker, s, context, scope):
    raise Rejected(
        "E_USER", str(s.get("message", "the user's function failed"))
    )


@statement("gradient")
def gradient(worker, s, context, scope):
    """Derivatives of the sum of `of`, in the order of `wrt`; None where it does
    not depend on it.
    """
    wrt = [worker.resolve(w, context, scope) for w in s["wrt"]]
    tape = Tape()
    watched = [_watch(worker, tape, leaf, context) for leaf in leaves(wrt)]
    context.tapes.append(tape)
    yield from worker.block(s["body"], context, scope)
    of = []
    for leaf in leaves(worker.resolve(s["of"], context, scope)):
        of.append((yield from worker.as_tensor(leaf, context)))
    context.tapes.remove(tape)

    def use(op: str, *inputs, **attributes) -> Tensor:
        return apply(context.tapes, op, *inputs, **attributes)

    present = [w for w in watched if w is not None]
    found = iter(
        (yield from tape.gradients(use, of, present, _filled(1), _filled(0)))
    )
    return pack(
        wrt, iter([None if w is None else next(found) for w in watched])
    )


def _watch(worker, tape: Tape, leaf, context) -> Tensor | None:
    if is_variable(leaf):
        copy: Component | None = worker.copy_of(leaf, context)
        copy = copy or Component(leaf, 0)
        watched = Tensor(copy.variable.copies[copy.index].copy())
        tape.watch_variable(copy.variable.key(copy.index), watched)
        return watched
    if not isinstance(leaf, Tensor):
        return None
    tape.watch(leaf)
    return leaf


def _filled(number: int):
    return lambda tensor: Tensor(
        np.full(tensor.shape, number, tensor.array.dtype)
    )
