"""Code for GPUs that NVIDIA's ptxas has assembled."""

import itertools
import json
import pathlib
import re
import subprocess
import sysconfig

import pytest


@pytest.fixture(scope="module")
def assembler():
    packages = pathlib.Path(sysconfig.get_path("purelib"))
    return next(packages.glob("nvidia/*/bin/ptxas"), "ptxas")


# NVIDIA's assembler accepts the kernels, keeps everything in registers, and
# makes the same bytes of them again. Products, which need all registers, may
# spill a few words.
@pytest.mark.daily(3)
@pytest.mark.parametrize(
    "name, target, options",
    [
        *itertools.product(
            ["digits-cnn", "language-model"],
            ["sm_80", "sm_90", "sm_90a", "sm_100"],
            [()],
        ),
        ("language-model", "sm_80", ("--tf32",)),
    ],
)
def test_assembler(tools, compiled, assembler, tmp_path, name, target, options):
    source = tmp_path / "step.ptx"
    artifact = compiled(name, "--replicas=2", f"--target={target}", *options)
    tools.run("lockstep-inspect", artifact, f"--code={target}", "-o", source)
    assert ("mma.sync" in source.read_text()) == bool(options)
    code = []
    for number in range(2):
        output = tmp_path / f"{number}.cubin"
        done = subprocess.run(
            [assembler, "-v", f"-arch={target}", source, "-o", output],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found = re.findall(
            r"Compiling entry function '(\S+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores",
            done.stderr,
            re.S,
        )
        assert found
        for kernel, stack, spills in found:
            is_product = re.search("product|matmul|conv", kernel)
            most = 64 if is_product else 0
            assert int(stack) <= most and int(spills) <= most, kernel
        code.append(output.read_bytes())
    assert code[0] == code[1]
    shown = json.loads(
        tools.run(
            "lockstep-inspect",
            artifact,
            "--format=json",
            f"--ptxas={assembler}",
        ).stdout
    )
    (module,) = shown["gpu_code"]
    assert module["target"] == target
    assert {grid["function"] for grid in module["grids"]} == {
        kernel for kernel, _, _ in found
    }
    for grid in module["grids"]:
        assert 8 <= grid["registers"] * grid["threads"] <= 65536
        assert 0 < grid["occupancy"] <= 1


# The artifact has PTX, too, for GPUs that do not execute what was assembled.
def test_assembled_code(
    gpu, losses, tools, examples, compiled, assembler, tmp_path
):
    example = examples("digits-mlp")
    options = ["--replicas=2", "--target=sm_80,sm_90,x86-64-v3"]
    plain = compiled("digits-mlp", *options)
    artifact, again = (
        tools.compile(
            example.folder / "step.mlir",
            tmp_path / f"{number}.lockstep",
            *options,
            f"--ptxas={assembler}",
        )
        for number in range(2)
    )
    assert artifact.read_bytes() == again.read_bytes()
    shown = json.loads(
        tools.run("lockstep-inspect", artifact, "--format=json").stdout
    )
    assert [
        (each["target"], each["cubin_bytes"] is None)
        for each in shown["binaries"]
    ] == [("sm_80", False), ("sm_90", False), ("x86-64-v3", True)]
    text = tools.run("lockstep-inspect", artifact).stdout
    assert re.search(r"sm_80 \(\S+ KiB, assembled \S+ KiB\)", text)
    tools.run("lockstep-inspect", artifact, f"--ptxas={assembler}")
    # The same artifact from its IR.
    imported = tmp_path / "imported.mlir"
    tools.run(
        "lockstep-translate", "--import-artifact", artifact, "-o", imported
    )
    again = tmp_path / "again.lockstep"
    tools.run("lockstep-translate", "--emit-artifact", imported, "-o", again)
    assert again.read_bytes() == artifact.read_bytes()
    code = tmp_path / "code"
    tools.run("lockstep-inspect", artifact, "--code=sm_90", "-o", code)
    assert code.read_text().lstrip().startswith("//")

    # The stand-in executes PTX alone.
    printed = []

    def run(*arguments, **variables):
        printed.append(gpu(*arguments, **variables).stderr)

    for capability, refuses in ("9.0", True), ("10.0", False), ("8.6", True):
        here = {"LOCKSTEP_CUDA_CAPABILITY": capability}
        expected = losses(run, plain, example, 3, "--device=cuda", **here)
        assert (
            losses(run, artifact, example, 3, "--device=cuda", **here)
            == expected
        )
        message = "the driver has refused what ptxas has assembled, and has translated PTX instead: kernels for target 'sm_"
        assert message not in printed[-2]
        assert (message in printed[-1]) == refuses


def test_assembler_that_fails(tools, examples, tmp_path):
    source = examples("digits-mlp").folder / "step.mlir"

    def error(*options):
        done = tools.run(
            "lockstep-compile", source, "--replicas=2", *options,
            "-o", tmp_path / "x.lockstep", check=False,
        )  # fmt: skip
        assert done.returncode == 1
        return done.stderr

    assert (
        "expected a GPU in --target with --ptxas, found 'x86-64-v3'"
        in error("--target=x86-64-v3", "--ptxas=ptxas")
    )
    assert (
        "expected --ptxas with the path of NVIDIA's ptxas, found ''"
        in error("--target=sm_90", "--ptxas=")
    )
    assert (
        "expected the path of NVIDIA's ptxas, found '/no/ptxas': No such file"
        in error("--target=sm_90", "--ptxas=/no/ptxas")
    )
