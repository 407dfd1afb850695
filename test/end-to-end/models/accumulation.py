"""A perceptron whose gradients are accumulated over several steps.

Each step adds the mean gradient of its batches to an accumulator. Every third
one updates the parameters: the accumulated gradient is clipped to a norm, and
momentum SGD takes a step whose length is, for each tensor, relative to the
tensor's norm (LARS). In between, the update is skipped by a branch, which
leaves parameters and momentum alone.

Rows [B, 64].
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, INPUTS, WIDTH, CLASSES = 8, 64, 384, 6
STEPS_PER_UPDATE, MOMENTUM, MOST_NORM, TRUST = 3, 0.9, 1.0, 0.02

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, INPUTS), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 1.0}


def data(rows, seed):
    """Makes `rows` examples: the mean of its class with noise."""
    random = np.random.default_rng(seed)
    means = random.standard_normal((CLASSES, INPUTS))
    y = random.integers(CLASSES, size=rows)
    x = means[y] + 2 * random.standard_normal((rows, INPUTS))
    return {"x": x.astype(np.float32), "y": y.astype(np.int32)}


def init(seed):
    """Returns the parameters, their momentum, and the accumulator."""
    random = np.random.default_rng(seed)

    def layer(inputs, outputs):
        w = random.standard_normal((inputs, outputs), np.float32)
        return {
            "w": w * (2 / inputs) ** 0.5,
            "b": np.full(outputs, 0.1, np.float32),
        }

    params = [
        layer(INPUTS, WIDTH),
        layer(WIDTH, WIDTH),
        layer(WIDTH, CLASSES),
    ]
    zeros = jax.tree.map(np.zeros_like, params)
    return {
        "params": params,
        "momentum": zeros,
        "sum": jax.tree.map(np.zeros_like, params),
        "count": np.int32(0),
    }


def mean_loss(params, batch):
    x = batch["x"]
    for layer in params[:-1]:
        x = jax.nn.tanh(x @ layer["w"] + layer["b"])
    scores = jax.nn.log_softmax(x @ params[-1]["w"] + params[-1]["b"])
    return -jnp.mean(jnp.take_along_axis(scores, batch["y"][:, None], axis=1))


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(x * x) for x in jax.tree.leaves(tree)))


def update(params, momentum, gradient, lr):
    """Returns the new parameters and their momentum."""
    shrink = jnp.minimum(1.0, MOST_NORM / norm(gradient))

    def accelerate(p, m, g):
        g = g * shrink
        length = TRUST * norm(p) / (norm(g) + 1e-9)
        return MOMENTUM * m + length * g

    momentum = jax.tree.map(accelerate, params, momentum, gradient)
    params = jax.tree.map(lambda p, m: p - lr * m, params, momentum)
    return params, momentum


def step(state, batch, scalars):
    """Adds the gradient, and updates the parameters in every third step."""
    loss, gradient = jax.value_and_grad(mean_loss)(state["params"], batch)
    loss, gradient = lockstep.all_reduce((loss, gradient), "MEAN")
    total = jax.tree.map(jnp.add, state["sum"], gradient)
    count = state["count"] + 1

    def take(state):
        params, momentum, total = state
        mean = jax.tree.map(lambda x: x / STEPS_PER_UPDATE, total)
        params, momentum = update(params, momentum, mean, scalars["lr"])
        return params, momentum, jax.tree.map(jnp.zeros_like, total)

    params, momentum, total = jax.lax.cond(
        count % STEPS_PER_UPDATE == 0,
        take,
        lambda state: state,
        (state["params"], state["momentum"], total),
    )
    # Sums of few elements, which hardly depend on their order.
    metrics = {
        "loss": loss,
        "norm": norm(params[-1]),
        "rest": norm(total[-1]),
    }
    return {
        "params": params,
        "momentum": momentum,
        "sum": total,
        "count": count,
    }, metrics
