"""A residual network with 50 convolutions for measurements: 49 in a stem and 16
bottleneck blocks, and one of 1x1 for the classes. A replica's batch is 8 images
of 64x64. Without normalization; each convolution has a bias.
"""

import jax
import jax.numpy as jnp

import lockstep

BATCH, SIZE, CLASSES = 8, 64, 1000
#: Blocks, and width of the bottleneck, of each stage.
STAGES = [(3, 64), (4, 128), (6, 256), (3, 512)]

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, 3), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 0.01}


def init(seed):
    """Returns the parameters: kernels [height, width, in, out] and biases."""
    keys = iter(jax.random.split(jax.random.key(seed), 64))

    def convolution(size, inputs, outputs):
        scale = (2 / (size * size * inputs)) ** 0.5
        shape = (size, size, inputs, outputs)
        return {
            "w": jax.random.normal(next(keys), shape) * scale,
            "b": jnp.zeros(outputs),
        }

    blocks, inputs = [], 64
    for count, width in STAGES:
        for _ in range(count):
            blocks.append(
                [
                    convolution(1, inputs, width),
                    convolution(3, width, width),
                    convolution(1, width, 4 * width),
                ]
            )
            inputs = 4 * width
    return {
        "stem": convolution(7, 3, 64),
        "blocks": blocks,
        "head": convolution(1, inputs, CLASSES),
    }


def convolve(x, layer, stride=1):
    return layer["b"] + jax.lax.conv_general_dilated(
        x,
        layer["w"],
        (stride, stride),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


def shortcut(x, like):
    """Takes every second pixel, and adds channels of zeros, as `like` needs."""
    stride = x.shape[1] // like.shape[1]
    x = x[:, ::stride, ::stride]
    return jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, like.shape[3] - x.shape[3])))


def loss(params, batch):
    x = jax.nn.relu(convolve(batch["x"], params["stem"], 2))
    firsts = {sum(count for count, _ in STAGES[:i]) for i in range(1, 4)}
    for number, (narrow, middle, wide) in enumerate(params["blocks"]):
        h = jax.nn.relu(convolve(x, narrow))
        h = jax.nn.relu(convolve(h, middle, 2 if number in firsts else 1))
        h = convolve(h, wide)
        x = jax.nn.relu(h + shortcut(x, h))
    scores = convolve(x.mean((1, 2), keepdims=True), params["head"])
    logs = jax.nn.log_softmax(scores[:, 0, 0])
    return -jnp.take_along_axis(logs, batch["y"][:, None], -1).mean()


def step(state, batch, scalars):
    value, gradients = jax.value_and_grad(loss)(state, batch)
    gradients = lockstep.all_reduce(gradients, "MEAN")
    state = jax.tree.map(lambda p, g: p - scalars["lr"] * g, state, gradients)
    return state, {"loss": lockstep.all_reduce(value, "MEAN")}
