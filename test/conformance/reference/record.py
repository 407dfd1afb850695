"""Results in the format of the cases: writing them, what a case expects, and
how two results differ.
"""

from __future__ import annotations

import math

from .errors import Malformed
from .values import (
    DTYPES,
    FLOATS,
    NARROW,
    Distributed,
    IndexedSlices,
    Mirrored,
    Operation,
    Tensor,
    is_host,
    write_tensor,
)
from .variables import Component, Variable

TOLERANCE = 1e-6


def write_value(value) -> dict:
    if value is None:
        return {"none": True}
    if isinstance(value, Tensor):
        return write_tensor(value)
    if is_host(value):
        return {"py": value}
    if isinstance(value, Distributed):
        return {
            "mirrored" if isinstance(value, Mirrored) else "per_replica": [
                write_value(c) for c in value.components
            ]
        }
    if isinstance(value, IndexedSlices):
        shape = value.dense_shape
        written = (
            None
            if shape is None
            else {"dtype": "i64", "shape": [len(shape)], "data": list(shape)}
        )
        return {
            "indexed_slices": {
                "values": write_tensor(value.values),
                "indices": write_tensor(value.indices),
                "dense_shape": written,
            }
        }
    if isinstance(value, dict):
        return {"dict": {k: write_value(v) for k, v in value.items()}}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [write_value(v) for v in value]}
    if isinstance(value, Variable):
        return (
            write_variable(value)
            if value.distributed
            else write_tensor(Tensor(value.copies[0]))
        )
    if isinstance(value, Component):
        return write_tensor(Tensor(value.variable.copies[value.index]))
    if isinstance(value, Operation):
        return {"op": True}
    raise Malformed(f"no result: {value!r}")


def write_variable(variable: Variable) -> dict:
    return {
        "components": [write_tensor(Tensor(copy)) for copy in variable.copies]
    }


# # Expectations of a case


def expectation(case: dict, worker: int | None = None) -> dict:
    """`{"ok": ...}` or `{"error": class}` by the grading of a case; `{}` where
    any value will do.
    """
    recorded = (
        case["expected"]
        if worker is None
        else case["expected_per_worker"][worker]
    )
    grading = case["grading"]
    if grading in ("reject", "reject_tf_silent"):
        return {"error": case["neutral_error"]}
    if grading == "match_tf":
        return recorded
    if grading != "clean_expected":
        raise Malformed(f"unknown grading {grading!r}")
    clean = case.get("clean_expected")
    if clean is None:
        return {}
    names = {
        "outputs": case.get("observe", []),
        "variables": case.get("observe_vars", []),
    }
    return {
        "ok": {
            part: {n: clean[n] for n in observed if n in clean}
            for part, observed in names.items()
            if observed or part == "outputs"
        }
    }


## Comparing


def differences(
    expected: dict, found: dict, tolerance: float | None = None
) -> list[str]:
    """The differences of `found` from the expectation: one line each."""
    if not expected:
        return (
            []
            if "ok" in found
            else [f"expected a value, found {found['error']}"]
        )
    if "error" in expected or "error" in found:
        return (
            []
            if expected == found
            else [
                f"expected {expected.get('error', 'a value')}, found {found.get('error', 'a value')}"
            ]
        )
    lines = []
    for part, values in expected["ok"].items():
        for name, value in values.items():
            if name not in found["ok"].get(part, {}):
                lines.append(f"{name}: expected a value, found none")
            else:
                lines += _compare(
                    name, value, found["ok"][part][name], tolerance
                )
    return lines


def _compare(path: str, expected, found, tolerance: float | None) -> list[str]:
    if isinstance(expected, dict) and "dtype" in expected:
        return _compare_tensors(path, expected, found, tolerance)
    if isinstance(expected, dict) and isinstance(found, dict):
        if set(expected) != set(found):
            return [
                f"{path}: expected {sorted(expected)}, found {sorted(found)}"
            ]
        return [
            line
            for key in expected
            for line in _compare(
                f"{path}.{key}", expected[key], found[key], tolerance
            )
        ]
    if isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            return [
                f"{path}: expected {len(expected)} values, found {len(found)}"
            ]
        return [
            line
            for i, (e, f) in enumerate(zip(expected, found, strict=True))
            for line in _compare(f"{path}[{i}]", e, f, tolerance)
        ]
    return (
        []
        if type(expected) is type(found) and expected == found
        else [f"{path}: expected {expected!r}, found {found!r}"]
    )


def _compare_tensors(
    path: str, expected: dict, found, tolerance: float | None
) -> list[str]:
    if not isinstance(found, dict) or "dtype" not in found:
        return [f"{path}: expected a tensor, found {found!r}"]
    for key in ("dtype", "shape"):
        if expected[key] != found[key]:
            return [
                f"{path}: expected {key} {expected[key]}, found {found[key]}"
            ]
    if expected["dtype"] not in DTYPES or len(expected["data"]) != len(
        found["data"]
    ):
        return [
            f"{path}: expected {len(expected['data'])} elements of {expected['dtype']}, found {len(found['data'])}"
        ]
    exact = expected["dtype"] not in FLOATS
    allowed = TOLERANCE if tolerance is None else tolerance
    if expected["dtype"] in NARROW:
        allowed = max(
            allowed, 2.0 ** (-8 if expected["dtype"] == "bf16" else -11)
        )
    for i, (e, f) in enumerate(
        zip(expected["data"], found["data"], strict=True)
    ):
        if not (e == f if exact else _close(float(e), float(f), allowed)):
            return [f"{path}: expected {e} at {i}, found {f}"]
    return []


def _close(expected: float, found: float, allowed: float) -> bool:
    if math.isnan(expected) or math.isnan(found):
        return math.isnan(expected) and math.isnan(found)
    return expected == found or abs(
        expected - found
    ) <= allowed + allowed * abs(expected)
