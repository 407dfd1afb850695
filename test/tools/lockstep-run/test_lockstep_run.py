"""lockstep-run from the outside, on an artifact that MakeArtifact.cpp assembles.

The environment names the two executables: LOCKSTEP_RUN and
LOCKSTEP_MAKE_ARTIFACT. Expected losses come from NumPy, in the order of
`lockstep.shuffle`.
"""

import hashlib
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[3]
RUN = os.environ.get("LOCKSTEP_RUN")
MAKE_ARTIFACT = os.environ.get("LOCKSTEP_MAKE_ARTIFACT")
ROWS, REPLICAS, EXAMPLES = 4, 3, 30

if not RUN or not MAKE_ARTIFACT:
    raise RuntimeError("expected LOCKSTEP_RUN and LOCKSTEP_MAKE_ARTIFACT to name the executables, as ctest does")


def _shuffle():
    """The module by its file: the package around it would import JAX."""
    path = ROOT / "python-bindings" / "lockstep" / "shuffle.py"
    spec = importlib.util.spec_from_file_location("shuffle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shuffle = _shuffle()


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A folder with artifacts, data and initial values."""
    folder = tmp_path_factory.mktemp("model")
    for name, arguments in {
        "model.lockstep": [str(REPLICAS)],
        "hangs.lockstep": [str(REPLICAS), "hang"],
        "loops.lockstep": [str(REPLICAS), "loop"],
    }.items():
        subprocess.run([MAKE_ARTIFACT, arguments[0], folder / name, *arguments[1:]], check=True)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(EXAMPLES, 3)).astype(np.float32)
    y = (x @ np.array([1, -2, 0.5]) + 3).astype(np.float32)
    np.savez(folder / "train.npz", x=x, y=y)
    np.savez_compressed(folder / "test.npz", x=x[:17] + 1, y=y[:17])
    save_file(initial(), folder / "init.safetensors")
    return folder


def initial():
    return {
        "params/w": np.array([0.5, 0.25, -1], np.float32),
        "params/b": np.array(1, np.float32),
        "tally": np.array(0, np.float32),
    }


def run(model, *options, artifact="model.lockstep", check=True, env=None):
    """Runs the tool in the folder; returns (status, output, errors)."""
    result = subprocess.run(
        [RUN, artifact, *options],
        cwd=model, capture_output=True, text=True, timeout=120,
        env={**os.environ, **(env or {})},
    )  # fmt: skip
    if check:
        assert result.returncode == 0, result.stderr
    return result.returncode, result.stdout, result.stderr


def train(model, *options, **more):
    """Runs with the usual options."""
    return run(
        model, "--init=init.safetensors", "--data=train.npz", "--set", "lr=0.1",
        *options, **more,
    )  # fmt: skip


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def reference_losses(model, seed, epochs):
    """The same training in NumPy, in f64: (losses, errors after each epoch)."""
    data, test = np.load(model / "train.npz"), np.load(model / "test.npz")
    w, b = initial()["params/w"].astype(float), 1.0
    losses, errors = [], []
    for epoch in range(epochs):
        for rows in shuffle.global_batches(seed, epoch, EXAMPLES, ROWS * REPLICAS):
            x, y = data["x"][rows].astype(float), data["y"][rows]
            r = x @ w + b - y
            losses.append(np.mean(r * r))
            w = w - 0.1 * np.mean(2 * r[:, None] * x, axis=0)
            b = b - 0.1 * np.mean(2 * r)
        errors.append(np.mean((test["x"].astype(float) @ w + b - test["y"]) ** 2))
    return losses, errors


def test_trains_like_numpy(model, tmp_path):
    # Losses of every step and the evaluation after every epoch, which counts 17 examples in
    # batches of 12 once each.
    metrics = tmp_path / "metrics.jsonl"
    _, out, err = train(model, "--eval-data=test.npz", "--epochs=5", "--seed=7", f"--metrics={metrics}")
    losses, errors = reference_losses(model, 7, 5)
    found = lines(metrics)
    steps = [m for m in found if "loss" in m]
    assert [m["step"] for m in steps] == list(range(10))
    assert [m["epoch"] for m in steps] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert [m["seen"] for m in steps] == [[i, 7] for i in range(10)]
    np.testing.assert_allclose([m["loss"] for m in steps], losses, rtol=1e-5)
    evaluations = [m for m in found if "evaluate" in m]
    assert [(m["step"], m["epoch"]) for m in evaluations] == [(2 * e, e) for e in range(1, 6)]
    np.testing.assert_allclose([m["evaluate"]["error"] for m in evaluations], errors, rtol=1e-5)
    assert "2 steps an epoch; the last 6 of each epoch's order are dropped" in err
    assert "epoch 5/5, step 10, loss" in err
    assert out.startswith("trained 10 steps (5 of 5 epochs) in ")
    assert f"evaluation: error {errors[-1]:.4g}" in out


def test_losses_are_exact(model, tmp_path):
    # What is written is the f32 value itself: nothing is lost between text and bits.
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
    # Metrics and the last checkpoint of a run that was stopped and resumed are the bytes of one
    # that was not, inside of an epoch as well as between two.
    options = ["--eval-data=test.npz", "--save-every=3", "--seed=5"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(model, *options, "--epochs=4", f"--save={whole}", f"--metrics={whole}.jsonl")
    train(model, *options, f"--steps={stop}", f"--save={parts}", "--eval-every=100")
    assert load_file(parts / f"checkpoint-{stop}.safetensors")["tally"].shape == (3,)
    _, _, err = train(
        model, *options[:2], "--epochs=4", f"--save={parts}", "--resume",
        f"--metrics={parts}.jsonl",
    )  # fmt: skip
    assert f"resuming after {stop} steps" in err
    name = "checkpoint-8.safetensors"
    assert (parts / name).read_bytes() == (whole / name).read_bytes()
    expected = [
        line for line in pathlib.Path(f"{whole}.jsonl").read_text().splitlines() if json.loads(line)["step"] >= stop + ("evaluate" in line)
    ]
    assert pathlib.Path(f"{parts}.jsonl").read_text().splitlines() == expected


def test_metrics_continue_on_resume(model, tmp_path):
    # A run that died after its last checkpoint has written lines that the resumed run writes
    # again.
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


def test_resume_without_a_checkpoint_begins(model, tmp_path):
    _, _, err = train(model, "--steps=1", f"--save={tmp_path / 'new'}", "--resume")
    assert "starting from the beginning" in err
    assert (tmp_path / "new" / "checkpoint-1.safetensors").exists()


def test_any_number_of_threads(model, tmp_path):
    texts = set()
    for threads in (1, 2):
        metrics = tmp_path / f"{threads}.jsonl"
        train(model, "--epochs=3", f"--threads={threads}", f"--metrics={metrics}")
        texts.add(metrics.read_text())
    assert len(texts) == 1


def test_checks_races_and_traces(model, tmp_path):
    trace = tmp_path / "trace.json"
    train(model, "--steps=3", "--check-races", f"--trace={trace}")
    assert json.loads(trace.read_text())


def test_stops_on_a_signal(model, tmp_path):
    # The step is finished, the state saved, and the status tells the signal.
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
    # The report names the replica. The others had written the variable `tally` already, so
    # nothing is saved, and what can be resumed from is named.
    report = tmp_path / "report.json"
    train(model, "--steps=2", f"--save={tmp_path}")
    status, _, err = train(
        model, "--steps=5", "--inject=pause:replica=2,channel=0,program=step",
        "--deadline=0.2", f"--report={report}", f"--save={tmp_path}", "--resume",
        check=False,
    )  # fmt: skip
    assert status == 3
    assert "lockstep-run: injected: pause:replica=2,channel=0,program=step" in err
    assert err.count("replica 2: paused") == 1 and "train.py:42" in err
    assert json.loads(report.read_text())
    assert "the step that failed may have updated variables: they are not saved" in err
    assert f"last checkpoint: '{tmp_path}/checkpoint-2.safetensors'" in err


def test_saves_variables_that_are_intact(model, tmp_path):
    # Here nobody has begun the step.
    faults = [f"--inject=pause:replica={r},command=0,program=step" for r in range(3)]
    status, _, err = train(model, "--steps=5", *faults, "--deadline=0.2", f"--save={tmp_path}", check=False)
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
    assert "a kernel does not return" in err


def is_initial(path):
    saved = load_file(path)
    return all(np.array_equal(saved[name], value) for name, value in initial().items())


@pytest.mark.parametrize("options, artifact", [
    (["--inject=pause:replica=2,command=7,program=step"], "model.lockstep"),
    (["--inject=return-early:replica=1,command=0,program=step", "--threads=2"], "model.lockstep"),
    (["--threads=1"], "hangs.lockstep"),
])  # fmt: skip
def test_saves_the_state_before_the_step_that_fails(model, tmp_path, options, artifact):
    # All have begun to write variables. With one thread, nobody but the watchdog's is left to save them.
    path = tmp_path / "saved"
    usual = ["--steps=5", "--deadline=0.3", f"--save={path}"]
    status, _, err = train(model, *options, *usual, artifact=artifact, check=False)
    assert status == 3
    assert "may have updated variables: they are not saved" in err and "there is no checkpoint" in err
    status, _, err = train(model, *options, *usual, "--shadow-variables", artifact=artifact, check=False)
    assert status == 3
    assert "has begun to update variables: the state before it is saved" in err
    assert f"last checkpoint: '{path}/checkpoint-0.safetensors'" in err
    assert is_initial(path / "checkpoint-0.safetensors")


def test_shadows_change_nothing(model, tmp_path):
    # What is copied is not what is computed with.
    for name, options in {"plain": [], "shadowed": ["--shadow-variables"]}.items():
        train(model, "--steps=7", f"--save={tmp_path / name}", *options)
    file = "checkpoint-7.safetensors"
    assert (tmp_path / "plain" / file).read_bytes() == (tmp_path / "shadowed" / file).read_bytes()


class Interrupted:
    """A run that gets signals when it says certain things."""

    def __init__(self, model, *options, artifact="model.lockstep"):
        self.process = subprocess.Popen(
            [RUN, artifact, "--init=init.safetensors", "--data=train.npz", "--set=lr=0.1", "--steps=5", *options],
            cwd=model, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.err = ""
        # What is waited for may never be said.
        self.timer = threading.Timer(120, self.process.kill)
        self.timer.start()

    def wait_for(self, text):
        while text not in self.err:
            line = self.process.stderr.readline()
            assert line, self.err
            self.err += line

    def end(self):
        self.err += self.process.communicate(timeout=60)[1]
        self.timer.cancel()
        return self.process.returncode, self.err


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
    run.wait_for(f"lockstep-run: {name}: stopping after the step at hand; a second signal gives it up\n")
    run.process.send_signal(number)
    status, err = run.end()
    assert status == 128 + number
    assert f"lockstep-run: error: given up at the second signal, {name}\n" in err
    assert ("are not saved" in err) == (not shadows)
    assert not shadows or is_initial(tmp_path / "checkpoint-0.safetensors")


def test_a_step_that_does_not_end_is_given_up_after_a_signal(model, tmp_path):
    # The loop makes progress for ever, so no deadline passes; the fault, which harms nobody, tells that the step has begun.
    run = Interrupted(
        model, "--inject=nan:replica=0,command=0,program=step", "--deadline=0.5", f"--save={tmp_path}", "--shadow-variables",
        artifact="loops.lockstep",
    )  # fmt: skip
    run.wait_for("injected: ")
    run.process.send_signal(signal.SIGTERM)
    status, err = run.end()
    assert status == 128 + signal.SIGTERM
    assert "error: given up, since the step at hand has not ended 0.5 s after SIGTERM\n" in err
    assert is_initial(tmp_path / "checkpoint-0.safetensors")


def test_compares_mirrored_variables(model, tmp_path):
    for name, options in {"one": [], "three": ["--executors=3", "--check-mirrored=2"]}.items():
        train(model, "--steps=7", f"--save={tmp_path / name}", *options)
    file = "checkpoint-7.safetensors"
    assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "three" / file).read_bytes()


def failure(model, *options, **more):
    """The message of a run that fails, without "lockstep-run: error: "."""
    status, _, err = run(model, *options, check=False, **more)
    assert status in (1, 2)
    assert "lockstep-run: error: " in err
    return err.split("lockstep-run: error: ")[1].rstrip("\n")


USUAL = ["--init=init.safetensors", "--data=train.npz", "--set=lr=0.1"]


@pytest.mark.parametrize(
    "options, expected",
    [
        (USUAL, "expected --epochs=E, --steps=N or --inputs=FILE.npz, found none (see --help)"),
        ([*USUAL, "--epochs=1", "--steps=1"], "--epochs excludes --steps (see --help)"),
        ([*USUAL, "--steps=x"], "could not convert: --steps = x (see --help)"),
        ([*USUAL, "--steps=1", "--resume"], "--resume requires --save (see --help)"),
        ([*USUAL, "--steps=1", "--deadline=0"], "--deadline: expected a number of seconds above 0, found '0' (see --help)"),
        ([*USUAL, "--steps=1", "--check-mirrored=2"], "expected several executors for --check-mirrored, found 1 (see --help)"),
        ([*USUAL, "--steps=1", "--check-mirrored=2", "--workers=2"], "--workers excludes --check-mirrored (see --help)"),
        ([*USUAL, "--steps=1", "--check-races", "--workers=2"], "--workers excludes --check-races (see --help)"),
        ([*USUAL, "--steps=1", "--what"], "the following argument was not expected: --what (see --help)"),
        ([*USUAL, "--steps=1", "--replicas=4"], "'model.lockstep': compiled for 3 replicas, found --replicas=4 (compile it again, or give the .mlir)"),
        (["--steps=1", *USUAL[:2]], "scalars without a default need a value: --set lr=... (f32)"),
        ([*USUAL, "--steps=1", "--set=rate=1"], "--set rate=1: no scalar 'rate' (there are: lr)"),
        ([*USUAL, "--steps=1", "--set=lr=1"], "--set lr=1: 'lr' is set twice"),
        ([*USUAL[:2], "--steps=1", "--set=lr=fast"], "--set lr=fast: expected a number for f32, found 'fast'"),
        ([*USUAL, "--steps=1", "--set=seed=1"], "--set seed=1: 'seed' is supplied by lockstep-run (use --seed)"),
        ([*USUAL, "--steps=1", "--set=lr"], "--set lr: expected NAME=VALUE"),
        ([*USUAL, "--steps=1", "--seed=4294967296"], "scalar 'seed': expected an integer from 0 to 4294967295 for u32, found '4294967296'"),
        ([USUAL[0], USUAL[2], "--steps=1"], "expected --data=PATH, because the step takes data"),
        (["--data=no.npz", USUAL[0], USUAL[2], "--steps=1"], "'no.npz': cannot open: No such file"),
        (["--data=init.safetensors", USUAL[0], USUAL[2], "--steps=1"], "'init.safetensors': not an .npz file, or a truncated one: Not a zip archive"),
        ([*USUAL[1:], "--steps=1"], "expected --init=FILE, because these variables have no initial value:\n  'params/w' (3xf32)\n  'params/b' (f32)\n  'tally' (f32)"),
        (["--init=no.safetensors", *USUAL[1:], "--steps=1"], "'no.safetensors': cannot open: No such file or directory"),
        ([*USUAL, "--steps=1", "-O0"], "expected an .mlir for -O0, found the artifact 'model.lockstep'"),
    ],
)  # fmt: skip
def test_errors(model, options, expected):
    assert failure(model, *options) == expected


def root_fields(artifact):
    """Offsets of the fields of the root table, in the order of their ids."""
    root = int.from_bytes(artifact[:4], "little")
    vtable = root - int.from_bytes(artifact[root : root + 4], "little", signed=True)
    size = int.from_bytes(artifact[vtable : vtable + 2], "little")
    return [root + int.from_bytes(artifact[at : at + 2], "little") for at in range(vtable + 4, vtable + size, 2)]


def with_digest(artifact):
    """The artifact with the digest that its bytes have, as if a compiler had written them."""
    digest = root_fields(artifact)[1]
    artifact[digest : digest + 32] = hashlib.sha256(artifact[:digest] + artifact[digest + 32 :]).digest()
    return artifact


def test_error_of_a_newer_format(model, tmp_path):
    artifact = bytearray((model / "model.lockstep").read_bytes())
    assert with_digest(bytearray(artifact)) == artifact
    artifact[root_fields(artifact)[0]] += 1
    (tmp_path / "newer.lockstep").write_bytes(with_digest(artifact))
    expected = f"artifact '{tmp_path}/newer.lockstep': format version 3 is too new: this runtime reads up to 2"
    assert failure(model, *USUAL, "--steps=1", artifact=tmp_path / "newer.lockstep") == expected


def test_error_of_another_target(model, tmp_path):
    artifact = (model / "model.lockstep").read_bytes()
    assert artifact.count(b"x86-64\0") == 1
    other = bytearray(artifact.replace(b"x86-64\0", b"sm_100\0"))
    (tmp_path / "other.lockstep").write_bytes(with_digest(other))
    expected = "no kernels for this CPU: the artifact has 'sm_100', none of which it can execute"
    assert expected in failure(model, *USUAL, "--steps=1", artifact=tmp_path / "other.lockstep")


def test_error_of_any_flipped_bit(model, tmp_path):
    """A sample over the whole file; the loader's own test tries every bit of a small one."""
    artifact = bytearray((model / "model.lockstep").read_bytes())
    path = tmp_path / "flipped.lockstep"
    for position in range(0, len(artifact), len(artifact) // 40):
        artifact[position] ^= 1 << position % 8
        path.write_bytes(artifact)
        assert failure(model, *USUAL, "--steps=1", artifact=path).startswith(f"artifact '{path}': ")
        artifact[position] ^= 1 << position % 8


def test_error_of_the_data(model, tmp_path):
    # Each input that does not fit is named.
    np.savez(tmp_path / "bad.npz", x=np.zeros((20, 4), np.float32), y=np.zeros(20, np.float64))
    assert failure(model, USUAL[0], USUAL[2], "--steps=1", f"--data={tmp_path}/bad.npz") == (
        f"'{tmp_path}/bad.npz' does not fit the inputs of 'step':\n"
        "  'x': expected ?x3xf32, found 20x4xf32\n"
        "  'y': expected ?xf32, found 20xf64"
    )


def test_error_of_initial_values(model, tmp_path):
    values = initial()
    values["params/w"] = np.zeros(4, np.float32)
    del values["params/b"]
    values["extra"] = np.zeros(1, np.int32)
    save_file(values, tmp_path / "bad.safetensors")
    assert failure(model, *USUAL[1:], "--steps=1", f"--init={tmp_path}/bad.safetensors") == (
        f"'{tmp_path}/bad.safetensors' does not fit the variables of the artifact:\n"
        "  'params/w': expected 3xf32, found 4xf32\n"
        "  'params/b': expected f32, found no such tensor\n"
        "  'extra': expected no such tensor, found 1xi32"
    )


def test_error_of_a_truncated_archive(model, tmp_path):
    whole = (model / "train.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    message = failure(model, USUAL[0], USUAL[2], "--steps=1", f"--data={tmp_path}/cut.npz")
    assert message.startswith(f"'{tmp_path}/cut.npz': not an .npz file, or a truncated one")


def test_errors_of_resuming(model, tmp_path):
    train(model, "--steps=3", "--seed=1", f"--save={tmp_path}")
    checkpoint = tmp_path / "checkpoint-3.safetensors"
    options = [*USUAL, f"--save={tmp_path}", "--resume", "--steps=5"]
    assert failure(model, *options, "--seed=2").splitlines()[-1] == (
        f"'{checkpoint}': expected --seed=1, with which the run began, found 2"
    )
    data = np.load(model / "train.npz")
    np.savez(tmp_path / "less.npz", x=data["x"][:20], y=data["y"][:20])
    options[1] = f"--data={tmp_path}/less.npz"
    assert failure(model, *options) == (
        f"'{checkpoint}': expected the 30 examples that the run began with, found 20 in '{tmp_path}/less.npz'"
    )
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    assert "'params/" in failure(model, *options) or "truncated" in failure(model, *options)


def test_disk_full(model):
    # Metrics that cannot be written end the run with an error.
    message = failure(model, *USUAL, "--steps=50", "--metrics=/dev/full")
    assert message == "'/dev/full': cannot write: No space left on device"


def test_compiles_an_mlir(model, tmp_path):
    # The compiler beside the executable is started once; then the cache is used.
    (tmp_path / "lockstep-run").write_bytes(pathlib.Path(RUN).read_bytes())
    (tmp_path / "lockstep-run").chmod(0o755)
    (tmp_path / "step.mlir").write_text("module {}")
    compiler = tmp_path / "lockstep-compile"
    command = [tmp_path / "lockstep-run", tmp_path / "step.mlir", *USUAL, "--steps=1"]
    env = {**os.environ, "LOCKSTEP_CACHE": str(tmp_path / "cache")}

    def compile_and_run(*options):
        return subprocess.run([*command, *options], cwd=model, env=env, capture_output=True, text=True)

    assert "expected --replicas=N to compile" in compile_and_run().stderr
    assert "expected lockstep-compile beside this executable" in compile_and_run("--replicas=3").stderr
    compiler.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nwhile [ "$1" != -o ]; do shift; done\ncp {model}/model.lockstep "$2"\n')
    compiler.chmod(0o755)
    for _ in range(2):
        result = compile_and_run("--replicas=3", "-O0")
        assert result.returncode == 0, result.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 1
    assert calls[0].startswith(f"{tmp_path}/step.mlir --replicas=3 -O0 -o {tmp_path}/cache/step-")
    compiler.write_text("#!/bin/sh\necho 'step.mlir:1:1: error: no' >&2\nexit 1\n")
    result = compile_and_run("--replicas=3")
    assert result.returncode == 1
    assert result.stderr == ("step.mlir:1:1: error: no\nlockstep-run: error: lockstep-compile failed with status 1 (see above)\n")
    assert len(list((tmp_path / "cache").iterdir())) == 1
