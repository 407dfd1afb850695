"""Updates of each copy, scopes, and a strategy's attributes of a variable."""

from __future__ import annotations

from ..contexts import Context, Rendezvous, statement
from ..errors import Malformed, Rejected
from ..nests import leaves, map_nest, regroup, same_object, select
from ..strategies import parse_strategy
from ..values import (
    Distributed,
    Mirrored,
    Operation,
    PerReplica,
    Tensor,
    varies,
)
from ..variables import Component, Layout, Variable
from .cross import local_values
from .replica import barrier


@statement("update")
def update(worker, s, context, scope):
    if context.kind == "other":
        raise Rejected(
            "E_MIXED_STRATEGY", "`update` in the scope of another strategy"
        )
    args = [worker.resolve(a, context, scope) for a in s.get("args") or []]
    target = worker.resolve(s["var"], context, scope)
    if not context.in_replica:
        return (yield from update_copies(worker, s, target, args, scope))
    signature = worker.signature(s, scope)

    def act(calls):
        yield from worker.exchange(signature, None)
        result = yield from update_copies(
            worker, s, target, regroup(calls), scope
        )
        return [barrier(select(result, index)) for index in range(len(calls))]

    return (yield from worker.join(context, Rendezvous(signature, args, act)))


def update_copies(worker, s, target, args: list, scope):
    """The function once for each copy, with that copy and the replica's part of
    the arguments.
    """
    if not isinstance(target, Variable) or (
        worker.strategy.mirrors and not target.distributed
    ):
        raise Rejected(
            "E_ARG_TYPE",
            f"`update` expected a variable of the strategy, found {target!r}",
        )
    if target.layout is Layout.MIRRORED:
        refuse_varying(worker, args)
    results = []
    for index in range(len(target.copies)):
        inside = Context("update", component=index)
        results.append(
            (
                yield from worker.call(
                    s,
                    [Component(target, index), *select(args, index)],
                    inside,
                    scope,
                )
            )
        )
    return group_results(worker, results, s.get("group", True) is not False)


def refuse_varying(worker, args: list) -> None:
    if worker.strategy.replicas_differ and any(
        isinstance(a, PerReplica) and varies(a) for a in leaves(args)
    ):
        raise Rejected(
            "E_PER_REPLICA_IN_UPDATE",
            "the copies of a mirrored variable would differ: an argument is per replica",
        )


def group_results(worker, results: list, group: bool):
    """`group`: mirrored values that depend on all updates; else, for each leaf,
    a tuple of what each update returned.
    """
    if len(results) == 1:
        return (
            results[0] if group else map_nest(lambda leaf: (leaf,), results[0])
        )
    if not group:
        return map_nest(
            lambda leaf: local_values(worker, leaf), regroup(results, Mirrored)
        )
    return regroup(
        results,
        lambda parts: (
            Mirrored(parts)
            if all(isinstance(p, Tensor) for p in parts)
            else Operation()
        ),
    )


@statement("update_non_slot", where="cross")
def update_non_slot(worker, s, context, scope):
    args = [worker.resolve(a, context, scope) for a in s.get("args") or []]
    copies = (
        worker.strategy.replicas_per_worker if worker.strategy.mirrors else 1
    )
    if worker.strategy.mirrors:
        refuse_varying(worker, args)
    results = []
    for index in range(copies):
        inside = Context("update", component=index)
        results.append(
            (yield from worker.call(s, select(args, index), inside, scope))
        )
    return group_results(worker, results, s.get("group", True) is not False)


## Scopes


@statement("scope")
def enter(worker, s, context, scope):
    if context.in_replica:
        raise Rejected(
            "E_CONTEXT", "a strategy's scope requires cross-replica context"
        )
    if context.kind == "other":
        raise Rejected(
            "E_MIXED_STRATEGY", "a strategy's scope in that of another"
        )
    # The default strategy's scope is everywhere: entering it changes nothing.
    inside = (
        Context("scope")
        if context.kind == "outside" and worker.strategy.kind != "default"
        else context
    )
    yield from worker.block(s.get("body") or [], inside, scope)


@statement("other_scope")
def enter_other(worker, s, context, scope):
    if context.kind not in ("outside", "other"):
        raise Rejected("E_MIXED_STRATEGY", "the scope of another strategy")
    parse_strategy(s["strategy"])
    yield from worker.block(s.get("body") or [], Context("other"), scope)


@statement("colocate_vars_with")
def colocate(worker, s, context, scope):
    if context.kind == "other":
        raise Rejected(
            "E_MIXED_STRATEGY",
            "`colocate_vars_with` in the scope of another strategy",
        )
    if context.in_replica or (
        context.kind == "outside" and worker.strategy.kind != "default"
    ):
        raise Rejected(
            "E_CONTEXT", "`colocate_vars_with` requires the strategy's scope"
        )
    target = worker.resolve(s["var"], context, scope)
    if worker.strategy.mirrors and not (
        isinstance(target, Variable) and target.distributed
    ):
        raise Rejected(
            "E_ARG_TYPE",
            "`colocate_vars_with` expected a variable of the strategy",
        )
    yield from worker.block(s.get("body") or [], context, scope)


# # Attributes of a variable


@statement("variable_created_in_scope")
def created_in_scope(worker, s, context, scope):
    target = worker.resolve(s["var"], context, scope)
    variable = target.variable if isinstance(target, Component) else target
    return isinstance(variable, Variable) and variable.owner is worker.strategy


@statement("value_container_is")
def value_container_is(worker, s, context, scope):
    """Whether a component belongs to a variable; a variable is its own
    container.
    """
    value = worker.resolve(
        s["value"] if "value" in s else s["a"], context, scope
    )
    target = worker.resolve(s["var"] if "var" in s else s["b"], context, scope)
    container = value.variable if isinstance(value, Component) else value
    return same_object(container, target)


@statement("component")
def component(worker, s, context, scope):
    value = worker.resolve(
        s["var"] if "var" in s else s["value"], context, scope
    )
    index = next((s[k] for k in ("index", "replica", "i") if k in s), 0)
    if isinstance(value, Variable) and index < len(value.copies):
        return Component(value, index)
    if isinstance(value, Distributed) and index < len(value.components):
        return local_values(worker, value)[index]
    raise Malformed(f"no component {index} of {value!r}")
