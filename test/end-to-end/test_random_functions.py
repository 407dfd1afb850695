"""Random JAX functions: JAX, the interpreter and compiled programs agree
(docs/testing.md).

Every day has its own: the first seed is the date of the last commit.
  `LOCKSTEP_RANDOM_FUNCTIONS=1000 LOCKSTEP_RANDOM_FUNCTIONS_SEED=7` tries
that many, from that seed on; `python test/end-to-end/differential` tries many
more and shrinks what fails.
"""

import os

import pytest

import days
import targets
from differential import campaign

COUNT = int(os.environ.get("LOCKSTEP_RANDOM_FUNCTIONS", 60))

#: Programs of one test.
CHUNK = 30

SEED = int(os.environ.get("LOCKSTEP_RANDOM_FUNCTIONS_SEED", days.first_seed()))


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, CHUNK))
def test_random_functions(tools, first):
    settings = campaign.Settings(tools.folder, targets.BEST)
    seeds = range(first, min(first + CHUNK, SEED + COUNT))
    found = dict(campaign.side_by_side(seeds, os.cpu_count(), settings))
    assert found.keys() == set(seeds)
    failures = [
        failure
        for failure in found.values()
        if failure and not failure.is_of_jax
    ]
    texts = [f"seed {failure.seed}: {failure.outcome}" for failure in failures]
    assert not failures, "\n".join(
        [*texts, *map(str, campaign.shrunk(failures, os.cpu_count(), settings))]
    )
