"""Data that replicas cannot share evenly: every example counts once, all
replicas take the same steps, and any number of them can resume.
"""

import numpy as np
import pytest

from conftest import ROOT, read_metrics
from lockstep import shuffle

MODULE = ROOT / "test" / "end-to-end" / "Inputs" / "uneven-batches.mlir"
BATCH, EXAMPLES = 7, 67  # nine batches of 7 and one of 4
STEPS = 10


@pytest.fixture
def data(tmp_path):
    x = (
        np.random.default_rng(0)
        .integers(-100, 100, (EXAMPLES, 2))
        .astype(np.float32)
    )
    np.savez(tmp_path / "x.npz", x=x)
    return x


@pytest.fixture
def run(tools, tmp_path, data):
    """Runs the module compiled for some replicas and returns the lines of
    metrics.
    """

    def runner(replicas, *options, level="-O2"):
        artifact = tmp_path / f"{replicas}{level}.lockstep"
        if not artifact.exists():
            tools.compile(MODULE, artifact, f"--replicas={replicas}", level)
        metrics = tmp_path / "metrics.jsonl"
        tools.run(
            "lockstep-run",
            artifact,
            "--data",
            tmp_path / "x.npz",
            "--metrics",
            metrics,
            "--check-races",
            *options,
        )
        return read_metrics(metrics)

    return runner


USUAL = ["--remainder=distribute", f"--global-batch={BATCH}"]


def batches(x, epoch=0):
    order = np.asarray(shuffle.order(0, epoch, EXAMPLES))
    return [x[order[i : i + BATCH]] for i in range(0, EXAMPLES, BATCH)]


def check(lines, x):
    """The steps of one epoch."""
    assert [line["step"] for line in lines] == list(range(STEPS))
    assert [line["epoch"] for line in lines] == [0] * STEPS
    for line, batch in zip(lines, batches(x), strict=True):
        assert line["examples"] == len(batch)
        np.testing.assert_array_equal(
            np.float32(line["mean"]), batch.sum(axis=0) / np.float32(len(batch))
        )
    # Not the mean of the means, in which the last four examples would count for
    # more.
    np.testing.assert_array_equal(
        np.float32(lines[-1]["mean_so_far"]),
        x.sum(axis=0) / np.float32(EXAMPLES),
    )


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("replicas", [1, 2, 3, 4])
def test_an_epoch_of_uneven_batches(run, data, replicas, level):  # [6.1-pieces]
    lines = run(replicas, *USUAL, "--epochs=1", level=level)
    check(lines, data)
    assert lines[-1]["tally"] == EXAMPLES


@pytest.mark.parametrize("replicas", [1, 2, 3, 4])
def test_the_interpreter_agrees(tools, run, data, tmp_path, replicas):
    lines = run(replicas, *USUAL, "--epochs=1")
    metrics = tmp_path / "interpreted.jsonl"
    arguments = ["--data", tmp_path / "x.npz", "--metrics", metrics, *USUAL]
    tools.run(
        "lockstep-interpret",
        MODULE,
        f"--replicas={replicas}",
        f"--steps={STEPS}",
        *arguments,
    )
    assert read_metrics(metrics) == lines


def test_replicas_without_an_example(run, data):  # [6.1-empty]
    # Batches of 28 on 4 replicas: the last one has 11 examples, 3, 3, 3 and 2;
    # of batches of 22, it has one, and three replicas have none.
    for batch, last in ((28, 11), (22, 1)):  # [10-empty-replica]
        lines = run(
            4, "--remainder=distribute", f"--global-batch={batch}", "--epochs=1"
        )
        assert [line["examples"] for line in lines] == [batch] * (
            len(lines) - 1
        ) + [last]
        np.testing.assert_array_equal(
            np.float32(lines[-1]["mean_so_far"]),
            data.sum(axis=0) / np.float32(EXAMPLES),
        )


def test_without_the_option_the_remainder_is_dropped(run, data):
    lines = run(3, "--epochs=2")
    assert [(line["epoch"], line["examples"]) for line in lines] == [
        (e, 21.0) for e in (0, 1) for _ in range(EXAMPLES // 21)
    ]


@pytest.mark.parametrize("before, after", [(4, 2), (2, 3), (1, 4), (3, 1)])
def test_another_number_of_replicas_resumes(run, data, tmp_path, before, after):
    """A run stopped in the midst of an epoch is resumed by another number of
    replicas, which see the rest of it.
    """
    save = ["--save", tmp_path / f"{before}-{after}"]  # [5.3-checkpoint]
    first = run(before, *USUAL, *save, "--steps=4")
    rest = run(after, *USUAL, *save, "--resume", "--epochs=1")
    check(first + rest[-(STEPS - 4) :], data)
    # The sum of the counts of all replicas, divided among the new ones.
    np.testing.assert_allclose(rest[-1]["tally"], EXAMPLES, rtol=1e-6)


def test_errors(tools, tmp_path, data):
    artifact = tools.compile(MODULE, tmp_path / "3.lockstep", "--replicas=3")
    arguments = [artifact, "--data", tmp_path / "x.npz", "--epochs=1"]
    failed = tools.run(
        "lockstep-run", *arguments, "--global-batch=22", check=False
    )
    assert failed.returncode == 1
    assert (
        "error: expected a global batch of at most 21 (3 replicas with 7 rows), found 22"
        in failed.stderr
    )
    failed = tools.run(
        "lockstep-run", *arguments, "--remainder=keep", check=False
    )
    assert failed.returncode == 2
