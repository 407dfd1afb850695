"""Subnormal floats in runs: kept, and said, or replaced by zero."""

import numpy as np
import pytest

from capi import Session
from conftest import capture, read_metrics, steps_of

pytestmark = pytest.mark.own_device

#: A velocity that halves in each step, from a normal number on, and sums over
#: the replicas of what becomes of it.
MODEL = """\
import jax
import jax.numpy as jnp

import lockstep

batch_spec = {}


def init(seed):
    return {"v": jnp.full(64, 2.0**-120)}


def step(state, batch, scalars):
    v = state["v"] * 0.5
    total = lockstep.all_reduce(jnp.max(v) * 0.25, "SUM")
    return {"v": v}, {"v": jnp.max(v), "total": total}
"""
STEPS = 20
SMALLEST_NORMAL = 2.0**-126


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("halves")
    (folder / "model.py").write_text(MODEL)
    capture(folder / "model.py", folder)
    return folder


def run(tools, model, folder, options, compile_options=()):
    artifact, metrics = folder / "halves.lockstep", folder / "metrics.jsonl"
    tools.compile(
        model / "step.mlir", artifact, "--replicas=2", *compile_options
    )
    metrics.unlink(missing_ok=True)
    done = tools.run(
        "lockstep-run",
        artifact,
        f"--init={model / 'init.safetensors'}",
        f"--steps={STEPS}",
        f"--metrics={metrics}",
        *options,
    )
    lines = steps_of(read_metrics(metrics))
    return done.stderr, [
        np.array([line[name] for line in lines], np.float32)
        for name in ("v", "total")
    ]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("executors", [1, 2])
def test_they_are_kept_or_zero(tools, model, tmp_path, level, executors):
    exact = np.float32(2.0) ** (-121 - np.arange(STEPS, dtype=np.float32))
    options = [f"--executors={executors}"]
    said, (v, total) = run(tools, model, tmp_path, options, [level])
    np.testing.assert_array_equal(v, exact)
    np.testing.assert_array_equal(total, exact / 2)
    assert (
        "of 20 runs have computed with subnormal floats; a processor may take "
        "a hundred times as long for them (--flush-subnormals)"
    ) in said

    options.append("--flush-subnormals")
    said, (v, total) = run(tools, model, tmp_path, options, [level])
    normal = exact >= SMALLEST_NORMAL
    assert normal.sum() == 6
    np.testing.assert_array_equal(v, np.where(normal, exact, 0))
    # A quarter of it becomes subnormal earlier.
    quarter = np.where(exact / 4 >= SMALLEST_NORMAL, exact / 4, 0)
    np.testing.assert_array_equal(total, 2 * quarter)
    assert "subnormal" not in said


def test_threads_of_a_program_keep_their_arithmetic(tools, model, tmp_path):
    """The calling thread computes as before, after a run."""
    run(tools, model, tmp_path, [])
    with Session(
        tools.library,
        tmp_path / "halves.lockstep",
        workers=1,
        flush_subnormals=1,
    ) as session:
        session.set("v", np.full(64, SMALLEST_NORMAL, np.float32))
        program = session.program("step")
        assert session.run(program)["v"] == 0
    assert np.float32(SMALLEST_NORMAL) * np.float32(0.5) > 0


def test_devices_with_queues_keep_them(tools, gpu, model, tmp_path):
    artifact = tmp_path / "halves.lockstep"
    tools.compile(
        model / "step.mlir", artifact, "--replicas=2", "--target=sm_90"
    )
    done = gpu(
        artifact,
        "--device=cuda",
        f"--init={model / 'init.safetensors'}",
        "--steps=1",
        "--flush-subnormals",
        check=False,
    )
    assert done.returncode != 0
    assert "device 'cuda' keeps subnormal floats" in done.stderr
