"""Handwritten digits with a small convolutional net and momentum SGD.

Two 3x3 convolutions (stride 1, zero-padded to the same size) with a 2x2
max-pool between them, then a dense layer. Images are NHWC, [B, 8, 8, 1].
"""

import jax
import jax.numpy as jnp

import lockstep

BATCH = 32
CHANNELS, CLASSES = (16, 32), 10
MOMENTUM = 0.9

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, 8, 8, 1), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 0.05}


def init(seed):
    """Returns the parameters (He's initialization) and zero velocities."""
    k1, k2, k3 = jax.random.split(jax.random.key(seed), 3)

    def normal(key, shape, fan_in):
        return jax.random.normal(key, shape) * (2 / fan_in) ** 0.5

    first, second = CHANNELS
    features = 4 * 4 * second
    params = {
        "conv1": {"w": normal(k1, (3, 3, 1, first), 9), "b": jnp.zeros(first)},
        "conv2": {
            "w": normal(k2, (3, 3, first, second), 9 * first),
            "b": jnp.zeros(second),
        },
        "dense": {
            "w": normal(k3, (features, CLASSES), features),
            "b": jnp.zeros(CLASSES),
        },
    }
    return {"params": params, "velocity": jax.tree.map(jnp.zeros_like, params)}


def convolve(layer, x):
    """3x3 convolution, stride 1, same size: [B, H, W, C] -> [B, H, W, D]."""
    y = jax.lax.conv_general_dilated(
        x,
        layer["w"],
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return y + layer["b"]


def max_pool(x):
    """Largest of each 2x2 block: [B, H, W, C] -> [B, H/2, W/2, C]."""
    return jax.lax.reduce_window(
        x,
        -jnp.inf,
        jax.lax.max,
        window_dimensions=(1, 2, 2, 1),
        window_strides=(1, 2, 2, 1),
        padding="VALID",
    )


def logits(params, x):
    """Maps images [B, 8, 8, 1] to class scores [B, 10]."""
    x = max_pool(jax.nn.relu(convolve(params["conv1"], x)))
    x = jax.nn.relu(convolve(params["conv2"], x))
    x = x.reshape(x.shape[0], -1)
    return x @ params["dense"]["w"] + params["dense"]["b"]


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
