"""JAX functions that a step cannot have: the capture or the compiler names the
rejected operation and the line of the model, without a crash.
"""

import re

import pytest

from lockstep import capture

#: A model whose step computes `r` from `x`, f32 [4, 4], and `n`, i32, in one
#: line.
MODEL = """\
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import io_callback

batch_spec = {{"x": ((1,), "float32")}}


def init(seed):
    return {{"x": jnp.eye(4), "n": jnp.int32(3)}}


def step(state, batch, scalars):
    x, n = state["x"], state["n"]
    r = {expression}
    return {{"x": x + jnp.sum(jnp.abs(r)).astype(jnp.float32), "n": n}}, {{}}
"""

LINE = 1 + MODEL[: MODEL.index("{expression}")].count("\n")

#: What is refused -> (expression, what the error says of it).
REFUSED = {
    "callback": ("jax.pure_callback(lambda v: v, x, x)", "callback"),
    "callback with side effects": (
        "io_callback(lambda v: v, x, x)",
        "callback",
    ),
    "print": ('(jax.debug.print("{}", x), x)[1]', "debug_print"),
    "foreign function": ('jax.ffi.ffi_call("my_kernel", x)(x)', "my_kernel"),
    "approximate search": ("lax.approx_max_k(x, 2)[0]", "ApproxTopK"),
    "uniform numbers of XLA": (
        "lax.rng_uniform(0.0, 1.0, (4,))",
        "stablehlo.rng",
    ),
    "complex numbers": ("lax.complex(x, x)", "complex"),
    "complex constant": ("(x + 1j).real", "complex"),
    "Fourier transform": ("jnp.fft.rfft(x)", "fft"),
    "Cholesky decomposition": ("jnp.linalg.cholesky(x)", "cholesky"),
    "triangular system": (
        "jax.scipy.linalg.solve_triangular(x, x)",
        "triangular_solve",
    ),
    "linear system": ("jnp.linalg.solve(x, x)", "triangular_solve"),
    "QR decomposition": ("jnp.linalg.qr(x)[1]", "Qr"),
    "singular values": ("jnp.linalg.svd(x, compute_uv=False)", "eigh"),
    "eigenvalues": ("jnp.linalg.eigvals(x).real", "eig"),
    "floats of eight bits": (
        "x.astype(jnp.float8_e4m3fn).astype(jnp.float32)",
        "f8E4M3FN",
    ),
    "integers of four bits": ("x.astype(jnp.int4).astype(jnp.float32)", "i4"),
}


#: JAX does not say the line of the model for what it traces as a function of
#: its own.
WITHOUT_LINE = ("singular values", "eigenvalues")


@pytest.mark.parametrize("name", REFUSED)
def test_error_names_what_is_refused(tools, tmp_path, capsys, name):
    expression, words = REFUSED[name]
    model = tmp_path / "model.py"
    model.write_text(MODEL.format(expression=expression))
    status = capture.main([str(model), "-o", str(tmp_path)])
    text = capsys.readouterr().err
    if status == 0:
        done = tools.run(
            "lockstep-compile",
            tmp_path / "step.mlir",
            "--replicas=1",
            "-o",
            tmp_path / "x.lockstep",
            check=False,
        )
        status, text = done.returncode, done.stderr
    assert status == 1, text
    errors = [line for line in text.splitlines() if "error: " in line]
    assert any(words.lower() in line.lower() for line in errors), text
    assert name in WITHOUT_LINE or re.search(rf"model\.py:{LINE}:", text), text
