"""A U-Net that predicts the noise in images: denoising diffusion.

Images [B, 8, 8, 1]. Each replica draws its own times and noise in every step.
Two resolutions with a skip connection, group norm, attention at the lower one,
and a sinusoidal embedding of the time in each block. Adam; an exponential
moving average of the parameters is kept in the state.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, SIZE = 4, 8
CHANNELS, GROUPS, TIME_WIDTH = (8, 16), 4, 16
TIMES = 100
BETA1, BETA2, EPSILON, AVERAGE_DECAY = 0.9, 0.999, 1e-8, 0.95

batch_spec = {"x": jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, 1), jnp.float32)}
scalar_spec = {"lr": 2e-3}


def data(rows, seed):
    """Makes `rows` images of stripes, in [-1, 1]."""
    random = np.random.default_rng(seed)
    slope = random.integers(1, 3, size=(2, rows, 1, 1))
    pixel = np.arange(SIZE)
    phase = (
        slope[0] * pixel[:, None]
        + slope[1] * pixel
        + random.integers(4, size=(rows, 1, 1))
    )
    return {"x": (np.abs(phase % 4 - 2)[..., None] - 1.0).astype(np.float32)}


def init(seed):
    """Returns the parameters, their moving average and Adam's moments."""
    random = np.random.default_rng(seed)
    low, high = CHANNELS

    def layer(*shape):
        fan_in = math.prod(shape[:-1])
        return {
            "w": random.standard_normal(shape, np.float32) * fan_in**-0.5,
            "b": np.zeros(shape[-1], np.float32),
        }

    def norm(channels):
        return {
            "scale": np.ones(channels, np.float32),
            "bias": np.zeros(channels, np.float32),
        }

    def block(inputs, outputs):
        return {
            "norm1": norm(inputs),
            "conv1": layer(3, 3, inputs, outputs),
            "time": layer(TIME_WIDTH, outputs),
            "norm2": norm(outputs),
            "conv2": layer(3, 3, outputs, outputs),
            "shortcut": layer(1, 1, inputs, outputs),
        }

    params = {
        "time": layer(TIME_WIDTH, TIME_WIDTH),
        "stem": layer(3, 3, 1, low),
        "encode": block(low, low),
        "down": layer(3, 3, low, high),
        "attention": {
            "norm": norm(high),
            "qkv": layer(high, 3 * high)["w"],
            "out": layer(high, high),
        },
        "middle": block(high, high),
        "up": layer(3, 3, high, low),
        "decode": block(2 * low, low),
        "head": layer(3, 3, low, 1),
    }
    zeros = jax.tree.map(np.zeros_like, params)
    return {
        "params": params,
        "average": params,
        "m": zeros,
        "v": zeros,
        "count": np.int32(0),
    }


def apply_dense(p, x):
    return x @ p["w"] + p["b"]


def convolve(p, x, stride=1):
    """Convolution with zero padding: [B, H, W, C] -> [B, H/stride, W/stride,
    D].
    """
    y = jax.lax.conv_general_dilated(
        x,
        p["w"],
        (stride, stride),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return y + p["b"]


def group_norm(p, x):
    """Normalizes groups of channels over an image: x is [B, H, W, C]."""
    groups = x.reshape(*x.shape[:3], GROUPS, -1)
    mean = jnp.mean(groups, axis=(1, 2, 4), keepdims=True)
    variance = jnp.var(groups, axis=(1, 2, 4), keepdims=True)
    return ((groups - mean) * jax.lax.rsqrt(variance + 1e-5)).reshape(
        x.shape
    ) * p["scale"] + p["bias"]


def residual_block(p, x, time):
    """Two convolutions with the time between them: x is [B, H, W, C], `time`
    [B, TIME_WIDTH].
    """
    h = convolve(p["conv1"], jax.nn.silu(group_norm(p["norm1"], x)))
    h = h + apply_dense(p["time"], time)[:, None, None]
    h = convolve(p["conv2"], jax.nn.silu(group_norm(p["norm2"], h)))
    return h + convolve(p["shortcut"], x)


def attention(p, x):
    """Attention of all pixels to all, with one head: x is [B, H, W, C]."""
    flat = group_norm(p["norm"], x).reshape(x.shape[0], -1, x.shape[-1])
    q, k, v = jnp.split(flat @ p["qkv"], 3, axis=-1)
    weights = jax.nn.softmax(q @ k.mT * x.shape[-1] ** -0.5)
    return x + apply_dense(p["out"], weights @ v).reshape(x.shape)


def embed_time(p, t):
    """Maps times in [0, TIMES), [B], to features, [B, TIME_WIDTH]."""
    half = TIME_WIDTH // 2
    angles = t[:, None] * jnp.exp(-np.log(TIMES) * jnp.arange(half) / half)
    return jax.nn.silu(
        apply_dense(
            p, jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
        )
    )


def predict_noise(params, x, t):
    """Predicts the noise in x, [B, 8, 8, 1], at times t, [B]."""
    time = embed_time(params["time"], t)
    skip = residual_block(params["encode"], convolve(params["stem"], x), time)
    h = convolve(params["down"], skip, stride=2)
    h = attention(
        params["attention"], residual_block(params["middle"], h, time)
    )
    h = jnp.repeat(jnp.repeat(h, 2, axis=1), 2, axis=2)
    h = jnp.concatenate([convolve(params["up"], h), skip], axis=-1)
    return convolve(
        params["head"], jax.nn.silu(residual_block(params["decode"], h, time))
    )


def add_noise(x, key):
    """Draws a time for each image and mixes noise into it; returns (noisy x,
    time, noise).
    """
    time_key, noise_key = jax.random.split(key)
    t = jax.random.randint(time_key, (BATCH,), 0, TIMES)
    noise = jax.random.normal(noise_key, x.shape)
    angle = (
        (t + 0.5) / TIMES * (np.pi / 2)
    )  # the cosine schedule, whose squares add up to 1
    signal, amount = jnp.cos(angle), jnp.sin(angle)
    return (
        signal[:, None, None, None] * x + amount[:, None, None, None] * noise,
        t.astype(jnp.float32),
        noise,
    )


def step(state, batch, scalars):
    """Takes one step of Adam, and moves the average towards the parameters."""
    key = jax.random.fold_in(jax.random.key(scalars["seed"]), scalars["step"])
    x, t, noise = add_noise(
        batch["x"], jax.random.fold_in(key, lockstep.replica_id())
    )

    def loss_fn(params):
        return jnp.mean(jnp.square(predict_noise(params, x, t) - noise))

    loss, grads = lockstep.all_reduce(
        jax.value_and_grad(loss_fn)(state["params"]), "MEAN"
    )
    count = state["count"] + 1
    time = count.astype(jnp.float32)
    m = jax.tree.map(
        lambda m, g: BETA1 * m + (1 - BETA1) * g, state["m"], grads
    )
    v = jax.tree.map(
        lambda v, g: BETA2 * v + (1 - BETA2) * jnp.square(g), state["v"], grads
    )
    params = jax.tree.map(
        lambda p, m, v: (
            p
            - scalars["lr"]
            * m
            / (1 - BETA1**time)
            / (jnp.sqrt(v / (1 - BETA2**time)) + EPSILON)
        ),
        *(state["params"], m, v),
    )
    average = jax.tree.map(
        lambda a, p: AVERAGE_DECAY * a + (1 - AVERAGE_DECAY) * p,
        state["average"],
        params,
    )
    distance = jnp.sqrt(
        sum(
            jnp.sum(jnp.square(a - p))
            for a, p in zip(
                *map(jax.tree.leaves, (average, params)), strict=True
            )
        )
    )
    state = {
        "params": params,
        "average": average,
        "m": m,
        "v": v,
        "count": count,
    }
    return state, {"loss": loss, "distance_of_average": distance}
