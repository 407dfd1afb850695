"""The shares of successive days are all of the tests."""

import datetime
import os
import re
import subprocess
import sys

import pytest

import days
from conftest import ROOT

FIRST = datetime.date(2026, 2, 28)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_shares_of_successive_days_are_disjoint_and_all(monkeypatch, count):
    items = list(range(20))
    found = []
    for passed in range(count):
        day = FIRST + datetime.timedelta(passed)
        monkeypatch.setattr(days, "today", lambda day=day: day)
        found += days.share(items, count)
    assert sorted(found) == items


def test_each_day_has_its_own_seeds(monkeypatch):
    monkeypatch.setattr(days, "today", lambda: FIRST)
    assert days.first_seed() == 20260228000


# Every form of a convolution is executed on each day, with one of the two types
# of elements; without LOCKSTEP_DAILY, with both.
@pytest.mark.parametrize("daily", [False, True])
def test_marked_tests_are_selected(daily):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-v"]
        + ["test/end-to-end/test_convolutions.py"],
        cwd=ROOT,
        env=os.environ
        | {"LOCKSTEP_DAILY": "1" if daily else "", "LOCKSTEP_CHECK_MEMORY": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    tests = re.findall(r"test_results\[(.+)-(.+)\]", done.stdout)
    forms = {form for form, _ in tests}
    types = {dtype for _, dtype in tests}
    assert len(forms) > 1 and len(types) == (1 if daily else 2)
    assert len(tests) == len(forms) * len(types)
