"""An MLP-Mixer that computes in bf16 and keeps its parameters in f32.

Matrices are rounded to bf16 at the beginning of a step, their gradients are
exchanged in bf16, and the update is in f32. So are parts that need precision
and cost little: accumulation in products, biases, norms and the loss. Momentum
SGD.

B rows of T tokens with F features; D width.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, TOKENS, FEATURES, CLASSES = 8, 12, 20, 10
WIDTH, TOKEN_HIDDEN, HIDDEN, LAYERS = 32, 24, 64, 2
MOMENTUM = 0.9

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, TOKENS, FEATURES), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 0.02}


def data(rows, seed):
    """Makes `rows` examples: the tokens of its class with noise."""
    random = np.random.default_rng(seed)
    tokens = random.standard_normal((CLASSES, TOKENS, FEATURES))
    y = random.integers(CLASSES, size=rows)
    x = tokens[y] + random.standard_normal((rows, TOKENS, FEATURES))
    return {"x": x.astype(np.float32), "y": y.astype(np.int32)}


def init(seed):
    """Returns the parameters and velocities, all of them f32."""
    random = np.random.default_rng(seed)

    def dense(inputs, outputs):
        return {
            "w": random.standard_normal((inputs, outputs), np.float32)
            * inputs**-0.5,
            "b": np.zeros(outputs, np.float32),
        }

    def layer():
        return {
            "norm1": np.ones(WIDTH, np.float32),
            "token_up": dense(TOKENS, TOKEN_HIDDEN),
            "token_down": dense(TOKEN_HIDDEN, TOKENS),
            "norm2": np.ones(WIDTH, np.float32),
            "up": dense(WIDTH, HIDDEN),
            "down": dense(HIDDEN, WIDTH),
        }

    params = {
        "embedding": dense(FEATURES, WIDTH),
        "layers": [layer() for _ in range(LAYERS)],
        "head": dense(WIDTH, CLASSES),
    }
    return {"params": params, "velocity": jax.tree.map(np.zeros_like, params)}


def round_matrices(params):
    """Returns the parameters with those of two dimensions in bf16."""
    return jax.tree.map(
        lambda p: p.astype(jnp.bfloat16) if p.ndim == 2 else p, params
    )


def apply_dense(p, x):
    """Product in bf16, bias in f32: x is bf16, the result f32."""
    return jnp.matmul(x, p["w"], preferred_element_type=jnp.float32) + p["b"]


def norm(scale, x):
    """Normalizes the last dimension of x, [..., D], in f32; the result is bf16."""
    x = x.astype(jnp.float32)
    x = x - jnp.mean(x, axis=-1, keepdims=True)
    x = x * jax.lax.rsqrt(
        jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-5
    )
    return (x * scale).astype(jnp.bfloat16)


def mlp(up, down, x):
    """Two dense layers on the last dimension of x, with GELU in bf16 between
    them.
    """
    hidden = jax.nn.gelu(apply_dense(up, x).astype(jnp.bfloat16))
    return apply_dense(down, hidden).astype(jnp.bfloat16)


def mean_loss(params, x, y):
    """Mean cross entropy, f32, of parameters from `round_matrices`."""
    h = apply_dense(params["embedding"], x.astype(jnp.bfloat16)).astype(
        jnp.bfloat16
    )
    for p in params["layers"]:
        h = h + mlp(p["token_up"], p["token_down"], norm(p["norm1"], h).mT).mT
        h = h + mlp(p["up"], p["down"], norm(p["norm2"], h))
    scores = apply_dense(params["head"], jnp.mean(h, axis=1))
    return -jnp.mean(
        jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], axis=1)
    )


def step(state, batch, scalars):
    """Takes one step of SGD with momentum."""
    loss, grads = jax.value_and_grad(mean_loss)(
        round_matrices(state["params"]), batch["x"], batch["y"]
    )
    loss, grads = lockstep.all_reduce((loss, grads), "MEAN")
    velocity = jax.tree.map(
        lambda v, g: MOMENTUM * v + g.astype(jnp.float32),
        state["velocity"],
        grads,
    )
    params = jax.tree.map(
        lambda p, v: p - scalars["lr"] * v, state["params"], velocity
    )
    return {"params": params, "velocity": velocity}, {"loss": loss}
