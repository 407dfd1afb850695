"""Steps that do not compile: a message that names the line of the user's
program, and a non-zero status.
"""

import os
import pty
import subprocess

import pytest

#: A step; the body makes `%r` of `%x`.
STEP = """
module {{
  replica.step @step(%x: tensor<4xf32> {{replica.batch = "x"}}) -> (tensor<4xf32> {{replica.metric = "m"}}) {{
{body}
    %m = replica.all_reduce mean %r : tensor<4xf32> loc("train.py":10:9)
    replica.return %m : tensor<4xf32>
  }}
}}
"""

BRANCH = """
    %id = replica.id : tensor<i32> loc("train.py":7:8)
    %zero = arith.constant 0 : i32
    %i = tensor.extract %id[] : tensor<i32> loc("train.py":7:8)
    %first = arith.cmpi eq, %i, %zero : i32 loc("train.py":8:6)
    %r = scf.if %first -> tensor<4xf32> {
      %s = replica.all_reduce sum %x : tensor<4xf32> loc("train.py":9:11)
      scf.yield %s : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    } loc("train.py":8:3)
"""


@pytest.fixture
def refused(tools, tmp_path):
    """Compiles a step with some body, or a file, which fails; returns what it
    says.
    """

    def compile(body, *options):
        source = body
        if isinstance(body, str):
            source = tmp_path / "step.mlir"
            source.write_text(STEP.format(body=body))
        output = tmp_path / "x.lockstep"
        done = tools.run(
            "lockstep-compile", source, "-o", output, *options, check=False
        )
        assert done.returncode == 1, done.stderr
        assert not output.exists()
        return done.stderr

    return compile


def test_collective_under_a_varying_condition(refused):
    text = refused(BRANCH, "--replicas=2")  # [10-varying-condition]
    assert (
        "train.py:9:11: error: 'replica.all_reduce' is under a condition that may differ between replicas"
        in text
    )
    assert "train.py:8:3: note: the condition of this branch" in text
    assert (
        "train.py:7:8: note: 'replica.id' is different on each replica" in text
    )


# An operation that jaxlib leaves in StableHLO and that has no rule here.
def test_unknown_operation(refused):
    text = refused(
        '    %r = "stablehlo.fft"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("train.py":3:5)',
        "--replicas=1",
    )
    assert "train.py:3:5: error: cannot import 'stablehlo.fft'" in text
    assert "express it by other JAX operations" in text


# Computed with inside of a step, where neither data nor variables have such a
# type. [2.1-dtypes]
@pytest.mark.parametrize("element, there, back", [
    ("i4", "arith.fptosi", "arith.sitofp"),
    ("f8E4M3FN", "arith.truncf", "arith.extf"),
    ("i128", "arith.fptosi", "arith.sitofp"),
])  # fmt: skip
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_dtype_without_kernels(refused, element, there, back, level):
    body = f"""
    %y = {there} %x : tensor<4xf32> to tensor<4x{element}> loc("train.py":3:5)
    %r = {back} %y : tensor<4x{element}> to tensor<4xf32> loc("train.py":4:5)"""
    text = refused(body, "--replicas=2", level)
    assert (
        f"train.py:3:5: error: there are no kernels for elements of type '{element}': expected i1, i8,"
        in text
    )


def test_reduction_of_complex_numbers(refused):
    body = """
    %y = tensor.empty() : tensor<4xcomplex<f32>> loc("train.py":3:5)
    %r = tensor.empty() : tensor<4xf32>
    %s = replica.all_reduce sum %y : tensor<4xcomplex<f32>> loc("train.py":4:5)"""
    text = refused(body, "--replicas=2")
    assert (
        "train.py:4:5: error: 'replica.all_reduce': expected elements that are numbers, found 'complex<f32>'"
        in text
    )


@pytest.mark.parametrize("options, text", [
    ([], "expected a replica count, by --replicas or a 'replica.strategy'"),
    (["--replicas=-3"], "expected a replica count that is positive, found -3"),
    (["--replicas=2", "--target=x86-64-v9"], "unknown target 'x86-64-v9', expected one of 'x86-64-v3', 'x86-64-v4'"),
    (["--replicas=0"], "expected a replica count that is positive, found 0"),
    (["--replicas=2", "--servers=0"], "expected a number of servers that is positive, found 0 [E_CLUSTER]"),
    (["--replicas=2", "--bucket=bytes:-1"], "expected --bucket=optimal, --bucket=none or --bucket=bytes:N with a number of bytes N that is positive, found 'bytes:-1' [E_OPTION_VALUE]"),
    (["--replicas=2", "-O1"], "expected -O0 or -O2, found -O1"),
    (["--replicas=2", "-Ofast"], "expected -O0 or -O2, found -Ofast"),
    (["--replicas=four"], "--replicas: expected a number, found 'four' (see --help)"),
    (["--replicas=2", "--servers="], "--servers: expected a number, found '' (see --help)"),
    (["--replicas=2", "--shard-update=on", "--split=w"], "expected --split=auto, --split=none or --split=NAME:N,... with names of variables and numbers of pieces above 1, found 'w' [E_OPTION_VALUE]"),
    (["--replicas=2", "--shard-update=on", "--split=w:1"], "expected --split=auto, --split=none or --split=NAME:N,... with names of variables and numbers of pieces above 1, found 'w:1' [E_OPTION_VALUE]"),
    (["--replicas=2", "--shard-update=on", "--split=w:2,"], "expected --split=auto, --split=none or --split=NAME:N,... with names of variables and numbers of pieces above 1, found 'w:2,' [E_OPTION_VALUE]"),
    (["--replicas=2", "--shard-update=on", "--split=w:2,w:4"], "expected --split=auto, --split=none or --split=NAME:N,... with names of variables and numbers of pieces above 1, found 'w:2,w:4' [E_OPTION_VALUE]"),
    (["--replicas=2", "--shard-update=on", "--split=:2"], "expected --split=auto, --split=none or --split=NAME:N,... with names of variables and numbers of pieces above 1, found ':2' [E_OPTION_VALUE]"),
    (["--replicas=2", "--shard-update=on", "--split=w:x"], "expected --split=auto, --split=none or --split=NAME:N,... with names of variables and numbers of pieces above 1, found 'w:x' [E_OPTION_VALUE]"),
    (["--replicas=2", "--activations=libraries"], "expected --products=cublaslt or --convolutions=cudnn with --activations=libraries"),
    (["--replicas=2", "--split=w:2"], "expected -O2 and --shard-update=on with --split=w:2"),
    (["--replicas=2", "-O0", "--shard-update=on", "--split=w:2"], "expected -O2 and --shard-update=on with --split=w:2"),
    (["--replicas=2", "--bucket=all"], "expected --bucket=optimal, --bucket=none or --bucket=bytes:N with a number of bytes N that is positive, found 'all' [E_OPTION_VALUE]"),
    (["--replicas=2", "--topology=mesh"], "topology 'mesh': expected one of host, ethernet-25g, ethernet-100g, dgx-h100, torus-3d, or a file that can be read: No such file or directory"),
    (["--replicas=9223372036854775808"], "--replicas: expected a number of at most 9223372036854775807, found 9223372036854775808 (see --help)"),
    (["--replicas=2", "--stop-after=link"], "--stop-after: expected import, verify, lower, simplify, roles, kernels, bucket, schedule, codegen or memory, found 'link'"),
])  # fmt: skip
def test_options(refused, examples, options, text):
    said = refused(examples("digits-mlp").source, *options)
    assert text in said
    assert "lockstep-compile: error: " in said


def test_missing_source(refused, tmp_path):
    assert "cannot open input file" in refused(
        tmp_path / "none.mlir", "--replicas=2"
    )


def test_output_that_cannot_be_written(tools, examples, tmp_path):
    output = tmp_path / "no" / "x.lockstep"
    done = tools.run(
        "lockstep-compile",
        examples("digits-mlp").source,
        "--replicas=2",
        "-o",
        output,
        check=False,
    )
    assert done.returncode == 1
    assert f"cannot write '{output}': No such file or directory" in done.stderr


@pytest.mark.parametrize("options", [[], ["--stop-after=lower"]])
@pytest.mark.parametrize("name", ["/dev/full", "-"])
def test_a_disk_without_space(tools, examples, tmp_path, name, options):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            tools.command(
                "lockstep-compile",
                examples("digits-mlp").source,
                "--replicas=2",
                "-o",
                name,
                *options,
            ),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == (
        f"lockstep-compile: error: cannot write '{name}': No space left on device\n"
    )


def test_no_artifact_is_printed_on_a_terminal(tools, examples):
    terminal, end = pty.openpty()
    done = subprocess.run(
        tools.command(
            "lockstep-compile", examples("digits-mlp").source, "--replicas=2"
        ),
        stdout=end,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(end)
    os.close(terminal)
    assert done.returncode == 1
    assert done.stderr == (
        "lockstep-compile: error: expected -o FILE: an artifact is binary, and the standard output is a terminal\n"
    )


def test_a_failing_compilation_leaves_the_artifact_that_is_there(
    tools, examples, tmp_path
):
    output = tools.compile(
        examples("digits-mlp").source, tmp_path / "x.lockstep", "--replicas=2"
    )
    before = output.read_bytes()
    assert (
        tools.run(
            "lockstep-compile",
            examples("digits-mlp").source,
            "--replicas=0",
            "-o",
            output,
            check=False,
        ).returncode
        == 1
    )
    assert output.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["x.lockstep"]


def test_a_run_is_not_disturbed_by_a_new_artifact(tools, examples, tmp_path):
    """The new one is another file: processes that have opened the old one keep
    it."""
    output = tools.compile(
        examples("digits-mlp").source, tmp_path / "x.lockstep", "--replicas=2"
    )
    before = output.read_bytes()
    with output.open("rb") as old:
        tools.compile(examples("digits-mlp").source, output, "--replicas=3")
        assert old.read() == before
    assert output.read_bytes() != before
