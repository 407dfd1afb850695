"""Products by cuBLASLt, on the stand-in: forms of matrices, batches and types,
which of them the library computes, and its failures.
"""

import re

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from artifacts import sealed
from gpus import TARGETS, OperationRun, count, failure, standin, without_library

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
    run = OperationRun(tools, gpu, tmp_path, "cublasLtMatmul")

    def make(dtype, epilogue="", forms=FORMS, sizes=SIZES):
        run.capture(
            MODEL.format(
                x64=dtype == "float64",
                forms=list(forms),
                sizes=sizes,
                dtype=dtype,
                epilogue=epilogue,
            )
        )

    return make, run


@pytest.fixture
def compiled_example(tools, examples, tmp_path):
    """Compiles the step of an example with products by the library."""

    def compile_(*options):
        return tools.compile(
            examples("digits-mlp").source,
            tmp_path / "step.lockstep",
            "--products=cublaslt",
            TARGETS,
            *options,
        )

    return compile_


def exact(form, variables, i):
    return np.einsum(
        form, *(variables[f"{name}{i}"].astype("float64") for name in "ab")
    )


@pytest.mark.daily(2)
@pytest.mark.parametrize("element", TYPES)
def test_forms(products, element):
    make, run = products
    dtype = np.dtype(TYPES[element])
    make(dtype.name)
    generated, none = run()
    found, calls = run("--products=cublaslt")
    assert none == 0 and calls == sum(FORMS.values()) and not run.note
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
    found, calls = run("--products=cublaslt")
    assert calls == sum(FORMS.values())
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
    found, calls = run("--products=cublaslt", "--tf32")
    assert calls == sum(FORMS.values())

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


def test_unaligned_rows(products):
    """Rows of matrices that do not begin at multiples of 16 bytes are copied to
    such, and results are computed there."""
    make, run = products
    forms = dict.fromkeys(["mk,kn->mn", "mn,kn->mk", "mk,mn->kn"], 1)
    make("bfloat16", "* 2", forms, {"m": 1024, "n": 1026, "k": 1024})
    found, calls = run("--products=cublaslt")
    assert calls == 3 and not run.note
    for i, form in enumerate(forms):
        expected = 2 * exact(form, found, i)
        np.testing.assert_allclose(
            found[f"c{i}"].astype("float64"), expected, rtol=1e-2, atol=1e-1
        )


def test_what_the_library_does_not_support(products):
    """Operands of another alignment, here of the second repeated batch, are
    multiplied by generated code."""
    make, run = products
    forms = {"bqhd,bthd->bhqt": 0, "mk,kn->mn": 1}
    make("float16", forms=forms, sizes=SIZES | {"t": 20})
    found, calls = run("--products=cublaslt")
    assert calls == sum(forms.values())
    assert (
        run.note
        == "cuBLASLt does not support 1 of 2 products, which generated code computes, such as that of kernel 'step_0_product'"
    )
    for i, form in enumerate(forms):
        expected = exact(form, found, i)
        np.testing.assert_allclose(
            found[f"c{i}"], expected, rtol=1e-3, atol=1e-2
        )


# Then generated code computes it, also in later launches.
@pytest.mark.parametrize("which", [1, 2])
def test_what_the_library_refuses_at_the_call(products, which):
    make, run = products
    forms = dict.fromkeys(["mk,kn->mn", "bmk,bkn->bmn"], 1)
    make("float32", forms=forms)
    found, calls = run(
        "--products=cublaslt",
        steps=2,
        LOCKSTEP_CUDA_FAIL=f"refused:{which}",
    )
    assert calls == 3
    assert re.fullmatch(
        "cuBLASLt does not support 1 of 2 products, which generated code computes, such as that of kernel 'step_[01].*'",
        run.note,
    )
    for i, form in enumerate(forms):
        np.testing.assert_allclose(
            found[f"c{i}"], exact(form, found, i), rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_step_as_one_graph(
    gpu, losses, examples, compiled_example, replicas, tmp_path
):
    """Products are recorded, and each queue has working memory of its own."""
    example = examples("digits-mlp")
    artifact = compiled_example(f"--replicas={replicas}")
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
        return found, count(calls, "cublasLtMatmul")

    expected, none = train("--device=cpu")
    recorded, few = train("--device=cuda")
    single, many = train("--device=cuda", "--no-recording")
    assert none == 0 and few > 0 and many == 6 * few
    assert recorded == single
    np.testing.assert_allclose(recorded, expected, rtol=1e-5)
    if replicas > 1:
        two = losses(
            gpu,
            artifact,
            example,
            12,
            "--device=cuda",
            "--executors=2",
            "--transport=nccl",
            LOCKSTEP_CUDA_DEVICES="2",
        )
        assert two == recorded


# The memory plan decides where buffers are, but not about the algorithm.
def test_alignments_above_16_bytes_are_one(
    gpu, examples, compiled_example, tmp_path
):
    example = examples("digits-mlp")
    for options in [], ["--bucket=none"], ["--simplify=false"], ["-O0"]:
        artifact = compiled_example("--replicas=2", *options)
        calls = tmp_path / "calls"
        calls.unlink(missing_ok=True)
        gpu(
            artifact,
            *example.arguments(3, tmp_path / "metrics.jsonl"),
            "--device=cuda",
            "--no-recording",
            LOCKSTEP_CUDA_CALLS=str(calls),
        )
        products = count(calls, "cublasLtMatmul") // (2 * 3)
        assert count(calls, "cublasLtMatmulAlgoGetHeuristic") == products > 0


ADDED = """
replica.variable @sum : tensor<32x24xf32> {initial = dense<0.5> : tensor<32x24xf32>}
replica.step @step(%x: tensor<1x36x16xf32> {replica.batch = "x"}, %w: tensor<1x16x24xf32> {replica.batch = "w"}) {
  %sum = replica.read @sum : tensor<32x24xf32>
  %a = tensor.extract_slice %x[0, 4, 0] [1, 32, 16] [1, 1, 1] : tensor<1x36x16xf32> to tensor<32x16xf32>
  %b = tensor.collapse_shape %w [[0, 1], [2]] : tensor<1x16x24xf32> into tensor<16x24xf32>
  %new = linalg.matmul ins(%a, %b : tensor<32x16xf32>, tensor<16x24xf32>) outs(%sum : tensor<32x24xf32>) -> tensor<32x24xf32>
  replica.assign @sum, %new : tensor<32x24xf32>
  replica.return
}
"""


def test_products_are_added_to_what_is_there(tools, gpu, tmp_path):
    """In the memory of a variable, of a slice of a factor."""
    source = tmp_path / "step.mlir"
    source.write_text(ADDED)
    artifact = tools.compile(
        source,
        tmp_path / "step.lockstep",
        "--replicas=1",
        "--products=cublaslt",
        TARGETS,
    )
    generator = np.random.default_rng(0)
    x = generator.standard_normal((3, 36, 16)).astype("float32")
    w = generator.standard_normal((3, 16, 24)).astype("float32")
    np.savez(tmp_path / "data.npz", x=x, w=w)
    calls, saved = tmp_path / "calls", tmp_path / "saved"
    gpu(
        artifact,
        "--device=cuda",
        f"--data={tmp_path / 'data.npz'}",
        "--steps=3",
        f"--save={saved}",
        LOCKSTEP_CUDA_CALLS=str(calls),
    )
    assert count(calls, "cublasLtMatmul") == 2  # one of them in a graph
    found = safetensors.numpy.load_file(saved / "checkpoint-3.safetensors")
    expected = 0.5 + np.einsum("rmk,rkn->mn", x[:, 4:].astype("float64"), w)
    np.testing.assert_allclose(found["sum"], expected, rtol=1e-5, atol=1e-5)


def test_errors(tools, gpu, examples, compiled_example, tmp_path):
    example = examples("digits-mlp")
    artifact = compiled_example("--replicas=2")

    def message(*options, used=artifact, **variables):
        return failure(
            gpu, example, used, tmp_path, "--device=cuda", *options, **variables
        )

    alone = without_library(tools, tmp_path / "alone", "libcublasLt.so.12")
    found = message(LD_LIBRARY_PATH=alone)
    assert (
        "has products for cuBLASLt (--products=cublaslt): expected NVIDIA's cuBLASLt 12.4.0 or newer, found none: "
        in found
    )
    for version, what in (
        ("120300", "found 12.3.0"),
        ("120400", "found one without 'cublasLtGetStatusName'"),
    ):
        found = message(
            LD_LIBRARY_PATH=f"{standin(tools) / f'cublaslt-{version}'}:{standin(tools)}"
        )
        assert f"expected NVIDIA's cuBLASLt 12.4.0 or newer, {what}" in found, (
            found
        )
    found = message(LOCKSTEP_CUDA_FAIL="product:3")
    assert re.search(
        "the launch of kernel 'step_.*', phase 0 by cuBLASLt: cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED",
        found,
    )
    # What the GPU says comes first, also if the library has found it.
    for command in 15, 20, 25, 30:
        found = message(
            "--no-recording",
            LOCKSTEP_CUDA_FAIL=f"lost:{command}",
        )
        assert "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)" in found
        assert "CUBLAS" not in found
    # No memory for products, besides that of variables and values.
    found = message(LOCKSTEP_CUDA_MEMORY=str(16 << 20))
    assert re.search(
        "phase 0 by cuBLASLt: out of memory on GPU 0 .*: expected 33554432 bytes",
        found,
    ), found
    # The numbers of a product are replaced: by more columns than there may be.
    content = artifact.read_bytes()
    text, replaced = re.subn(
        rb"(step_\d+_logits_matmul\$products\[264\] = {(?:\d+, ){16})(\d+, \d+, \d+, \d+, \d+, \d+, \d+, \d+)",
        lambda match: match[1] + re.sub(rb"\d", b"9", match[2]),
        content,
    )
    assert replaced > 0
    damaged = tmp_path / "damaged.lockstep"
    damaged.write_bytes(sealed(text))
    found = message(used=damaged)
    assert re.search(
        r"kernel 'step_\d+_logits_matmul': expected products of its 5 buffers in its 2 phases, found other numbers in 'step_\d+_logits_matmul\$products' of the binary for target 'sm_90'",
        found,
    ), found
    # Processors need no library.
    tools.run(
        "lockstep-run",
        artifact,
        *example.arguments(2, tmp_path / "metrics.jsonl"),
        "--device=cpu",
    )
