"""A small transformer that predicts the next character, trained with AdamW.

It has the features of a real training loop: gradients accumulated over
micro-batches, dropout that differs on every replica, clipping by the global
norm, a warm-up and cosine learning rate, and steps that are skipped when a
gradient is not finite.

B rows, T characters, D width, H heads, F width of the hidden layer.
"""

import jax
import jax.numpy as jnp

import lockstep

BATCH, LENGTH = 8, 64
MICRO_BATCHES = 4
VOCABULARY, WIDTH, HEADS, LAYERS = 128, 128, 4, 2
HIDDEN = 4 * WIDTH

DROPOUT = 0.05
CLIP_NORM = 1.0
BETA1, BETA2, EPSILON, WEIGHT_DECAY = 0.9, 0.98, 1e-8, 0.01

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32),
    "y": jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32),
}
scalar_spec = {"lr": 3e-3, "warmup_steps": 50.0, "total_steps": 500.0}


def init(seed):
    """Returns the parameters and AdamW's moments and step count."""
    keys = iter(jax.random.split(jax.random.key(seed), 3 + 4 * LAYERS))

    def normal(shape, scale):
        return jax.random.normal(next(keys), shape) * scale

    def norm():
        return {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}

    def layer():
        return {
            "norm1": norm(),
            "qkv": normal((WIDTH, 3 * WIDTH), WIDTH**-0.5),
            "out": normal((WIDTH, WIDTH), (2 * LAYERS * WIDTH) ** -0.5),
            "norm2": norm(),
            "up": normal((WIDTH, HIDDEN), WIDTH**-0.5),
            "up_bias": jnp.zeros(HIDDEN),
            "down": normal((HIDDEN, WIDTH), (2 * LAYERS * HIDDEN) ** -0.5),
            "down_bias": jnp.zeros(WIDTH),
        }

    params = {
        "embedding": normal((VOCABULARY, WIDTH), 0.02),
        "position": normal((LENGTH, WIDTH), 0.02),
        "layers": [layer() for _ in range(LAYERS)],
        "norm": norm(),
        "head": normal((WIDTH, VOCABULARY), WIDTH**-0.5),
    }
    zeros = jax.tree.map(jnp.zeros_like, params)
    return {"params": params, "m": zeros, "v": zeros, "count": jnp.int32(0)}


def layer_norm(p, x):
    """Normalizes the last dimension of x, [..., D]."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def attention(p, x):
    """Causal self-attention, [B, T, D] -> [B, T, D]."""
    rows, length, _ = x.shape
    qkv = (x @ p["qkv"]).reshape(rows, length, 3, HEADS, WIDTH // HEADS)
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (WIDTH // HEADS) ** -0.5
    causal = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9))
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
    return mixed.reshape(x.shape) @ p["out"]


def feed_forward(p, x):
    """Two dense layers, [B, T, D] -> [B, T, D]."""
    hidden = jax.nn.gelu(x @ p["up"] + p["up_bias"])
    return hidden @ p["down"] + p["down_bias"]


def losses(params, x, y, key=None):
    """Cross entropy of each next character, [B, T]; dropout if given a key."""
    keep = 1 - DROPOUT
    if key is not None:
        shape = (2 * LAYERS + 1, *x.shape, WIDTH)
        masks = iter(jax.random.bernoulli(key, keep, shape))

    def dropout(h):
        return h if key is None else jnp.where(next(masks), h / keep, 0.0)

    h = dropout(params["embedding"][x] + params["position"])
    for p in params["layers"]:
        h = h + dropout(attention(p, layer_norm(p["norm1"], h)))
        h = h + dropout(feed_forward(p, layer_norm(p["norm2"], h)))
    scores = layer_norm(params["norm"], h) @ params["head"]
    chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), y[..., None], axis=-1)
    return -chosen[..., 0]


def accumulate(params, batch, key):
    """Mean loss and gradients of a batch, taken in micro-batches."""

    def loss_fn(params, x, y, key):
        return jnp.mean(losses(params, x, y, key))

    def add(total, micro):
        part = jax.value_and_grad(loss_fn)(params, *micro)
        return jax.tree.map(jnp.add, total, part), None

    def split(a):
        return a.reshape(MICRO_BATCHES, -1, *a.shape[1:])

    keys = jax.random.split(key, MICRO_BATCHES)
    zeros = (jnp.float32(0), jax.tree.map(jnp.zeros_like, params))
    micro_batches = (split(batch["x"]), split(batch["y"]), keys)
    total, _ = jax.lax.scan(add, zeros, micro_batches)
    return jax.tree.map(lambda t: t / MICRO_BATCHES, total)


def learning_rate(scalars):
    """Linear warm-up, then a cosine down to a tenth."""
    step = scalars["step"].astype(jnp.float32)
    warm = (step + 1) / scalars["warmup_steps"]
    length = scalars["total_steps"] - scalars["warmup_steps"]
    progress = jnp.clip((step - scalars["warmup_steps"]) / length, 0, 1)
    cosine = 0.1 + 0.9 * 0.5 * (1 + jnp.cos(jnp.pi * progress))
    return scalars["lr"] * jnp.minimum(warm, cosine)


def adamw(state, grads, lr):
    """Returns the state after one update by AdamW."""
    count = state["count"] + 1
    m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, state["m"], grads)
    v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * jnp.square(g), state["v"], grads)
    correction1 = 1 - BETA1 ** count.astype(jnp.float32)
    correction2 = 1 - BETA2 ** count.astype(jnp.float32)

    def update(p, m, v):
        direction = (m / correction1) / (jnp.sqrt(v / correction2) + EPSILON)
        if p.ndim > 1:  # matrices decay; biases and norms do not
            direction = direction + WEIGHT_DECAY * p
        return p - lr * direction

    params = jax.tree.map(update, state["params"], m, v)
    return {"params": params, "m": m, "v": v, "count": count}


def step(state, batch, scalars):
    """Takes one step, or none if the gradients are not finite."""
    key = jax.random.fold_in(jax.random.key(scalars["seed"]), scalars["step"])
    key = jax.random.fold_in(key, lockstep.replica_id())
    loss, grads = accumulate(state["params"], batch, key)
    loss, grads = lockstep.all_reduce((loss, grads), "MEAN")

    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(1.0, CLIP_NORM / (norm + 1e-6))
    grads = jax.tree.map(lambda g: g * scale, grads)
    lr = learning_rate(scalars)
    finite = jnp.isfinite(norm)
    state = jax.lax.cond(finite, lambda s: adamw(s, grads, lr), lambda s: s, state)
    metrics = {
        "loss": loss,
        "gradient_norm": norm,
        "learning_rate": lr,
        "skipped": 1 - finite.astype(jnp.int32),
    }
    return state, metrics


def evaluate(state, batch):
    """Returns the summed loss and the number of characters of real rows."""
    values = losses(state["params"], batch["x"], batch["y"])
    mask = batch["mask"][:, None]
    count = jnp.sum(batch["mask"]) * LENGTH
    return {"loss": (jnp.sum(values * mask), count)}
