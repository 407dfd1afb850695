"""Two networks that map queries and documents to vectors, and a loss that
compares all pairs of a batch. The first layer of the second network has half of
all parameters, and momentum SGD updates them.

A replica's batch is 64 pairs.
"""

import itertools

import jax
import jax.numpy as jnp

import lockstep

BATCH = 64
WIDTHS = {"query": [512, 512, 512, 512, 128], "document": [2048, 512, 128]}
MOMENTUM = 0.9

batch_spec = {
    name: jax.ShapeDtypeStruct((BATCH, widths[0]), jnp.float32)
    for name, widths in WIDTHS.items()
}
scalar_spec = {"lr": 0.01}


def init(seed):
    """Returns the parameters (He's initialization) and zero velocities."""
    params = {}
    for name, widths in WIDTHS.items():
        keys = jax.random.split(
            jax.random.fold_in(jax.random.key(seed), len(params)),
            len(widths) - 1,
        )
        params[name] = [
            jax.random.normal(key, (m, n)) * (2 / m) ** 0.5
            for key, (m, n) in zip(
                keys, itertools.pairwise(widths), strict=True
            )
        ]
    return {"params": params, "velocity": jax.tree.map(jnp.zeros_like, params)}


def encode(layers, x):
    for weights in layers[:-1]:
        x = jax.nn.relu(x @ weights)
    return x @ layers[-1]


def step(state, batch, scalars):
    """Takes one step of SGD with momentum."""

    def loss_fn(params):
        queries, documents = (
            encode(params[name], batch[name]) for name in WIDTHS
        )
        scores = jax.nn.log_softmax(queries @ documents.T)
        return -jnp.mean(jnp.diagonal(scores))

    loss, grads = jax.value_and_grad(loss_fn)(state["params"])
    grads = lockstep.all_reduce(grads, "MEAN")
    velocity = jax.tree.map(
        lambda v, g: MOMENTUM * v - scalars["lr"] * g, state["velocity"], grads
    )
    params = jax.tree.map(jnp.add, state["params"], velocity)
    return {"params": params, "velocity": velocity}, {
        "loss": lockstep.all_reduce(loss, "MEAN")
    }
