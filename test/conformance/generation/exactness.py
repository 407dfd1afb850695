"""Whether a result depends on how it is rounded.

The same case is evaluated once more with every float widened to f64. Only if
both agree is the expected value determined by the program, independent of the
order of additions and the width of an accumulator:
narrow results must be equal, f32 results within 2.5e-7, a quarter of what a
comparison allows.
"""

from __future__ import annotations

import math

from reference import evaluate

WIDENED = ("f16", "bf16", "f32")
ALLOWED = 2.5e-7


def widen(part):
    """The case with `dtype: f64` wherever it names a smaller float."""
    if isinstance(part, dict):
        return {
            k: "f64" if k == "dtype" and v in WIDENED else widen(v)
            for k, v in part.items()
        }
    return [widen(p) for p in part] if isinstance(part, list) else part


def exact(case: dict, result) -> bool:
    return _agree(result, evaluate(widen(case)))


def _agree(found, wide) -> bool:
    if isinstance(found, dict) and "dtype" in found:
        if not isinstance(wide, dict) or found["shape"] != wide.get("shape"):
            return False
        allowed = ALLOWED if found["dtype"] == "f32" else 0.0
        return all(
            _close(f, w, allowed)
            for f, w in zip(found["data"], wide["data"], strict=True)
        )
    if isinstance(found, dict):
        return (
            isinstance(wide, dict)
            and found.keys() == wide.keys()
            and all(_agree(found[k], wide[k]) for k in found)
        )
    if isinstance(found, list):
        return (
            isinstance(wide, list)
            and len(found) == len(wide)
            and all(map(_agree, found, wide))
        )
    return found == wide


def _close(found, wide, allowed: float) -> bool:
    if found == wide:
        return True
    if (
        isinstance(found, float)
        and isinstance(wide, float)
        and math.isfinite(found)
        and math.isfinite(wide)
    ):
        return abs(found - wide) <= allowed * max(1.0, abs(wide))
    return False
