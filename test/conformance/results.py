"""Results of the reference as plain Python values, for tests that state them by
hand.
"""

from __future__ import annotations

import numpy as np

from building import case
from reference import evaluate


def simple(value: dict):
    """A tensor as nested lists; a kind of value as a pair of its name and its
    contents.
    """
    if "dtype" in value:
        return (
            np.array(value["data"], dtype=object)
            .reshape(value["shape"])
            .tolist()
        )
    ((kind, content),) = value.items()
    if kind == "indexed_slices":
        return (kind, simple(content["values"]), simple(content["indices"]))
    if kind == "dict":
        return {k: simple(v) for k, v in content.items()}
    return (
        kind,
        [simple(v) for v in content] if isinstance(content, list) else content,
    )


def outcome(*args, **fields):
    """The outputs of a case by name, variables with them, or the class of its
    error.
    """
    result = evaluate(case(*args, **fields))
    if isinstance(result, list):
        return [_outcome(r) for r in result]
    return _outcome(result)


def _outcome(result: dict):
    if "error" in result:
        return result["error"]
    ok = result["ok"]
    return {
        name: simple(value)
        for name, value in {**ok["outputs"], **ok.get("variables", {})}.items()
    }


def dtypes(value) -> set[str]:
    """All element types in a result."""
    if isinstance(value, dict):
        own = {value["dtype"]} if "dtype" in value else set()
        return own.union(*(dtypes(v) for v in value.values()))
    return (
        set().union(*(dtypes(v) for v in value))
        if isinstance(value, list)
        else set()
    )
