"""Products by cuBLASLt, on the stand-in: forms of matrices, batches and types,
which of them the library computes, and its failures.
"""

import re
import shutil

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from artifacts import sealed
from conftest import capture
from gpus import TARGETS, failure

SIZES = {"m": 33, "n": 24, "k": 40, "b": 3, "h": 2, "d": 16, "q": 17, "t": 24}

#: Equations, and how many products of matrices they are: one for each
#: iteration of a loop that is no batch; none if they are left to generated
#: code.
FORMS = {
    "mk,kn->mn": 1,
    "km,kn->mn": 1,
    "mk,nk->mn": 1,
    "km,nk->mn": 1,
    "mk,kn->nm": 1,
    "bmk,bkn->bmn": 1,
    "bmk,kn->bmn": 1,
    "mbk,kn->bmn": 1,
    "bkm,bnk->bmn": 1,
    "bmk,bkn->bnm": 1,
    # Heads of an attention: two loops, the shorter one of which is repeated.
    "bqhd,bthd->bhqt": 2,
    "bhqt,bthd->bqhd": 2,
    "bmk,khd->bhmd": 2,
    # Neighbors in both factors, and a sum whose terms are not.
    "bhqt,hdt->bqhd": 2,
    "bhmd,hdn->bmn": 0,
}

TYPES = {
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "f16": "float16",
}

MODEL = """
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", {x64})

FORMS = {forms}
SIZES = {sizes}
batch_spec = {{"unused": ((1,), "float32")}}


def factors(form, seed):
    shapes = [[SIZES[i] for i in letters] for letters in form[:form.index("-")].split(",")]
    generator = np.random.default_rng(seed)
    return [jnp.asarray(generator.standard_normal(shape), "{dtype}") for shape in shapes]


def init(seed):
    state = {{}}
    for i, form in enumerate(FORMS):
        state[f"a{{i}}"], state[f"b{{i}}"] = factors(form, i)
        state[f"c{{i}}"] = jnp.zeros([SIZES[j] for j in form[form.index(">") + 1:]], "{dtype}")
    return state


def step(state, batch, scalars):
    new = dict(state)
    for i, form in enumerate(FORMS):
        # An elementwise operation follows, which is no part of the product.
        product = jnp.einsum(form, state[f"a{{i}}"], state[f"b{{i}}"])
        new[f"c{{i}}"] = product {epilogue}
    return new, {{}}
"""


@pytest.fixture
def products(tools, gpu, tmp_path):
    """Compiles a model of products, takes a step, and returns its variables
    with the number of products that the library has computed."""
    source = tmp_path / "model"

    def make(dtype, epilogue="", forms=FORMS, sizes=SIZES):
        model = tmp_path / "model.py"
        model.write_text(
            MODEL.format(
                x64=dtype == "float64",
                forms=list(forms),
                sizes=sizes,
                dtype=dtype,
                epilogue=epilogue,
            )
        )
        capture(model, source)

    def run(*options, **variables):
        artifact = tools.compile(
            source / "step.mlir",
            tmp_path / "products.lockstep",
            "--replicas=1",
            "--target=sm_90",
            *options,
        )
        calls, saved = tmp_path / "calls", tmp_path / "saved"
        calls.unlink(missing_ok=True)
        shutil.rmtree(saved, ignore_errors=True)
        gpu(
            artifact,
            "--device=cuda",
            f"--init={source / 'init.safetensors'}",
            f"--data={data(tmp_path)}",
            "--steps=1",
            f"--save={saved}",
            LOCKSTEP_CUDA_CALLS=str(calls),
            **variables,
        )
        counts = dict(
            reversed(line.split()) for line in calls.read_text().splitlines()
        )
        variables = safetensors.numpy.load_file(
            saved / "checkpoint-1.safetensors"
        )
        return variables, int(counts.get("cublasLtMatmul", 0))

    return make, run


def data(folder):
    path = folder / "data.npz"
    np.savez(path, unused=np.zeros(1, "float32"))
    return path


def exact(form, variables, i):
    return np.einsum(
        form, *(variables[f"{name}{i}"].astype("float64") for name in "ab")
    )


@pytest.mark.parametrize("element", TYPES)
def test_forms(products, element):
    make, run = products
    dtype = np.dtype(TYPES[element])
    make(dtype.name)
    generated, none = run()
    found, count = run("--products=cublaslt")
    assert none == 0 and count == sum(FORMS.values())
    epsilon = float(ml_dtypes.finfo(dtype).eps)
    for variables in generated, found:
        for i, form in enumerate(FORMS):
            expected = exact(form, variables, i)
            # The results are rounded once, sums of f32 more often.
            tolerance = epsilon if dtype.itemsize == 2 else 40 * epsilon
            np.testing.assert_allclose(
                variables[f"c{i}"].astype("float64"),
                expected,
                rtol=tolerance,
                atol=tolerance * np.abs(expected).max() / 4,
                err_msg=form,
            )


def test_what_follows_is_generated(products):
    """The library computes a product, and kernels what was fused with it."""
    make, run = products
    make("float32", epilogue="* 2 + jnp.tanh(product)")
    found, count = run("--products=cublaslt")
    assert count == sum(FORMS.values())
    for i, form in enumerate(FORMS):
        product = exact(form, found, i)
        np.testing.assert_allclose(
            found[f"c{i}"],
            product * 2 + np.tanh(product),
            rtol=1e-5,
            atol=1e-5,
        )


def test_tf32(products):
    """Factors are rounded to 10 bits where that is asked for."""
    make, run = products
    make("float32")
    found, count = run("--products=cublaslt", "--tf32")
    assert count == sum(FORMS.values())

    def rounded(x):
        bits = x.view(np.uint32) + np.uint32(1 << 12)
        return (bits & ~np.uint32((1 << 13) - 1)).view(np.float32)

    for i, form in enumerate(FORMS):
        factors = [rounded(found[f"{name}{i}"]) for name in "ab"]
        expected = np.einsum(form, *(x.astype("float64") for x in factors))
        difference = np.abs(found[f"c{i}"] - expected).max()
        assert (
            difference < 1e-5
            and np.abs(expected - exact(form, found, i)).max() > 1e-4
        )


def test_what_the_library_does_not_support(products):
    """Operands of another alignment, here of the second repeated batch, are
    multiplied by generated code."""
    make, run = products
    forms = {"bqhd,bthd->bhqt": 0, "mk,kn->mn": 1}
    make("float16", forms=forms, sizes=SIZES | {"t": 20})
    found, count = run("--products=cublaslt")
    assert count == sum(forms.values())
    for i, form in enumerate(forms):
        expected = exact(form, found, i)
        np.testing.assert_allclose(
            found[f"c{i}"], expected, rtol=1e-3, atol=1e-2
        )


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_step_as_one_graph(tools, gpu, losses, examples, replicas, tmp_path):
    """Products are recorded, and each queue has working memory of its own."""
    example = examples("digits-mlp")
    artifact = tools.compile(
        example.source,
        tmp_path / "step.lockstep",
        f"--replicas={replicas}",
        "--products=cublaslt",
        TARGETS,
    )
    calls = tmp_path / "calls"

    def train(*options):
        calls.unlink(missing_ok=True)
        found = losses(
            gpu,
            artifact,
            example,
            12,
            *options,
            LOCKSTEP_CUDA_CALLS=str(calls),
        )
        text = calls.read_text() if calls.exists() else ""
        counts = dict(reversed(line.split()) for line in text.splitlines())
        return found, int(counts.get("cublasLtMatmul", 0))

    expected, none = train("--device=cpu")
    recorded, count = train("--device=cuda")
    single, all_count = train("--device=cuda", "--no-recording")
    assert none == 0 and count > 0 and all_count == 6 * count
    assert recorded == single
    np.testing.assert_allclose(recorded, expected, rtol=1e-5)


def test_errors(tools, gpu, examples, tmp_path):
    example = examples("digits-mlp")
    artifact = tools.compile(
        example.source,
        tmp_path / "step.lockstep",
        "--replicas=2",
        "--products=cublaslt",
        TARGETS,
    )
    # There is a driver, and no other library.
    alone = tmp_path / "alone"
    alone.mkdir()
    standin = tools.folder.parent / "lib" / "cuda-standin"
    (alone / "libcuda.so.1").symlink_to(standin / "libcuda.so.1")
    message = failure(
        gpu,
        example,
        artifact,
        tmp_path,
        "--device=cuda",
        LD_LIBRARY_PATH=str(alone),
    )
    assert (
        "has products for cuBLASLt (--products=cublaslt): expected NVIDIA's cuBLASLt 12.4.0 or newer, found none: libcublasLt.so.12:"
        in message
    )
    message = failure(
        gpu,
        example,
        artifact,
        tmp_path,
        "--device=cuda",
        LOCKSTEP_CUDA_FAIL="product:3",
    )
    assert "the launch of kernel 'step_" in message
    assert "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED" in message
    # The numbers of a product are replaced: by more columns than there may be.
    content = artifact.read_bytes()
    text, count = re.subn(
        rb"(step_\d+_logits_matmul\$products\[232\] = {(?:\d+, ){16})(\d+, \d+, \d+, \d+, \d+, \d+, \d+, \d+)",
        lambda match: match[1] + re.sub(rb"\d", b"9", match[2]),
        content,
    )
    assert count > 0
    damaged = tmp_path / "damaged.lockstep"
    damaged.write_bytes(sealed(text))
    message = failure(gpu, example, damaged, tmp_path, "--device=cuda")
    assert re.search(
        r"kernel 'step_\d+_logits_matmul': expected products of its 3 buffers in its 1 phases, found other numbers in 'step_\d+_logits_matmul\$products' of the binary for target 'sm_90'",
        message,
    ), message
    # Processors need no library.
    tools.run(
        "lockstep-run",
        artifact,
        *example.arguments(2, tmp_path / "metrics.jsonl"),
        "--device=cpu",
    )
