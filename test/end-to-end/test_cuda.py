"""The device `cuda`, on a stand-in for the driver that executes PTX on this
machine (`test/support/cuda`).
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

from conftest import ROOT, capture, read_metrics
from test_random_functions import SEED

TARGETS = "--target=sm_90,x86-64-v3"

#: A step whose number of iterations depends on its data.
HALVES = """\
import jax
import jax.numpy as jnp

import lockstep

batch_spec = {"x": ((4, 3), "float32")}


def init(seed):
    return {"w": jnp.ones(3)}


def step(state, batch, scalars):
    def halve(x):
        return lockstep.all_reduce(x / 2 + batch["x"].mean(0) / 100, "MEAN")

    x = jax.lax.while_loop(lambda x: x.sum() > 1, halve, state["w"])
    return {"w": state["w"] + x}, {"loss": x.sum()}
"""


@pytest.fixture
def gpu(tools):
    """Runs `lockstep-run` on the stand-in: `gpu(arguments..., check, VARIABLE)`,
    where the variables choose what it is like."""
    folder = tools.folder.parent / "lib" / "cuda-standin"
    if not (tools.folder.parent / "lib" / "liblockstep_cuda.so").exists():
        pytest.skip("the device 'cuda' is not built")
    assert folder.exists(), f"expected the stand-in of the driver in {folder}"

    def run(*arguments, check=True, **variables):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LD_LIBRARY_PATH", str(folder))
            for name, value in variables.items():
                patch.setenv(name, value)
            return tools.run("lockstep-run", *arguments, check=check)

    return run


@pytest.fixture
def losses(tmp_path):
    """The losses of a run: `losses(run, arguments...)`."""

    def get(run, artifact, example, steps, *options, **variables):
        metrics = tmp_path / "metrics.jsonl"
        run(artifact, *example.arguments(steps, metrics), *options, **variables)
        return [line["loss"] for line in read_metrics(metrics)]

    return get


# The devices' reductions have other orders within a replica, and the same ones
# between replicas.
@pytest.mark.parametrize("replicas", [1, 4])
@pytest.mark.parametrize("name", ["digits-mlp", "digits-cnn"])
def test_losses_are_those_of_cpu(
    tools, gpu, losses, examples, compiled, name, replicas
):
    artifact = compiled(name, f"--replicas={replicas}", TARGETS)
    example = examples(name)

    def on_cpu(*arguments):
        return tools.run("lockstep-run", *arguments)

    expected = losses(on_cpu, artifact, example, 20, "--device=cpu")
    found = losses(gpu, artifact, example, 20, "--device=cuda")
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    again = losses(
        gpu, artifact, example, 20, "--device=cuda", LOCKSTEP_CUDA_SEED="7"
    )
    assert again == found, "another order of streams and blocks"


# A GPU for each executor, GPUs that executors share, and chosen ones. The
# stand-in refuses memory of another GPU.
@pytest.mark.parametrize(
    "gpus,device,executors",
    [(1, "cuda", 3), (2, "cuda", 3), (4, "cuda", 4), (4, "cuda:3,1", 2)],
)
def test_executors(gpu, losses, examples, compiled, gpus, device, executors):
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    example = examples("digits-mlp")
    one = losses(gpu, artifact, example, 6, "--device=cuda")
    several = losses(
        gpu,
        artifact,
        example,
        6,
        f"--device={device}",
        f"--executors={executors}",
        LOCKSTEP_CUDA_DEVICES=str(gpus),
    )
    assert one == several


# Executors exchange between GPUs, and reduce with the bits of one executor.
@pytest.mark.parametrize("executors", [2, 3, 4])
@pytest.mark.parametrize("replicas", [4, 6])
def test_nccl(gpu, losses, examples, compiled, executors, replicas):
    artifact = compiled("digits-mlp", f"--replicas={replicas}", TARGETS)
    example = examples("digits-mlp")
    one = losses(gpu, artifact, example, 6, "--device=cuda")
    for seed in "1", "2":
        several = losses(
            gpu,
            artifact,
            example,
            6,
            "--device=cuda",
            "--transport=nccl",
            f"--executors={executors}",
            LOCKSTEP_CUDA_DEVICES=str(executors),
            LOCKSTEP_CUDA_SEED=seed,
        )
        assert one == several


@pytest.fixture
def calls(gpu, losses, tmp_path):
    """How often a step of a run calls each function of the driver, from the
    third one on, and the losses: `calls(artifact, example, options...)`."""

    def count(artifact, example, *options, **variables):
        counts, file = [], tmp_path / "calls"
        for steps in 4, 14:
            file.unlink(missing_ok=True)
            found = losses(
                gpu,
                artifact,
                example,
                steps,
                "--device=cuda",
                *options,
                LOCKSTEP_CUDA_CALLS=str(file),
                **variables,
            )
            lines = [line.split() for line in file.read_text().splitlines()]
            counts.append({name: int(number) for number, name in lines})
        first, second = counts
        return {
            name: (second[name] - first.get(name, 0)) / 10 for name in second
        }, found

    return count


# The second step is recorded; later ones launch a graph and no kernels.
@pytest.mark.parametrize(
    "executors,options", [(1, []), (2, ["--transport=nccl"])]
)
def test_steps_are_recorded(calls, examples, compiled, executors, options):
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    example = examples("digits-mlp")
    options = [*options, f"--executors={executors}"]
    variables = {"LOCKSTEP_CUDA_DEVICES": str(executors)}
    recorded, found = calls(artifact, example, *options, **variables)
    assert recorded["cuGraphLaunch"] == executors
    assert recorded["cuLaunchKernel"] == 0
    each, again = calls(
        artifact, example, *options, "--no-recording", **variables
    )
    assert "cuGraphLaunch" not in each and each["cuLaunchKernel"] > 50
    assert again == found
    if executors == 1:
        assert 3 * sum(recorded.values()) < sum(each.values())


# Where the host decides by data, or takes part in collectives, it says so.
def test_why_steps_are_not_recorded(gpu, tools, examples, compiled, tmp_path):
    example = examples("digits-mlp")
    metrics = tmp_path / "metrics.jsonl"
    done = gpu(
        compiled("digits-mlp", "--replicas=4", TARGETS),
        *example.arguments(2, metrics),
        "--device=cuda",
        "--executors=2",
        LOCKSTEP_CUDA_DEVICES="2",
    )
    assert (
        "the device gets the commands of each step one by one: collectives go through the memory of the host"
        in done.stderr
    )
    model = tmp_path / "model.py"
    model.write_text(HALVES)
    capture(model, tmp_path)
    np.savez(tmp_path / "train.npz", x=np.full((8, 3), 2.0, np.float32))
    artifact = tools.compile(
        tmp_path / "step.mlir",
        tmp_path / "step.lockstep",
        "--replicas=2",
        TARGETS,
    )
    run = [
        artifact,
        f"--data={tmp_path / 'train.npz'}",
        "--steps=3",
        "--seed=0",
    ]
    run += [f"--init={tmp_path / 'init.safetensors'}", "--device=cuda"]
    message = "the device gets the commands of each step one by one"
    assert (
        f"{message}: model.py:17: program 'step': branch_unless: the host reads a condition of the device"
        in gpu(*run).stderr
    )
    assert message not in gpu(*run, "--no-recording").stderr


# A graph for which there is no memory is no error, but for several executors,
# which record together.
def test_graphs_without_memory(gpu, losses, examples, compiled, tmp_path):
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    example = examples("digits-mlp")
    expected = losses(gpu, artifact, example, 6, "--device=cuda")
    output = []

    def run(*arguments, **variables):
        output.append(gpu(*arguments, **variables).stderr)

    fault = {"LOCKSTEP_CUDA_FAIL": "graph:1", "LOCKSTEP_CUDA_DEVICES": "2"}
    found = losses(run, artifact, example, 6, "--device=cuda", **fault)
    assert found == expected
    assert (
        "one by one: a graph cannot be made for GPU 0 'Lockstep CUDA stand-in': CUDA_ERROR_OUT_OF_MEMORY"
        in output[0]
    )
    options = ["--device=cuda", "--executors=2", "--transport=nccl"]
    message = failure(gpu, example, artifact, tmp_path, *options, **fault)
    assert (
        "a recording of program 'step': a graph cannot be made for GPU"
        in message
    )


# A kernel that hangs in a step that was recorded: the report names the
# collective that the GPUs have not finished.
def test_report_of_a_recorded_step(gpu, examples, compiled, tmp_path):
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    report = tmp_path / "report.json"
    done = gpu(
        artifact,
        *examples("digits-mlp").arguments(20, tmp_path / "metrics"),
        "--device=cuda",
        "--executors=2",
        "--transport=nccl",
        "--deadline=1",
        "--report",
        report,
        check=False,
        LOCKSTEP_CUDA_DEVICES="2",
        LOCKSTEP_CUDA_FAIL="hang:700",
    )
    assert done.returncode == 3, done.stderr
    waits = json.loads(report.read_text())["waits"]
    assert {wait["kind"] for wait in waits} == {"all_reduce"}
    assert "replica 0: waiting for its device in command" in done.stderr


# What is to be run on a GPU, on the stand-in: one model has several losses.
def test_check(tools, gpu, tmp_path):
    prepared = tmp_path / "check"
    # The stand-in has only the driver's library.
    lister = tmp_path / "nvidia-smi"
    lister.write_text("#!/bin/sh\nprintf 'GPU 0: one\\nGPU 1: two\\n'\n")
    lister.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "TMPDIR": str(tmp_path),
        "LD_LIBRARY_PATH": str(tools.folder.parent / "lib" / "cuda-standin"),
        "LOCKSTEP_CUDA_DEVICES": "2",
    }
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "bench" / "cuda" / "prepare.py",
            f"--binaries={tools.folder}",
            "--models",
            "optimizers",
            "vae",
            "-o",
            prepared,
        ],
        env=environment | {"JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [ROOT / "bench" / "cuda" / "check.sh", prepared, "300"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = (prepared / "report.txt").read_text()
    assert re.search(r"^optimizers +\S+e-\d\d .*\d  $", report, re.M), report
    assert "two executors, nccl, 2 GPUs: the metrics of one" in report
    assert report.endswith("wrong: nothing\n")


def test_errors_of_nccl(gpu, examples, compiled, tmp_path):
    example = examples("digits-mlp")
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)

    def message(*options, **variables):
        return failure(
            gpu,
            example,
            artifact,
            tmp_path,
            "--executors=2",
            "--transport=nccl",
            *options,
            **variables,
        )

    assert (
        "transport 'nccl' between ranks 0, 1, 2, 3: ncclCommInitRankConfig: invalid usage (ranks 0 and 1 are both on GPU 0)"
        in message("--device=cuda")
    )
    assert (
        "ncclGroupEnd: unhandled system error (a transfer fails, as asked for)"
        in message(
            "--device=cuda",
            LOCKSTEP_CUDA_DEVICES="2",
            LOCKSTEP_CUDA_FAIL="transfer:3",
        )
    )
    # While the second step is recorded.
    assert "ncclGroupEnd: unhandled system error" in message(
        "--device=cuda",
        LOCKSTEP_CUDA_DEVICES="2",
        LOCKSTEP_CUDA_FAIL="transfer:5",
    )
    # In the first step, and in one that has been recorded.
    for command in 40, 1000:
        assert (
            "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)"
            in message(
                "--device=cuda",
                LOCKSTEP_CUDA_DEVICES="2",
                LOCKSTEP_CUDA_FAIL=f"lost:{command}",
            )
        )
    assert (
        "expected a device with queues for transport 'nccl:threads', found 'cpu'"
        in message("--device=cpu")
    )


# A replica that does not come: the other GPU has not finished the collective,
# and stops waiting for it after the report.
def test_report_of_nccl(gpu, examples, compiled, tmp_path):
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    report = tmp_path / "report.json"
    done = gpu(
        artifact,
        *examples("digits-mlp").arguments(3, tmp_path / "metrics"),
        "--device=cuda",
        "--executors=2",
        "--transport=nccl",
        "--inject=pause:replica=3,channel=0",
        "--deadline=1",
        "--report",
        report,
        check=False,
        LOCKSTEP_CUDA_DEVICES="2",
    )
    assert done.returncode == 3
    [wait] = json.loads(report.read_text())["waits"]
    assert wait["kind"] == "all_reduce" and wait["location"] == "model.py:55"
    assert wait["arrived"] == [0, 1, 2] and wait["missing"] == [3]
    assert "replica 0: waiting for its device in command" in done.stderr


# What NCCL notices after a collective has been enqueued ends the run: here, a
# link that is lost while a GPU waits for a replica that does not come.
def test_a_lost_link(gpu, examples, compiled, tmp_path):
    message = failure(
        gpu,
        examples("digits-mlp"),
        compiled("digits-mlp", "--replicas=4", TARGETS),
        tmp_path,
        "--device=cuda",
        "--executors=2",
        "--transport=nccl",
        "--inject=pause:replica=3,channel=0",
        LOCKSTEP_CUDA_DEVICES="2",
        LOCKSTEP_CUDA_FAIL="link:20",
    )
    assert (
        "transport 'nccl' between ranks 0, 1, 2, 3: a transfer that was enqueued: unhandled system error (a link is lost, as asked for)"
        in message
    )


# NVIDIA's assembler accepts the kernels, keeps everything in registers, and
# makes the same bytes of them again.
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_90a", "sm_100"])
@pytest.mark.parametrize("name", ["digits-cnn", "language-model"])
def test_assembler(tools, compiled, tmp_path, name, target):
    packages = pathlib.Path(sysconfig.get_path("purelib"))
    assembler = next(packages.glob("nvidia/*/bin/ptxas"), "ptxas")
    source = tmp_path / "step.ptx"
    artifact = compiled(name, "--replicas=2", f"--target={target}")
    tools.run("lockstep-inspect", artifact, f"--code={target}", "-o", source)
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
        stacks = re.findall(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores", done.stderr
        )
        assert stacks and set(stacks) == {("0", "0")}
        code.append(output.read_bytes())
    assert code[0] == code[1]


def test_random_functions(gpu, tools, tmp_path):
    """Random JAX functions on the stand-in; docs/testing.md says how to try
    more of them."""
    done = subprocess.run(
        [sys.executable, ROOT / "test" / "end-to-end" / "differential", "--count=8", f"--seed={SEED}", "--jobs=2"],
        env=os.environ | {
            "LD_LIBRARY_PATH": str(tools.folder.parent / "lib" / "cuda-standin"),
            "LOCKSTEP_DEVICE": "cuda",
            "TMPDIR": str(tmp_path),
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def failure(gpu, example, artifact, tmp_path, *options, **variables):
    """The messages of a run that ends with an error."""
    done = gpu(
        artifact,
        *example.arguments(20, tmp_path / "metrics.jsonl"),
        *options,
        check=False,
        **variables,
    )
    assert done.returncode != 0
    return done.stderr


def test_errors(gpu, examples, compiled, tmp_path):
    example = examples("digits-mlp")
    artifact = compiled("digits-mlp", "--replicas=2", TARGETS)

    def message(*options, used=artifact, **variables):
        return failure(gpu, example, used, tmp_path, *options, **variables)

    assert (
        "no kernels for GPUs: expected some for device 'cuda', the artifact has those for 'cpu' ('x86-64-v3')"
        in message(
            "--device=cuda",
            used=compiled("digits-mlp", "--replicas=2", "--target=x86-64-v3"),
        )
    )
    assert (
        "no kernels for this GPU: expected a target for compute capability 8.6, the artifact has 'sm_90'"
        in message("--device=cuda", LOCKSTEP_CUDA_CAPABILITY="8.6")
    )
    assert (
        "device 'cuda:1': expected the ordinal of a GPU below 1, found 1"
        in message("--device=cuda:1")
    )
    assert (
        "device 'cuda:0,x': expected ordinals of GPUs, separated by commas, found '0,x'"
        in message("--device=cuda:0,x")
    )
    assert "4096 of 4096 bytes are free" in message(
        "--device=cuda", LOCKSTEP_CUDA_MEMORY="4096"
    )
    assert (
        "failed on GPU 0 'Lockstep CUDA stand-in': CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
        in message("--device=cuda", LOCKSTEP_CUDA_FAIL="launch:12")
    )
    # In the first step, and in one that has been recorded.
    for command in 40, 1000:
        assert (
            "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)"
            in message("--device=cuda", LOCKSTEP_CUDA_FAIL=f"lost:{command}")
        )
