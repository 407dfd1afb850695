"""Batches of 16-bit floats, as NumPy saves the arrays of JAX."""

import jax.numpy as jnp
import numpy as np
import pytest

from conftest import capture, read_metrics

MODEL = """\
import jax.numpy as jnp

batch_spec = {{"x": ((4, 3), "{dtype}")}}


def init(seed):
    return {{"w": jnp.ones(3)}}


def step(state, batch, scalars):
    loss = (batch["x"].astype(jnp.float32) * state["w"]).sum()
    return {{"w": state["w"] + 1}}, {{"loss": loss}}
"""


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_batches(tools, tmp_path, dtype):
    (tmp_path / "model.py").write_text(MODEL.format(dtype=dtype))
    capture(tmp_path / "model.py", tmp_path)
    x = jnp.linspace(-1, 1, 12, dtype=dtype).reshape(4, 3)
    np.savez(tmp_path / "train.npz", x=x)
    artifact = tools.compile(
        tmp_path / "step.mlir", tmp_path / "step.lockstep", "--replicas=1"
    )
    tools.run(
        "lockstep-run",
        artifact,
        f"--init={tmp_path / 'init.safetensors'}",
        f"--data={tmp_path / 'train.npz'}",
        f"--metrics={tmp_path / 'metrics'}",
        "--steps=3",
    )
    sums = np.asarray(x.astype(jnp.float32)).sum(0, dtype=np.float64)
    losses = [line["loss"] for line in read_metrics(tmp_path / "metrics")]
    np.testing.assert_allclose(
        losses, [(sums * (1 + i)).sum() for i in range(3)], atol=1e-6
    )


# bfloat16 is not taken for float16.
def test_a_batch_of_another_type(tools, tmp_path):
    (tmp_path / "model.py").write_text(MODEL.format(dtype="float16"))
    capture(tmp_path / "model.py", tmp_path)
    np.savez(tmp_path / "train.npz", x=jnp.ones((4, 3), "bfloat16"))
    artifact = tools.compile(
        tmp_path / "step.mlir", tmp_path / "step.lockstep", "--replicas=1"
    )
    done = tools.run(
        "lockstep-run",
        artifact,
        f"--init={tmp_path / 'init.safetensors'}",
        f"--data={tmp_path / 'train.npz'}",
        "--steps=1",
        check=False,
    )
    assert done.returncode != 0
    assert "'x': expected ?x3xf16, found 4x3xbf16" in done.stderr
