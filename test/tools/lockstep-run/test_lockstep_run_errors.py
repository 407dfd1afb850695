"""Errors of lockstep-run, word by word."""

import hashlib
import resource
import subprocess

import numpy as np
import pytest
from safetensors.numpy import save_file

from run_tool import RUN, USUAL, failure, initial, train


@pytest.mark.parametrize(
    "options, expected",
    [
        (USUAL, "expected --epochs=E, --steps=N or --inputs=FILE.npz, found none (see --help)"),
        ([*USUAL, "--epochs=1", "--steps=1"], "--epochs excludes --steps (see --help)"),
        ([*USUAL, "--steps=x"], "--steps: expected a number, found 'x' (see --help)"),
        ([*USUAL, "--steps=-1"], "--steps: expected a number of at least 0, found -1 (see --help)"),
        ([*USUAL, "--epochs=-1"], "--epochs: expected a number of at least 0, found -1 (see --help)"),
        ([*USUAL, "--steps=1", "--seed=-1"], "--seed: expected a number of at least 0, found -1 (see --help)"),
        ([*USUAL, "--steps=99999999999999999999"], "--steps: expected a number of at most 18446744073709551615, found 99999999999999999999 (see --help)"),
        *[
            ([*USUAL, "--steps=1", f"--{name}=0"], f"--{name}: expected a number of at least 1, found 0 (see --help)")
            for name in ["replicas", "threads", "executors", "workers", "check-mirrored", "global-batch", "eval-every"]
        ],
        ([*USUAL, "--steps=1", "--threads=4294967296"], "--threads: expected a number of at most 4294967295, found 4294967296 (see --help)"),
        ([*USUAL, "--steps=1", "--trace=no/t"], "--trace: 'no/t': cannot create: No such file or directory"),
        ([*USUAL, "--steps=1", "--report=no/r"], "--report: 'no/r': cannot create: No such file or directory"),
        ([*USUAL, "--steps=1", "--report=."], "--report: expected a file, found the folder '.'"),
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
        ([*USUAL, "--steps=1", "--trust=no.pem"], "--trust: 'no.pem': cannot open: No such file or directory"),
        ([*USUAL, "--steps=1", "--trust=train.npz"], "--trust: 'train.npz': expected public keys in PEM, found none"),
        ([*USUAL, "--steps=1", "--trust", ""], "--trust: expected a file with public keys, found an empty name"),
        ([*USUAL, "--steps=1", "-O0"], "expected an .mlir for -O0, found the artifact 'model.lockstep'"),
    ],
)  # fmt: skip
def test_errors(model, options, expected):
    assert failure(model, *options) == expected


def root_fields(artifact):
    """Offsets of the fields of the root table, in the order of their ids."""
    root = int.from_bytes(artifact[:4], "little")
    vtable = root - int.from_bytes(
        artifact[root : root + 4], "little", signed=True
    )
    size = int.from_bytes(artifact[vtable : vtable + 2], "little")
    return [
        root + int.from_bytes(artifact[at : at + 2], "little")
        for at in range(vtable + 4, vtable + size, 2)
    ]


def with_digest(artifact):
    """The artifact with the digest that its bytes have, as if a compiler had
    written them.
    """
    digest = root_fields(artifact)[1]
    artifact[digest : digest + 32] = hashlib.sha256(
        artifact[:digest] + artifact[digest + 32 :]
    ).digest()
    return artifact


def test_error_of_a_newer_format(model, tmp_path):
    artifact = bytearray((model / "model.lockstep").read_bytes())
    assert with_digest(bytearray(artifact)) == artifact
    artifact[root_fields(artifact)[0]] += 1
    (tmp_path / "newer.lockstep").write_bytes(with_digest(artifact))
    expected = f"artifact '{tmp_path}/newer.lockstep': format version 4 is too new: this runtime reads up to 3"
    assert (
        failure(
            model, *USUAL, "--steps=1", artifact=tmp_path / "newer.lockstep"
        )
        == expected
    )


def test_error_of_another_target(model, tmp_path):
    artifact = (model / "model.lockstep").read_bytes()
    assert artifact.count(b"x86-64\0") == 1
    other = bytearray(artifact.replace(b"x86-64\0", b"sm_100\0"))
    (tmp_path / "other.lockstep").write_bytes(with_digest(other))
    expected = "no kernels for this CPU: the artifact has 'sm_100', none of which it can execute"
    assert expected in failure(
        model, *USUAL, "--steps=1", artifact=tmp_path / "other.lockstep"
    )


def test_error_of_any_flipped_bit(model, tmp_path):
    """A sample over the whole file; the loader's own test tries every bit of a
    small one.
    """
    artifact = bytearray((model / "model.lockstep").read_bytes())
    path = tmp_path / "flipped.lockstep"
    for position in range(0, len(artifact), len(artifact) // 40):
        artifact[position] ^= 1 << position % 8
        path.write_bytes(artifact)
        assert failure(model, *USUAL, "--steps=1", artifact=path).startswith(
            f"artifact '{path}': "
        )
        artifact[position] ^= 1 << position % 8


def test_error_of_the_data(model, tmp_path):
    # Each input that does not fit is named.
    np.savez(
        tmp_path / "bad.npz",
        x=np.zeros((20, 4), np.float32),
        y=np.zeros(20, np.float64),
    )
    assert failure(
        model, USUAL[0], USUAL[2], "--steps=1", f"--data={tmp_path}/bad.npz"
    ) == (
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
    assert failure(
        model, *USUAL[1:], "--steps=1", f"--init={tmp_path}/bad.safetensors"
    ) == (
        f"'{tmp_path}/bad.safetensors' does not fit the variables of the artifact:\n"
        "  'params/w': expected 3xf32, found 4xf32\n"
        "  'params/b': expected f32, found no such tensor\n"
        "  'extra': expected no such tensor, found 1xi32"
    )


def test_error_of_a_truncated_archive(model, tmp_path):
    whole = (model / "train.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    message = failure(
        model, USUAL[0], USUAL[2], "--steps=1", f"--data={tmp_path}/cut.npz"
    )
    assert message.startswith(
        f"'{tmp_path}/cut.npz': not an .npz file, or a truncated one"
    )


def test_a_run_does_not_replace_checkpoints_of_another(model, tmp_path):
    options = [*USUAL, f"--save={tmp_path}"]
    train(model, "--steps=3", f"--save={tmp_path}")
    before = (tmp_path / "checkpoint-3.safetensors").read_bytes()
    for steps in (2, 3, 5):
        assert failure(model, *options, f"--steps={steps}") == (
            f"'{tmp_path}': expected a folder without checkpoints at the beginning of a run, "
            f"found '{tmp_path}/checkpoint-3.safetensors' (--resume continues its run)"
        )
    assert (tmp_path / "checkpoint-3.safetensors").read_bytes() == before
    assert len(list(tmp_path.glob("checkpoint-*"))) == 1


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
    assert "'params/" in failure(model, *options) or "truncated" in failure(
        model, *options
    )


def test_disk_full(model):
    # Metrics that cannot be written end the run with an error.
    message = failure(model, *USUAL, "--steps=50", "--metrics=/dev/full")
    assert message == "'/dev/full': cannot write: No space left on device"


def is_sanitized():
    with open(RUN, "rb") as file:
        text = file.read()
    return any(name in text for name in (b"__asan_init", b"__tsan_init"))


# With too little address space for a thread or a memory, the tool reports
# which; with enough, it trains.
@pytest.mark.skipif(
    is_sanitized(), reason="sanitizers take terabytes of address space"
)
@pytest.mark.parametrize(
    "threads", ["--threads=1", "--threads=2", "--threads=64", "--executors=3"]
)
def test_address_space_that_does_not_suffice(model, threads):
    statuses = set()
    for megabytes in (*range(10, 50, 2), 60, 100, 200, 400, 1000):
        limit = megabytes << 20
        done = subprocess.run(
            [RUN, "model.lockstep", *USUAL, "--steps=2", threads], cwd=model, capture_output=True, text=True, timeout=120, check=False,
            preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        )  # fmt: skip
        statuses.add(done.returncode)
        # 127: the dynamic linker could not load the tool.
        assert done.returncode in (0, 1, 127), f"{megabytes} MiB: {done.stderr}"
        assert done.returncode != 1 or "lockstep-run: error: " in done.stderr, (
            f"{megabytes} MiB: {done.stderr}"
        )
    assert {0, 1} <= statuses
