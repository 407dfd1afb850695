"""Losses of compiled training runs against JAX's for the same steps, data and replica count."""

import json

import numpy as np
import pytest

LEVELS = ["-O0", "-O2"]


def assert_close(found, expected, tolerance=1e-5):
    assert len(found) == len(expected)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 8, 64])
def test_mlp_equals_jax_at_every_replica_count(train, examples, replicas, level):
    mlp = examples("digits-mlp")
    losses = train(mlp, 20, compile=[f"--replicas={replicas}", level])
    assert_close(losses, mlp.oracle(replicas, 20))


@pytest.mark.parametrize("level", LEVELS)
def test_mlp_equals_jax_over_100_steps(train, examples, level):
    mlp = examples("digits-mlp")
    assert_close(train(mlp, 100, compile=["--replicas=4", level]), mlp.oracle(4, 100))


@pytest.mark.parametrize("level", LEVELS)
def test_cnn_equals_jax(train, examples, level):
    cnn = examples("digits-cnn")
    assert_close(train(cnn, 20, compile=["--replicas=4", level]), cnn.oracle(4, 20))


def test_worker_threads_change_no_bit(train, examples):
    mlp = examples("digits-mlp")
    one, two = (train(mlp, 50, compile=["--replicas=4"], run=[f"--threads={n}"]) for n in (1, 2))
    assert one == two


@pytest.mark.parametrize("option", ["--bucket=false", "--overlap=false", "--bytes-per-pack=4096"])
def test_communication_options_change_no_bit(train, examples, option):
    mlp = examples("digits-mlp")
    plain = train(mlp, 50, compile=["--replicas=4"])
    changed = train(mlp, 50, compile=["--replicas=4", option])
    assert plain == changed


def test_two_compilations_give_the_same_bytes(tools, examples, tmp_path):
    mlp = examples("digits-mlp")
    artifacts = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        source = tmp_path / folder / "step.mlir"
        source.write_bytes(mlp.source.read_bytes())
        artifacts.append(tools.compile(source, tmp_path / folder / "step.lockstep", "--replicas=4").read_bytes())
    assert artifacts[0] == artifacts[1]


@pytest.mark.parametrize("seed", [0])
def test_mlp_reaches_96_percent(tools, examples, tmp_path, seed):
    mlp = examples("digits-mlp")
    artifact = tools.compile(mlp.source, tmp_path / "mlp.lockstep", "--replicas=4")
    metrics = tmp_path / "metrics.jsonl"
    arguments = ["--init", mlp.folder / "init.safetensors", "--data", mlp.folder / "train.npz"]
    arguments += ["--eval-data", mlp.folder / "test.npz", "--epochs=10", f"--seed={seed}", "--metrics", metrics]
    tools.run("lockstep-run", artifact, *arguments)
    evaluations = [r["evaluate"] for r in map(json.loads, metrics.read_text().splitlines()) if "evaluate" in r]
    assert evaluations[-1]["accuracy"] >= 0.96


def test_resuming_gives_the_same_bits(tools, examples, tmp_path):
    mlp = examples("digits-mlp")
    artifact = tools.compile(mlp.source, tmp_path / "mlp.lockstep", "--replicas=4")

    def run(steps, name, *more):
        metrics = tmp_path / f"{name}.jsonl"
        tools.run("lockstep-run", artifact, *mlp.arguments(steps, metrics), *more)
        return [json.loads(line) for line in metrics.read_text().splitlines()]

    straight = run(60, "straight", "--save", tmp_path / "straight")
    run(37, "first", "--save", tmp_path / "parts")
    resumed = run(60, "second", "--save", tmp_path / "parts", "--resume")
    assert [r for r in resumed if r["step"] > 37] == [r for r in straight if r["step"] > 37]
    last = "checkpoint-60.safetensors"
    assert (tmp_path / "straight" / last).read_bytes() == (tmp_path / "parts" / last).read_bytes()
