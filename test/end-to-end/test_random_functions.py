"""Random JAX functions: JAX, the interpreter and compiled programs agree (docs/testing.md).

Every day has its own: the first seed is the date of the last commit. `LOCKSTEP_RANDOM_FUNCTIONS=1000 LOCKSTEP_RANDOM_FUNCTIONS_SEED=7` tries
that many, from that seed on; `python test/end-to-end/differential` tries many more and shrinks what fails.
"""

import os
import subprocess

import jax
import pytest

from conftest import ROOT
from differential import campaign
from differential.check import Checker
from differential.execution import Executor

COUNT = int(os.environ.get("LOCKSTEP_RANDOM_FUNCTIONS", 300))

#: Programs of one test.
CHUNK = 10

#: Seeds of one day.
SEEDS_OF_A_DAY = 1000


def first_seed():
    """That of the environment, else one that the date of the last commit gives; 1 where there is no repository."""
    if "LOCKSTEP_RANDOM_FUNCTIONS_SEED" in os.environ:
        return int(os.environ["LOCKSTEP_RANDOM_FUNCTIONS_SEED"])
    try:
        done = subprocess.run(["git", "log", "-1", "--format=%cs"], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 1
    date = done.stdout.strip().replace("-", "")
    return int(date) * SEEDS_OF_A_DAY if done.returncode == 0 and date.isdigit() else 1


SEED = first_seed()


@pytest.fixture
def checker(tools, tmp_path):
    executor = Executor(tools.folder, tmp_path)
    yield Checker(executor, campaign.best_target())
    executor.close()
    jax.clear_caches()


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, CHUNK))
def test_random_functions(checker, first):
    for seed in range(first, min(first + CHUNK, SEED + COUNT)):
        failure = campaign.examine(seed, checker)
        assert failure is None, str(failure)
