"""Programs written by hand: whole loops compiled, values of cross-replica
context, host values of any shape.
"""

import numpy as np
import pytest

from modules_by_hand import expect, per_replica

COUNTS = [1, 2, 3, 4, 8]


@pytest.mark.parametrize("replicas", COUNTS)
def test_runs_and_reductions(runner, replicas):  # [3-run, 3.1-axis-mean]
    random = np.random.default_rng(replicas)
    x = [
        random.integers(-9, 9, 2).astype(np.float32) * 24
        for _ in range(replicas)
    ]
    k = np.float32([2, 10])
    found = runner.run("program-run", replicas, per_replica("x", x) | {"k": k})
    each = [2 * mine * k for mine in x]  # [1.2-plain]
    for replica in range(replicas):
        assert found["result", "each", replica] == ((2,), list(each[replica]))
    ids = np.full(2, np.mean(np.arange(replicas)))  # [3-values-from-function]
    expect(
        found,
        replicas,
        sum=sum(each),
        ids=ids,
        v=np.float32(10 + sum(range(replicas))),
    )
    np.testing.assert_allclose(
        found["result", "mean", 0][1], np.mean(np.concatenate(each)), rtol=1e-6
    )


@pytest.mark.parametrize("replicas", COUNTS)
def test_slices(runner, replicas):  # [2.1-slices, 3.1-slices]
    random = np.random.default_rng(replicas)
    rows = [int(random.integers(0, 5)) for _ in range(replicas)]
    # Divisible by all counts of replicas: means are exact.
    v = [24 * random.integers(-9, 9, (n, 2)).astype(np.float32) for n in rows]
    # One index in ten is outside of the table, where it changes nothing.
    i = [random.integers(-1, 7, n).astype(np.int64) for n in rows]
    found = runner.run(
        "program-slices", replicas, per_replica("v", v) | per_replica("i", i)
    )
    values, indices = np.concatenate(v), np.concatenate(i)
    expect(
        found, replicas, values=values / np.float32(replicas), indices=indices
    )
    table = np.ones((6, 2), np.float32)  # [5.2-scatter-add]
    inside = (indices >= 0) & (indices < 6)  # [5.2-scatter-cross]
    np.subtract.at(table, indices[inside], values[inside])
    np.maximum.at(table, indices[inside], values[inside] / np.float32(replicas))
    for replica in range(replicas):
        np.testing.assert_array_equal(
            np.reshape(found["variable", "table", replica][1], (6, 2)), table
        )


@pytest.mark.parametrize("replicas", COUNTS)
def test_steps_over_data(runner, replicas):  # [7-loop, 7-non-tensor]
    data = (
        np.arange(5 * replicas, dtype=np.float32).reshape(5, replicas, 1) * 24
    )
    found = runner.run(
        "program-steps",
        replicas,
        {f"x@{r}": data[:, r] for r in range(replicas)},
    )
    last = data[2, :, 0]  # [7-last-output]
    expect(found, replicas, mean=np.mean(last), sum=np.sum(last), n=np.int64(5))
    assert found["constant", "about"] == {"optimizer": "none", "rates": [1.0]}
    for replica in range(replicas):
        assert found["result", "each", replica] == ((), [last[replica]])
        assert found["variable", "v", replica] == ((), [data[:3].sum()])


@pytest.mark.parametrize("replicas", COUNTS)  # [7-early-stop]
@pytest.mark.parametrize("batches, steps", [(10, 4), (3, 3), (0, 0)])
def test_a_loop_that_stops_early(runner, replicas, batches, steps):
    data = {f"x@{r}": np.zeros((batches,), np.float32) for r in range(replicas)}
    found = runner.run("program-early-stop", replicas, data)
    expect(
        found,
        replicas,
        steps=np.int64(steps),
        loss=np.float32(64 / 2**steps if steps else 100),
    )


def test_more_steps_than_data(runner):  # [7-past-end]
    said = runner.refusal("program-steps", 2, x=np.zeros((2, 1), np.float32))
    assert "program-steps.mlir:15" in said
    assert "asks for batch 3 of 2 [E_OUT_OF_RANGE]" in said


def test_replicas_have_as_many_batches(runner):  # [6.1-same-count]
    said = runner.refusal(
        "program-steps",
        2,
        **{
            "x@0": np.zeros((3, 1), np.float32),
            "x@1": np.zeros((4, 1), np.float32),
        },
    )
    assert (
        "program 'main': replica 1 has 4 batches, but replica 0 has 3" in said
    )


def test_host_values_are_checked(runner):
    said = runner.refusal(
        "program-run", 2, x=np.zeros(2, np.float32), k=np.zeros(3, np.float32)
    )
    assert "array 'k': expected 2xf32, found 3xf32" in said
