"""A sequence tagger: two LSTMs, one in each direction.

Sequences have different lengths. Padding neither changes the state of an LSTM
nor counts in the loss, which is a mean over the tokens of all replicas.
Momentum SGD, with gradients clipped by their global norm.

B sequences, T tokens at most, E width of the embedding, H of an LSTM.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, LENGTH, VOCABULARY, KINDS = 6, 11, 12, 3
TAGS = 2 * (KINDS - 1) + 1
EMBEDDING, HIDDEN = 12, 16
CLIP_NORM, MOMENTUM = 1.0, 0.9

batch_spec = {
    "tokens": jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32),
    "tags": jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32),
    "length": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 0.5}


def data(rows, seed):
    """Makes `rows` sequences; a token's tag is the sum of the kinds of its
    neighbours.
    """
    random = np.random.default_rng(seed)
    tokens = random.integers(VOCABULARY, size=(rows, LENGTH), dtype=np.int32)
    length = random.integers(3, LENGTH + 1, size=rows, dtype=np.int32)
    kind = np.pad(tokens % KINDS, ((0, 0), (1, 1)))
    tags = kind[:, :-2] + kind[:, 2:]
    return {"tokens": tokens, "tags": tags, "length": length}


def init(seed):
    """Returns the parameters (Glorot's initialization) and zero velocities."""
    random = np.random.default_rng(seed)

    def glorot(inputs, outputs):
        bound = (6 / (inputs + outputs)) ** 0.5
        return random.uniform(-bound, bound, (inputs, outputs)).astype(
            np.float32
        )

    def lstm():
        forget = np.repeat(np.float32([0, 1, 0, 0]), HIDDEN)
        return {
            "x": glorot(EMBEDDING, 4 * HIDDEN),
            "h": glorot(HIDDEN, 4 * HIDDEN),
            "b": forget,
        }

    params = {
        "embedding": random.standard_normal((VOCABULARY, EMBEDDING), np.float32)
        * 0.5,
        "forward": lstm(),
        "backward": lstm(),
        "head": {
            "w": glorot(2 * HIDDEN, TAGS),
            "b": np.zeros(TAGS, np.float32),
        },
    }
    return {"params": params, "velocity": jax.tree.map(np.zeros_like, params)}


def lstm(p, x, mask, reverse):
    """Runs an LSTM over x, [T, B, E], with mask [T, B]; returns its outputs,
    [T, B, H].
    """

    def cell(carry, inputs):
        (h, c), (x, real) = carry, inputs
        i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"] + p["b"], 4, axis=-1)
        new_c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        new_h = jax.nn.sigmoid(o) * jnp.tanh(new_c)
        # Padding comes first in the backward direction: the state stays zero
        # there.
        carry = (
            jnp.where(real[:, None], new_h, h),
            jnp.where(real[:, None], new_c, c),
        )
        return carry, carry[0]

    zeros = jnp.zeros((x.shape[1], HIDDEN))
    return jax.lax.scan(cell, (zeros, zeros), (x, mask), reverse=reverse)[1]


def losses(params, tokens, tags, mask):
    """Cross entropy of each tag, [T, B], and 0 for padding."""
    x = params["embedding"][tokens]
    both = [
        lstm(params["forward"], x, mask, False),
        lstm(params["backward"], x, mask, True),
    ]
    scores = (
        jnp.concatenate(both, axis=-1) @ params["head"]["w"]
        + params["head"]["b"]
    )
    chosen = jnp.take_along_axis(
        jax.nn.log_softmax(scores), tags[..., None], axis=-1
    )[..., 0]
    return jnp.where(mask, -chosen, 0.0)


def step(state, batch, scalars):
    """Takes one step of SGD with momentum."""
    tokens, tags = batch["tokens"].T, batch["tags"].T
    mask = jnp.arange(LENGTH)[:, None] < batch["length"]
    total, grads = jax.value_and_grad(
        lambda p: jnp.sum(losses(p, tokens, tags, mask))
    )(state["params"])
    total, grads, count = lockstep.all_reduce(
        (total, grads, jnp.sum(mask.astype(jnp.float32))), "SUM"
    )
    grads = jax.tree.map(lambda g: g / count, grads)
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(1.0, CLIP_NORM / norm)
    velocity = jax.tree.map(
        lambda v, g: MOMENTUM * v + scale * g, state["velocity"], grads
    )
    params = jax.tree.map(
        lambda p, v: p - scalars["lr"] * v, state["params"], velocity
    )
    return {"params": params, "velocity": velocity}, {
        "loss": total / count,
        "gradient_norm": norm,
        "tokens": count,
    }
