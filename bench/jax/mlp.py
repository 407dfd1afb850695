"""A perceptron with two or three layers and momentum SGD, in the manner of
examples/digits-mlp, for measurements.

The environment variable LAYERS names the widths, for example 784-1024-1024-10.
BATCH is the number of rows of a replica's batch, by default 64, and FACTORS the
type of factors and results of products, by default that of the parameters.
"""

import itertools
import os

import jax
import jax.numpy as jnp

import lockstep

BATCH = int(os.environ.get("BATCH", "64"))
FACTORS = os.environ.get("FACTORS", "float32")
LAYERS = [int(width) for width in os.environ["LAYERS"].split("-")]
MOMENTUM = 0.9

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, LAYERS[0]), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 0.1}


def init(seed):
    """Returns the parameters (He's initialization) and zero velocities."""
    params = {}
    for i, (key, (m, n)) in enumerate(
        zip(
            jax.random.split(jax.random.key(seed), len(LAYERS) - 1),
            itertools.pairwise(LAYERS),
            strict=True,
        )
    ):
        params[f"w{i}"] = jax.random.normal(key, (m, n)) * (2 / m) ** 0.5
        params[f"b{i}"] = jnp.zeros(n)
    return {"params": params, "velocity": jax.tree.map(jnp.zeros_like, params)}


def logits(params, x):
    """Maps rows [B, LAYERS[0]] to class scores [B, LAYERS[-1]]."""
    for i in range(len(LAYERS) - 1):
        x = x.astype(FACTORS) @ params[f"w{i}"].astype(FACTORS)
        x = x.astype(jnp.float32) + params[f"b{i}"]
        if i < len(LAYERS) - 2:
            x = jax.nn.relu(x)
    return x


def step(state, batch, scalars):
    """Takes one step of SGD with momentum."""

    def loss_fn(params):
        scores = jax.nn.log_softmax(logits(params, batch["x"]))
        return -jnp.mean(
            jnp.take_along_axis(scores, batch["y"][:, None], axis=1)
        )

    loss, grads = jax.value_and_grad(loss_fn)(state["params"])
    grads = lockstep.all_reduce(grads, "MEAN")
    velocity = jax.tree.map(
        lambda v, g: MOMENTUM * v + g, state["velocity"], grads
    )
    params = jax.tree.map(
        lambda p, v: p - scalars["lr"] * v, state["params"], velocity
    )
    return {"params": params, "velocity": velocity}, {
        "loss": lockstep.all_reduce(loss, "MEAN")
    }
