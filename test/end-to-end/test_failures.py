"""Runs in which something goes wrong, or seems to."""

import json
import math
import re

import numpy as np
import pytest

from conftest import read_metrics


# The report names the collective and its line, who has arrived, who has not, and what every replica is doing.
def test_a_paused_replica_is_reported(tools, examples, compiled, tmp_path):
    report = tmp_path / "report.json"
    done = tools.run(
        "lockstep-run", compiled("digits-mlp", "--replicas=4"),
        *examples("digits-mlp").arguments(3, tmp_path / "metrics.jsonl"),
        "--inject=pause:replica=1,channel=0", "--deadline=1", "--report", report,
        check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert "no replica of program 'step' has made progress for 1 s" in done.stderr
    assert re.search(r"waiting for channel 0 \(all_reduce \w+, \d+ bytes, model\.py:\d+\)", done.stderr)
    assert "arrived: replicas 0, 2-3\n" in done.stderr and "missing: replica 1\n" in done.stderr
    assert re.search(r"replica 0: blocked in command \d+ 'wait channel 0' \(model\.py:\d+\)", done.stderr)
    assert re.search(r"replica 1: paused by an injected fault before command \d+ 'start all_reduce", done.stderr)
    found = json.loads(report.read_text())
    assert found["waits"][0]["missing"] == [1]
    assert found["replicas"][1]["state"] == "paused"


# The deadline is for progress, not for a step: one that takes twice as long is no hang while its kernels end one after the other.
def test_a_slow_step_of_64_replicas_is_no_hang(tools, examples, compiled, tmp_path):
    cnn = examples("digits-cnn")
    data = dict(np.load(cnn.folder / "train.npz"))
    large = tmp_path / "large.npz"
    np.savez(large, **{name: np.resize(array, (64 * 32, *array.shape[1:])) for name, array in data.items()})
    arguments = [
        compiled("digits-cnn", "--replicas=64", "-O0"),
        *("--init", cnn.folder / "init.safetensors", "--data", large, "--steps=1", "--threads=2"),
    ]
    taken = re.search(r"trained 1 step in ([\d.]+) s", tools.run("lockstep-run", *arguments).stdout)
    tools.run("lockstep-run", *arguments, f"--deadline={float(taken[1]) / 2}")


# A learning rate that no model survives: JAX's loss is NaN from the second step on, and so is this one, wherever it is told.
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_loss_that_is_not_a_number_is_told(tools, examples, compiled, tmp_path, level):
    mlp, metrics = examples("digits-mlp"), tmp_path / "metrics.jsonl"
    done = tools.run(
        "lockstep-run", compiled("digits-mlp", "--replicas=4", level), *mlp.arguments(4, metrics),
        "--set=lr=1e30", "--eval-data", mlp.folder / "test.npz",
    )  # fmt: skip
    first, *others, evaluation = read_metrics(metrics)
    assert math.isfinite(first["loss"])
    assert [line["loss"] for line in others] == ["nan"] * 3
    assert evaluation["evaluate"]["loss"] == "nan"
    assert done.stderr.count("lockstep-run: step 2: loss is nan\n") == 1
    assert "loss of the last step nan\n" in done.stdout
    assert re.search(r"evaluation: .*\bloss nan\b", done.stdout)
