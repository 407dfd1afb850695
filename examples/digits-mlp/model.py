"""Handwritten digits with a two-layer perceptron and momentum SGD.

One replica's batch is 16 images of 8x8 pixels; the gradients are averaged over
all replicas, so N replicas train on N times 16 images a step.
"""

import jax
import jax.numpy as jnp

import lockstep

BATCH = 16
PIXELS, HIDDEN, CLASSES = 64, 128, 10
MOMENTUM = 0.9

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, PIXELS), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 0.1}


def init(seed):
    """Returns the parameters (He's initialization) and zero velocities."""
    k1, k2 = jax.random.split(jax.random.key(seed))
    params = {
        "w1": jax.random.normal(k1, (PIXELS, HIDDEN)) * (2 / PIXELS) ** 0.5,
        "b1": jnp.zeros(HIDDEN),
        "w2": jax.random.normal(k2, (HIDDEN, CLASSES)) * (2 / HIDDEN) ** 0.5,
        "b2": jnp.zeros(CLASSES),
    }
    return {"params": params, "velocity": jax.tree.map(jnp.zeros_like, params)}


def logits(params, x):
    """Maps images [B, 64] to class scores [B, 10]."""
    hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def cross_entropy(scores, y):
    """Returns the loss of each example, [B]."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], axis=1)
    return -chosen[:, 0]


def step(state, batch, scalars):
    """Takes one step of SGD with momentum."""

    def loss_fn(params):
        scores = logits(params, batch["x"])
        return jnp.mean(cross_entropy(scores, batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(state["params"])
    grads = lockstep.all_reduce(grads, "MEAN")
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v + g, state["velocity"], grads)
    params = jax.tree.map(lambda p, v: p - scalars["lr"] * v, state["params"], velocity)
    metrics = {"loss": lockstep.all_reduce(loss, "MEAN")}
    return {"params": params, "velocity": velocity}, metrics


def evaluate(state, batch):
    """Returns summed loss and number of right answers of the real rows."""
    scores = logits(state["params"], batch["x"])
    losses = cross_entropy(scores, batch["y"])
    right = (jnp.argmax(scores, axis=1) == batch["y"]).astype(jnp.float32)
    mask = batch["mask"]
    count = jnp.sum(mask)
    return {
        "loss": (jnp.sum(losses * mask), count),
        "accuracy": (jnp.sum(right * mask), count),
    }
