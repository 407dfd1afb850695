"""A residual net whose batch norm is synchronized over the replicas.

Images [B, 8, 8, 3] of 10 classes, as NHWC. Statistics are those of the global
batch: the moments of all replicas are averaged before they are used, and the
gradients go through that average. Running averages are part of the state, for
`evaluate`. Momentum SGD with weight decay.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, SIZE, COLORS, CLASSES = 8, 8, 3, 10
STEM, WIDTHS = 8, (8, 16)
AVERAGE_DECAY, MOMENTUM, WEIGHT_DECAY = 0.9, 0.9, 1e-4

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, COLORS), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 0.05}


def data(rows, seed):
    """Makes `rows` examples: an image of its class with random brightness and
    noise.
    """
    random = np.random.default_rng(seed)
    images = random.standard_normal((CLASSES, SIZE, SIZE, COLORS))
    y = random.integers(CLASSES, size=rows)
    brightness = random.random((rows, 1, 1, 1)) + 0.5
    x = images[y] * brightness + 0.5 * random.standard_normal(
        (rows, SIZE, SIZE, COLORS)
    )
    return {"x": x.astype(np.float32), "y": y.astype(np.int32)}


def init(seed):
    """Returns parameters, running averages and velocities."""
    random = np.random.default_rng(seed)

    def kernel(size, inputs, outputs):
        fan_in = size * size * inputs
        return (
            random.standard_normal((size, size, inputs, outputs), np.float32)
            * (2 / fan_in) ** 0.5
        )

    def norm(channels):
        return {
            "scale": np.ones(channels, np.float32),
            "bias": np.zeros(channels, np.float32),
        }

    def block(inputs, outputs):
        p = {
            "conv1": kernel(3, inputs, outputs),
            "norm1": norm(outputs),
            "conv2": kernel(3, outputs, outputs),
            "norm2": norm(outputs),
        }
        if inputs != outputs:
            p |= {
                "shortcut": kernel(1, inputs, outputs),
                "norm3": norm(outputs),
            }
        return p

    params = {
        "stem": kernel(3, COLORS, STEM),
        "norm": norm(STEM),
        "blocks": [
            block(i, o) for i, o in zip((STEM, *WIDTHS), WIDTHS, strict=False)
        ],
        "head": {
            "w": random.standard_normal((WIDTHS[-1], CLASSES), np.float32)
            * WIDTHS[-1] ** -0.5,
            "b": np.zeros(CLASSES, np.float32),
        },
    }
    velocity = jax.tree.map(np.zeros_like, params)
    return {
        "params": params,
        "averages": initial_averages(params),
        "velocity": velocity,
    }


def initial_averages(params):
    """Returns mean 0 and variance 1 for each norm: lists of those of the stem
    and of the blocks.
    """

    def averages(p):
        return {
            "mean": np.zeros_like(p["bias"]),
            "variance": np.ones_like(p["scale"]),
        }

    blocks = [
        {k: averages(p) for k, p in block.items() if k.startswith("norm")}
        for block in params["blocks"]
    ]
    return {"norm": averages(params["norm"]), "blocks": blocks}


def convolve(kernel, x, stride=1):
    """Convolution with zero padding: [B, H, W, C] -> [B, H/stride, W/stride,
    D].
    """
    return jax.lax.conv_general_dilated(
        x,
        kernel,
        (stride, stride),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


def batch_norm(p, averages, x, training):
    """Normalizes each channel of x, [B, H, W, C]; returns it and the new
    running averages.
    """
    if training:
        moments = (
            jnp.mean(x, axis=(0, 1, 2)),
            jnp.mean(jnp.square(x), axis=(0, 1, 2)),
        )
        mean, square = lockstep.all_reduce(moments, "MEAN")
        used = {"mean": mean, "variance": square - jnp.square(mean)}
        averages = jax.tree.map(
            lambda old, new: AVERAGE_DECAY * old + (1 - AVERAGE_DECAY) * new,
            averages,
            used,
        )
    else:
        used = averages
    x = (x - used["mean"]) * jax.lax.rsqrt(used["variance"] + 1e-5)
    return x * p["scale"] + p["bias"], averages


def residual_block(p, averages, x, training):
    """Two convolutions beside a shortcut; one that widens x also halves its
    size.
    """
    stride = 2 if "shortcut" in p else 1
    new = {}
    y, new["norm1"] = batch_norm(
        p["norm1"], averages["norm1"], convolve(p["conv1"], x, stride), training
    )
    y = convolve(p["conv2"], jax.nn.relu(y))
    y, new["norm2"] = batch_norm(p["norm2"], averages["norm2"], y, training)
    if "shortcut" in p:
        x, new["norm3"] = batch_norm(
            p["norm3"],
            averages["norm3"],
            convolve(p["shortcut"], x, stride),
            training,
        )
    return jax.nn.relu(x + y), new


def logits(params, averages, x, training):
    """Maps images to class scores [B, 10]; returns them and the new running
    averages.
    """
    x, norm = batch_norm(
        params["norm"], averages["norm"], convolve(params["stem"], x), training
    )
    x = jax.nn.relu(x)
    blocks = []
    for p, block_averages in zip(
        params["blocks"], averages["blocks"], strict=True
    ):
        x, new = residual_block(p, block_averages, x, training)
        blocks.append(new)
    x = jnp.mean(x, axis=(1, 2))
    return x @ params["head"]["w"] + params["head"]["b"], {
        "norm": norm,
        "blocks": blocks,
    }


def cross_entropy(scores, y):
    """Returns the loss of each example, [B]."""
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], axis=1)[
        :, 0
    ]


def step(state, batch, scalars):
    """Takes one step of SGD with momentum and weight decay."""

    def loss_fn(params):
        scores, averages = logits(
            params, state["averages"], batch["x"], training=True
        )
        accuracy = jnp.mean(
            (jnp.argmax(scores, axis=1) == batch["y"]).astype(jnp.float32)
        )
        return jnp.mean(cross_entropy(scores, batch["y"])), (averages, accuracy)

    (loss, (averages, accuracy)), grads = jax.value_and_grad(
        loss_fn, has_aux=True
    )(state["params"])
    loss, accuracy, grads = lockstep.all_reduce((loss, accuracy, grads), "MEAN")
    velocity = jax.tree.map(
        lambda v, g, p: MOMENTUM * v + g + WEIGHT_DECAY * p,
        state["velocity"],
        grads,
        state["params"],
    )
    params = jax.tree.map(
        lambda p, v: p - scalars["lr"] * v, state["params"], velocity
    )
    variances = [a["norm2"]["variance"] for a in averages["blocks"]]
    metrics = {
        "loss": loss,
        "accuracy": accuracy,
        "running_variance": sum(jnp.mean(v) for v in variances)
        / len(variances),
    }
    return {
        "params": params,
        "averages": averages,
        "velocity": velocity,
    }, metrics


def evaluate(state, batch):
    """Returns the summed loss of the real rows, by the running averages."""
    scores, _ = logits(
        state["params"], state["averages"], batch["x"], training=False
    )
    mask = batch["mask"]
    return {
        "loss": (
            jnp.sum(cross_entropy(scores, batch["y"]) * mask),
            jnp.sum(mask),
        )
    }
