"""ResNet-50 with batch normalization, for measurements: 53 convolutions, the
strides of its blocks in their 3x3 convolution, and momentum SGD. Variables of
the environment: BATCH (default 8), SIZE of images (224), FACTORS, the type of
images and filters in convolutions and of their results (float32).

Statistics of the normalization are those of the replica's batch, as in
training; running averages, which only an evaluation needs, are left out.
"""

import os

import jax
import jax.numpy as jnp

import lockstep

BATCH = int(os.environ.get("BATCH", "8"))
SIZE = int(os.environ.get("SIZE", "224"))
FACTORS = jnp.dtype(os.environ.get("FACTORS", "float32"))
CLASSES, MOMENTUM, EPSILON = 1000, 0.9, 1e-5
#: Blocks, and width of the bottleneck, of each stage.
STAGES = [(3, 64), (4, 128), (6, 256), (3, 512)]

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, 3), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 0.01}


def init(seed):
    """Returns the parameters and their velocities: filters [height, width, in,
    out], scales and shifts of the normalization, and the dense layer."""
    keys = iter(jax.random.split(jax.random.key(seed), 64))

    def layer(size, inputs, outputs, scale=1.0):
        deviation = (2 / (size * size * inputs)) ** 0.5
        shape = (size, size, inputs, outputs)
        return {
            "w": jax.random.normal(next(keys), shape) * deviation,
            "scale": jnp.full(outputs, scale),
            "shift": jnp.zeros(outputs),
        }

    blocks, inputs = [], 64
    for count, width in STAGES:
        for number in range(count):
            block = [
                layer(1, inputs, width),
                layer(3, width, width),
                # A block is its shortcut at first.
                layer(1, width, 4 * width, scale=0.0),
            ]
            if number == 0:
                block.append(layer(1, inputs, 4 * width))
            blocks.append(block)
            inputs = 4 * width
    params = {
        "stem": layer(7, 3, 64),
        "blocks": blocks,
        "dense": {
            "w": jax.random.normal(next(keys), (inputs, CLASSES)) * 0.01,
            "b": jnp.zeros(CLASSES),
        },
    }
    return {"params": params, "velocity": jax.tree.map(jnp.zeros_like, params)}


def normalized(x, layer, stride=1):
    """A convolution and the normalization of its result, in f32."""
    y = jax.lax.conv_general_dilated(
        x.astype(FACTORS),
        layer["w"].astype(FACTORS),
        (stride, stride),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    ).astype(jnp.float32)
    mean = y.mean((0, 1, 2))
    variance = jnp.square(y).mean((0, 1, 2)) - jnp.square(mean)
    factor = layer["scale"] * jax.lax.rsqrt(variance + EPSILON)
    return y * factor + (layer["shift"] - mean * factor)


def bottleneck(x, layers, stride):
    first, second, third, *shortcut = layers
    h = jax.nn.relu(normalized(x, first)).astype(FACTORS)
    h = jax.nn.relu(normalized(h, second, stride)).astype(FACTORS)
    h = normalized(h, third)
    if shortcut:
        x = normalized(x, shortcut[0], stride)
    return jax.nn.relu(h + x).astype(FACTORS)


def max_pool(x):
    return jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"
    )


def loss(params, batch):
    x = jax.nn.relu(normalized(batch["x"], params["stem"], 2))
    x = max_pool(x).astype(FACTORS)
    firsts = {sum(count for count, _ in STAGES[:i]) for i in range(1, 4)}
    for number, layers in enumerate(params["blocks"]):
        x = bottleneck(x, layers, 2 if number in firsts else 1)
    features = x.astype(jnp.float32).mean((1, 2))
    logs = jax.nn.log_softmax(
        features @ params["dense"]["w"] + params["dense"]["b"]
    )
    return -jnp.take_along_axis(logs, batch["y"][:, None], -1).mean()


def step(state, batch, scalars):
    value, gradients = jax.value_and_grad(loss)(state["params"], batch)
    gradients = lockstep.all_reduce(gradients, "MEAN")
    velocity = jax.tree.map(
        lambda v, g: MOMENTUM * v + g, state["velocity"], gradients
    )
    params = jax.tree.map(
        lambda p, v: p - scalars["lr"] * v, state["params"], velocity
    )
    return (
        {"params": params, "velocity": velocity},
        {"loss": lockstep.all_reduce(value, "MEAN")},
    )
