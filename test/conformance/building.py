"""Helpers that build cases: literals, statements, whole cases."""

from __future__ import annotations

from math import prod


def tensor(dtype: str, data, shape=None) -> dict:
    """A literal of a scalar or a flat list; without a shape a vector."""
    flat = list(data) if isinstance(data, (list, tuple)) else [data]
    if shape is None:
        shape = [len(flat)] if isinstance(data, (list, tuple)) else []
    assert prod(shape) == len(flat), (shape, flat)
    return {"dtype": dtype, "shape": list(shape), "data": flat}


def f32(data, shape=None) -> dict:
    return tensor("f32", data, shape)


def i32(data, shape=None) -> dict:
    return tensor("i32", data, shape)


def const(literal: dict) -> dict:
    return {"const": literal}


def py(value) -> dict:
    return {"py": value}


def slices(values: dict, rows: list[int], dense_shape: list[int]) -> dict:
    return {
        "indexed_slices": {
            "values": values,
            "indices": tensor("i64", rows),
            "dense_shape": dense_shape,
        }
    }


def per_replica(*values: dict) -> dict:
    return {"per_replica": list(values)}


def shared(value: dict) -> dict:
    return {"shared": value}


def op(name: str, out=None, /, **fields) -> dict:
    """A statement; `fn_` and the like are fields named as Python keywords."""
    statement = {"op": name, **{k.rstrip("_"): v for k, v in fields.items()}}
    if out is not None:
        statement["out"] = out
    return statement


def run(body: list[dict], returns=None, args=(), out="r") -> dict:
    """`run` on arguments that keep their names."""
    return {
        "op": "run",
        "args": list(args),
        "params": list(args),
        "fn": body,
        "returns": returns,
        "out": out,
    }


def variable(
    name: str,
    init: dict,
    synchronization: str | None = None,
    aggregation: str | None = None,
) -> dict:
    spec = {
        "name": name,
        "init": init,
        "synchronization": synchronization,
        "aggregation": aggregation,
    }
    return {k: v for k, v in spec.items() if v is not None}


def strategy(kind: str, replicas: int, per_worker: int = 1) -> dict:
    spec = {"kind": kind, "replicas": replicas}
    if kind == "multi_worker_mirrored":
        spec |= {
            "workers": replicas // per_worker,
            "replicas_per_worker": per_worker,
        }
    return spec


def case(
    program: list[dict],
    kind: str = "mirrored",
    replicas: int = 2,
    inputs=None,
    variables=None,
    observe=(),
    observe_vars=None,
    **more,
):
    """A case without an expectation."""
    result = {
        "strategy": strategy(kind, replicas, more.pop("per_worker", 1)),
        "replicas": replicas,
    }
    if variables:
        result["variables"] = variables
    result |= {
        "inputs": inputs or {},
        "program": program,
        "observe": list(observe),
    }
    if observe_vars is not None:
        result["observe_vars"] = list(observe_vars)
    return result | more
