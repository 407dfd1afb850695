"""Convolutions by cuDNN, on the stand-in: their forms and gradients, which of
them the library computes, and its failures.
"""

import re

import ml_dtypes
import numpy as np
import pytest

from artifacts import sealed
from gpus import (
    TARGETS,
    OperationRun,
    check_variables,
    count,
    failure,
    standin,
    without_library,
)

#: Of each convolution: the layouts of image, filter and result, the shapes of
#: the first two, and more arguments; then how many of the result and the
#: gradients of image and filter the library computes.
FORMS = {
    "same": ("NHWC,HWIO,NHWC", (2, 7, 9, 16), (3, 3, 16, 24), {}, 3),
    "valid": (
        "NHWC,HWIO,NHWC",
        (2, 7, 9, 17),
        (3, 2, 17, 19),
        {"padding": "VALID"},
        3,
    ),
    "strides": (
        "NHWC,HWIO,NHWC",
        (2, 9, 10, 16),
        (3, 3, 16, 16),
        {"window_strides": (2, 3)},
        3,
    ),
    # The last row of the image is in no window.
    "rest": (
        "NHWC,HWIO,NHWC",
        (2, 8, 9, 16),
        (3, 3, 16, 16),
        {"window_strides": (2, 2), "padding": "VALID"},
        3,
    ),
    "dilation": (
        "NHWC,HWIO,NHWC",
        (2, 9, 9, 16),
        (3, 2, 16, 16),
        {"rhs_dilation": (2, 3)},
        3,
    ),
    "columns": ("NHWC,HWIO,NHWC", (2, 6, 9, 16), (1, 3, 16, 16), {}, 3),
    "one dimension": ("NHC,HIO,NHC", (3, 17, 16), (4, 16, 16), {}, 3),
    "one example": ("NHWC,HWIO,NHWC", (1, 8, 8, 16), (3, 3, 16, 16), {}, 3),
    "another filter": ("NHWC,OHWI,NHWC", (2, 6, 6, 16), (16, 3, 3, 16), {}, 3),
    # The gradient of the image has few columns.
    "one channel": ("NHWC,HWIO,NHWC", (2, 8, 8, 1), (4, 4, 1, 16), {}, 2),
    # Products of matrices.
    "points": ("NHWC,HWIO,NHWC", (2, 6, 6, 16), (1, 1, 16, 16), {}, 0),
    # The gradient of the image is a product.
    "points with strides": (
        "NHWC,HWIO,NHWC",
        (2, 6, 6, 16),
        (1, 1, 16, 16),
        {"window_strides": (2, 2)},
        2,
    ),
    "channels first": ("NCHW,OIHW,NCHW", (2, 16, 6, 8), (16, 16, 3, 3), {}, 0),
    "groups": (
        "NHWC,HWIO,NHWC",
        (2, 6, 6, 32),
        (3, 3, 16, 32),
        {"feature_group_count": 2},
        0,
    ),
    "three dimensions": (
        "NHWDC,HWDIO,NHWDC",
        (1, 4, 4, 4, 16),
        (2, 2, 2, 16, 16),
        {},
        0,
    ),
}

#: Of models of convolutions.
CONVOLVE = """
def convolve(form, x, w):
    layouts, _, _, options, *_ = form
    arguments = {"window_strides": (1,) * (x.ndim - 2), "padding": "SAME"} | options
    return jax.lax.conv_general_dilated(
        x, w, dimension_numbers=tuple(layouts.split(",")), **arguments
    )
"""

MODEL = """
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", {x64})

FORMS = {forms}
batch_spec = {{"unused": ((1,), "float32")}}


{convolve}


def compute(form, x, w):
    y = convolve(form, x, w)
    return y {epilogue}


def init(seed):
    state = {{}}
    generator = np.random.default_rng(seed)
    for i, form in enumerate(FORMS):
        make = lambda shape: jnp.asarray(generator.standard_normal(shape), "{dtype}")
        x, w = make(form[1]), make(form[2])
        shape = jax.eval_shape(lambda x, w: compute(form, x, w), x, w).shape
        state |= {{f"x{{i}}": x, f"w{{i}}": w, f"y{{i}}": make(shape)}}
        state |= {{f"{{name}}{{i}}": jnp.zeros_like(state[f"{{name[1]}}{{i}}"]) for name in ("dx", "dw", "ny")}}
    return state


def step(state, batch, scalars):
    new = dict(state)
    for i, form in enumerate(FORMS):
        y, gradients = jax.vjp(
            lambda x, w: compute(form, x, w), state[f"x{{i}}"], state[f"w{{i}}"]
        )
        new[f"ny{{i}}"] = y
        new[f"dx{{i}}"], new[f"dw{{i}}"] = gradients(state[f"y{{i}}"])
    return new, {{}}
"""


@pytest.fixture
def convolutions(tools, gpu, tmp_path):
    """Compiles a model of convolutions, takes steps, and returns its variables
    with the number of calls of the library."""
    run = OperationRun(tools, gpu, tmp_path, "cudnnBackendExecute")

    def make(dtype="float32", forms=FORMS, epilogue=""):
        run.capture(
            MODEL.format(
                x64=dtype == "float64",
                forms=list(forms.values()),
                dtype=dtype,
                convolve=CONVOLVE,
                epilogue=epilogue,
            )
        )

    return make, run


def check(found, expected, forms, tolerance):
    variables = ("ny", "dx", "dw")
    check_variables(found, expected, forms, variables, tolerance)


def test_forms(convolutions):
    make, run = convolutions
    make()
    expected, none = run(device="cpu")
    generated, no_calls = run()
    found, calls = run("--convolutions=cudnn")
    assert none == no_calls == 0
    assert calls == sum(form[-1] for form in FORMS.values()) and not run.note
    check(generated, expected, FORMS, 1e-6)
    check(found, expected, FORMS, 1e-6)


@pytest.mark.daily(2)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_types(convolutions, dtype):
    make, run = convolutions
    names = ["strides", "dilation", "columns", "one channel"]
    forms = {name: FORMS[name] for name in names}
    make(dtype, forms)
    expected, _ = run(device="cpu")
    found, calls = run("--convolutions=cudnn")
    assert calls == sum(form[-1] for form in forms.values()) and not run.note
    tolerance = 4 * float(ml_dtypes.finfo(np.dtype(dtype)).eps)
    check(found, expected, forms, tolerance)


def test_what_follows_is_generated(convolutions):
    """The library computes a convolution, and kernels what was fused with
    it."""
    make, run = convolutions
    forms = {name: FORMS[name] for name in ("same", "strides")}
    make(forms=forms, epilogue="* 2 + jnp.tanh(y)")
    expected, _ = run(device="cpu")
    found, calls = run("--convolutions=cudnn")
    assert calls == 6
    check(found, expected, forms, 1e-5)


def test_tf32(convolutions):
    """Factors are rounded to 10 bits where that is asked for."""
    make, run = convolutions
    forms = {"same": FORMS["same"]}
    make(forms=forms)
    exact, _ = run("--convolutions=cudnn")
    found, calls = run("--convolutions=cudnn", "--tf32")
    assert calls == 3
    check(found, exact, forms, 2e-3)
    for variable in "ny0", "dx0", "dw0":
        assert np.abs(found[variable] - exact[variable]).max() > 1e-4


def test_f64_is_generated(convolutions):
    make, run = convolutions
    forms = {"same": FORMS["same"]}
    make("float64", forms=forms)
    expected, _ = run(device="cpu")
    found, calls = run("--convolutions=cudnn")
    assert calls == 0
    check(found, expected, forms, 1e-14)


# Then generated code computes it, also in later launches.
@pytest.mark.parametrize("which", [1, 3])
def test_what_the_library_refuses_at_the_call(convolutions, which):
    make, run = convolutions
    forms = {"same": FORMS["same"]}
    make(forms=forms)
    expected, _ = run(device="cpu")
    found, calls = run(
        "--convolutions=cudnn", steps=2, LOCKSTEP_CUDA_FAIL=f"refused:{which}"
    )
    assert calls == 5
    assert re.fullmatch(
        r"cuDNN does not support 1 of 3 convolutions, which generated code computes, such as that of kernel 'step_\d_convolve_.*' \(cudnnBackendExecute: CUDNN_STATUS_NOT_SUPPORTED \(architecture\)\)",
        run.note,
    )
    check(found, expected, forms, 1e-5)


def test_refusals_of_several_replicas(gpu, losses, examples, tools, tmp_path):
    """The library refuses a convolution to one of them while others execute
    it."""
    example = examples("digits-cnn")
    artifact = tools.compile(
        example.source,
        tmp_path / "step.lockstep",
        "--convolutions=cudnn",
        "--replicas=8",
        TARGETS,
    )

    def train(*options, **variables):
        return losses(gpu, artifact, example, 3, *options, **variables)

    expected = train("--device=cpu")
    for number in 1, 5, 9:
        found = train("--device=cuda", LOCKSTEP_CUDA_FAIL=f"refused:{number}")
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_errors(tools, gpu, examples, tmp_path):
    example = examples("digits-cnn")
    artifact = tools.compile(
        example.source,
        tmp_path / "step.lockstep",
        "--convolutions=cudnn",
        "--replicas=2",
        TARGETS,
    )

    def message(*options, used=artifact, **variables):
        return failure(
            gpu, example, used, tmp_path, "--device=cuda", *options, **variables
        )

    alone = without_library(tools, tmp_path / "alone", "libcudnn.so.9")
    found = message(LD_LIBRARY_PATH=alone)
    assert (
        "has convolutions for cuDNN (--convolutions=cudnn): expected NVIDIA's cuDNN 9.0.0 or newer, found none: "
        in found
    )
    found = message(
        LD_LIBRARY_PATH=f"{standin(tools) / 'old-cudnn'}:{standin(tools)}"
    )
    assert (
        "expected NVIDIA's cuDNN 9.0.0 or newer, found one without 'cudnnGetErrorString'"
        in found
    ), found
    found = message(LOCKSTEP_CUDA_FAIL="product:3")
    assert re.search(
        r"the launch of kernel 'step_.*', phase 0 by cuDNN: cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED \(launch\)",
        found,
    ), found
    # The numbers of a convolution are replaced: by more outputs than there are.
    content = artifact.read_bytes()
    text, replaced = re.subn(
        rb"(step_\d+_\w+\$convolutions\[352\] = {(?:\d+, ){10})(\d+, \d+, \d+, \d+, \d+, \d+, \d+, \d+)",
        lambda match: match[1] + re.sub(rb"\d", b"9", match[2]),
        content,
    )
    assert replaced > 0
    damaged = tmp_path / "damaged.lockstep"
    damaged.write_bytes(sealed(text))
    found = message(used=damaged)
    assert re.search(
        r"kernel 'step_\d+_\w+': expected convolutions of its 3 buffers in its 1 phases, found other numbers in 'step_\d+_\w+\$convolutions' of the binary for target 'sm_90'",
        found,
    ), found
    # Processors need no library.
    tools.run(
        "lockstep-run",
        artifact,
        "--device=cpu",
        *example.arguments(2, tmp_path / "metrics.jsonl"),
    )


def test_steps_as_one_graph(gpu, losses, examples, tools, tmp_path):
    """Convolutions are recorded, and each queue has working memory of its
    own."""
    example = examples("digits-cnn")
    artifact = tools.compile(
        example.source,
        tmp_path / "step.lockstep",
        "--convolutions=cudnn",
        "--products=cublaslt",
        "--replicas=2",
        TARGETS,
    )
    calls = tmp_path / "calls"

    def train(*options):
        calls.unlink(missing_ok=True)
        found = losses(
            gpu, artifact, example, 6, *options, LOCKSTEP_CUDA_CALLS=str(calls)
        )
        return found, count(calls, "cudnnBackendExecute")

    expected, none = train("--device=cpu")
    recorded, few = train("--device=cuda")
    single, many = train("--device=cuda", "--no-recording")
    assert none == 0 and few > 0 and many == 3 * few
    assert recorded == single
    np.testing.assert_allclose(recorded, expected, rtol=1e-5)
