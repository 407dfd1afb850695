"""What cuBLASLt and cuDNN add to a product or a convolution, on the stand-in:
biases and activations.
"""

import numpy as np
import pytest

from gpus import OperationRun, check_variables, count
from test_cuda_convolutions import CONVOLVE

#: Equations, the dimensions of a bias, and whether the library adds it, since
#: it has one element for each column of a single matrix.
BIASES = {
    "mk,kn->mn": ("n", True),
    "bmk,kn->bmn": ("n", True),
    "bmk,khd->bmhd": ("hd", True),
    "mk,kn->nm": ("m", True),
    "mk,nk->mn": ("mn", False),
    "km,kn->mn": ("m", False),
    "bmk,bkn->bmn": ("n", False),
    "bkm,kn->bmn": ("bn", False),
    # There is no bias.
    "km,kn->nm": (None, True),
}
#: So large that each sum that a kernel computes has one of its own.
SIZES = {"m": 256, "n": 128, "k": 40, "b": 3, "h": 8, "d": 16}

PRODUCTS = """
import jax
import jax.numpy as jnp
import numpy as np

FORMS = {forms}
SIZES = {sizes}
batch_spec = {{"unused": ((1,), "float32")}}


def init(seed):
    state = {{}}
    for i, (form, bias) in enumerate(FORMS.items()):
        generator = np.random.default_rng(i)
        left, right = form[:form.index("-")].split(",")
        result = form[form.index(">") + 1:]
        def tensor(letters):
            return jnp.asarray(generator.standard_normal([SIZES[j] for j in letters]), "float32")
        state[f"a{{i}}"], state[f"b{{i}}"] = (tensor(j).astype("{factors}") for j in (left, right))
        if bias:
            state[f"d{{i}}"] = tensor(bias) * {scale}
        # The same factors, for the product alone.
        state[f"e{{i}}"] = state[f"a{{i}}"]
        state[f"c{{i}}"] = state[f"f{{i}}"] = jnp.zeros([SIZES[j] for j in result], "float32")
    return state


def step(state, batch, scalars):
    new = dict(state)
    for i, (form, bias) in enumerate(FORMS.items()):
        result = form[form.index(">") + 1:]
        def multiply(a):
            return jnp.einsum(form, state[f"{{a}}{{i}}"], state[f"b{{i}}"], preferred_element_type="float32")
        y = multiply("a")
        if bias:
            y += state[f"d{{i}}"].reshape([SIZES[j] if j in bias else 1 for j in result])
        new[f"c{{i}}"] = {activation}(y)
        new[f"f{{i}}"] = multiply("e")
    return new, {{}}
"""


@pytest.fixture
def biased(tools, gpu, tmp_path):
    """Compiles products with a bias and an activation, takes a step, and
    returns its variables, what the activations were applied to, and the number
    of kernels that were launched."""
    run = OperationRun(tools, gpu, tmp_path, "cuLaunchKernel")

    def take(activation, *options, forms=BIASES, scale="1", factors="float32"):
        forms = {form: bias for form, (bias, _) in forms.items()}
        run.capture(
            PRODUCTS.format(
                forms=forms,
                sizes=SIZES,
                activation=activation,
                scale=scale,
                factors=factors,
            )
        )
        found, launches = run("--products=cublaslt", *options)
        sums = []
        for i, (form, bias) in enumerate(forms.items()):
            result = form[form.index(">") + 1 :]
            sums.append(found[f"f{i}"])
            if bias:
                shape = [SIZES[j] if j in bias else 1 for j in result]
                sums[-1] = sums[-1] + found[f"d{i}"].reshape(shape)
        return found, sums, launches

    return take, run


@pytest.mark.parametrize("factors", ["float32", "bfloat16"])
def test_biases(biased, factors):
    """The library adds them to products of f32."""
    take, run = biased
    found, sums, launches = take("", factors=factors)
    assert launches == sum(not is_added for _, is_added in BIASES.values())
    assert count(run.folder / "calls", "cublasLtMatmul") == 2 * len(BIASES)
    for i, form in enumerate(BIASES):
        np.testing.assert_array_equal(found[f"c{i}"], sums[i], err_msg=form)


def gelu(x):
    """jax.nn.gelu in f64."""
    x = x.astype("float64")
    return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))


@pytest.mark.daily(2)
@pytest.mark.parametrize(
    ("activation", "expected"),
    [("jax.nn.relu", lambda x: np.maximum(x, 0)), ("jax.nn.gelu", gelu)],
)
def test_activations(biased, activation, expected):
    take, _ = biased
    launches = []
    for options in [], ["--activations=libraries"]:
        found, sums, launched = take(activation, *options)
        launches.append(launched)
        for i, form in enumerate(BIASES):
            np.testing.assert_allclose(
                found[f"c{i}"],
                expected(sums[i]),
                rtol=2e-6,
                atol=2e-6,
                err_msg=f"{form}, {options}",
            )
    added = sum(is_added for _, is_added in BIASES.values())
    assert launches[1] == launches[0] - added


def test_activations_of_nans(biased):
    """A ReLU by cuBLASLt may make 0 of them, as this one does."""
    take, _ = biased
    form = {"mk,kn->mn": ("n", True)}
    found, _, _ = take("jax.nn.relu", forms=form, scale="jnp.nan")
    assert np.isnan(found["c0"]).all()
    found, _, _ = take(
        "jax.nn.relu", "--activations=libraries", forms=form, scale="jnp.nan"
    )
    assert (found["c0"] == 0).all()


#: In the form of convolutions' FORMS, so large that what a kernel adds has one of its own.
CONVOLVED = {
    "valid": (
        "NHWC,HWIO,NHWC",
        (4, 18, 18, 17),
        (3, 3, 17, 32),
        {"padding": "VALID"},
    ),
    "strides": (
        "NHWC,HWIO,NHWC",
        (4, 33, 33, 16),
        (3, 3, 16, 32),
        {"window_strides": (2, 2), "padding": "VALID"},
    ),
    "one dimension": (
        "NHC,HIO,NHC",
        (4, 259, 16),
        (4, 16, 32),
        {"padding": "VALID"},
    ),
}

CONVOLUTIONS = """
import jax
import jax.numpy as jnp
import numpy as np

FORMS = {forms}
batch_spec = {{"unused": ((1,), "float32")}}


{convolve}


def init(seed):
    state = {{}}
    generator = np.random.default_rng(seed)
    for i, form in enumerate(FORMS):
        make = lambda shape: jnp.asarray(generator.standard_normal(shape), "float32")
        x, w = make(form[1]), make(form[2])
        y = jax.eval_shape(lambda x, w: convolve(form, x, w), x, w)
        state |= {{f"x{{i}}": x, f"w{{i}}": w, f"b{{i}}": make(form[2][-1:]) * {scale}}}
        state |= {{f"y{{i}}": jnp.zeros(y.shape)}}
    return state


def step(state, batch, scalars):
    new = dict(state)
    for i, form in enumerate(FORMS):
        y = convolve(form, state[f"x{{i}}"], state[f"w{{i}}"]) + state[f"b{{i}}"]
        new[f"y{{i}}"] = {activation}(y)
    return new, {{}}
"""


@pytest.mark.parametrize(
    ("activation", "kernels", "fewer"),
    [("", 0, 0), ("jax.nn.relu", 3, 0), ("jax.nn.gelu", 3, 3)],
)
def test_biases_of_channels(tools, gpu, tmp_path, activation, kernels, fewer):
    """The library adds a bias, and applies a ReLU where that is asked for."""
    run = OperationRun(tools, gpu, tmp_path, "cuLaunchKernel")
    run.capture(
        CONVOLUTIONS.format(
            convolve=CONVOLVE,
            forms=list(CONVOLVED.values()),
            activation=activation,
            scale="1",
        )
    )
    expected, _ = run(device="cpu")
    for options, launched in (
        ([], kernels),
        (["--activations=libraries"], fewer),
    ):
        found, launches = run("--convolutions=cudnn", *options)
        assert launches == launched and not run.note
        assert count(tmp_path / "calls", "cudnnBackendExecute") == len(
            CONVOLVED
        )
        check_variables(found, expected, CONVOLVED, ("y",), 2e-6)


def test_activations_of_channels_of_nans(tools, gpu, tmp_path):
    """A ReLU by cuDNN may make 0 of them, as this one does."""
    run = OperationRun(tools, gpu, tmp_path, "cudnnBackendExecute")
    run.capture(
        CONVOLUTIONS.format(
            convolve=CONVOLVE,
            forms=[CONVOLVED["valid"]],
            activation="jax.nn.relu",
            scale="jnp.nan",
        )
    )
    found, _ = run("--convolutions=cudnn")
    assert np.isnan(found["y0"]).all()
    found, _ = run("--convolutions=cudnn", "--activations=libraries")
    assert (found["y0"] == 0).all()
