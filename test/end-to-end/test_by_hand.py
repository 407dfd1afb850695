"""Modules written by hand: compiled at both levels and interpreted, they have
NumPy's results.

The modules are in the folder `Inputs`; the first comment of each describes it.
"""

import numpy as np
import pytest

from modules_by_hand import expect, per_replica


def test_ragged_gather_along_the_first_axis(runner):  # [2.2-ragged]
    # ag_ragged_axis0_3
    parts = [
        np.float32([[1], [2]]),
        np.float32([[3]]),
        np.float32([[4], [5], [6]]),
    ]
    expect(
        runner.run("ragged-axis0", 3, per_replica("x", parts)),
        3,
        y=np.concatenate(parts),
    )


def test_ragged_gather_along_an_inner_axis(runner):
    # ag_ragged_axis1_2
    parts = [
        np.arange(6, dtype=np.float32).reshape(1, 2, 3),
        np.arange(10, 19, dtype=np.float32).reshape(1, 3, 3),
    ]
    expect(
        runner.run("ragged-axis1", 2, per_replica("x", parts)),
        2,
        y=np.concatenate(parts, axis=1),
    )
    expect(
        runner.run("ragged-promise", 2, per_replica("x", parts)),
        2,
        y=np.concatenate(parts, axis=1),
    )


def test_ragged_gather_of_several_values(runner):
    # ag_nest_doc
    a, b = (
        [np.int32([0]), np.int32([1])],
        [np.int32([[0, 1]]), np.int32([[2, 3], [4, 5]])],
    )
    found = runner.run(
        "ragged-nest", 2, per_replica("a", a) | per_replica("b", b)
    )
    expect(found, 2, a=np.int32([0, 1]), b=np.concatenate(b))


def test_a_replica_may_have_no_rows(runner):  # [2.2-ragged]
    parts = [
        np.zeros((0, 1), np.float32),
        np.float32([[7]]),
        np.zeros((0, 1), np.float32),
    ]
    expect(
        runner.run("ragged-axis0", 3, per_replica("x", parts)),
        3,
        y=np.float32([[7]]),
    )


@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 8])
def test_work_on_ragged_values(runner, replicas):
    random = np.random.default_rng(replicas)
    # Small whole numbers: sums are exact in every order.
    x = [
        random.integers(-9, 9, (random.integers(0, 6), 3)).astype(np.float32)
        for _ in range(replicas)
    ]
    z = [
        random.integers(-9, 9, random.integers(0, 5)).astype(np.int32)
        for _ in range(replicas)
    ]
    everything = np.concatenate(x)
    expect(
        runner.run(
            "ragged-compute",
            replicas,
            per_replica("x", x) | per_replica("z", z),
        ),
        replicas,
        twice=2 * everything,
        z=3 * np.concatenate(z),
        sums=everything.sum(axis=0),
        looped=4 * everything.sum(axis=0),
        rows=np.int64(len(everything)),
    )


@pytest.mark.parametrize("replicas", [1, 2, 3, 4])
@pytest.mark.parametrize("uniform", [0, 1])
def test_branches_of_different_sizes(runner, replicas, uniform):
    random = np.random.default_rng(replicas)
    x, w = (
        [
            random.integers(-9, 9, (random.integers(0, most), 2)).astype(
                np.float32
            )
            for _ in range(replicas)
        ]
        for most in (6, 8)
    )
    taken = [replica % 2 == 0 for replica in range(replicas)]
    inputs = (
        per_replica("x", x)
        | per_replica("w", w)
        | per_replica("z", [np.bool_(own) for own in taken])
    )
    found = runner.run("ragged-branch", replicas, inputs, [("k", uniform)])
    other = [
        np.ones((1, 2), np.float32) if uniform else part * part for part in w
    ]
    computed = [2 * x[i] if taken[i] else other[i] for i in range(replicas)]
    gathered = (
        np.concatenate(computed) if uniform else np.concatenate(w * replicas)
    )
    for replica in range(replicas):
        chosen = x[replica] if taken[replica] else w[replica]
        assert found["result", "chosen", replica] == (
            chosen.shape,
            list(chosen.ravel()),
        )
        assert found["result", "computed", replica] == (
            computed[replica].shape,
            list(computed[replica].ravel()),
        )
    expect(
        found,
        replicas,
        gathered=gathered,
        sums=gathered.sum(axis=0, dtype=np.float32),
    )


def test_merge_call_of_the_documentation(runner):
    # mc_doc_example
    found = runner.run(
        "merge-call-doc", 2, {"unused": np.float32(0)}, [("three", 3)]
    )
    assert [found["result", "y", replica][1] for replica in range(2)] == [
        [10],
        [11],
    ]


def test_collectives_in_a_while(runner):
    # mc_in_while
    expect(
        runner.run("merge-call-while", 2, per_replica("x", np.float32([1, 2]))),
        2,
        y=np.float32(6),
        z=np.float32(6),
    )


def test_reduce_to_and_update(runner):
    found = runner.run(
        "merge-call-update", 2, per_replica("x", np.float32([1, 2]))
    )
    expect(found, 2, g=np.float32([1, 2]), b=np.float32(8.5))
    for replica in range(2):
        assert found["result", "o", replica] == ((), [replica + 1])
        assert found["variable", "w", replica] == ((), [8.5])
        assert found["variable", "n", replica] == ((), [1])


@pytest.mark.daily(2)
@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("trips", [0, 1, 3])
def test_ragged_gather_and_merge_call_in_a_loop(runner, replicas, trips):
    random = np.random.default_rng(replicas)
    # Divisible by all counts of replicas: means are exact.
    x = [
        24
        * random.integers(-9, 9, (random.integers(0, 5), 2)).astype(np.float32)
        for _ in range(replicas)
    ]
    w, total = np.float32([1, 2]), np.float32([0, 0])
    everything = np.concatenate(x)
    for _ in range(trips):
        w = w + everything.sum(axis=0) / np.float32(replicas)
        total = total + everything.sum(axis=0) + w
    found = runner.run(
        "merge-call-loop", replicas, per_replica("x", x), [("n", trips)]
    )
    expect(found, replicas, sum=total)
    for replica in range(replicas):
        assert found["variable", "w", replica] == ((2,), list(w))


def test_the_old_value_of_a_variable_is_a_result(runner):
    found = runner.run("old-value", 2, per_replica("x", np.float32([1, 2])))
    expect(found, 2, old=np.float32(10), new=np.float32(13))
    assert found["variable", "w", 0] == ((), [13])


def test_a_variable_that_is_never_read(runner):
    x = [np.float32([1, 2, 3, 4]), np.float32([3, 2, 1, 0])]
    found = runner.run("assigned-only", 2, per_replica("x", x))
    expect(found, 2, y=np.float32([2, 2, 2, 2]))
    assert [found["variable", "last", r] for r in (0, 1)] == [
        ((4,), [2, 2, 2, 2])
    ] * 2


def test_more_rows_than_the_bound_are_refused(runner):
    said = runner.refusal("ragged-axis0", 3, x=np.zeros((4, 1), np.float32))
    assert "array 'x': expected <=3x1xf32, found 4x1xf32" in said


def test_a_promise_of_rows_that_is_not_kept_is_reported(runner):
    said = runner.refusal(
        "ragged-promise", 2, x=np.zeros((1, 2, 3), np.float32)
    )
    assert "ragged-promise.mlir:3" in said
    assert "expected 5 rows in the result, found 4 from 2 replicas" in said


def test_inputs_by_hand_are_checked(runner):
    def error(**arrays):
        return runner.refusal("ragged-nest", 2, **arrays)

    assert "expected an array 'b' or 'b@0', found a" in error(a=np.int32([0]))
    assert "array 'a': expected 1xi32, found 2xi32" in error(
        a=np.int32([0, 1]), b=np.zeros((1, 2), np.int32)
    )
    assert "array 'b': expected <=2x2xi32, found 1x2xf32" in error(
        a=np.int32([0]), b=np.zeros((1, 2), np.float32)
    )
