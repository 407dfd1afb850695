"""Variants of recorded cases: the same program with other values, shapes,
element types, replicas, strategies, nests.

A variant must have the same kind of result as its template: a value, or an
error of the same class.
Where a change breaks the program (a constant whose shape depends on the number
of replicas) it is no variant.
"""

from __future__ import annotations

from copy import deepcopy

from building import strategy
from reference import evaluate

from .draw import FLOATS, INTEGERS, Draw


def tensors(part, indices: frozenset[str], name: str | None = None):
    """Every literal of numbers in a case that is data: not the rows of slices,
    not shapes, not trip counts.
    """
    if isinstance(part, dict):
        if "dtype" in part and "data" in part:
            yield part
            return
        for key, value in part.items():
            if key not in (
                "expected",
                "expected_by_mode",
                "expected_per_worker",
                "clean_expected",
                "indices",
                "dense_shape",
                "strategy",
            ):
                if key not in indices:
                    yield from tensors(value, indices, key)
    elif isinstance(part, list):
        for item in part:
            yield from tensors(item, indices, name)


def index_names(part) -> frozenset[str]:
    """Names of values that are used as rows of slices."""
    if isinstance(part, dict):
        own = (
            {part["indices"]}
            if part.get("op") == "indexed_slices"
            and isinstance(part["indices"], str)
            else set()
        )
        return frozenset(own).union(*(index_names(v) for v in part.values()))
    return (
        frozenset().union(*(index_names(v) for v in part))
        if isinstance(part, list)
        else frozenset()
    )


def other_values(draw: Draw, case: dict) -> None:
    for literal in tensors(case, index_names(case["program"])):
        if literal["dtype"] in FLOATS + INTEGERS:
            literal["data"] = [
                draw.scalar(literal["dtype"]) for _ in literal["data"]
            ]


def other_dtype(draw: Draw, case: dict) -> None:
    """All f32 become another element type, in casts too; numbers of the host
    become whole beside integers, or they would not fit.
    """
    target = draw.pick(("f64", "f16", "bf16", "f64", "i32", "i64"))

    def visit(part) -> None:
        if isinstance(part, dict):
            if part.get("dtype") == "f32":
                part["dtype"] = target
                if "data" in part and target in INTEGERS:
                    part["data"] = [draw.scalar(target) for _ in part["data"]]
            if isinstance(part.get("py"), float) and target in INTEGERS:
                part["py"] = int(part["py"])
            for value in part.values():
                visit(value)
        elif isinstance(part, list):
            for item in part:
                visit(item)

    for key in ("inputs", "variables", "program"):
        visit(case.get(key))


def other_sizes(draw: Draw, case: dict) -> None:
    """Every size above 1 is replaced by a larger one, consistently."""
    larger = {size: size + draw.number(0, 3) for size in range(2, 40)}

    def grow(shape: list[int]) -> list[int]:
        return [larger.get(n, n) for n in shape]

    def visit(part) -> None:
        if isinstance(part, dict):
            if "dtype" in part and "data" in part:
                grown = (
                    draw.tensor(part["dtype"], grow(part["shape"]))
                    if part["dtype"] != "str"
                    else part
                )
                if part["shape"] != grown["shape"]:
                    part.update(grown)
                return
            if "indices" in part and "values" in part:
                return
            for key, value in part.items():
                if key == "dense_shape" and isinstance(value, list):
                    part[key] = grow(value)
                else:
                    visit(value)
        elif isinstance(part, list):
            for item in part:
                visit(item)

    if not index_names(case["program"]):
        for key in ("inputs", "variables", "program"):
            visit(case.get(key))


def other_replicas(draw: Draw, case: dict) -> None:
    kind = case["strategy"]["kind"]
    if kind in ("default", "one_device"):
        return
    count = (
        draw.pick((2, 3, 4))
        if kind == "multi_worker_mirrored"
        else draw.pick((1, 2, 3, 4, 8))
    )
    _set_strategy(draw, case, kind, count)


def other_strategy(draw: Draw, case: dict) -> None:
    kind = draw.pick(
        ("mirrored", "central_storage", "multi_worker_mirrored", "one_device")
    )
    count = 1 if kind == "one_device" else max(2, case["replicas"])
    _set_strategy(
        draw,
        case,
        kind,
        min(count, 4) if kind == "multi_worker_mirrored" else count,
    )


def _set_strategy(draw: Draw, case: dict, kind: str, count: int) -> None:
    case["strategy"], case["replicas"] = strategy(kind, count), count
    for value in case["inputs"].values():
        if "per_replica" in value:
            parts = value["per_replica"]
            value["per_replica"] = [
                deepcopy(parts[i % len(parts)]) for i in range(count)
            ]


def other_nest(draw: Draw, case: dict) -> None:
    """The operand of a collective becomes part of a nest."""

    def visit(part) -> None:
        if isinstance(part, dict):
            if part.get("op") in ("all_reduce", "all_gather"):
                value = part["value"]
                part["value"] = draw.pick(
                    (
                        [value],
                        {"tuple": [value, value]},
                        {"dict": {"p": value, "q": [value]}},
                    )
                )
            for value in part.values():
                visit(value)
        elif isinstance(part, list):
            for item in part:
                visit(item)

    visit(case["program"])


CHANGES = (
    other_values,
    other_dtype,
    other_sizes,
    other_replicas,
    other_strategy,
    other_nest,
)
DATA = (
    "strategy",
    "replicas",
    "variables",
    "inputs",
    "program",
    "observe",
    "observe_vars",
    "in_scope",
)


def outcome_class(result) -> str:
    first = result[0] if isinstance(result, list) else result
    return first.get("error", "ok")


def variant(draw: Draw, template: dict) -> dict | None:
    """One to three changes, the values always last; None if the result is no
    variant.
    """
    case = {key: deepcopy(template[key]) for key in DATA if key in template}
    changes = [draw.pick(CHANGES[1:]) for _ in range(draw.number(0, 2))]
    for change in dict.fromkeys([*changes, other_values]):
        change(draw, case)
    wanted = outcome_class(evaluate(template))
    if wanted != "ok" and case["replicas"] == 1:
        return None
    return case if outcome_class(evaluate(case)) == wanted else None
