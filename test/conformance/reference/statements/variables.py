"""Reading and writing variables in every context."""

from __future__ import annotations

import numpy as np

from ..contexts import Context, Rendezvous, statement
from ..errors import Rejected
from ..nests import same_object
from ..reductions import reduce_parts
from ..values import (
    DTYPES,
    INTEGERS,
    NARROW,
    Distributed,
    IndexedSlices,
    Mirrored,
    Operation,
    PerReplica,
    Tensor,
    is_host,
    varies,
)
from ..variables import (
    COMBINING_SCATTERS,
    Component,
    Layout,
    Variable,
    operand,
    store,
)

WRITES = ("assign", "assign_add", "assign_sub")
SCATTERS = (*COMBINING_SCATTERS, "scatter_min", "scatter_max", "scatter_update")


def target_of(worker, s, context, scope) -> Variable | Component:
    target = worker.resolve(s["var"], context, scope)
    if not isinstance(target, (Variable, Component)):
        raise Rejected(
            "E_ARG_TYPE", f"`{s['op']}` expected a variable, found {target!r}"
        )
    return target


## Reading


@statement("read", "value")
def read(worker, s, context, scope):
    return (
        yield from worker.read(target_of(worker, s, context, scope), context)
    )


@statement("read_var")
def read_var(worker, s, context, scope):
    target = target_of(worker, s, context, scope)
    if (
        context.in_replica
        and isinstance(target, Variable)
        and target.layout is Layout.ON_READ
    ):
        raise Rejected(
            "E_CONTEXT",
            "`read_var` of an `on_read` variable requires cross-replica context",
        )
    return (yield from worker.read(target, context))


@statement("handle")
def handle(worker, s, context, scope):
    if worker.copy_of(target_of(worker, s, context, scope), context) is None:
        raise Rejected(
            "E_CONTEXT",
            "a variable of several copies has no handle in cross-replica context",
        )
    return Operation()


def aggregated(worker, variable: Variable):
    """The aggregated value of the copies of an `on_read` variable."""
    if variable.aggregation == "NONE":
        raise Rejected(
            "E_AGG_NONE", f"`{variable.name}` has no aggregation to read it by"
        )
    copies = [Tensor(copy.copy()) for copy in variable.copies]
    parts = yield from worker.exchange_parts(("read", variable.name), copies)
    if variable.aggregation == "ONLY_FIRST_REPLICA" or len(parts) == 1:
        return parts[0]
    return reduce_parts(variable.aggregation, parts)


## Writing


@statement(*WRITES, *SCATTERS)
def write(worker, s, context, scope):
    if context.kind == "other":
        raise Rejected(
            "E_MIXED_STRATEGY", f"`{s['op']}` in the scope of another strategy"
        )
    target = target_of(worker, s, context, scope)
    value = worker.resolve(
        s["slices" if s["op"] in SCATTERS else "value"], context, scope
    )
    variable = target.variable if isinstance(target, Component) else target
    check_scatter(s["op"], target)
    copy = worker.copy_of(target, context)
    if isinstance(target, Component) or context.component is not None:
        return (yield from write_copy(worker, s["op"], copy, value, context))
    if context.in_replica:
        return (
            yield from write_from_replica(
                worker, s, variable, value, context, scope
            )
        )
    if variable.layout is Layout.ON_READ:
        return (yield from assign_on_read(worker, s, variable, value, context))
    return (yield from write_all(worker, s["op"], variable, value, context))


def check_scatter(op: str, target: Variable | Component) -> None:
    if op not in SCATTERS or isinstance(target, Component):
        return
    if target.layout is Layout.ON_READ:
        raise Rejected(
            "E_SCATTER_ONREAD",
            f"`{op}` to the `on_read` variable `{target.name}`",
        )
    combines = (
        target.aggregation in ("SUM", "MEAN") and op not in COMBINING_SCATTERS
    )
    if target.layout is Layout.MIRRORED and combines:
        raise Rejected(
            "E_SCATTER_AGG",
            f"`{op}` to `{target.name}`, whose aggregation is {target.aggregation}",
        )


def plain(worker, value, context: Context):
    """The value of a write where one value is wanted."""
    return (
        value
        if isinstance(value, IndexedSlices)
        else (yield from worker.tensor(value, context))
    )


def refuse_varying(worker, variable: Variable, value) -> None:
    """Rejects a varying value, with which mirrored copies would differ."""
    if (
        variable.layout is Layout.MIRRORED
        and worker.strategy.replicas_differ
        and varies(value)
    ):
        raise Rejected(
            "E_PER_REPLICA_IN_UPDATE",
            f"the copies of `{variable.name}` would differ: the value is per replica",
        )


def write_copy(worker, op: str, copy: Component, value, context: Context):
    variable, index = copy.variable, copy.index
    if isinstance(value, Distributed):
        value = value.components[
            context.component if context.component is not None else index
        ]
    value = yield from plain(worker, value, context)
    refuse_varying(worker, variable, value)
    alone = context.component is None and not context.in_replica
    if (
        alone
        and variable.layout is Layout.MIRRORED
        and worker.strategy.replicas_differ
    ):
        raise Rejected(
            "E_PER_REPLICA_IN_UPDATE",
            f"the copies of `{variable.name}` would differ: one is written alone",
        )
    store(variable, index, op, operand(variable, value, op in SCATTERS))
    return Tensor(
        variable.copies[index].copy(),
        variable.layout is Layout.ON_READ and worker.strategy.replicas_differ,
    )


def write_from_replica(
    worker, s, variable: Variable, value, context: Context, scope
):
    op, strategy = s["op"], worker.strategy
    local = variable.layout in (Layout.ON_READ, Layout.PLAIN) or (
        not strategy.replicas_differ and variable.aggregation == "NONE"
    )
    if local:
        value = yield from plain(worker, value, context)
        index = context.replica if variable.distributed else 0
        store(variable, index, op, operand(variable, value, op in SCATTERS))
        return Tensor(
            variable.copies[index].copy(),
            variable.layout is Layout.ON_READ and strategy.replicas_differ,
        )
    if variable.aggregation == "NONE":
        raise Rejected(
            "E_AGG_NONE",
            f"`{variable.name}` has no aggregation: replicas cannot write it",
        )
    if isinstance(value, Variable) and value.layout is not Layout.ON_READ:
        if variable.aggregation == "SUM" and strategy.replicas_differ:
            raise Rejected(
                "E_NON_DISTRIBUTED_SUM",
                f"expected a value of each replica, found the variable `{value.name}`",
            )
    value = yield from plain(worker, value, context)
    signature = worker.signature(s, scope)

    def act(values):
        parts = yield from worker.exchange_parts(signature, values)
        combined = combine(variable, op, parts)
        for index in range(len(variable.copies)):
            store(variable, index, op, combined)
        copies = (
            variable.copies
            if variable.distributed
            else variable.copies * len(values)
        )
        return [Tensor(copy.copy()) for copy in copies]

    return (yield from worker.join(context, Rendezvous(signature, value, act)))


def combine(variable: Variable, op: str, parts: list):
    """One value for all copies, by the variable's aggregation."""
    first, alike = parts[0], all(same_object(parts[0], p) for p in parts[1:])
    if (
        variable.aggregation == "SUM"
        and len(parts) > 1
        and alike
        and is_host(first)
        and first != 0
    ):
        raise Rejected(
            "E_NON_DISTRIBUTED_SUM",
            f"expected a value of each replica, found the host value {first!r}",
        )
    if (
        variable.aggregation == "MEAN"
        and variable.dtype in INTEGERS
        and not alike
    ):
        raise Rejected(
            "E_MEAN_INT_VAR",
            f"`{variable.name}` of {variable.dtype} cannot take a mean",
        )
    if variable.aggregation == "ONLY_FIRST_REPLICA" or (
        alike and (is_host(first) or variable.aggregation == "MEAN")
    ):
        return operand(variable, first, op in SCATTERS)
    whole = [p if op in SCATTERS else operand(variable, p) for p in parts]
    return operand(
        variable, reduce_parts(variable.aggregation, whole), op in SCATTERS
    )


def write_all(worker, op: str, variable: Variable, value, context: Context):
    """One value, or one for each copy that is known to be the same, to all
    copies.
    """
    if isinstance(value, Variable) and value.distributed:
        varying = (
            value.layout is Layout.ON_READ and worker.strategy.replicas_differ
        )
        value = (PerReplica if varying else Mirrored)(
            tuple(Tensor(copy.copy(), varying) for copy in value.copies)
        )
    if variable.distributed:
        refuse_varying(worker, variable, value)
    if isinstance(value, Distributed) and len(value.components) != len(
        variable.copies
    ):
        value = value.components[0]
    for index in range(len(variable.copies)):
        part = (
            value.components[index] if isinstance(value, Distributed) else value
        )
        part = yield from plain(worker, part, context)
        refuse_varying(worker, variable, part)
        store(variable, index, op, operand(variable, part, op in SCATTERS))
    results = tuple(Tensor(copy.copy()) for copy in variable.copies)
    return results[0] if len(results) == 1 else Mirrored(results)


def assign_on_read(worker, s, variable: Variable, value, context: Context):
    """Assigns the copies of an `on_read` variable, so that a read returns the
    value: of a sum, each its share.
    """
    op, total = s["op"], variable.aggregation == "SUM"
    if total and op != "assign":
        raise Rejected(
            "E_ONREAD_ASSIGN_ADD_SUM",
            f"`{op}` to `{variable.name}`, the sum of its copies",
        )
    if isinstance(value, PerReplica) and varies(value):
        raise Rejected(
            "E_PER_REPLICA_IN_UPDATE",
            f"`{variable.name}` expected one value, found one for each replica",
        )
    if s.get("read_value", True) and variable.aggregation == "NONE":
        raise Rejected(
            "E_AGG_NONE", f"`{variable.name}` has no aggregation to read it by"
        )
    if isinstance(value, Distributed):
        value = value.components[0]
    value = yield from plain(worker, value, context)
    value = (
        share(variable, value, worker.strategy.replicas)
        if total
        else operand(variable, value)
    )
    for index in range(len(variable.copies)):
        store(variable, index, op, value)
    return (
        (yield from aggregated(worker, variable))
        if s.get("read_value", True)
        else None
    )


def share(variable: Variable, value, replicas: int) -> Tensor:
    """An N-th of a value, cast to the variable's element type: integers lose
    what does not divide.
    """
    if is_host(value):
        return operand(
            variable,
            Tensor(np.asarray(value / replicas).astype(DTYPES[variable.dtype])),
        )
    wide = (
        np.float64
        if value.dtype in INTEGERS
        else np.float32
        if value.dtype in NARROW
        else value.array.dtype
    )
    divided = np.true_divide(
        value.array.astype(wide), np.asarray(replicas, wide)
    )
    return operand(variable, Tensor(divided.astype(DTYPES[variable.dtype])))
