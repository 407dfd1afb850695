"""A decoder of 8 billion parameters, to be captured with `--shapes-only`.

Dimensions are those of Llama 3 8B: 32 layers of width 4,096, 32 heads of
queries and 8 of keys and values, a gated unit of width 14,336, a vocabulary of
128,256. Parameters and gradients are bf16; the update is plain SGD. The layers
are not in a `scan`, so that the gradients of each are ready one after the
other. `LAYERS` in the environment sets another number of layers.
"""

import os

import jax
import jax.numpy as jnp

import lockstep

LAYERS = int(os.environ.get("LAYERS", 32))
WIDTH, HIDDEN, VOCABULARY = 4096, 14336, 128256
HEADS, GROUPS, HEAD = 32, 8, 128
BATCH, LENGTH = 1, 2048
TYPE = jnp.bfloat16

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32),
    "y": jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32),
}
scalar_spec = {"lr": 1e-4}


def init(seed):
    """Returns the parameters, all zero: they are not trained."""

    def layer():
        return {
            "query": jnp.zeros((WIDTH, HEADS * HEAD), TYPE),
            "key": jnp.zeros((WIDTH, GROUPS * HEAD), TYPE),
            "value": jnp.zeros((WIDTH, GROUPS * HEAD), TYPE),
            "output": jnp.zeros((HEADS * HEAD, WIDTH), TYPE),
            "gate": jnp.zeros((WIDTH, HIDDEN), TYPE),
            "up": jnp.zeros((WIDTH, HIDDEN), TYPE),
            "down": jnp.zeros((HIDDEN, WIDTH), TYPE),
            "scale1": jnp.zeros(WIDTH, TYPE),
            "scale2": jnp.zeros(WIDTH, TYPE),
        }

    return {
        "embedding": jnp.zeros((VOCABULARY, WIDTH), TYPE),
        "layers": [layer() for _ in range(LAYERS)],
        "scale": jnp.zeros(WIDTH, TYPE),
        "head": jnp.zeros((WIDTH, VOCABULARY), TYPE),
    }


def normalize(x, scale):
    square = (x.astype(jnp.float32) ** 2).mean(-1, keepdims=True)
    return (x * jax.lax.rsqrt(square + 1e-5)).astype(TYPE) * scale


def rotate(x):
    """Rotary positions of [batch, length, heads, head]."""
    half = HEAD // 2
    rates = 500000.0 ** (-jnp.arange(half) / half)
    angles = jnp.arange(LENGTH)[:, None, None] * rates
    sine, cosine = jnp.sin(angles).astype(TYPE), jnp.cos(angles).astype(TYPE)
    low, high = x[..., :half], x[..., half:]
    return jnp.concatenate(
        [low * cosine - high * sine, high * cosine + low * sine], -1
    )


def attend(x, layer):
    shape = (BATCH, LENGTH, -1, HEAD)
    q = rotate((x @ layer["query"]).reshape(shape))
    k = rotate((x @ layer["key"]).reshape(shape))
    v = (x @ layer["value"]).reshape(shape)
    k, v = (jnp.repeat(part, HEADS // GROUPS, axis=2) for part in (k, v))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * HEAD**-0.5
    mask = jnp.arange(LENGTH)[:, None] >= jnp.arange(LENGTH)
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
    return mixed.reshape(BATCH, LENGTH, HEADS * HEAD) @ layer["output"]


def loss(params, batch):
    x = params["embedding"][batch["x"]]
    for layer in params["layers"]:
        x = x + attend(normalize(x, layer["scale1"]), layer)
        h = normalize(x, layer["scale2"])
        x = (
            x
            + (jax.nn.silu(h @ layer["gate"]) * (h @ layer["up"]))
            @ layer["down"]
        )
    scores = normalize(x, params["scale"]) @ params["head"]
    logs = jax.nn.log_softmax(scores.astype(jnp.float32))
    return -jnp.take_along_axis(logs, batch["y"][..., None], -1).mean()


def step(state, batch, scalars):
    value, gradients = jax.value_and_grad(loss)(state, batch)
    gradients = lockstep.all_reduce(gradients, "MEAN")
    state = jax.tree.map(
        lambda p, g: (p - scalars["lr"] * g).astype(TYPE), state, gradients
    )
    return state, {"loss": lockstep.all_reduce(value, "MEAN")}
