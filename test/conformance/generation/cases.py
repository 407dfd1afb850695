"""From a number to a case with its expectation."""

from __future__ import annotations

from reference import evaluate

from . import (
    collectives,
    control,
    copies,
    corners,
    crossing,
    differing,
    scopes,
    state,
)
from .draw import Draw
from .exactness import exact
from .faults import fault
from .variants import outcome_class, variant

FAMILIES = {
    name: family
    for module in (
        collectives,
        crossing,
        state,
        control,
        scopes,
        corners,
        differing,
        copies,
    )
    for name, family in module.FAMILIES.items()
}
SHARES = {"family": 0.65, "variant": 0.2, "fault": 0.15}
ATTEMPTS = 200


def generate(count: int, seed: int, templates: list[dict]) -> list[dict]:
    return [generate_one(seed, index, templates) for index in range(count)]


def generate_one(seed: int, index: int, templates: list[dict]) -> dict:
    """The first attempt whose result does not depend on rounding. An invalid
    program is an error of the generator.
    """
    for attempt in range(ATTEMPTS):
        draw = Draw(seed, index, attempt)
        drawn = _draw(draw, templates)
        if drawn is None:
            continue
        category, case, code = drawn
        result = evaluate(case)
        found = outcome_class(result)
        if code is not None and found != code:
            raise AssertionError(
                f"{category} of seed {seed}, index {index}: expected {code}, found {found}: {case}"
            )
        if found != "ok" or exact(case, result):
            return _finish(case, result, category, seed, index)
    raise AssertionError(
        f"seed {seed}, index {index}: no case in {ATTEMPTS} attempts"
    )


def _draw(
    draw: Draw, templates: list[dict]
) -> tuple[str, dict, str | None] | None:
    """`(category, case, the outcome it must have)`; a variant's outcome is its
    template's already.
    """
    kind = draw.pick(tuple(SHARES), tuple(SHARES.values()))
    if kind == "fault":
        case, code = fault(draw)
        return "faults", case, code
    if kind == "variant" and templates:
        template = draw.pick(templates)
        case = variant(draw, template)
        return (
            None
            if case is None
            else (f"variants_of_{template['category']}", case, None)
        )
    names = tuple(FAMILIES)
    name = draw.pick(names, [FAMILIES[n][1] for n in names])
    return name, FAMILIES[name][0](draw), "ok"


def _finish(case: dict, result, category: str, seed: int, index: int) -> dict:
    finished = {
        "name": f"{category}_{seed}_{index}",
        "category": category,
        **case,
    }
    if isinstance(result, list):
        finished["expected_per_worker"] = result
    else:
        finished["expected"] = result
    code = outcome_class(result)
    finished["grading"] = "match_tf" if code == "ok" else "reject"
    if code != "ok":
        finished["neutral_error"] = code
    finished["provenance"] = {
        "how": "computed by test/conformance/reference",
        "seed": seed,
        "index": index,
    }
    return finished
