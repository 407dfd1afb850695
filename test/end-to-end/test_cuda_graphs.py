"""Steps that a GPU has recorded as a graph, on the stand-in for its driver."""

import re

import numpy as np
import pytest

from conftest import capture
from gpus import TARGETS, count, failure, report

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


#: As above, but each replica decides for itself.
OWN_HALVES = """\
import jax
import jax.numpy as jnp

import lockstep

batch_spec = {"x": ((4, 3), "float32")}


def init(seed):
    return {"w": jnp.ones(3)}


def step(state, batch, scalars):
    big = jnp.broadcast_to(batch["x"][:, None], (4, 100000, 3))
    x = jax.lax.cond(
        batch["x"].sum() > 20,
        lambda: jnp.exp(big / 9).mean((0, 1)),
        lambda: state["w"],
    )
    x = lockstep.all_reduce(x, "MEAN")
    return {"w": x}, {"loss": x.sum()}
"""


#: Replicas iterate a loop until their own values are small.
OWN_LOOP = """\
import jax
import jax.numpy as jnp

import lockstep

batch_spec = {"x": ((4, 3), "float32")}


def init(seed):
    return {"w": jnp.ones(3)}


def step(state, batch, scalars):
    big = jnp.broadcast_to(state["w"] * batch["x"][0, 0], (500000, 3))
    x = jax.lax.while_loop(lambda x: x.max() > 0.2, lambda x: x / 2, big)
    x = lockstep.all_reduce(x.max(0), "MEAN")
    return {"w": state["w"]}, {"loss": x.sum()}
"""


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
    # The next batch; scalars and metrics are parts of the graph.
    assert recorded["cuMemcpyHtoDAsync_v2"] == executors
    assert recorded["cuMemcpyDtoHAsync_v2"] == 0
    assert recorded["cuStreamSynchronize"] == 0
    each, again = calls(
        artifact, example, *options, "--no-recording", **variables
    )
    assert "cuGraphLaunch" not in each and each["cuLaunchKernel"] > 50
    assert again == found
    if executors == 1:
        assert 3 * sum(recorded.values()) < sum(each.values())


# The least memory in which the step can be executed has no room for the batches
# of the next one, without which it is executed, too.
def test_batches_without_memory(gpu, losses, examples, compiled):
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    example = examples("digits-mlp")
    expected = losses(gpu, artifact, example, 4, "--device=cuda")
    memory = 1 << 16
    for _ in range(20):
        limit = {"LOCKSTEP_CUDA_MEMORY": str(memory)}
        done = gpu(
            artifact,
            *example.arguments(4, "/dev/null"),
            "--device=cuda",
            check=False,
            **limit,
        )
        missing = re.search(
            r"error: .*out of memory .*: expected (\d+) bytes, (\d+) of",
            done.stderr,
        )
        if not missing:
            break
        memory += int(missing[1]) - int(missing[2])
    assert done.returncode == 0, done.stderr
    assert (
        "lockstep-run: batches are not transferred ahead: out of memory on GPU 0 'Lockstep CUDA stand-in': expected "
        in done.stderr
    )
    found = losses(gpu, artifact, example, 4, "--device=cuda", **limit)
    assert found == expected


# A step and an evaluation have graphs of their own, and batches that are
# transferred ahead.
def test_evaluations_between_steps(gpu, examples, compiled, tmp_path):
    example = examples("digits-mlp")
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    found = []
    for options in [], ["--no-recording"], ["--fill-memory", "--check-finite"]:
        metrics = tmp_path / "metrics.jsonl"
        gpu(
            artifact,
            *example.arguments(60, metrics),
            f"--eval-data={example.folder / 'test.npz'}",
            "--device=cuda",
            *options,
        )
        found.append(metrics.read_text())
    assert found[0].count("evaluate") == 3
    assert found[1] == found[0] and found[2] == found[0]


# The GPU checks values, in the graph.
def test_checked_steps_are_recorded(calls, examples, compiled):
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    example = examples("digits-mlp")
    expected = calls(artifact, example)[1]
    checked, found = calls(artifact, example, "--check-finite")
    assert found == expected
    assert checked["cuGraphLaunch"] == 1 and checked["cuLaunchKernel"] == 0


# Where the host takes part in collectives, or executors may decide differently,
# it says so.
def test_why_steps_are_not_recorded(
    gpu, tools, examples, compiled, tmp_path, decisions
):
    example = examples("digits-mlp")
    metrics = tmp_path / "metrics.jsonl"
    options = ["--device=cuda", "--executors=2"]
    devices = {"LOCKSTEP_CUDA_DEVICES": "2"}
    message = "the device gets the commands of each step one by one"
    done = gpu(
        compiled("digits-mlp", "--replicas=4", TARGETS),
        *example.arguments(2, metrics),
        *options,
        **devices,
    )
    assert (
        f"{message}: the transport cannot exchange all collectives between devices"
        in done.stderr
    )
    run = decisions(OWN_HALVES)
    options.append("--transport=nccl")
    assert (
        f"{message}: model.py:15: program 'step': branch_unless: the host reads a value that each replica has for itself, so that executors may continue with different commands"
        in gpu(*run, *options, **devices).stderr
    )
    done = gpu(*run, *options, "--no-recording", **devices)
    assert message not in done.stderr


@pytest.fixture
def decisions(tools, tmp_path):
    """The arguments of a run of a model with the batch `x`, 4 x 3 elements."""

    def get(text, replicas=2):
        model = tmp_path / "model.py"
        model.write_text(text)
        capture(model, tmp_path)
        np.savez(
            tmp_path / "train.npz",
            x=np.linspace(0, 4, 96, dtype=np.float32).reshape(32, 3),
        )
        artifact = tools.compile(
            tmp_path / "step.mlir",
            tmp_path / "step.lockstep",
            f"--replicas={replicas}",
            TARGETS,
        )
        return [
            artifact,
            f"--data={tmp_path / 'train.npz'}",
            f"--init={tmp_path / 'init.safetensors'}",
            "--steps=16",
            "--seed=0",
            f"--metrics={tmp_path / 'metrics.jsonl'}",
            "--device=cuda",
        ]

    return get


# What follows each decision of the host is a graph, and no step waits for
# anything but decisions.
@pytest.mark.parametrize("executors,replicas", [(1, 2), (2, 2), (2, 3), (2, 4)])
def test_steps_with_decisions(gpu, decisions, tmp_path, executors, replicas):
    run = [*decisions(HALVES, replicas), f"--executors={executors}"]
    if executors > 1:
        run.append("--transport=nccl")
    variables = {
        "LOCKSTEP_CUDA_DEVICES": str(executors),
        "LOCKSTEP_CUDA_CALLS": str(tmp_path / "calls"),
    }
    recorded = gpu(*run, **variables)
    assert "one by one" not in recorded.stderr
    losses = (tmp_path / "metrics.jsonl").read_text()
    graphs = count(tmp_path / "calls", "cuGraphLaunch")
    kernels = count(tmp_path / "calls", "cuLaunchKernel")
    (tmp_path / "calls").unlink()
    gpu(*run, "--check-finite", **variables)
    assert (tmp_path / "metrics.jsonl").read_text() == losses
    (tmp_path / "calls").unlink()
    gpu(*run, "--no-recording", **variables)
    assert (tmp_path / "metrics.jsonl").read_text() == losses
    each = count(tmp_path / "calls", "cuLaunchKernel")
    # An iteration of the loop, and its beginning and end, are interpreted and
    # recorded once.
    assert graphs > 16 * 3 * executors
    assert kernels < each / 4


# A replica arrives at the collective while the other decides once more: these
# commands are not recorded.
def test_replicas_that_wait_for_decisions(gpu, decisions, tmp_path):
    run = decisions(OWN_LOOP)
    assert (
        "the device gets some commands of steps one by one: some replicas make decisions while others wait for them"
        in gpu(*run).stderr
    )
    losses = (tmp_path / "metrics.jsonl").read_text()
    done = gpu(*run, "--no-recording")
    assert "one by one" not in done.stderr
    assert (tmp_path / "metrics.jsonl").read_text() == losses


def test_replicas_with_decisions_of_their_own(gpu, decisions, tmp_path):
    run = decisions(OWN_HALVES)
    calls = {"LOCKSTEP_CUDA_CALLS": str(tmp_path / "calls")}
    done = gpu(*run, **calls)
    assert "one by one" not in done.stderr
    # The first part of a step occurs once before it is recorded, and what
    # follows for each of the decisions of two replicas.
    assert count(tmp_path / "calls", "cuGraphLaunch") >= 15 + 12
    losses = (tmp_path / "metrics.jsonl").read_text()
    gpu(*run, "--no-recording")
    assert (tmp_path / "metrics.jsonl").read_text() == losses


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


# The second graph is that of what follows a decision, in the middle of a step.
@pytest.mark.parametrize("number", [1, 2, 3])
def test_decisions_without_memory(gpu, decisions, tmp_path, number):
    run = decisions(HALVES)
    gpu(*run, "--no-recording")
    losses = (tmp_path / "metrics.jsonl").read_text()
    done = gpu(*run, LOCKSTEP_CUDA_FAIL=f"graph:{number}")
    assert (
        "one by one: a graph cannot be made for GPU 0 'Lockstep CUDA stand-in': CUDA_ERROR_OUT_OF_MEMORY"
        in done.stderr
    )
    assert (tmp_path / "metrics.jsonl").read_text() == losses


# Executors record a part together: what one cannot record ends the run.
@pytest.mark.parametrize("number", [1, 3, 6])
def test_decisions_of_executors_without_memory(gpu, decisions, number):
    run = [*decisions(HALVES), "--executors=2", "--transport=nccl"]
    done = gpu(
        *run,
        check=False,
        LOCKSTEP_CUDA_DEVICES="2",
        LOCKSTEP_CUDA_FAIL=f"graph:{number}",
    )
    assert done.returncode != 0
    assert (
        "a recording of program 'step': a graph cannot be made for GPU"
        in done.stderr
    )


# A GPU is lost in the middle of a step that is executed in parts.
@pytest.mark.parametrize("executors", [1, 2])
def test_gpu_lost_between_decisions(gpu, decisions, executors):
    run = [*decisions(HALVES), f"--executors={executors}"]
    if executors > 1:
        run.append("--transport=nccl")
    for command in 150, 400, 401, 402:
        done = gpu(
            *run,
            check=False,
            LOCKSTEP_CUDA_DEVICES="2",
            LOCKSTEP_CUDA_FAIL=f"lost:{command}",
        )
        assert done.returncode != 0
        assert "error: " in done.stderr


# The first kernel hangs in the fourth step, which was recorded: the report names
# the collective that the GPUs have not finished.
def test_report_of_a_recorded_step(gpu, examples, compiled, tmp_path):
    found, printed = report(
        gpu,
        examples("digits-mlp"),
        compiled("digits-mlp", "--replicas=4", TARGETS),
        tmp_path,
        LOCKSTEP_CUDA_HANG="step_0_logits_matmul:14",
    )
    assert {wait["kind"] for wait in found["waits"]} == {"all_reduce"}
    assert "its device: running command" in printed
    assert "replica 0: waiting for its device in command" in printed
