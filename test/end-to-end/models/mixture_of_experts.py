"""A mixture of experts: a router sends each token to two of four experts.

The capacity of an expert is limited on each replica. First choices come before
second ones, and choices beyond the capacity are dropped: they add nothing to
the token. An auxiliary loss balances the experts over the tokens of all
replicas. Momentum SGD.

B rows of T tokens with F features each, N tokens in all; D width, E experts,
S slots of an expert.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, LENGTH, FEATURES, CLASSES = 4, 8, 12, 6
WIDTH, HIDDEN, EXPERTS, CHOICES = 16, 32, 4, 2
TOKENS = BATCH * LENGTH
SLOTS = TOKENS * CHOICES // EXPERTS * 3 // 4
BALANCE, MOMENTUM = 0.01, 0.9

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, LENGTH, FEATURES), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 0.05}


def data(rows, seed):
    """Makes `rows` examples: tokens of the class, and others in between."""
    random = np.random.default_rng(seed)
    means = random.standard_normal((CLASSES, FEATURES))
    y = random.integers(CLASSES, size=rows)
    own = random.random((rows, LENGTH)) < 0.7
    kind = np.where(
        own, y[:, None], random.integers(CLASSES, size=(rows, LENGTH))
    )
    x = means[kind] + 0.5 * random.standard_normal((rows, LENGTH, FEATURES))
    return {"x": x.astype(np.float32), "y": y.astype(np.int32)}


def init(seed):
    """Returns the parameters and zero velocities."""
    random = np.random.default_rng(seed)

    def normal(*shape):
        return random.standard_normal(shape, np.float32) * shape[-2] ** -0.5

    params = {
        "embedding": normal(FEATURES, WIDTH),
        "router": normal(WIDTH, EXPERTS),
        "up": normal(EXPERTS, WIDTH, HIDDEN),
        "down": normal(EXPERTS, HIDDEN, WIDTH),
        "head": normal(WIDTH, CLASSES),
    }
    return {"params": params, "velocity": jax.tree.map(np.zeros_like, params)}


def route(scores):
    """Chooses experts by scores [N, E].

    Returns:
      (weights, slots, balance, dropped): weights [N, 2] of the choices; their
      slots [N, 2], expert * S + place, or E * S for a dropped choice; the
      auxiliary loss; the share of dropped choices.
    """
    probabilities = jax.nn.softmax(scores)
    weights, experts = jax.lax.top_k(probabilities, CHOICES)
    weights = weights / jnp.sum(weights, axis=1, keepdims=True)
    # [2N, E], all first choices before all second ones; the place is the number
    # of earlier choices of that expert.
    chosen = jax.nn.one_hot(experts.T.reshape(-1), EXPERTS, dtype=jnp.int32)
    places = (
        jnp.sum((jnp.cumsum(chosen, axis=0) - 1) * chosen, axis=1)
        .reshape(CHOICES, -1)
        .T
    )
    slots = jnp.where(places < SLOTS, experts * SLOTS + places, EXPERTS * SLOTS)

    first = jnp.mean(chosen[: scores.shape[0]].astype(jnp.float32), axis=0)
    first, probability = lockstep.all_reduce(
        (first, jnp.mean(probabilities, axis=0)), "MEAN"
    )
    balance = EXPERTS * jnp.sum(first * probability)
    return (
        weights,
        slots,
        balance,
        jnp.mean((places >= SLOTS).astype(jnp.float32)),
    )


def mixture(params, x):
    """Adds the weighted outputs of its experts to each token.

    Args:
      x: tokens, [N, D].

    Returns:
      (tokens, balance, dropped): the sums, [N, D]; the auxiliary loss; the
      share of dropped choices.
    """
    normalized = x * jax.lax.rsqrt(
        jnp.mean(jnp.square(x), axis=1, keepdims=True) + 1e-6
    )
    weights, slots, balance, dropped = route(normalized @ params["router"])
    inputs = (
        jnp.zeros((EXPERTS * SLOTS, WIDTH))
        .at[slots.reshape(-1)]
        .add(jnp.repeat(normalized, CHOICES, axis=0), mode="drop")
    )
    hidden = jax.nn.gelu(
        jnp.einsum(
            "esd,edh->esh", inputs.reshape(EXPERTS, SLOTS, WIDTH), params["up"]
        )
    )
    outputs = jnp.einsum("esh,ehd->esd", hidden, params["down"]).reshape(
        EXPERTS * SLOTS, WIDTH
    )
    taken = outputs.at[slots].get(mode="fill", fill_value=0.0)
    return x + jnp.sum(weights[..., None] * taken, axis=1), balance, dropped


def step(state, batch, scalars):
    """Takes one step of SGD with momentum."""

    def loss_fn(params):
        tokens = jnp.tanh(
            batch["x"].reshape(TOKENS, FEATURES) @ params["embedding"]
        )
        tokens, balance, dropped = mixture(params, tokens)
        scores = (
            jnp.mean(tokens.reshape(BATCH, LENGTH, WIDTH), axis=1)
            @ params["head"]
        )
        chosen = jnp.take_along_axis(
            jax.nn.log_softmax(scores), batch["y"][:, None], axis=1
        )
        loss = -jnp.mean(chosen)
        return loss + BALANCE * balance, {
            "loss": loss,
            "balance": balance,
            "dropped": dropped,
        }

    (_, metrics), grads = jax.value_and_grad(loss_fn, has_aux=True)(
        state["params"]
    )
    metrics, grads = lockstep.all_reduce((metrics, grads), "MEAN")
    velocity = jax.tree.map(
        lambda v, g: MOMENTUM * v + g, state["velocity"], grads
    )
    params = jax.tree.map(
        lambda p, v: p - scalars["lr"] * v, state["params"], velocity
    )
    return {"params": params, "velocity": velocity}, metrics
