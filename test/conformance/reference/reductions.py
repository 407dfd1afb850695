"""Combines one value from each replica: sums, means, concatenations.
`parts` are in replica order.
"""

from __future__ import annotations

import numpy as np

from .arithmetic import axes_of
from .errors import Rejected
from .values import DTYPES, INTEGERS, NARROW, NUMBERS, IndexedSlices, Tensor


def parse_reduce_op(name) -> str:
    if not isinstance(name, str) or name.upper() not in ("SUM", "MEAN"):
        raise Rejected("E_REDUCE_OP", f"expected SUM or MEAN, found {name!r}")
    return name.upper()


def _one_dtype(parts: list[Tensor]) -> str:
    dtype = parts[0].dtype
    for part in parts[1:]:
        if part.dtype != dtype:
            raise Rejected(
                "E_DTYPE_MISMATCH",
                f"expected {dtype} on every replica, found {part.dtype}",
            )
    return dtype


def reduce_tensors(op: str, parts: list[Tensor]) -> Tensor:
    """Added in replica order: narrow floats in f32, rounded once; integers
    wrap, and their mean is f64.
    """
    dtype = _one_dtype(parts)
    for part in parts[1:]:
        if part.shape != parts[0].shape:
            raise Rejected(
                "E_SHAPE_MISMATCH",
                f"expected shape {parts[0].shape} on every replica, found {part.shape}",
            )
    if dtype not in NUMBERS:
        raise Rejected("E_DTYPE_UNSUPPORTED", f"no sum of {dtype}")
    wide = np.dtype(np.float32) if dtype in NARROW else DTYPES[dtype]
    total = parts[0].array.astype(wide)
    for part in parts[1:]:
        total = np.asarray(np.add(total, part.array.astype(wide)))
    if op == "MEAN":
        total = np.asarray(
            np.true_divide(
                total,
                np.asarray(
                    len(parts), np.float64 if dtype in INTEGERS else wide
                ),
            )
        )
        if dtype in INTEGERS:
            return Tensor(total.astype(np.float64))
    return Tensor(total.astype(DTYPES[dtype]))


def reduce_slices(op: str, parts: list[IndexedSlices]) -> IndexedSlices:
    """Concatenates the rows of all replicas with duplicates; a mean divides."""
    dtype = _one_dtype([p.values for p in parts])
    values = concatenate([p.values for p in parts], 0, "E_SHAPE_MISMATCH")
    if dtype not in NUMBERS:
        raise Rejected("E_DTYPE_UNSUPPORTED", f"no sum of {dtype}")
    if op == "MEAN":
        share = np.true_divide(values.array.astype(np.float64), len(parts))
        values = Tensor(
            share if dtype in INTEGERS else share.astype(values.array.dtype)
        )
    return IndexedSlices(
        values,
        concatenate([p.indices for p in parts], 0, "E_SHAPE_MISMATCH"),
        parts[0].dense_shape,
    )


def _require_values(parts: list) -> None:
    if any(part is None for part in parts):
        raise Rejected(
            "E_ARG_TYPE", "expected a value of every replica, found None"
        )


def reduce_parts(op: str, parts: list):
    _require_values(parts)
    sparse = [isinstance(p, IndexedSlices) for p in parts]
    if all(sparse):
        return reduce_slices(op, parts)
    return reduce_tensors(
        op, [p.dense() if isinstance(p, IndexedSlices) else p for p in parts]
    )


def concatenate(
    parts: list[Tensor], axis: int, rank_code: str = "E_RANK_MISMATCH"
) -> Tensor:
    """Ragged along `axis`, equal in everything else."""
    _require_values(parts)
    rank = len(parts[0].shape)
    if rank == 0 and all(not p.shape for p in parts):
        raise Rejected(
            "E_SCALAR_GATHER", "expected at least one dimension, found a scalar"
        )
    for part in parts[1:]:
        if len(part.shape) != rank:
            raise Rejected(
                rank_code,
                f"expected {rank} dimensions on every replica, found {len(part.shape)}",
            )
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise Rejected("E_ARG_TYPE", f"expected an axis, found {axis!r}")
    if not 0 <= axis < rank:
        raise Rejected(
            "E_AXIS_RANGE", f"expected an axis in [0, {rank}), found {axis}"
        )
    for part in parts[1:]:
        if (
            part.shape[:axis] + part.shape[axis + 1 :]
            != parts[0].shape[:axis] + parts[0].shape[axis + 1 :]
        ):
            raise Rejected(
                "E_SHAPE_MISMATCH",
                f"expected shape {parts[0].shape} but for axis {axis}, found {part.shape}",
            )
    _one_dtype(parts)
    return Tensor(np.concatenate([p.array for p in parts], axis))


def partial(part: Tensor, axis) -> tuple[Tensor, int]:
    """One replica's share of a reduction over an axis: its sum, and how many
    elements went into each sum.
    """
    axes = axes_of(axis, len(part.shape))
    if part.dtype not in NUMBERS:
        raise Rejected("E_DTYPE_UNSUPPORTED", f"no sum of {part.dtype}")
    if len(set(axes)) != len(axes):
        raise Rejected("E_AXIS_RANGE", f"expected each axis once, found {axis}")
    wide = np.dtype(np.float32) if part.dtype in NARROW else part.array.dtype
    total = np.asarray(np.sum(part.array.astype(wide), axis=axes, dtype=wide))
    count = int(np.prod([part.shape[a] for a in axes], dtype=np.int64))
    return Tensor(total.astype(part.array.dtype)), count


def reduce_over_axis(op: str, shares: list[tuple[Tensor, int]]) -> Tensor:
    """All replicas' elements together: a mean divides by the number of elements
    that there really are.
    """
    total = reduce_tensors("SUM", [s for s, _ in shares])
    if op == "SUM":
        return total
    count = sum(n for _, n in shares)
    if total.dtype in INTEGERS:
        return Tensor(
            np.asarray(
                np.true_divide(
                    total.array.astype(np.float64), np.float64(count)
                )
            )
        )
    wide = np.float32 if total.dtype in NARROW else total.array.dtype
    return Tensor(
        np.asarray(
            np.true_divide(total.array.astype(wide), np.asarray(count, wide))
        ).astype(total.array.dtype)
    )
