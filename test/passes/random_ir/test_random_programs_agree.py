"""Random programs, compiled in every variant, have the interpreter's results,
as do random kernels.

`LOCKSTEP_RANDOM_IR=20000 LOCKSTEP_RANDOM_IR_SEED=7000` checks that many, from
that seed on; a tenth as many kernels.
"""

import os

import pytest

from random_ir.campaign import Settings, describe_shrunk, run

COUNT = int(os.environ.get("LOCKSTEP_RANDOM_IR", 400))
SEED = int(os.environ.get("LOCKSTEP_RANDOM_IR_SEED", 0))

#: Programs of one test.
CHUNK = 100


def check(settings, first, count):
    cases = [
        case
        for _, found in run(settings, first, count, jobs=os.cpu_count())
        for case in found
    ]
    # One of each cause is made small.
    distinct = {case.failure.cause: case for case in reversed(cases)}
    texts = [f"{case.command}: {case.failure.cause}" for case in cases]
    assert not cases, "\n".join(
        [*texts, *map(describe_shrunk, distinct.values())]
    )


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, CHUNK))
def test_steps(tools, first):
    check(Settings(tools), first, min(CHUNK, SEED + COUNT - first))


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT // 10, CHUNK))
def test_kernels(tools, first):
    check(
        Settings(tools, kernels=True),
        first,
        min(CHUNK, SEED + COUNT // 10 - first),
    )
