"""A translator of sequences: an encoder, and a decoder that attends to it.

All attention is `lockstep.dot_product_attention`, of bf16: from each position
to all of the source, in layers that `lax.scan` executes in sequence; causal
within the target; and from the target to the source, which is longer. SGD with
momentum.

B rows, S and T tokens of source and target, D width, N heads.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, SOURCE, TARGET, VOCABULARY = 2, 24, 16, 20
WIDTH, HEADS, LAYERS, HIDDEN = 32, 2, 2, 48

batch_spec = {
    "source": jax.ShapeDtypeStruct((BATCH, SOURCE), jnp.int32),
    "target": jax.ShapeDtypeStruct((BATCH, TARGET + 1), jnp.int32),
}
scalar_spec = {"lr": 0.05, "momentum": 0.9}


def data(rows, seed):
    """Makes `rows` pairs: the target is every other token of the source, each
    shifted by one, and then zeros."""
    random = np.random.default_rng(seed)
    source = random.integers(VOCABULARY, size=(rows, SOURCE), dtype=np.int32)
    target = np.zeros((rows, TARGET + 1), np.int32)
    target[:, 1 : 1 + SOURCE // 2] = (source[:, ::2] + 1) % VOCABULARY
    return {"source": source, "target": target}


def init(seed):
    """Returns the parameters (those of the encoder's layers stacked) and their
    momentum."""
    random = np.random.default_rng(seed)

    def normal(*shape):
        return random.standard_normal(shape, np.float32) * shape[-2] ** -0.5

    params = {
        "embedding": normal(VOCABULARY, WIDTH) * 0.5,
        "positions": normal(SOURCE, WIDTH) * 0.5,
        "encoder": {
            "qkv": normal(LAYERS, 3, WIDTH, WIDTH),
            "out": normal(LAYERS, WIDTH, WIDTH),
            "up": normal(LAYERS, WIDTH, HIDDEN),
            "down": normal(LAYERS, HIDDEN, WIDTH),
        },
        "decoder": {
            "qkv": normal(3, WIDTH, WIDTH),
            "out": normal(WIDTH, WIDTH),
            "query": normal(WIDTH, WIDTH),
            "key_value": normal(2, WIDTH, WIDTH),
            "mix": normal(WIDTH, WIDTH),
        },
        "head": normal(WIDTH, VOCABULARY),
    }
    return {
        "params": params,
        "momentum": jax.tree.map(np.zeros_like, params),
    }


def normalize(x):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5)


def attend(query, key, value, **options):
    """[B, T, D], [B, S, D], [B, S, D] -> [B, T, D]"""
    split = [
        x.astype(jnp.bfloat16).reshape(*x.shape[:2], HEADS, WIDTH // HEADS)
        for x in (query, key, value)
    ]
    mixed = lockstep.dot_product_attention(*split, **options)
    return mixed.astype(jnp.float32).reshape(query.shape)


def encode(params, x):
    def layer(x, p):
        h = normalize(x)
        x = x + attend(*(h @ w for w in p["qkv"])) @ p["out"]
        return x + jax.nn.gelu(normalize(x) @ p["up"]) @ p["down"], None

    return jax.lax.scan(layer, x, params)[0]


def decode(params, x, source):
    h = normalize(x)
    qkv = (h @ w for w in params["qkv"])
    x = x + attend(*qkv, is_causal=True) @ params["out"]
    key, value = (source @ w for w in params["key_value"])
    query = normalize(x) @ params["query"]
    return x + attend(query, key, value, scale=0.2) @ params["mix"]


def losses(params, source, target):
    """The loss of each token of the target, [B, T]."""
    positions = params["positions"]
    x = encode(params["encoder"], params["embedding"][source] + positions)
    y = params["embedding"][target[:, :-1]] + positions[:TARGET]
    y = decode(params["decoder"], y, normalize(x))
    logs = jax.nn.log_softmax(normalize(y) @ params["head"])
    chosen = jnp.take_along_axis(logs, target[:, 1:, None], axis=-1)
    return -chosen[..., 0]


def step(state, batch, scalars):
    def loss(params):
        return jnp.mean(losses(params, batch["source"], batch["target"]))

    value, gradients = jax.value_and_grad(loss)(state["params"])
    gradients = lockstep.all_reduce(gradients, "MEAN")
    momentum = jax.tree.map(
        lambda m, g: scalars["momentum"] * m + g, state["momentum"], gradients
    )
    params = jax.tree.map(
        lambda p, m: p - scalars["lr"] * m, state["params"], momentum
    )
    metrics = {"loss": lockstep.all_reduce(value, "MEAN")}
    return {"params": params, "momentum": momentum}, metrics


def evaluate(state, batch):
    values = losses(state["params"], batch["source"], batch["target"])
    mask = batch["mask"][:, None] * jnp.ones((1, TARGET))
    return {"loss": (jnp.sum(values * mask), jnp.sum(mask))}
