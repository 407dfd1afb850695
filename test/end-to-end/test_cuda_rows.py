"""Rows of matrices that cuBLASLt multiplies, on the stand-in: those that get
more elements in memory.
"""

import re

import numpy as np
import safetensors.numpy

from conftest import capture

CLASSIFIER = """
import jax
import jax.numpy as jnp
import numpy as np

ROWS, INNER, CLASSES = 512, 520, 4099
batch_spec = {
    "x": jax.ShapeDtypeStruct((ROWS, INNER), jnp.float32),
    "y": jax.ShapeDtypeStruct((ROWS,), jnp.int32),
}


def init(seed):
    draw = np.random.default_rng(seed).standard_normal
    return {
        "v": jnp.asarray(draw((INNER, INNER)) / 16, jnp.float32),
        "w": jnp.asarray(draw((INNER, CLASSES)) / 16, jnp.float32),
    }


def step(state, batch, scalars):
    def loss(state):
        x, v, w = (
            a.astype(jnp.bfloat16) for a in (batch["x"], state["v"], state["w"])
        )
        scores = jax.nn.log_softmax((jnp.tanh(x @ v) @ w).astype(jnp.float32))
        return -jnp.sum(jnp.take_along_axis(scores, batch["y"][:, None], 1))

    loss, gradients = jax.value_and_grad(loss)(state)
    new = {name: state[name] - gradients[name] for name in state}
    return new, {"loss": loss}
"""


def test_rows_of_large_products(tools, gpu, tmp_path):
    """Matrices with 4,099 columns have 4,104 in memory, on GPUs alone; what is
    trained is the same."""
    model, source = tmp_path / "model.py", tmp_path / "model"
    model.write_text(CLASSIFIER)
    capture(model, source)
    random = np.random.default_rng(1)
    np.savez(
        tmp_path / "data.npz",
        x=random.standard_normal((512, 520)).astype("float32"),
        y=random.integers(0, 4099, 512).astype("int32"),
    )
    changes = {}
    old = safetensors.numpy.load_file(source / "init.safetensors")
    for device, options in {
        "cpu": ["--target=x86-64-v3"],
        "cuda": ["--target=sm_90", "--products=cublaslt"],
    }.items():
        artifact = tmp_path / f"{device}.lockstep"
        compiled = tools.run(
            "lockstep-compile",
            source / "step.mlir",
            "--replicas=1",
            "--remarks=kernels",
            "-o",
            artifact,
            *options,
        )
        padded = len(re.findall(r"is \d+x4104x\w+ in memory", compiled.stderr))
        assert padded == (4 if device == "cuda" else 0)
        saved = tmp_path / device
        gpu(
            artifact,
            f"--device={device}",
            f"--init={source / 'init.safetensors'}",
            f"--data={tmp_path / 'data.npz'}",
            "--steps=1",
            f"--save={saved}",
        )
        new = safetensors.numpy.load_file(saved / "checkpoint-1.safetensors")
        changes[device] = {name: new[name] - old[name] for name in old}
    for name in "vw":
        expected = changes["cpu"][name]
        # Scores, and their derivatives, are rounded to bf16.
        np.testing.assert_allclose(
            changes["cuda"][name],
            expected,
            rtol=0.02,
            atol=0.005 * np.abs(expected).max(),
        )
