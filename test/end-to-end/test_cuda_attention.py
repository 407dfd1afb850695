"""Attention by cuDNN, on the stand-in: its forms and gradients, what is left to
generated code, and the library's failures.
"""

import re

import ml_dtypes
import numpy as np
import pytest

import zoo
from artifacts import sealed
from conftest import capture, read_metrics, steps_of
from gpus import OperationRun, check_variables, count, without_library

#: Of each attention: the expressions of query, key and value of a state x, y
#: and z, whose shapes follow, the options, and whether the library computes it.
FORMS = {
    "self": ("x, x, x", [(2, 48, 2, 16)], {"is_causal": True}, True),
    "everywhere": ("x, x, x", [(2, 48, 2, 16)], {}, True),
    "fewer queries": ("x, y, z", [(2, 9, 3, 32), (2, 40, 3, 32)], {}, True),
    "more queries": (
        "x, y, z",
        [(1, 40, 3, 8), (1, 9, 3, 8)],
        {"is_causal": True, "scale": -0.7},
        True,
    ),
    "parts": (
        "x[:, :, 0], x[:, :, 1], x[:, :, 2]",
        [(2, 33, 3, 2, 24)],
        {"is_causal": True},
        True,
    ),
    "heads first": (
        "x.swapaxes(1, 2), y.swapaxes(1, 2), z.swapaxes(1, 2)",
        [(2, 2, 17, 16), (2, 2, 20, 16)],
        {},
        True,
    ),
    "large heads": ("x, y, z", [(1, 10, 1, 128)], {}, True),
    "one key": ("x, y, z", [(2, 5, 2, 8), (2, 1, 2, 8)], {}, True),
    # Those that do not begin at multiples of 16 bytes are copied.
    "odd parts": (
        "x[..., :8], x[..., 8:16], x[..., 16:24]",
        [(2, 16, 2, 28)],
        {},
        True,
    ),
    "shifted parts": (
        "x[..., 4:12], y, y",
        [(2, 9, 2, 24), (2, 9, 2, 8)],
        {},
        True,
    ),
    "every other element": (
        "x[..., ::2], y, z",
        [(2, 9, 2, 16), (2, 7, 2, 8)],
        {},
        True,
    ),
    "constant keys": (
        "x, jnp.asarray(np.arange(64).reshape(1, 4, 2, 8) / 32, x.dtype), y",
        [(1, 6, 2, 8), (1, 4, 2, 8)],
        {},
        True,
    ),
    "odd heads": ("x, y, z", [(2, 10, 2, 12)], {"is_causal": True}, False),
    "larger heads": ("x, y, z", [(1, 10, 1, 136)], {}, False),
    "large scale": ("x, y, z", [(1, 9, 1, 8)], {"scale": 1e39}, False),
}

MODEL = """
import jax
import jax.numpy as jnp
import numpy as np

import lockstep

FORMS = {forms}
batch_spec = {{"unused": ((1,), "float32")}}


def attend(form, x, y, z):
    q, k, v = eval(form[0], {{"x": x, "y": y, "z": z, "jnp": jnp, "np": np}})
    return lockstep.dot_product_attention(q, k, v, **form[2])


def init(seed):
    state = {{}}
    generator = np.random.default_rng(seed)
    make = lambda shape: jnp.asarray(generator.standard_normal(shape), "{dtype}")
    for i, (_, shapes, _, _) in enumerate(FORMS):
        own = [make(shape) for shape in (shapes[0], shapes[-1], shapes[-1])]
        output = jax.eval_shape(lambda *own: attend(FORMS[i], *own), *own)
        state |= {{f"{{name}}{{i}}": value for name, value in zip("xyz", own)}}
        state |= {{f"d{{name}}{{i}}": jnp.zeros_like(value) for name, value in zip("xyz", own)}}
        state |= {{f"c{{i}}": make(output.shape), f"o{{i}}": jnp.zeros_like(output)}}
    return state


def step(state, batch, scalars):
    new = dict(state)
    for i, form in enumerate(FORMS):
        output, gradients = jax.vjp(
            lambda *own: attend(form, *own), *(state[f"{{name}}{{i}}"] for name in "xyz")
        )
        new[f"o{{i}}"] = output
        for name, gradient in zip("xyz", gradients(state[f"c{{i}}"])):
            new[f"d{{name}}{{i}}"] = gradient
    return new, {{}}
"""


@pytest.fixture
def attention(tools, gpu, tmp_path):
    """Compiles a model of attention, takes a step, and returns its variables
    with the number of calls of the library."""
    run = OperationRun(tools, gpu, tmp_path, "cudnnBackendExecute")

    def make(dtype, forms=FORMS):
        run.capture(MODEL.format(forms=list(forms.values()), dtype=dtype))

    return make, run


def check(found, expected, forms, tolerance):
    variables = ("o", "dx", "dy", "dz")
    check_variables(found, expected, forms, variables, tolerance)


@pytest.mark.daily(2)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_forms(attention, dtype):
    make, run = attention
    make(dtype)
    expected, _ = run(device="cpu")
    generated, none = run()
    found, calls = run("--attention=cudnn")
    again, _ = run("--attention=cudnn")
    assert none == 0
    assert calls == 2 * sum(form[-1] for form in FORMS.values())
    tolerance = 6 * float(ml_dtypes.finfo(np.dtype(dtype)).eps)
    check(generated, expected, FORMS, tolerance)
    check(found, expected, FORMS, tolerance)
    for name, values in found.items():
        assert again[name].tobytes() == values.tobytes(), name


# One head at a time, or some examples and what is left.
@pytest.mark.daily(3)
@pytest.mark.parametrize(
    "dtype,size", [("bfloat16", 1), ("float32", 40_000), ("float64", 1)]
)
def test_slices(attention, dtype, size):
    make, run = attention
    names = ("fewer queries", "more queries", "parts", "heads first")
    forms = {name: FORMS[name] for name in names}
    forms["several"] = ("x, y, z", [(5, 40, 2, 8)], {}, False)
    make(dtype, forms)
    expected, _ = run("--attention-bytes=0", device="cpu")
    tolerance = 6 * max(float(ml_dtypes.finfo(np.dtype(dtype)).eps), 1e-6)
    for device in ("cpu", "cuda"):
        found, calls = run(f"--attention-bytes={size}", device=device)
        assert calls == 0
        check(found, expected, forms, tolerance)


def test_one_position(attention):
    """The library computes such an attention, but not its gradient."""
    make, run = attention
    forms = {"one": ("x, y, z", [(2, 1, 2, 8)], {}, True)}
    make("bfloat16", forms)
    expected, _ = run(device="cpu")
    found, calls = run("--attention=cudnn")
    assert calls == 1
    check(found, expected, forms, 0.05)


def test_f32_is_generated(attention):
    make, run = attention
    forms = {name: FORMS[name] for name in ("self", "fewer queries")}
    make("float32", forms)
    expected, _ = run(device="cpu")
    found, calls = run("--attention=cudnn")
    assert calls == 0
    check(found, expected, forms, 1e-5)


def test_processors_have_their_own(attention):
    """An artifact that is for processors, too, has generated code alone."""
    make, run = attention
    forms = {"self": FORMS["self"]}
    make("bfloat16", forms)
    expected, _ = run("--target=x86-64-v3")
    found, calls = run("--attention=cudnn", "--target=x86-64-v3")
    assert calls == 0
    for name, values in found.items():
        np.testing.assert_array_equal(expected[name], values)


@pytest.mark.daily(2)
@pytest.mark.parametrize("replicas", [1, 2])
def test_training(tools, gpu, tmp_path, replicas):
    """In loops, and in steps that are recorded as graphs."""
    entry = zoo.load("translator")
    capture(zoo.MODELS / "translator.py", tmp_path / "model")
    np.savez(tmp_path / "train.npz", **entry.data)
    calls, metrics = tmp_path / "calls", tmp_path / "metrics.jsonl"

    def train(artifact, *options):
        calls.unlink(missing_ok=True)
        gpu(
            artifact,
            f"--init={tmp_path / 'model' / 'init.safetensors'}",
            f"--data={tmp_path / 'train.npz'}",
            f"--steps={zoo.STEPS}",
            f"--seed={zoo.SEED}",
            f"--metrics={metrics}",
            *options,
            LOCKSTEP_CUDA_CALLS=str(calls),
        )
        losses = [line["loss"] for line in steps_of(read_metrics(metrics))]
        return losses, count(calls, "cudnnBackendExecute")

    artifact = tools.compile(
        tmp_path / "model" / "step.mlir",
        tmp_path / "step.lockstep",
        f"--replicas={replicas}",
        "--target=sm_90",
        "--attention=cudnn",
    )
    recorded, few = train(artifact, "--device=cuda")
    single, many = train(artifact, "--device=cuda", "--no-recording")
    # Two layers of the encoder and two attentions of the decoder, each with its
    # gradient, in each of 20 steps, or in those that are not recorded.
    assert many == 20 * replicas * 8 and 0 < few < many
    assert recorded == single
    run = zoo.recording("translator")["runs"][str(replicas)]
    np.testing.assert_allclose(
        np.asarray(recorded, float), run["metrics"]["loss"], rtol=5e-3
    )


def test_errors(attention, tools, tmp_path):
    make, run = attention
    make("bfloat16", {"self": FORMS["self"]})

    def message(**variables):
        return run("--attention=cudnn", check=False, **variables)

    alone = without_library(tools, tmp_path / "alone", "libcudnn.so.9")
    found = message(LD_LIBRARY_PATH=alone)
    assert re.search(
        r"kernel 'step_\d+_attend_attention\w*' has attention for cuDNN \(--attention=cudnn\): expected NVIDIA's cuDNN \S+ or newer, found none: ",
        found,
    ), found
    found = message(LOCKSTEP_CUDA_FAIL="refused:1")
    assert re.search(
        r"the launch of kernel 'step_\d+_attend_attention\w*', phase 0 by cuDNN: .*CUDNN_STATUS_NOT_SUPPORTED.*--attention=cudnn",
        found,
    ), found
    found = message(LOCKSTEP_CUDA_FAIL="product:2")
    assert re.search(
        r"the launch of kernel 'step_\d+_attend_backward_attention_gradient', phase 0 by cuDNN: cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED",
        found,
    ), found

    # The numbers of an attention are replaced: by more examples than there are.
    def damage(artifact):
        text, replaced = re.subn(
            rb"(\$attention\[824\] = {(?:\d+, ){56})(\d+)",
            lambda match: match[1] + b"9",
            artifact.read_bytes(),
        )
        assert replaced > 0
        damaged = tmp_path / "damaged.lockstep"
        damaged.write_bytes(sealed(text))
        return damaged

    run.replaced = damage
    found = message()
    assert re.search(
        r"kernel 'step_\d+_attend_attention\w*': expected attention of its 3 buffers in its 1 phases, found other numbers in 'step_\d+_attend_attention\w*\$attention' of the binary for target 'sm_90'",
        found,
    ), found
