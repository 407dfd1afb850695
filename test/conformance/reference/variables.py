"""Variables: number of copies, permitted writes, and their effect on a copy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from .errors import Malformed, Rejected
from .strategies import Strategy
from .values import (
    FLOATS,
    NAMES,
    NUMBERS,
    IndexedSlices,
    Tensor,
    from_host,
    is_host,
)

AGGREGATIONS = ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA")
SYNCHRONIZATIONS = ("AUTO", "NONE", "ON_WRITE", "ON_READ")
COMBINING_SCATTERS = (
    "scatter_add",
    "scatter_sub",
    "scatter_mul",
    "scatter_div",
)


class Layout(Enum):
    PLAIN = "one copy, no rules"
    CENTRAL = "one copy, writes of replicas are aggregated"
    MIRRORED = "a copy for each replica, all equal: writes are aggregated"
    ON_READ = "a copy for each replica, written alone: reads are aggregated"


@dataclass(eq=False)
class Variable:
    name: str
    copies: list[np.ndarray]
    layout: Layout
    aggregation: str
    owner: Strategy | None

    @property
    def dtype(self) -> str:
        return NAMES[self.copies[0].dtype]

    @property
    def distributed(self) -> bool:
        return self.layout in (Layout.MIRRORED, Layout.ON_READ)

    def key(self, index: int) -> tuple[int, int]:
        return (id(self), index)


@dataclass(eq=False)
class Component:
    """One copy of a variable, as the function of an update sees it."""

    variable: Variable
    index: int


def create(spec: dict, init: Tensor, owner: Strategy | None) -> Variable:
    """A variable of a strategy, every copy with the same first value; without
    an owner a plain one.
    """
    synchronization = str(spec.get("synchronization") or "AUTO").upper()
    aggregation = str(spec.get("aggregation") or "NONE").upper()
    if (
        synchronization not in SYNCHRONIZATIONS
        or aggregation not in AGGREGATIONS
    ):
        raise Rejected(
            "E_OPTION_VALUE",
            f"`{spec['name']}` has synchronization {synchronization} and aggregation {aggregation}",
        )
    layout, copies = Layout.PLAIN, 1
    if owner and owner.mirrors:
        if synchronization == "NONE":
            raise Rejected(
                "E_SYNC_NONE", f"`{spec['name']}` has no synchronization"
            )
        if aggregation == "MEAN" and init.dtype not in FLOATS:
            raise Rejected(
                "E_MEAN_INT_VAR",
                f"`{spec['name']}` of {init.dtype} cannot be averaged",
            )
        layout = (
            Layout.ON_READ if synchronization == "ON_READ" else Layout.MIRRORED
        )
        copies = owner.replicas_per_worker
    elif owner and owner.central:
        layout = Layout.CENTRAL
    return Variable(
        spec["name"],
        [init.array.copy() for _ in range(copies)],
        layout,
        aggregation,
        owner,
    )


## Writing a copy


def operand(variable: Variable, value, scatter: bool = False):
    """The value of a write in the variable's own element type, its shape
    verified.
    """
    if scatter:
        if not isinstance(value, IndexedSlices):
            raise Rejected(
                "E_ARG_TYPE",
                f"a scatter to `{variable.name}` expected indexed slices",
            )
        _check_dtype(variable, value.values)
        old = variable.copies[0]
        if (
            value.values.shape[1:] != old.shape[1:]
            or value.values.shape[:1] != value.indices.shape
        ):
            raise Rejected(
                "E_SHAPE_MISMATCH",
                f"expected rows of {old.shape}, found {value.values.shape} at {value.indices.shape}",
            )
        rows = value.indices.array
        if rows.size and (rows.min() < 0 or rows.max() >= old.shape[0]):
            raise Rejected(
                "E_INDEX",
                f"expected rows of {old.shape[0]}, found {rows.tolist()}",
            )
        return value
    if is_host(value):
        value = from_host(value, variable.dtype)
    if isinstance(value, IndexedSlices):
        value = value.dense()
    if not isinstance(value, Tensor):
        raise Rejected(
            "E_ARG_TYPE",
            f"expected a value for `{variable.name}`, found {value!r}",
        )
    _check_dtype(variable, value)
    if value.shape != variable.copies[0].shape:
        raise Rejected(
            "E_SHAPE_MISMATCH",
            f"`{variable.name}` expected shape {variable.copies[0].shape}, found {value.shape}",
        )
    return value


def _check_dtype(variable: Variable, tensor: Tensor) -> None:
    if tensor.dtype != variable.dtype:
        raise Rejected(
            "E_DTYPE_MISMATCH",
            f"`{variable.name}` expected {variable.dtype}, found {tensor.dtype}",
        )


def store(variable: Variable, index: int, op: str, value) -> None:
    """One write to one copy; `value` comes from `operand`."""
    old = variable.copies[index]
    if (
        op != "assign"
        and op != "scatter_update"
        and variable.dtype not in NUMBERS
    ):
        raise Rejected(
            "E_DTYPE_UNSUPPORTED", f"`{op}` is not defined on {variable.dtype}"
        )
    if op.startswith("scatter_"):
        variable.copies[index] = _scatter(op, old, value)
    else:
        new = {
            "assign": lambda x: x.copy(),
            "assign_add": lambda x: old + x,
            "assign_sub": lambda x: old - x,
        }[op](value.array)
        variable.copies[index] = np.asarray(new, old.dtype)


def _scatter(op: str, old: np.ndarray, slices: IndexedSlices) -> np.ndarray:
    """Row by row, in order: duplicates accumulate, and the last update wins."""
    rules = {
        "scatter_add": np.add,
        "scatter_sub": np.subtract,
        "scatter_mul": np.multiply,
        "scatter_div": np.true_divide,
        "scatter_min": np.minimum,
        "scatter_max": np.maximum,
        "scatter_update": lambda _, new: new,
    }
    if op not in rules:
        raise Malformed(f"unknown operation {op!r}")
    new = old.copy()
    for row, value in zip(
        slices.indices.array, slices.values.array, strict=True
    ):
        new[row] = np.asarray(rules[op](new[row], value)).astype(old.dtype)
    return new
