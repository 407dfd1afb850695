"""Runs that are stopped, hang or fail in the middle of a step."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from run_tool import ROOT, RUN, USUAL, failure, initial, lines, train
from started import Started


def test_stops_on_a_signal(model, tmp_path):
    # The step is finished, the state saved, and the status has the signal.
    metrics = tmp_path / "metrics.jsonl"
    process = subprocess.Popen(
        [RUN, "model.lockstep", "--init=init.safetensors", "--data=train.npz",
         "--set=lr=0.001", "--steps=2000000000", f"--metrics={metrics}",
         f"--save={tmp_path}"],
        cwd=model, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    while not metrics.exists() or not metrics.stat().st_size:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert out.startswith("stopped after ")
    steps = len(lines(metrics))
    assert (tmp_path / f"checkpoint-{steps}.safetensors").exists()


def test_reports_a_paused_replica(model, tmp_path):
    # The report names the replica. The others have already written the variable
    # `tally`, so nothing is saved, and the checkpoint for resuming is named.
    report = tmp_path / "report.json"
    train(model, "--steps=2", f"--save={tmp_path}")
    status, _, err = train(
        model, "--steps=5", "--inject=pause:replica=2,channel=0,program=step",
        "--deadline=0.2", f"--report={report}", f"--save={tmp_path}", "--resume",
        check=False,
    )  # fmt: skip
    assert status == 3
    assert (
        "lockstep-run: injected: pause:replica=2,channel=0,program=step" in err
    )
    assert err.count("replica 2: paused") == 1 and "train.py:42" in err
    assert json.loads(report.read_text())
    assert (
        "the step that failed may have updated variables: they are not saved"
        in err
    )
    assert f"last checkpoint: '{tmp_path}/checkpoint-2.safetensors'" in err


def test_names_a_fault_that_never_acted(model):
    # Without data to evaluate on, its program does not run.
    fault = "pause:replica=0,command=0,program=evaluate"
    _, _, err = train(model, "--steps=2", f"--inject={fault}")
    assert (
        f"lockstep-run: never injected: {fault}, because the run has ended before\n"
        in err
    )


def test_saves_variables_that_are_intact(model, tmp_path):
    # Here no replica has begun the step.
    faults = [
        f"--inject=pause:replica={r},command=0,program=step" for r in range(3)
    ]
    status, _, err = train(
        model,
        "--steps=5",
        *faults,
        "--deadline=0.2",
        f"--save={tmp_path}",
        check=False,
    )
    assert status == 3
    path = tmp_path / "checkpoint-0.safetensors"
    assert f"last checkpoint: '{path}'" in err
    for name, value in initial().items():
        assert np.array_equal(load_file(path)[name], value)


def test_leaves_a_kernel_that_hangs(model, tmp_path):
    status, _, err = train(
        model, "--steps=5", "--deadline=0.2", "--threads=1", artifact="hangs.lockstep",
        check=False,
    )  # fmt: skip
    assert status == 3
    assert "a kernel or a transfer does not end" in err


def is_initial(path):
    saved = load_file(path)
    return all(
        np.array_equal(saved[name], value) for name, value in initial().items()
    )


@pytest.mark.parametrize("options, artifact", [
    (["--inject=pause:replica=2,command=7,program=step"], "model.lockstep"),
    (["--inject=return-early:replica=1,command=0,program=step", "--threads=2"], "model.lockstep"),
    (["--threads=1"], "hangs.lockstep"),
])  # fmt: skip
def test_saves_the_state_before_the_step_that_fails(
    model, tmp_path, options, artifact
):
    # All have begun to write variables. With one thread, only the watchdog's
    # can save them.
    path = tmp_path / "saved"
    usual = ["--steps=5", "--deadline=0.3", f"--save={path}"]
    status, _, err = train(
        model, *options, *usual, artifact=artifact, check=False
    )
    assert status == 3
    assert (
        "may have updated variables: they are not saved" in err
        and "there is no checkpoint" in err
    )
    status, _, err = train(
        model,
        *options,
        *usual,
        "--shadow-variables",
        artifact=artifact,
        check=False,
    )
    assert status == 3
    assert "has begun to update variables: the state before it is saved" in err
    assert f"last checkpoint: '{path}/checkpoint-0.safetensors'" in err
    assert is_initial(path / "checkpoint-0.safetensors")


def test_shadows_change_nothing(model, tmp_path):
    # The copy is separate from the memory of the computation.
    for name, options in {
        "plain": [],
        "shadowed": ["--shadow-variables"],
    }.items():
        train(model, "--steps=7", f"--save={tmp_path / name}", *options)
    file = "checkpoint-7.safetensors"
    assert (tmp_path / "plain" / file).read_bytes() == (
        tmp_path / "shadowed" / file
    ).read_bytes()


class Interrupted(Started):
    """A run of the tool with the usual options and others."""

    def __init__(self, model, *options, artifact="model.lockstep", steps=5):
        super().__init__(
            [RUN, artifact, *USUAL, f"--steps={steps}", *options], model
        )


@pytest.mark.parametrize("shadows", [False, True])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_second_signal_gives_the_step_up(model, tmp_path, name, shadows):
    number = getattr(signal, name)
    run = Interrupted(
        model, "--inject=pause:replica=2,channel=0,program=step", "--deadline=1000", f"--save={tmp_path}",
        *(["--shadow-variables"] if shadows else []),
    )  # fmt: skip
    run.wait_for("injected: ")
    run.process.send_signal(number)
    run.wait_for(
        f"lockstep-run: {name}: stopping after the current step; a second signal aborts it\n"
    )
    run.insist(
        number,
        until=f"lockstep-run: error: aborted at the second signal, {name}\n",
    )
    assert run.end() == 128 + number, run.said
    assert ("are not saved" in run.said) == (not shadows)
    assert not shadows or is_initial(tmp_path / "checkpoint-0.safetensors")


class Endless(Interrupted):
    """A run that saves to `folder` when it is stopped."""

    def __init__(self, model, folder, *options):
        # The harmless fault signals that the first step has begun.
        fault = "--inject=nan:replica=0,command=0,program=step"
        super().__init__(
            model, f"--save={folder}", fault, *options, steps=2_000_000_000
        )
        self.wait_for("injected: ")


# After a suspension longer than the deadline, in steps and in waits for data,
# the run continues normally.
def test_deadlines_of_a_process_that_is_stopped(model, tmp_path):
    run = Endless(model, tmp_path, "--deadline=1")
    for _ in range(2):
        run.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, run.process.pid, os.WSTOPPED | os.WNOWAIT)
        begin = time.monotonic()
        while time.monotonic() < begin + 1.2:
            pass
        run.process.send_signal(signal.SIGCONT)
        os.waitid(os.P_PID, run.process.pid, os.WCONTINUED | os.WNOWAIT)
    run.process.send_signal(signal.SIGTERM)
    assert run.end() == 128 + signal.SIGTERM, run.said
    assert "error" not in run.said


# A terminal's interrupt may arrive twice: from the terminal, and from the
# parent process.
@pytest.mark.parametrize("other", [signal.SIGINT, signal.SIGTERM])
def test_two_signals_at_once_are_one(model, tmp_path, other):
    run = Endless(model, tmp_path)
    run.process.send_signal(signal.SIGINT)
    run.process.send_signal(other)
    assert run.end() in (128 + signal.SIGINT, 128 + other), run.said
    assert "aborted" not in run.said
    (checkpoint,) = tmp_path.glob("checkpoint-*.safetensors")
    assert checkpoint.stem == f"checkpoint-{steps_of(checkpoint)}"


def steps_of(checkpoint):
    with safe_open(checkpoint, "np") as file:
        return file.metadata()["step"]


def test_one_run_saves_to_a_folder(model, tmp_path):
    run = Endless(model, tmp_path)
    second = failure(model, *USUAL, "--steps=2", f"--save={tmp_path}")
    assert (
        second
        == f"'{tmp_path}': expected a folder that no other run saves to, found it locked by process {run.process.pid}"
    )
    assert not list(tmp_path.glob("*.safetensors"))
    run.process.send_signal(signal.SIGTERM)
    assert run.end() == 128 + signal.SIGTERM
    train(model, "--steps=1", f"--save={tmp_path}", "--resume")


# A killed run has left its incomplete file, but its lock is released.
def test_resumes_after_a_kill(model, tmp_path):
    train(model, "--steps=2", f"--save={tmp_path}")
    (tmp_path / "checkpoint-4.safetensors.123-0.tmp").write_bytes(b"part")
    run = Endless(model, tmp_path, "--resume")
    run.process.kill()
    run.end()
    _, _, err = train(model, "--steps=4", f"--save={tmp_path}", "--resume")
    assert (
        f"resuming after 2 steps from '{tmp_path / 'checkpoint-2.safetensors'}'"
        in err
    )
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_resumes_from_the_checkpoint_before_a_damaged_one(
    model, tmp_path, damage
):
    train(model, "--steps=4", "--save-every=2", f"--save={tmp_path / 'whole'}")
    train(model, "--steps=4", "--save-every=2", f"--save={tmp_path / 'saved'}")
    latest = tmp_path / "saved" / "checkpoint-4.safetensors"
    content = latest.read_bytes()
    latest.write_bytes(
        content[:-1]
        if damage == "cut"
        else content[:-1] + bytes([content[-1] ^ 1])
    )
    _, _, err = train(
        model, "--steps=4", f"--save={tmp_path / 'saved'}", "--resume"
    )
    assert f"lockstep-run: damaged, and passed over: '{latest}': " in err
    if damage == "changed":
        assert "bytes of the file have changed since it was written\n" in err
    assert "resuming after 2 steps from" in err
    assert (
        latest.read_bytes() == (tmp_path / "whole" / latest.name).read_bytes()
    )
    for checkpoint in tmp_path.glob("saved/*.safetensors"):
        checkpoint.write_bytes(b"")
    assert "expected a checkpoint that is whole, found none:" in failure(
        model, *USUAL, "--steps=5", f"--save={tmp_path / 'saved'}", "--resume"
    )


def test_a_step_that_does_not_end_is_given_up_after_a_signal(model, tmp_path):
    # The loop makes progress forever, so no deadline expires; the harmless
    # fault signals that the step has begun.
    run = Interrupted(
        model, "--inject=nan:replica=0,command=0,program=step", "--deadline=0.5", f"--save={tmp_path}", "--shadow-variables",
        artifact="loops.lockstep",
    )  # fmt: skip
    run.wait_for("injected: ")
    run.process.send_signal(signal.SIGTERM)
    assert run.end() == 128 + signal.SIGTERM, run.said
    assert (
        "error: aborted, since the current step has not ended 0.5 s after SIGTERM\n"
        in run.said
    )
    assert is_initial(tmp_path / "checkpoint-0.safetensors")


def next_line_with(stream, text):
    for line in stream:
        if text in line:
            return line
    raise AssertionError(f"expected {text!r}")


def test_reports_a_checkpoint_that_cannot_be_written(model, tmp_path):
    # Metrics are written first, to a pipe that is not read, like a file on a
    # network that hangs.
    pipe = tmp_path / "metrics.jsonl"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(reader, b" " * 4096)
    process = subprocess.Popen(
        [RUN, "model.lockstep", "--init=init.safetensors", "--data=train.npz", "--set=lr=0.001", "--steps=2",
         f"--save={tmp_path}", f"--metrics={pipe}", "--deadline=0.1"],
        cwd=model, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    what = f"writing metrics to '{pipe}' has taken"
    assert next_line_with(process.stderr, what).endswith(
        " 0.1 s so far and goes on; a signal ends the run\n"
    )
    assert " 0.2 s so far" in next_line_with(process.stderr, what)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    os.close(reader)
    assert (
        "a checkpoint is still being written: it is left incomplete; earlier checkpoints are intact\n"
        in err
    )


def test_reports_initial_values_that_cannot_be_read(model, tmp_path):
    pipe = tmp_path / "init.safetensors"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [RUN, "model.lockstep", f"--init={pipe}", "--data=train.npz", "--set=lr=0.001", "--steps=2", "--deadline=0.1"],
        cwd=model, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert " 0.1 s so far" in next_line_with(
        process.stderr, f"reading '{pipe}' has taken"
    )
    with open(pipe, "w"):
        pass
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"'{pipe}'" in err


# A few of the kills of bench/faults/kills.py: ends at random moments lose and
# mix nothing.
def test_ends_at_random_moments(model):
    script = ROOT / "bench" / "faults" / "kills.py"
    done = subprocess.run(
        [sys.executable, script, f"--bin={pathlib.Path(RUN).parent}", "model.lockstep", "--init=init.safetensors", "--data=train.npz",
         "--set=lr=0.001", "--steps=100", "--kills=8", "--doubles=8", "--pairs=2"],
        cwd=model, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("\n0 wrong\n")
