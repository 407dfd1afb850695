"""lockstep-run from the outside, on an artifact that MakeArtifact.cpp
assembles.

Expected losses come from NumPy, in the order of `lockstep.shuffle`.
"""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file

from run_tool import (
    EXAMPLES,
    REPLICAS,
    ROWS,
    RUN,
    USUAL,
    initial,
    lines,
    run,
    shuffle,
    train,
)


def reference_losses(model, seed, epochs):
    """The same training in NumPy, in f64: (losses, errors after each epoch)."""
    data, test = np.load(model / "train.npz"), np.load(model / "test.npz")
    w, b = initial()["params/w"].astype(float), 1.0
    losses, errors = [], []
    for epoch in range(epochs):
        for rows in shuffle.global_batches(
            seed, epoch, EXAMPLES, ROWS * REPLICAS
        ):
            x, y = data["x"][rows].astype(float), data["y"][rows]
            r = x @ w + b - y
            losses.append(np.mean(r * r))
            w = w - 0.1 * np.mean(2 * r[:, None] * x, axis=0)
            b = b - 0.1 * np.mean(2 * r)
        errors.append(
            np.mean((test["x"].astype(float) @ w + b - test["y"]) ** 2)
        )
    return losses, errors


def test_arrays_that_nothing_reads_are_named(model, tmp_path):
    data = dict(np.load(model / "train.npz"))
    np.savez(
        tmp_path / "more.npz", **data, labels=np.zeros(3), extra=np.zeros(3)
    )
    _, _, err = train(
        model,
        "--steps=1",
        f"--data={tmp_path}/more.npz",
        f"--eval-data={tmp_path}/more.npz",
    )
    assert (
        err.count(
            f"lockstep-run: '{tmp_path}/more.npz': no input has the name of 'labels', 'extra'\n"
        )
        == 2
    )
    _, _, err = train(model, "--steps=1")
    assert "no input has the name" not in err


def test_trains_like_numpy(model, tmp_path):
    # Losses of every step and the evaluation after every epoch, which counts 17
    # examples in batches of 12 once each.
    metrics = tmp_path / "metrics.jsonl"
    _, out, err = train(
        model,
        "--eval-data=test.npz",
        "--epochs=5",
        "--seed=7",
        f"--metrics={metrics}",
    )
    losses, errors = reference_losses(model, 7, 5)
    found = lines(metrics)
    steps = [m for m in found if "loss" in m]
    assert [m["step"] for m in steps] == list(range(10))
    assert [m["epoch"] for m in steps] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert [m["seen"] for m in steps] == [[i, 7] for i in range(10)]
    np.testing.assert_allclose([m["loss"] for m in steps], losses, rtol=1e-5)
    evaluations = [m for m in found if "evaluate" in m]
    assert [(m["step"], m["epoch"]) for m in evaluations] == [
        (2 * e, e) for e in range(1, 6)
    ]
    np.testing.assert_allclose(
        [m["evaluate"]["error"] for m in evaluations], errors, rtol=1e-5
    )
    assert (
        "2 steps an epoch; the last 6 of each epoch's order are dropped" in err
    )
    assert "epoch 5/5, step 10, loss" in err
    assert out.startswith("trained 10 steps (5 of 5 epochs) in ")
    assert f"evaluation: error {errors[-1]:.4g}" in out


def test_losses_are_exact(model, tmp_path):
    # The written text is exactly the f32 value.
    metrics = tmp_path / "metrics.jsonl"
    train(model, "--steps=20", f"--metrics={metrics}")
    for line in metrics.read_text().splitlines():
        text = line.split('"loss":')[1].split(",")[0]
        assert str(np.float32(text)) == text or np.float32(text) == float(text)


def test_evaluates_only(model):
    _, out, _ = run(
        model, "--init=init.safetensors", "--eval-data=test.npz", "--steps=0",
        "--set=lr=1",
    )  # fmt: skip
    data = np.load(model / "test.npz")
    error = np.mean((data["x"] @ initial()["params/w"] + 1 - data["y"]) ** 2)
    assert f"evaluation: error {error:.4g}" in out


def test_folder_of_arrays(model, tmp_path):
    # A folder of .npy files is the same as an .npz.
    data = np.load(model / "train.npz")
    for name in data:
        np.save(tmp_path / f"{name}.npy", data[name])
    one, other = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    train(model, "--steps=9", f"--metrics={one}")
    train(model, "--steps=9", f"--metrics={other}", f"--data={tmp_path}")
    assert one.read_text() == other.read_text()


@pytest.mark.parametrize("stop", [1, 2, 3, 5])
def test_resumes_bit_for_bit(model, tmp_path, stop):
    # Metrics and the last checkpoint of a run that was stopped and resumed are
    # the bytes of one that was not, inside of an epoch as well as between two.
    options = ["--eval-data=test.npz", "--save-every=3", "--seed=5"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(
        model,
        *options,
        "--epochs=4",
        f"--save={whole}",
        f"--metrics={whole}.jsonl",
    )
    train(
        model,
        *options,
        f"--steps={stop}",
        f"--save={parts}",
        "--eval-every=100",
    )
    assert load_file(parts / f"checkpoint-{stop}.safetensors")[
        "tally"
    ].shape == (3,)
    _, _, err = train(
        model, *options[:2], "--epochs=4", f"--save={parts}", "--resume",
        f"--metrics={parts}.jsonl",
    )  # fmt: skip
    assert f"resuming after {stop} steps" in err
    name = "checkpoint-8.safetensors"
    assert (parts / name).read_bytes() == (whole / name).read_bytes()
    expected = [
        line
        for line in pathlib.Path(f"{whole}.jsonl").read_text().splitlines()
        if json.loads(line)["step"] >= stop + ("evaluate" in line)
    ]
    assert pathlib.Path(f"{parts}.jsonl").read_text().splitlines() == expected


def test_metrics_continue_on_resume(model, tmp_path):
    # A run that was killed after its last checkpoint has written lines that
    # the resumed run writes again.
    options = ["--eval-data=test.npz", f"--save={tmp_path}"]
    metrics = tmp_path / "metrics.jsonl"
    options.append(f"--metrics={metrics}")
    train(model, *options, "--epochs=4", "--save-every=3")
    whole = metrics.read_text()
    for step in (8, 6):
        (tmp_path / f"checkpoint-{step}.safetensors").unlink()
        train(model, *options, "--epochs=4", "--resume")
        assert metrics.read_text() == whole
    # Resumed at the end, nothing is left to do but the summary.
    _, out, _ = train(model, *options, "--epochs=4", "--resume")
    assert metrics.read_text() == whole
    assert out.startswith("trained 0 steps (4 of 4 epochs)\nevaluation: error ")


def test_keeps_some_checkpoints(model, tmp_path):
    def saved():
        return {path.name for path in tmp_path.glob("checkpoint-*")}

    options = [f"--save={tmp_path}", "--save-every=1", "--keep=2"]
    train(model, *options, "--steps=5")
    assert saved() == {
        "checkpoint-4.safetensors",
        "checkpoint-5.safetensors",
    }
    # One that is damaged neither counts nor is removed.
    (tmp_path / "checkpoint-5.safetensors").write_bytes(b"")
    options[1] = "--save-every=10"
    train(model, *options, "--steps=6", "--resume")
    assert saved() == {f"checkpoint-{i}.safetensors" for i in (4, 5, 6)}
    # If it is written again, it does.
    (tmp_path / "checkpoint-6.safetensors").unlink()
    options[1] = "--save-every=1"
    train(model, *options, "--steps=7", "--resume")
    assert saved() == {f"checkpoint-{i}.safetensors" for i in (6, 7)}


def test_a_run_without_steps_can_be_repeated(model, tmp_path):
    options = [f"--save={tmp_path}", "--steps=0"]
    train(model, *options)
    assert (tmp_path / "checkpoint-0.safetensors").exists()
    train(model, f"--save={tmp_path}", "--steps=1")


def test_resume_without_a_checkpoint_begins(model, tmp_path):
    _, _, err = train(
        model, "--steps=1", f"--save={tmp_path / 'new'}", "--resume"
    )
    assert "starting from the beginning" in err
    assert (tmp_path / "new" / "checkpoint-1.safetensors").exists()


def test_any_number_of_threads(model, tmp_path):
    texts = set()
    for threads in (1, 2):
        metrics = tmp_path / f"{threads}.jsonl"
        train(
            model, "--epochs=3", f"--threads={threads}", f"--metrics={metrics}"
        )
        texts.add(metrics.read_text())
    assert len(texts) == 1


def test_checks_races_and_traces(model, tmp_path):
    trace = tmp_path / "trace.json"
    train(model, "--steps=3", "--check-races", f"--trace={trace}")
    assert json.loads(trace.read_text())


def test_compares_mirrored_variables(model, tmp_path):
    for name, options in {
        "one": [],
        "three": ["--executors=3", "--check-mirrored=2"],
    }.items():
        train(model, "--steps=7", f"--save={tmp_path / name}", *options)
    file = "checkpoint-7.safetensors"
    assert (tmp_path / "one" / file).read_bytes() == (
        tmp_path / "three" / file
    ).read_bytes()


def test_compiles_an_mlir(model, tmp_path):
    # The compiler beside the executable is started once; then the cache is
    # used.
    (tmp_path / "lockstep-run").write_bytes(pathlib.Path(RUN).read_bytes())
    (tmp_path / "lockstep-run").chmod(0o755)
    (tmp_path / "step.mlir").write_text("module {}")
    compiler = tmp_path / "lockstep-compile"
    command = [
        tmp_path / "lockstep-run",
        tmp_path / "step.mlir",
        *USUAL,
        "--steps=1",
    ]
    env = {**os.environ, "LOCKSTEP_CACHE": str(tmp_path / "cache")}

    def compile_and_run(*options):
        return subprocess.run(
            [*command, *options],
            cwd=model,
            env=env,
            capture_output=True,
            text=True,
        )

    assert "expected --replicas=N to compile" in compile_and_run().stderr
    assert (
        "expected lockstep-compile beside this executable"
        in compile_and_run("--replicas=3").stderr
    )
    compiler.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nwhile [ "$1" != -o ]; do shift; done\ncp {model}/model.lockstep "$2"\n'
    )
    compiler.chmod(0o755)
    for _ in range(2):
        result = compile_and_run("--replicas=3", "-O0")
        assert result.returncode == 0, result.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 1
    assert calls[0].startswith(
        f"{tmp_path}/step.mlir --replicas=3 -O0 -o {tmp_path}/cache/step-"
    )
    compiler.write_text(
        "#!/bin/sh\necho 'step.mlir:1:1: error: no' >&2\nexit 1\n"
    )
    result = compile_and_run("--replicas=3")
    assert result.returncode == 1
    assert result.stderr == (
        "step.mlir:1:1: error: no\nlockstep-run: error: lockstep-compile failed with status 1 (see above)\n"
    )
    assert len(list((tmp_path / "cache").iterdir())) == 1
