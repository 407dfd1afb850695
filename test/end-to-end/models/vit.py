"""A vision transformer on patches, with a class token and dropout.

Images [B, 16, 16, 3] are cut into 16 patches of 4x4 pixels. Dropout differs on
every replica and in every step. AdamW with a warm-up, on smoothed labels.

B images, T patches and the class token, D width, H heads.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, SIZE, COLORS, CLASSES = 4, 16, 3, 10
PATCH, WIDTH, HEADS, HIDDEN, LAYERS = 4, 32, 4, 64, 2
TOKENS = (SIZE // PATCH) ** 2 + 1
DROPOUT, SMOOTHING, WARMUP_STEPS = 0.1, 0.1, 5.0
BETA1, BETA2, EPSILON, WEIGHT_DECAY = 0.9, 0.99, 1e-6, 0.05

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, COLORS), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 2e-3}


def data(rows, seed):
    """Makes `rows` examples: an image of its class with noise."""
    random = np.random.default_rng(seed)
    images = random.standard_normal((CLASSES, SIZE, SIZE, COLORS))
    y = random.integers(CLASSES, size=rows)
    x = images[y] + 0.5 * random.standard_normal((rows, SIZE, SIZE, COLORS))
    return {"x": x.astype(np.float32), "y": y.astype(np.int32)}


def init(seed):
    """Returns the parameters, AdamW's moments and its step count."""
    random = np.random.default_rng(seed)

    def dense(inputs, outputs):
        w = random.standard_normal((inputs, outputs), np.float32) * inputs**-0.5
        return {"w": w, "b": np.zeros(outputs, np.float32)}

    def norm():
        return {
            "scale": np.ones(WIDTH, np.float32),
            "bias": np.zeros(WIDTH, np.float32),
        }

    def layer():
        return {
            "norm1": norm(),
            "qkv": dense(WIDTH, 3 * WIDTH),
            "out": dense(WIDTH, WIDTH),
            "norm2": norm(),
            "up": dense(WIDTH, HIDDEN),
            "down": dense(HIDDEN, WIDTH),
        }

    params = {
        "patch": dense(PATCH * PATCH * COLORS, WIDTH),
        "token": random.standard_normal((1, 1, WIDTH), np.float32) * 0.02,
        "position": random.standard_normal((TOKENS, WIDTH), np.float32) * 0.02,
        "layers": [layer() for _ in range(LAYERS)],
        "norm": norm(),
        "head": dense(WIDTH, CLASSES),
    }
    zeros = jax.tree.map(np.zeros_like, params)
    return {"params": params, "m": zeros, "v": zeros, "count": np.int32(0)}


def apply_dense(p, x):
    return x @ p["w"] + p["b"]


def layer_norm(p, x):
    """Normalizes the last dimension of x, [..., D]."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(
        jnp.var(x, axis=-1, keepdims=True) + 1e-6
    ) * p["scale"] + p["bias"]


def patches(x):
    """Cuts images into rows of patches: [B, 16, 16, 3] -> [B, 16, 48]."""
    count = SIZE // PATCH
    x = x.reshape(-1, count, PATCH, count, PATCH, COLORS).transpose(
        0, 1, 3, 2, 4, 5
    )
    return x.reshape(-1, count * count, PATCH * PATCH * COLORS)


def attention(p, x):
    """Attention of all tokens to all, [B, T, D] -> [B, T, D]."""
    rows, tokens, _ = x.shape
    qkv = apply_dense(p["qkv"], x).reshape(
        rows, tokens, 3, HEADS, WIDTH // HEADS
    )
    q, k, v = jnp.moveaxis(qkv, 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (WIDTH // HEADS) ** -0.5
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return apply_dense(p["out"], mixed.reshape(x.shape))


def logits(params, x, key):
    """Maps images to class scores [B, 10], with the dropout of `key`."""
    masks = iter(
        jax.random.bernoulli(
            key, 1 - DROPOUT, (2 * LAYERS, x.shape[0], TOKENS, WIDTH)
        )
    )

    def dropout(h):
        return jnp.where(next(masks), h / (1 - DROPOUT), 0.0)

    h = apply_dense(params["patch"], patches(x))
    token = jnp.broadcast_to(params["token"], (x.shape[0], 1, WIDTH))
    h = jnp.concatenate([token, h], axis=1) + params["position"]
    for p in params["layers"]:
        h = h + dropout(attention(p, layer_norm(p["norm1"], h)))
        hidden = jax.nn.gelu(
            apply_dense(p["up"], layer_norm(p["norm2"], h)), approximate=False
        )
        h = h + dropout(apply_dense(p["down"], hidden))
    return apply_dense(params["head"], layer_norm(params["norm"], h[:, 0]))


def step(state, batch, scalars):
    """Takes one step of AdamW."""
    key = jax.random.fold_in(jax.random.key(scalars["seed"]), scalars["step"])
    key = jax.random.fold_in(key, lockstep.replica_id())

    def loss_fn(params):
        scores = logits(params, batch["x"], key)
        target = (
            jax.nn.one_hot(batch["y"], CLASSES) * (1 - SMOOTHING)
            + SMOOTHING / CLASSES
        )
        return -jnp.mean(jnp.sum(target * jax.nn.log_softmax(scores), axis=-1))

    loss, grads = lockstep.all_reduce(
        jax.value_and_grad(loss_fn)(state["params"]), "MEAN"
    )
    count = state["count"] + 1
    t = count.astype(jnp.float32)
    lr = scalars["lr"] * jnp.minimum(1.0, t / WARMUP_STEPS)
    m = jax.tree.map(
        lambda m, g: BETA1 * m + (1 - BETA1) * g, state["m"], grads
    )
    v = jax.tree.map(
        lambda v, g: BETA2 * v + (1 - BETA2) * jnp.square(g), state["v"], grads
    )

    def update(p, m, v):
        direction = (
            m / (1 - BETA1**t) / (jnp.sqrt(v / (1 - BETA2**t)) + EPSILON)
        )
        return p - lr * (direction + WEIGHT_DECAY * p)

    params = jax.tree.map(update, state["params"], m, v)
    return {"params": params, "m": m, "v": v, "count": count}, {
        "loss": loss,
        "lr": lr,
    }
