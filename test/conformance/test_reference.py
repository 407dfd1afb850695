"""The reference has the recorded results, on every case with a program."""

from pathlib import Path

from case_files import judge, programs, read

BY_HAND = Path(__file__).parent / "driver" / "Inputs" / "Programs"


def test_recorded_cases(case_file):
    wrong = {
        case["name"]: lines
        for case in programs([case_file])
        if (lines := judge(case))
    }
    assert not wrong


def test_programs_by_hand():
    wrong = {
        case["name"]: lines
        for case in programs(sorted(BY_HAND.glob("*.json")))
        if (lines := judge(case))
    }
    assert not wrong


def test_every_case_is_judged_or_a_procedure(case_file):
    assert all(
        "program" in case or "op" in case or "model" in case
        for case in read(case_file)
    )
