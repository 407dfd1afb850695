"""A decoder-only language model.

RMSNorm, rotary position embeddings, grouped-query attention (several heads of
queries share one of keys and values), SwiGLU, tied embeddings, and layers that
`lax.scan` executes in sequence and that the backward pass recomputes. Adam,
with gradients clipped by their global norm.

B rows, T tokens, D width; G key heads with Q query heads each, of size C.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, LENGTH, VOCABULARY = 2, 64, 48
WIDTH, LAYERS, KEY_HEADS, QUERY_HEADS, HIDDEN = 32, 2, 2, 2, 64
HEAD = WIDTH // (KEY_HEADS * QUERY_HEADS)
ROTARY_BASE = 10000.0
CLIP_NORM = 1.0
BETA1, BETA2, EPSILON = 0.9, 0.95, 1e-8
CAUSAL = np.tril(np.ones((LENGTH, LENGTH), bool))

batch_spec = {"tokens": jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32)}
scalar_spec = {"lr": 3e-3}


def data(rows, seed):
    """Makes `rows` texts in which one of three tokens may follow each token."""
    random = np.random.default_rng(seed)
    tokens = np.empty((rows, LENGTH + 1), np.int32)
    tokens[:, 0] = random.integers(VOCABULARY, size=rows)
    for i in range(LENGTH):
        tokens[:, i + 1] = (
            5 * tokens[:, i] + random.integers(3, size=rows)
        ) % VOCABULARY
    return {"tokens": tokens}


def init(seed):
    """Returns the parameters (those of all layers stacked) and Adam's moments."""
    random = np.random.default_rng(seed)

    def normal(shape, fan_in):
        return random.standard_normal(shape, np.float32) * fan_in**-0.5

    params = {
        "embedding": random.standard_normal((VOCABULARY, WIDTH), np.float32)
        * 0.1,
        "layers": {
            "norm1": np.ones((LAYERS, WIDTH), np.float32),
            "q": normal((LAYERS, WIDTH, KEY_HEADS, QUERY_HEADS, HEAD), WIDTH),
            "kv": normal((LAYERS, WIDTH, 2, KEY_HEADS, HEAD), WIDTH),
            "out": normal((LAYERS, WIDTH, WIDTH), WIDTH),
            "norm2": np.ones((LAYERS, WIDTH), np.float32),
            "gate": normal((LAYERS, WIDTH, HIDDEN), WIDTH),
            "up": normal((LAYERS, WIDTH, HIDDEN), WIDTH),
            "down": normal((LAYERS, HIDDEN, WIDTH), HIDDEN),
        },
        "norm": np.ones(WIDTH, np.float32),
    }
    zeros = jax.tree.map(np.zeros_like, params)
    return {"params": params, "m": zeros, "v": zeros, "count": np.int32(0)}


def rms_norm(scale, x):
    """Divides the last dimension of x, [..., D], by its root mean square."""
    return (
        x
        * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6)
        * scale
    )


def rotate(x):
    """Rotates pairs of features by an angle proportional to the position: x is
    [B, T, ..., C].
    """
    half = HEAD // 2
    frequencies = ROTARY_BASE ** (-jnp.arange(half) / half)
    angles = jnp.arange(LENGTH)[:, None] * frequencies
    angles = angles.reshape(LENGTH, *[1] * (x.ndim - 3), half)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attention(p, x):
    """Causal attention with grouped queries, [B, T, D] -> [B, T, D]."""
    q = rotate(jnp.einsum("btd,dgqc->btgqc", x, p["q"]))
    kv = jnp.einsum("btd,dngc->nbtgc", x, p["kv"])
    k, v = rotate(kv[0]), kv[1]
    scores = jnp.einsum("btgqc,bsgc->bgqts", q, k) * HEAD**-0.5
    weights = jax.nn.softmax(jnp.where(CAUSAL, scores, -jnp.inf))
    return (
        jnp.einsum("bgqts,bsgc->btgqc", weights, v).reshape(x.shape) @ p["out"]
    )


def layer(h, p):
    """One layer, in the form that `lax.scan` takes."""
    h = h + attention(p, rms_norm(p["norm1"], h))
    x = rms_norm(p["norm2"], h)
    return h + (jax.nn.silu(x @ p["gate"]) * (x @ p["up"])) @ p["down"], None


def mean_loss(params, tokens):
    """Mean cross entropy of each next token; `tokens` is [B, T + 1]."""
    h = params["embedding"][tokens[:, :-1]]
    h, _ = jax.lax.scan(jax.checkpoint(layer), h, params["layers"])
    scores = rms_norm(params["norm"], h) @ params["embedding"].T
    chosen = jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(scores, axis=-1) - chosen)


def step(state, batch, scalars):
    """Takes one step of Adam."""
    loss, grads = jax.value_and_grad(mean_loss)(
        state["params"], batch["tokens"]
    )
    loss, grads = lockstep.all_reduce((loss, grads), "MEAN")
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(
        lambda g: g * jnp.minimum(1.0, CLIP_NORM / norm), grads
    )

    count = state["count"] + 1
    t = count.astype(jnp.float32)
    m = jax.tree.map(
        lambda m, g: BETA1 * m + (1 - BETA1) * g, state["m"], grads
    )
    v = jax.tree.map(
        lambda v, g: BETA2 * v + (1 - BETA2) * jnp.square(g), state["v"], grads
    )
    params = jax.tree.map(
        lambda p, m, v: (
            p
            - scalars["lr"]
            * m
            / (1 - BETA1**t)
            / (jnp.sqrt(v / (1 - BETA2**t)) + EPSILON)
        ),
        *(state["params"], m, v),
    )
    return {"params": params, "m": m, "v": v, "count": count}, {
        "loss": loss,
        "gradient_norm": norm,
    }
