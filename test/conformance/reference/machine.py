"""One worker that runs a program, and the workers of a case that run it
together.

Replicas are coroutines. Each in order is advanced to its next rendezvous;
when all have arrived, the operation is executed and they continue. Workers
rendezvous in the same manner, one level up.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from inspect import isgenerator

import numpy as np

from . import statements  # noqa: F401  (declares the handlers)
from .contexts import HANDLERS, Context, Exchange, Rendezvous, Scope, require
from .errors import Malformed, Rejected
from .nests import map_nest
from .record import write_value, write_variable
from .strategies import Strategy, parse_strategy
from .values import (
    Distributed,
    IndexedSlices,
    PerReplica,
    Tensor,
    from_host,
    is_host,
    parse_tensor,
    parse_value,
)
from .variables import Component, Layout, Variable, create

# Statements in which all replicas take part have the same result on all, even
# if replicas run different code.
TOGETHER = frozenset(
    {"all_reduce", "all_gather", "merge_call", "update", "variable"}
)
# Names of a statement's operands: two replicas may rendezvous at one statement
# although these differ.
OPERANDS = frozenset({"value", "args", "a", "slices", "pairs", "init"})


def evaluate(case: dict) -> dict | list[dict]:
    """The result of a case: `{"ok": ...}` or `{"error": class}`, a list with
    one for each worker under `multi_worker_mirrored`.
    """
    strategy = parse_strategy(case["strategy"])
    inputs = {
        name: _parse_input(value, strategy)
        for name, value in case.get("inputs", {}).items()
    }
    workers = [Worker(strategy, index) for index in range(strategy.workers)]
    with np.errstate(all="ignore"):
        try:
            results = run_workers([w.program(case, inputs) for w in workers])
        except Rejected as rejected:
            results = [{"error": rejected.code}] * len(workers)
    return results if strategy.kind == "multi_worker_mirrored" else results[0]


def _parse_input(literal: dict, strategy: Strategy):
    if "shared" in literal:
        return parse_value(literal["shared"])
    parts = [parse_value(p) for p in literal["per_replica"]]
    if len(parts) != strategy.replicas:
        raise Malformed(
            f"expected {strategy.replicas} values, found {len(parts)}"
        )
    for part in parts:
        tensors = (
            (part.values, part.indices)
            if isinstance(part, IndexedSlices)
            else (part,)
        )
        for tensor in tensors:
            if isinstance(tensor, Tensor):
                tensor.varying = strategy.replicas_differ
    return PerReplica(tuple(parts))


def advance(coroutines: list[Generator], answers: list) -> tuple[list, list]:
    """Runs each to its next rendezvous: `(results, arrivals)`, of which one is
    empty. It is an error if they do not reach the same rendezvous.
    """
    results, arrivals = [], []
    for coroutine, answer in zip(coroutines, answers, strict=True):
        try:
            arrivals.append(coroutine.send(answer))
        except StopIteration as stop:
            results.append(stop.value)
    if arrivals and (
        results or any(a.signature != arrivals[0].signature for a in arrivals)
    ):
        raise Rejected(
            "E_COLLECTIVE_DIVERGENCE", "replicas issue different collectives"
        )
    return results, arrivals


def run_workers(programs: list[Generator]) -> list:
    results, exchanges = advance(programs, [None] * len(programs))
    while exchanges:
        results, exchanges = advance(
            programs, [[e.payload for e in exchanges]] * len(programs)
        )
    return results


class Worker:
    def __init__(self, strategy: Strategy, index: int):
        self.strategy, self.index = strategy, index
        self.ids = strategy.ids(index)
        self.saved: dict[int, object] = {}

    ## Programs and blocks

    def program(self, case: dict, inputs: dict) -> Generator:
        scope = Scope(
            names={name: self._local(value) for name, value in inputs.items()}
        )
        for spec in case.get("variables", []):
            if spec["name"] in scope:
                raise Malformed(f"two values of one name {spec['name']!r}")
            scope[spec["name"]] = create(
                spec, parse_tensor(spec["init"]), self.strategy
            )
        context = Context("scope" if case.get("in_scope") else "outside")
        yield from self.block(case["program"], context, scope)
        ok = {
            "outputs": {
                name: write_value(scope[name])
                for name in case.get("observe", [])
            }
        }
        if "observe_vars" in case:
            ok["variables"] = {
                name: write_variable(scope[name])
                for name in case["observe_vars"]
            }
        return {"ok": ok}

    def _local(self, value):
        if not isinstance(value, Distributed):
            return value
        return (
            value.components[0]
            if self.strategy.trivial
            else PerReplica(value.components[self.ids.start : self.ids.stop])
        )

    def block(
        self, body: list[dict], context: Context, scope: Scope
    ) -> Generator:
        for s in body:
            op = s.get("op")
            if op not in HANDLERS:
                raise Malformed(f"unknown operation {op!r}")
            where, handler = HANDLERS[op]
            require(where, op, context, self.strategy)
            if (
                s.get("use_saved_ctx")
                and self.saved.get(context.replica_id) is not context.token
            ):
                raise Rejected(
                    "E_CONTEXT",
                    f"`{op}` on a replica context outside of its lifetime",
                )
            result = handler(self, s, context, scope)
            if isgenerator(result):
                result = yield from result
            if context.divergent and op not in TOGETHER:
                result = context.mark_varying(result)
            self.bind(s.get("out"), result, scope)

    def bind(self, out, value, scope: Scope) -> None:
        if isinstance(out, str):
            scope[out] = value
        elif isinstance(out, list):
            if not isinstance(value, (list, tuple)) or len(out) != len(value):
                raise Malformed(f"{out} cannot be bound to {value!r}")
            for name, item in zip(out, value, strict=True):
                self.bind(name, item, scope)

    def call(
        self, function: dict, args: list, context: Context, scope: Scope
    ) -> Generator:
        """Runs `fn` of a statement on `args` and returns its `returns`."""
        params = function.get("params") or []
        if len(params) != len(args):
            raise Malformed(
                f"expected {len(params)} arguments, found {len(args)}"
            )
        inner = Scope(scope, dict(zip(params, args, strict=True)))
        body = function["fn"] if "fn" in function else function.get("body")
        yield from self.block(body or [], context, inner)
        return self.resolve(function.get("returns"), context, inner)

    ## Operands

    def resolve(self, operand, context: Context, scope: Scope):
        if isinstance(operand, str):
            value = scope[operand]
            if context.in_replica and isinstance(value, Distributed):
                return value.components[context.replica]
            return value
        if isinstance(operand, list):
            return [self.resolve(o, context, scope) for o in operand]
        if not isinstance(operand, dict):
            return operand
        if "dict" in operand:
            return {
                k: self.resolve(o, context, scope)
                for k, o in operand["dict"].items()
            }
        if "tuple" in operand:
            return tuple(
                self.resolve(o, context, scope) for o in operand["tuple"]
            )
        if "list" in operand:
            return self.resolve(operand["list"], context, scope)
        if "py" in operand:
            return operand["py"]
        if "none" in operand:
            return None
        return parse_value(operand.get("const", operand))

    def tensor(self, value, context: Context) -> Generator:
        """A leaf as the operand of math: a tensor, or a host scalar as it is."""
        if isinstance(value, (Variable, Component)):
            return (yield from self.read(value, context))
        if isinstance(value, IndexedSlices):
            return value.dense()
        if isinstance(value, Distributed):
            if isinstance(value, PerReplica) and context.component is None:
                raise Rejected(
                    "E_CONTEXT",
                    "a per-replica value has no single value in cross-replica context",
                )
            return (
                yield from self.tensor(
                    value.components[context.component or 0], context
                )
            )
        if isinstance(value, Tensor) or is_host(value):
            return value
        raise Rejected("E_ARG_TYPE", f"expected a tensor, found {value!r}")

    def as_tensor(self, value, context: Context) -> Generator:
        value = yield from self.tensor(value, context)
        return from_host(value) if is_host(value) else value

    ## Variables

    def copy_of(
        self, target: Variable | Component, context: Context
    ) -> Component | None:
        """The copy of a variable that is accessed here; None for a variable of
        several copies in cross-replica context.
        """
        if isinstance(target, Component):
            return target
        if not target.distributed:
            return Component(target, 0)
        if context.in_replica:
            return Component(target, context.replica)
        return (
            None
            if context.component is None
            else Component(target, context.component)
        )

    def read(self, target: Variable | Component, context: Context) -> Generator:
        """The value of a variable; under `ON_READ` in cross-replica context,
        the aggregated value of its copies.
        """
        copy = self.copy_of(target, context)
        variable = copy.variable if copy else target
        if copy is None and variable.layout is Layout.ON_READ:
            return (yield from statements.variables.aggregated(self, variable))
        index = copy.index if copy else 0
        tensor = Tensor(
            variable.copies[index].copy(),
            variable.layout is Layout.ON_READ and self.strategy.replicas_differ,
        )
        for tape in context.tapes:
            tape.read(variable.key(index), tensor)
        return tensor

    # # Rendezvous

    def signature(self, s: dict, scope: Scope) -> tuple:
        """The signature on which replicas must agree: the whole statement
        except their own operands.
        """
        said = {k: v for k, v in s.items() if k not in OPERANDS}
        if isinstance(said.get("reduce_op"), str):
            said["reduce_op"] = said["reduce_op"].upper()
        if isinstance(said.get("var"), str) and said["var"] in scope:
            target = scope[said["var"]]
            said["var"] = (
                target.name if isinstance(target, Variable) else said["var"]
            )
        return (json.dumps(said, sort_keys=True),)

    def join(self, context: Context, rendezvous: Rendezvous) -> Generator:
        if context.in_replica:
            return (yield rendezvous)
        (answer,) = yield from rendezvous.act([rendezvous.payload])
        return answer

    def exchange(self, signature: tuple, payload) -> Generator:
        """The payloads of all workers, in order."""
        return (yield Exchange(signature, payload))

    def exchange_parts(self, signature: tuple, parts: list) -> Generator:
        """The parts of the replicas of all workers, in order."""
        gathered = yield from self.exchange(signature, parts)
        return [part for worker_parts in gathered for part in worker_parts]

    def run(self, function: dict, args: list, scope: Scope) -> Generator:
        """The function on every replica of this worker; their results, in
        order.
        """

        def replica(index: int, replica_id: int) -> Generator:
            own = [
                map_nest(
                    lambda leaf: (
                        leaf.components[index]
                        if isinstance(leaf, Distributed)
                        else leaf
                    ),
                    a,
                )
                for a in args
            ]
            return (
                yield from self.call(
                    function, own, Context("replica", index, replica_id), scope
                )
            )

        replicas = [
            replica(index, replica_id)
            for index, replica_id in enumerate(self.ids)
        ]
        results, arrivals = advance(replicas, [None] * len(replicas))
        while arrivals:
            yield from self.exchange(arrivals[0].signature, None)
            answers = yield from arrivals[0].act([a.payload for a in arrivals])
            results, arrivals = advance(replicas, answers)
        return results
