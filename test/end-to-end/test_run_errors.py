"""Files that do not match a run: a message with the expected and the found
values, and a non-zero status.
"""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import artifacts
import targets


@pytest.fixture(scope="module")
def mlp(examples):
    return examples("digits-mlp")


@pytest.fixture(scope="module")
def artifact(compiled):
    names = targets.BEST if targets.DEVICE == "cuda" else "x86-64-v3,x86-64-v4"
    return compiled("digits-mlp", "--replicas=4", f"--target={names}")


@pytest.fixture
def refused(tools, mlp, artifact):
    """Runs for two steps with a file that does not fit, and returns the error;
    None leaves an option out.
    """

    def run(*options, model=artifact, **files):
        given = {
            "init": mlp.folder / "init.safetensors",
            "data": mlp.folder / "train.npz",
            **files,
        }
        arguments = [
            f"--{name}={path}"
            for name, path in given.items()
            if path is not None
        ]
        done = tools.run(
            "lockstep-run",
            model,
            *arguments,
            "--steps=2",
            *options,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        assert "step 1/" not in done.stderr, "it is found before the first step"
        return done.stderr

    return run


def test_truncated_artifact(refused, artifact, tmp_path):
    data, short = artifact.read_bytes(), tmp_path / "short.lockstep"
    for size in (0, 20, 63, 64, 1000, len(data) // 2, len(data) - 1):
        short.write_bytes(data[:size])
        assert "truncated" in refused(model=short)
    assert (
        f"truncated: expected {len(data)} bytes, found {len(data) - 1}"
        in refused(model=short)
    )


# One flipped bit at several positions of the file. Tests of the runtime, which
# are faster, check every bit.
def test_flipped_bits(refused, artifact, tmp_path):
    data, path = artifact.read_bytes(), tmp_path / "flipped.lockstep"
    for position in range(0, len(data), len(data) // 23):
        flipped = bytearray(data)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        assert "flipped.lockstep'" in refused(model=path)


def test_format_version(refused, artifact, tmp_path):
    newer = tmp_path / "newer.lockstep"
    newer.write_bytes(artifacts.with_format_version(artifact.read_bytes(), 4))
    assert "format version 4 is too new: this runtime reads up to 3" in refused(
        model=newer
    )


# No CPU has the levels 8 and 9 of x86-64.
@pytest.mark.own_device
def test_other_target(refused, artifact, tmp_path):
    other = tmp_path / "other.lockstep"
    names = {"x86-64-v3": "x86-64-v8", "x86-64-v4": "x86-64-v9"}
    other.write_bytes(artifacts.with_targets(artifact.read_bytes(), names))
    assert (
        "no kernels for this CPU: the artifact has 'x86-64-v8', 'x86-64-v9', none of which it can execute"
        in refused(model=other)
    )
    assert (
        "no kernels for target 'x86-64-v8': the artifact has 'x86-64-v3', 'x86-64-v4'"
        in refused("--target=x86-64-v8")
    )


def test_other_replica_count(refused):
    assert "compiled for 4 replicas, found --replicas=3" in refused(
        "--replicas=3"
    )


def test_missing_files(refused, tmp_path):
    none = tmp_path / "none"
    assert (
        f"cannot open artifact '{none}': No such file or directory"
        in refused(model=none)
    )
    assert f"'{none}': cannot open: No such file" in refused(data=none)
    assert f"'{none}': cannot open: No such file or directory" in refused(
        init=none
    )
    assert "expected --data=PATH, because the step takes data" in refused(
        data=None
    )


# The arrays of the data, with one change at a time.
@pytest.mark.parametrize("change, text", [
    (lambda d: {**d, "x": d["x"][:, :63]}, "'x': expected ?x64xf32, found 1437x63xf32"),
    (lambda d: {**d, "x": d["x"].reshape(-1, 8, 8)}, "'x': expected ?x64xf32, found 1437x8x8xf32"),
    (lambda d: {**d, "x": d["x"].astype(np.float64)}, "'x': expected ?x64xf32, found 1437x64xf64"),
    (lambda d: {**d, "y": d["y"][1:]}, "'y': expected 1437 examples as in 'x', found 1436"),
    (lambda d: {"x": d["x"]}, "'y': expected ?xi32, found no such array (there are: x)"),
    (lambda d: {k: v[:50] for k, v in d.items()}, "expected at least a global batch of 64 (4 replicas with 16 rows), found 50 examples"),
])  # fmt: skip
def test_data_of_another_shape(refused, mlp, tmp_path, change, text):
    path = tmp_path / "train.npz"
    np.savez(path, **change(dict(np.load(mlp.folder / "train.npz"))))
    assert text in refused(data=path)


def test_damaged_data(refused, mlp, tmp_path):
    data, path = (mlp.folder / "train.npz").read_bytes(), tmp_path / "train.npz"
    for size in (0, 2000, len(data) - 1):
        path.write_bytes(data[:size])
        assert f"'{path}': not an .npz file, or a truncated one" in refused(
            data=path
        )
    path.write_bytes(data[:5000] + bytes([data[5000] ^ 1]) + data[5001:])
    assert (
        f"'{path}', member 'x.npy': truncated or damaged: CRC error"
        in refused(data=path)
    )


@pytest.mark.parametrize("change, text", [
    (lambda v: v | {"params/w1": None}, "'params/w1': expected 64x128xf32, found no such tensor"),
    (lambda v: v | {"params/w1": v["params/w1"].T.copy()}, "'params/w1': expected 64x128xf32, found 128x64xf32"),
    (lambda v: v | {"params/w1": v["params/w1"].astype(np.float64)}, "'params/w1': expected 64x128xf32, found 64x128xf64"),
    (lambda v: v | {"params/w3": v["params/w1"]}, "'params/w3': expected no such tensor, found 64x128xf32"),
])  # fmt: skip
def test_initial_values_of_another_program(
    refused, mlp, tmp_path, change, text
):
    values = change(load_file(mlp.folder / "init.safetensors"))
    path = tmp_path / "init.safetensors"
    save_file(
        {name: value for name, value in values.items() if value is not None},
        path,
    )
    said = refused(init=path)
    assert (
        f"'{path}' does not fit the variables of the artifact" in said
        and text in said
    )


def test_damaged_initial_values(refused, mlp, tmp_path):
    data, path = (
        (mlp.folder / "init.safetensors").read_bytes(),
        tmp_path / "init.safetensors",
    )
    values = 8 * (
        64 * 128 + 128 + 128 * 10 + 10
    )  # of weights, biases and their velocities, f32
    path.write_bytes(data[:-8])
    assert (
        f"truncated: expected data up to byte {values}, found {values - 8} bytes"
        in refused(init=path)
    )
    path.write_bytes(b"")
    assert "not a safetensors file, or truncated: found 0 bytes" in refused(
        init=path
    )


def test_no_initial_values(refused):
    said = refused(init=None)
    assert (
        "expected --init=FILE, because these variables have no initial value:"
        in said
    )
    assert "'params/w1' (64x128xf32)" in said


def test_scalars(refused):
    assert "--set rate=1: no scalar 'rate' (there are: lr)" in refused(
        "--set=rate=1"
    )
    assert "--set lr=fast: expected a number for f32, found 'fast'" in refused(
        "--set=lr=fast"
    )
    assert "--set step=4: 'step' is supplied by lockstep-run" in refused(
        "--set=step=4"
    )


def test_checkpoint_of_another_program(
    tools, examples, compiled, refused, tmp_path
):
    cnn = examples("digits-cnn").arguments(1, tmp_path / "m")
    tools.run(
        "lockstep-run",
        compiled("digits-cnn", "--replicas=4"),
        *cnn,
        "--save",
        tmp_path,
    )
    said = refused("--save", tmp_path, "--resume")
    assert (
        f"'{tmp_path}/checkpoint-1.safetensors' does not fit the variables of the artifact"
        in said
    )
    assert "'params/w1': expected 64x128xf32, found no such tensor" in said
    assert (
        "'params/conv1/w': expected no such tensor, found 3x3x1x16xf32" in said
    )


def test_checkpoint_of_another_run(tools, mlp, artifact, refused, tmp_path):
    tools.run(
        "lockstep-run",
        artifact,
        *mlp.arguments(1, tmp_path / "m"),
        "--save",
        tmp_path,
    )
    assert "expected --seed=0, with which the run began, found 5" in refused(
        "--save", tmp_path, "--resume", "--seed=5"
    )
    path = tmp_path / "checkpoint-1.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    assert "truncated" in refused("--save", tmp_path, "--resume")


# The error occurs before the first step, not after the last.
def test_folder_that_cannot_be_written(refused, tmp_path):
    (tmp_path / "file").touch()
    said = refused("--save", tmp_path / "file" / "below")
    assert (
        said.count("cannot create this folder for checkpoints: Not a directory")
        == 1
    )
    assert (
        "'/proc/below': cannot create this folder for checkpoints"
        in refused("--save=/proc/below")
    )
    assert "cannot create: No such file or directory" in refused(
        "--metrics", tmp_path / "none" / "metrics.jsonl"
    )
