"""Launches and their kernels: a wrong change of an artifact's text is an error,
not an access to other memory.
"""

import re

import numpy as np
import pytest

#: Two kernels at -O0, which take memory of different sizes.
STEP = """
#row = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
replica.step @step(%x: tensor<8x4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "small"}, tensor<f32> {replica.metric = "sum"}) {
  %s = replica.all_reduce sum %x : tensor<8x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %small = linalg.reduce ins(%s : tensor<8x4xf32>) outs(%f : tensor<4xf32>) dimensions = [0]
    (%in: f32, %out: f32) {
      %0 = arith.addf %in, %out : f32
      linalg.yield %0 : f32
    }
  %g = tensor.empty() : tensor<f32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce ins(%s : tensor<8x4xf32>) outs(%h : tensor<f32>) dimensions = [0, 1]
    (%in: f32, %out: f32) {
      %0 = arith.addf %in, %out : f32
      linalg.yield %0 : f32
    }
  replica.return %small, %sum : tensor<4xf32>, tensor<f32>
}
"""


@pytest.fixture(scope="module")
def text(tools, tmp_path_factory):
    """The artifact of the step as text."""
    folder = tmp_path_factory.mktemp("launches")
    (folder / "step.mlir").write_text(STEP)
    tools.compile(
        folder / "step.mlir", folder / "step.lockstep", "--replicas=2", "-O0"
    )
    tools.run(
        "lockstep-translate",
        "--import-artifact",
        folder / "step.lockstep",
        "-o",
        folder / "text.mlir",
    )
    return (folder / "text.mlir").read_text()


@pytest.fixture
def change(tools, tmp_path):
    """Translates changed text back and, if that succeeds, runs it."""
    np.savez(tmp_path / "data.npz", x=np.ones((8, 4), np.float32))

    def run(text):
        (tmp_path / "changed.mlir").write_text(text)
        done = tools.run(
            "lockstep-translate",
            "--emit-artifact",
            tmp_path / "changed.mlir",
            "-o",
            tmp_path / "changed.lockstep",
            check=False,
        )
        if done.returncode == 0:
            done = tools.run(
                "lockstep-run",
                tmp_path / "changed.lockstep",
                f"--inputs={tmp_path / 'data.npz'}",
                check=False,
            )
        return done

    return run


def entries(text):
    return re.findall(
        r"device.entry @(\w+) takes <reads (\[.*?\]) writes (\[.*?\])", text
    )


def test_unchanged_text_runs(text, change):
    done = change(text)
    assert done.returncode == 0 and '"result":"sum"' in done.stdout, done.stderr


def test_launch_of_another_kernel(text, change):
    (first, *_), (second, *_) = [
        entry
        for entry in entries(text)
        if f"device.launch @{entry[0]} " in text
    ][-2:]
    done = change(
        re.sub(rf"device.launch @{first} ", f"device.launch @{second} ", text)
    )
    assert done.returncode == 1
    assert re.search(
        rf"step.mlir:9:\d+: error: 'device.launch' op expected .* kernel @{second}, found",
        done.stderr,
    ), done.stderr


def test_launch_without_an_argument(text, change):
    changed, count = re.subn(
        r"(device.launch @\w+) reads\(%\d+ : [^)]*\)", r"\1", text
    )
    assert count > 0
    done = change(changed)
    assert done.returncode == 1
    assert re.search(
        r"error: 'device.launch' op expected 1 reads for kernel @\w+, found 0",
        done.stderr,
    ), done.stderr


def exchanged(text):
    """Swaps the names of two kernels, also in their launches."""
    (first, *_), (second, *_) = entries(text)[-2:]
    return (
        text.replace(f"@{first} ", "@other ")
        .replace(f"@{second} ", f"@{first} ")
        .replace("@other ", f"@{second} ")
    )


def with_more_tiles(text):
    return re.sub(r"grid \d+", "grid 2000000000", text)


def taking_anything(text):
    return re.sub(r" takes <.*?>", "", text)


# Launches and kernels are changed consistently, but the code does not fit them.
@pytest.mark.parametrize(
    "changed", [exchanged, with_more_tiles, taking_anything]
)
def test_code_that_does_not_fit_the_tables(text, change, changed):
    assert changed(text) != text
    done = change(changed(text))
    assert done.returncode == 1
    assert (
        "has code for other arguments or another grid than the artifact's tables say"
        in done.stderr
    ), done.stderr
