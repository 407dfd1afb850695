"""Large convolutions with zeros between the elements of a factor, which are
left out, and their gradients, against JAX.
"""

import jax
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

import targets
from conftest import capture
from lockstep import model

#: The shapes of image and filter, and arguments of the convolution.
FORMS = {
    "strides": ((4, 21, 20, 48), (3, 3, 48, 64), {"window_strides": (2, 2)}),
    "strides of three": (
        (4, 25, 24, 48),
        (2, 5, 48, 64),
        {"window_strides": (3, 2), "padding": ((1, 0), (2, 3))},
    ),
    "points": ((8, 24, 24, 64), (1, 1, 64, 64), {"window_strides": (2, 2)}),
    "transposed": (
        (4, 12, 13, 64),
        (4, 4, 64, 48),
        {"lhs_dilation": (2, 2), "padding": ((2, 2), (1, 2))},
    ),
    "transposed, with dilated filters": (
        (4, 12, 12, 64),
        (3, 3, 64, 48),
        {
            "lhs_dilation": (2, 3),
            "rhs_dilation": (3, 2),
            "padding": ((3, 3), (2, 2)),
        },
    ),
    # Elements of filters are as far apart as those of the image.
    "dilated": (
        (4, 12, 12, 64),
        (3, 3, 64, 48),
        {"lhs_dilation": (2, 1), "rhs_dilation": (2, 2)},
    ),
}

MODEL = """
import jax
import jax.numpy as jnp
import numpy as np

batch_spec = {{"unused": ((1,), "float32")}}


def convolve(x, w):
    arguments = {{"window_strides": (1, 1), "padding": ((1, 1), (1, 1))}} | {arguments}
    return jax.lax.conv_general_dilated(
        x, w, dimension_numbers=("NHWC", "HWIO", "NHWC"), **arguments
    )


def init(seed):
    generator = np.random.default_rng(seed)
    make = lambda shape: jnp.asarray(generator.standard_normal(shape), "{dtype}")
    state = {{"x": make({image}), "w": make({filter})}}
    shape = jax.eval_shape(convolve, state["x"], state["w"]).shape
    state["y"] = make(shape)
    return state


def step(state, batch, scalars):
    y, gradients = jax.vjp(convolve, state["x"], state["w"])
    dx, dw = gradients(state["y"])
    return {{"x": dx, "w": dw, "y": y}}, {{}}
"""


@pytest.mark.daily(2)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", FORMS)
def test_results(tools, tmp_path, name, dtype):
    image, filter_, arguments = FORMS[name]
    source = tmp_path / "model.py"
    source.write_text(
        MODEL.format(
            image=image, filter=filter_, arguments=arguments, dtype=dtype
        )
    )
    capture(source, tmp_path)
    loaded = model.load(source)
    with jax.default_matmul_precision("highest"):
        expected, _ = loaded.step(loaded.init(0), None, None)
    np.savez(tmp_path / "data.npz", unused=np.zeros(1, "float32"))
    artifact = tools.compile(
        tmp_path / "step.mlir",
        tmp_path / "step.lockstep",
        "--replicas=1",
        f"--target={targets.EVERYWHERE}",
    )
    tools.run(
        "lockstep-run",
        artifact,
        f"--init={tmp_path / 'init.safetensors'}",
        f"--data={tmp_path / 'data.npz'}",
        "--steps=1",
        f"--save={tmp_path / 'saved'}",
    )
    found = safetensors.numpy.load_file(
        tmp_path / "saved" / "checkpoint-1.safetensors"
    )
    tolerance = 16 * float(ml_dtypes.finfo(np.dtype(dtype)).eps)
    for variable in "xwy":
        values = np.asarray(expected[variable]).astype("float64")
        np.testing.assert_allclose(
            found[variable].astype("float64"),
            values,
            rtol=tolerance,
            atol=tolerance * np.abs(values).max(),
            err_msg=f"{name}, {variable}",
        )
