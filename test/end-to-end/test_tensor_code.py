"""Small functions that once had wrong results, or were rejected: JAX's results
in every configuration.

Reduced forms of functions that `differential` has found, after the fix.
"""

import pytest

import targets
from differential.check import Checker, configurations
from differential.execution import Executor

MODEL = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import lockstep

batch_spec = {{"x": ((4, 8), "float32")}}


def data(replicas):
    return {{"x": np.random.default_rng(0).normal(size=(4 * replicas, 8)).astype(np.float32)}}


def compute(x):
{body}


def init(seed):
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), jax.eval_shape(compute, jnp.zeros((4, 8))))


def step(state, batch, scalars):
    return compute(lockstep.all_reduce(batch["x"], "SUM")), {{}}
"""

SCAN = "scan = lambda v, reverse: lax.scan(lambda c, y: (c * 0.5 + y, c), jnp.zeros(8), v, reverse=reverse)[1]"
GRADIENT = 'return {{"g": jax.grad(lambda v: jnp.sum({0} ** 2))(x)}}'
# Sums of ones: they would stop growing if every partial sum were rounded.
HALF = """one = lambda *shape: jnp.ones(shape, jnp.{0}) + 0 * x[0, 0].astype(jnp.{0})
return {{
    "product": one(2, 4096) @ one(4096, 3),
    "vector": one(4096) @ one(4096),
    "batched": jnp.einsum("bij,bkj->bik", one(2, 3, 4096), one(2, 2, 4096)),
    "convolution": lax.conv_general_dilated(
        one(1, 3, 3, 512), one(3, 3, 512, 2), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    ),
    "sum": lax.reduce(one(2, 4096), jnp.{0}(0), lax.add, (1,)),
}}"""
CONVERSIONS = """numbers = [np.inf, -np.inf, np.nan, 3e9, -3e9, 300, -300, 5e19, -0.7, 0.7]
y = jnp.asarray(numbers, jnp.float32) + 0 * x[0, 0]
return {n: y.astype(n) for n in ("int8", "int16", "int32", "uint8", "uint16", "uint32")}"""
DIVISIONS = """a = (x[0] * 3).astype(jnp.int32).at[0].set(jnp.iinfo(jnp.int32).min)
b = jnp.arange(-1, 7, dtype=jnp.int32).at[3].set(0)
u, v = lax.bitcast_convert_type(a, jnp.uint32), lax.bitcast_convert_type(b, jnp.uint32)
return {"d": lax.div(a, b), "r": lax.rem(a, b), "ud": lax.div(u, v), "ur": lax.rem(u, v), "f": a // b, "m": a % b}"""
INDICES = """i = (x[0] * 100).astype(jnp.int32)
return {
    "plain": x[:, 0][i],
    "fill": jnp.take(x[0], i, mode="fill"),
    "clip": jnp.take(x[0], i, mode="clip"),
    "set": jnp.zeros(8).at[i].set(1.0),
    "add": jnp.zeros(8).at[i].add(x[0]),
    "slice": lax.dynamic_slice(x, (i[0], i[1]), (2, 2)),
    "update": lax.dynamic_update_slice(x, jnp.ones((2, 2)), (i[0], i[1])),
}"""

# Cases that once took exponential time: sums of a number with itself, and
# consecutive branches in a loop.
SUMS = """number = x[0, 0]
for _ in range(40):
    number = jnp.tanh(number + number)
return {"y": x * number}"""
BRANCHES = """def body(i, y):
    for k in range(20):
        y = lax.cond(y[k % 8] > 0, lambda y, k=k: y.at[(i + k) % 8].add(-0.5), lambda y: y, y)
    return y

return {"y": lax.fori_loop(0, 3, body, x[0])}"""

# Prefixes of many elements, which are not reduced as windows.
CUMULATIVE = """y = jnp.tile(x, (40, 20))
n = (y * 3).astype(jnp.int32)
forms = {
    "sum": (lax.cumsum, y, 1), "integers": (lax.cumsum, n, 0), "product": (lax.cumprod, 1 + y / 100, 1),
    "max": (lax.cummax, y, 0), "min": (lax.cummin, n, 1), "logsumexp": (lax.cumlogsumexp, y, 1),
    "half": (lax.cumsum, y.astype(jnp.bfloat16), 1),
}
results = {
    name + str(reverse): f(v, axis=axis, reverse=reverse)
    for reverse in (False, True) for name, (f, v, axis) in forms.items()
}
return {**results, "gradient": jax.grad(lambda v: (jnp.cumsum(jnp.tile(v, (1, 20)), axis=1) ** 2).sum())(x)}"""

CASES = {
    "prefixes": CUMULATIVE,
    # XLA divides by the square of 8192, which is infinite in half precision.
    "constants that XLA joins": 'v = (x[0] * 0 + 343).astype(jnp.float16) / 4096; return {"y": (v / 2) * (v / 2) + 2.5}',
    "many sums of one number": SUMS,
    "many branches in a loop": BRANCHES,
    "scalar reshaped to a scalar": 'u = jnp.sum(jnp.abs(x)).astype(jnp.uint32); return {"u": lax.reshape(u, ()).reshape(())}',
    # Two results of a kernel that begin with the same fill.
    "two slices": 'return {"a": x[0:2].sum(0), "b": x[2:4].sum(0)}',
    "two slices of a transpose": 'return {"a": x.T[0:1].sum(0), "b": x.T[1:2].sum(0)}',
    "two maxima": 'return {"a": x.T[0:1].max(0), "b": x.T[1:2].max(0)}',
    "two scans": f'{SCAN}\nother = 1 + 0.1 * jnp.cos(jnp.arange(32.0)).reshape(4, 8)\nreturn {{"a": scan(x, True), "b": scan(other, False)}}',
    "gradient of cross": GRADIENT.format("jnp.cross(v[:, :3], v[:, 3:6])")
    .replace("{{", "{")
    .replace("}}", "}"),
    "gradient of a scan with roll": GRADIENT.format(
        "lax.scan(lambda a, y: (jnp.logaddexp(a, jnp.roll(a, 1)) + y,) * 2, v[0], v)[1]"
    )
    .replace("{{", "{")
    .replace("}}", "}"),
    # Half precision.
    "bfloat16": HALF.format("bfloat16"),
    "float16": HALF.format("float16"),
    # Arithmetic that is undefined in MLIR.
    "conversions": CONVERSIONS,
    "integer division": DIVISIONS,
    "indices out of range": INDICES,
    "remainders": 'return {"m": x % 0.7, "f": jnp.fmod(x, 0.3), "n": x % -0.3, "d": x // 0.3, "z": x % 0}',
    "digamma": 'return {"d": jax.scipy.special.digamma(x), "p": jax.scipy.special.polygamma(1, jnp.abs(x) + 1)}',
    "narrowing": 'return {"h": (1.00048828125 + 1e-6 * x).astype(jnp.float16)}',
    # Code that LLVM recognized as a checksum, with a search of exponential
    # time.
    "cumulative logsumexp": 'return {"c": lax.cumlogsumexp(x.astype(jnp.bfloat16), 0)}',
    # Updates.
    "update by itself": 'return {"u": lax.dynamic_update_slice(x, x, (1, 0))}',
    # Constants and empty tensors.
    "causal mask": 'return {"m": jnp.where(np.tril(np.ones((64, 64), bool)), x[0, 0], 0.0)}',
    "empty slices": 'return {"s": x[:, 3:3].sum(1), "p": x[0:0].prod(0), "c": jnp.concatenate([x[:0], x]), "m": x[:, :0] @ x[:0]}',
    "gradient of an associative scan": 'return {"g": jax.grad(lambda v: lax.associative_scan(jnp.multiply, v * v, axis=1).sum())(x)}',
    "gradients of cumulative products": 'return {f"g{a}": jax.grad(lambda v, a=a: jnp.cumprod(v, axis=a).sum())(x) for a in (0, 1)}',
    **{
        f"gradient of a pad by {mode}": f'return {{"g": jax.grad(lambda v: (jnp.pad(v, ((2, 2), (1, 2)), mode="{mode}") ** 2).sum())(x)}}'
        for mode in ("edge", "reflect", "wrap", "symmetric")
    },
}


@pytest.fixture(scope="module")
def checker(tools, tmp_path_factory):
    executor = Executor(tools.folder, tmp_path_factory.mktemp("tensor-code"))
    yield Checker(executor, targets.BEST)
    executor.close()


@pytest.mark.parametrize("name", CASES)
def test_case(checker, name):
    body = "\n".join(f"    {line}" for line in CASES[name].splitlines())
    outcome = checker.check_text(MODEL.format(body=body), configurations(0))
    assert outcome.kind == "equal", (
        f"{outcome.configuration}: {outcome.message}"
    )
