"""A transformer of four layers for measurements; a replica's batch is 8
sequences of 64 tokens. The layers are not in a `scan`, so that the gradients of
each are ready one after the other. The environment variable SIZES has other
numbers: layers, width, heads, vocabulary, batch and length; FACTORS names the
type of factors and results of products, by default that of the parameters.
ATTENTION is `plain`, a chain of operations, by default; `lockstep`, one
operation; or `cudnn`, that of JAX on GPUs.
"""

import os

import jax
import jax.numpy as jnp

import lockstep

LAYERS, WIDTH, HEADS, VOCABULARY, BATCH, LENGTH = map(
    int, os.environ.get("SIZES", "4-256-4-512-8-64").split("-")
)

FACTORS = os.environ.get("FACTORS", "float32")
ATTENTION = os.environ.get("ATTENTION", "plain")

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32),
    "y": jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32),
}
scalar_spec = {"lr": 0.01}


def init(seed):
    """Returns the parameters."""
    keys = iter(jax.random.split(jax.random.key(seed), 6 * LAYERS + 3))

    def matrix(rows, columns):
        return jax.random.normal(next(keys), (rows, columns)) * rows**-0.5

    def layer():
        return {
            "qkv": matrix(WIDTH, 3 * WIDTH),
            "project": matrix(WIDTH, WIDTH),
            "up": matrix(WIDTH, 4 * WIDTH),
            "up_bias": jnp.zeros(4 * WIDTH),
            "down": matrix(4 * WIDTH, WIDTH),
            "down_bias": jnp.zeros(WIDTH),
            "scale1": jnp.ones(WIDTH),
            "scale2": jnp.ones(WIDTH),
        }

    return {
        "embedding": matrix(VOCABULARY, WIDTH),
        "positions": matrix(LENGTH, WIDTH),
        "layers": [layer() for _ in range(LAYERS)],
        "head": matrix(WIDTH, VOCABULARY),
    }


def normalize(x, scale):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale


def multiply(x, w):
    """A product of factors of the type FACTORS, which its result has, too."""
    return x.astype(FACTORS) @ w.astype(FACTORS)


def attend_plainly(qkv):
    """[B, T, N, H] of queries, keys and values -> [B, T, N, H]"""
    q, k, v = (x.transpose(0, 2, 1, 3) for x in qkv)
    scores = multiply(q, k.transpose(0, 1, 3, 2)) * (WIDTH // HEADS) ** -0.5
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    scores = jnp.where(mask, scores.astype(jnp.float32), -1e9)
    return multiply(jax.nn.softmax(scores), v).transpose(0, 2, 1, 3)


ATTENTIONS = {
    "plain": attend_plainly,
    "lockstep": lambda qkv: lockstep.dot_product_attention(
        *qkv, is_causal=True
    ),
    "cudnn": lambda qkv: jax.nn.dot_product_attention(
        *qkv, is_causal=True, implementation="cudnn"
    ),
}


def attend(x, layer):
    qkv = multiply(x, layer["qkv"]).reshape(
        BATCH, LENGTH, 3, HEADS, WIDTH // HEADS
    )
    mixed = ATTENTIONS[ATTENTION](qkv[:, :, i] for i in range(3))
    return multiply(mixed.reshape(BATCH, LENGTH, WIDTH), layer["project"])


def loss(params, batch):
    x = params["embedding"][batch["x"]] + params["positions"]
    for layer in params["layers"]:
        x = x + attend(normalize(x, layer["scale1"]), layer)
        h = multiply(normalize(x, layer["scale2"]), layer["up"])
        h = jax.nn.gelu(h + layer["up_bias"])
        x = x + multiply(h, layer["down"]) + layer["down_bias"]
    logits = multiply(x, params["head"]).astype(jnp.float32)
    logits = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logits, batch["y"][..., None], -1).mean()


def step(state, batch, scalars):
    value, gradients = jax.value_and_grad(loss)(state, batch)
    gradients = lockstep.all_reduce(gradients, "MEAN")
    state = jax.tree.map(lambda p, g: p - scalars["lr"] * g, state, gradients)
    return state, {"loss": lockstep.all_reduce(value, "MEAN")}
