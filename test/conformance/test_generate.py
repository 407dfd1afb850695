"""What is generated: the same for the same numbers, valid, of every kind, and
as the reference says.
"""

import json
from collections import Counter

import pytest

from case_files import CASES, judge, programs
from generate import audit, write
from generation import generate
from generation.cases import FAMILIES
from generation.draw import Draw
from generation.faults import FAULTS
from reference import evaluate
from reference.contexts import HANDLERS
from reference.uniformity import nested

TEMPLATES = list(programs(sorted(CASES.glob("*.json"))))
# Statements whose names of operands the format does not define.
NOT_GENERATED = {"value_container_is", "handle", "python_raise", "scatter_div"}


@pytest.fixture(scope="module")
def generated():
    return generate(1500, 11, TEMPLATES)


def test_a_case_depends_on_its_number_and_the_seed_alone(generated):
    assert generate(20, 11, TEMPLATES) == generated[:20]
    assert generate(20, 12, TEMPLATES) != generated[:20]


def test_files_hold_what_was_generated(generated, tmp_path, capsys):
    write(generated, tmp_path)
    cases = list(programs(sorted(tmp_path.glob("*.json"))))
    assert sorted(cases, key=lambda c: c["name"]) == sorted(
        json.loads(json.dumps(generated)), key=lambda c: c["name"]
    )
    assert (
        audit([tmp_path])
        and capsys.readouterr().out == f"{len(generated)} passed, 0 failed\n"
    )


def test_names_are_unique(generated):
    assert max(Counter(c["name"] for c in generated).values()) == 1


def test_everything_is_generated(generated):
    assert {c["category"] for c in generated} >= {*FAMILIES, "faults"}
    assert {c.get("neutral_error") for c in generated} >= {
        code for _, code, _ in FAULTS
    }
    assert {c["strategy"]["kind"] for c in generated} == {
        "default",
        "one_device",
        "mirrored",
        "central_storage",
        "multi_worker_mirrored",
    }
    assert {
        c["replicas"] for c in generated if c["strategy"]["kind"] == "mirrored"
    } == {1, 2, 3, 4, 8}
    assert {
        s["op"] for c in generated for s in nested(c["program"])
    } >= HANDLERS.keys() - NOT_GENERATED


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_valid(family):
    for index in range(30):
        case = FAMILIES[family][0](Draw(5, index))
        result = evaluate(case)
        assert all(
            "ok" in r
            for r in (result if isinstance(result, list) else [result])
        ), case


def test_a_wrong_expectation_is_found(generated):
    case = next(
        c
        for c in generated
        if c["category"] == "reduce"
        and "expected" in c
        and c["expected"]["ok"]["outputs"]["r"]["data"]
    )
    wrong = json.loads(json.dumps(case))
    wrong["expected"]["ok"]["outputs"]["r"]["data"][0] = 1234
    assert not judge(case) and judge(wrong)
