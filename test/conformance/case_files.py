"""Reading and judging folders of case files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from reference import differences, evaluate, expectation

FORMAT = "tfdist-neutral-1"
CASES = Path(__file__).parent / "cases"


def read(path: Path) -> list[dict]:
    content = json.loads(path.read_text())
    if content.get("format") != FORMAT:
        raise ValueError(
            f"{path}: expected format {FORMAT}, found {content.get('format')!r}"
        )
    return content["cases"]


def programs(paths: list[Path]) -> Iterator[dict]:
    """The cases that have a program; the others are procedures, which the
    language cannot express.
    """
    for path in paths:
        yield from (case for case in read(path) if "program" in case)


def judge(case: dict) -> list[str]:
    """Differences of the reference's result from what the case expects by
    its grading.
    """
    result, tolerance = evaluate(case), case.get("tolerance")
    if isinstance(result, dict):
        return differences(expectation(case), result, tolerance)
    return [
        f"worker {i}: {line}"
        for i, r in enumerate(result)
        for line in differences(expectation(case, i), r, tolerance)
    ]
