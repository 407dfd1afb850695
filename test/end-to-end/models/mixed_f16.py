"""A convolutional net that computes in f16, with a loss scale that adapts.

Parameters are kept in f32. Kernels are rounded to f16 at the beginning of a
step; norms and the loss are computed in f32. The loss is multiplied by a
scale, so
that small gradients are not lost. Where a gradient overflows on any replica,
all of them skip the update and halve the scale; after some steps without
overflow it is doubled. The first scale is too large, as it is in practice, so
that the first steps are skipped. Adam.

Images [B, 8, 8, 2], as NHWC.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, SIZE, COLORS, CLASSES = 8, 8, 2, 6
CHANNELS = (8, 16)
FIRST_SCALE, STEPS_UNTIL_GROWTH = 2.0**20, 4
BETA1, BETA2, EPSILON = 0.9, 0.99, 1e-6

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, COLORS), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr": 3e-3}


def data(rows, seed):
    """Makes `rows` examples: an image of its class with noise."""
    random = np.random.default_rng(seed)
    images = random.standard_normal((CLASSES, SIZE, SIZE, COLORS))
    y = random.integers(CLASSES, size=rows)
    x = images[y] + random.standard_normal((rows, SIZE, SIZE, COLORS))
    return {"x": x.astype(np.float32), "y": y.astype(np.int32)}


def init(seed):
    """Returns the parameters, Adam's moments, and the loss scale."""
    random = np.random.default_rng(seed)
    low, high = CHANNELS

    def normal(shape, fan_in):
        return random.standard_normal(shape, np.float32) * (2 / fan_in) ** 0.5

    def norm(channels):
        return {
            "scale": np.ones(channels, np.float32),
            "bias": np.zeros(channels, np.float32),
        }

    params = {
        "conv1": normal((3, 3, COLORS, low), 9 * COLORS),
        "norm1": norm(low),
        "conv2": normal((3, 3, low, high), 9 * low),
        "norm2": norm(high),
        "head": normal((high, CLASSES), 2 * high),
        "bias": np.zeros(CLASSES, np.float32),
    }
    zeros = jax.tree.map(np.zeros_like, params)
    return {
        "trained": {
            "params": params,
            "m": zeros,
            "v": zeros,
            "count": np.int32(0),
        },
        "scale": np.float32(FIRST_SCALE),
        "good_steps": np.int32(0),
    }


def convolve(w, x):
    """3x3 convolution with stride 2: [B, H, W, C] -> [B, H/2, W/2, D]."""
    return jax.lax.conv_general_dilated(
        x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def norm_relu(p, x):
    """Normalizes each image of x, [B, H, W, C], and clips it at 0, in f32; x
    and the result are f16.
    """
    x = x.astype(jnp.float32)
    mean, variance = (
        jnp.mean(x, axis=(1, 2, 3), keepdims=True),
        jnp.var(x, axis=(1, 2, 3), keepdims=True),
    )
    x = (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]
    return jax.nn.relu(x).astype(jnp.float16)


def mean_loss(params, x, y):
    """Mean cross entropy, f32, of parameters whose kernels are f16."""
    h = norm_relu(
        params["norm1"], convolve(params["conv1"], x.astype(jnp.float16))
    )
    h = norm_relu(params["norm2"], convolve(params["conv2"], h))
    scores = jnp.mean(h, axis=(1, 2)) @ params["head"] + params["bias"]
    return -jnp.mean(
        jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], axis=1)
    )


def adam(trained, grads, lr):
    """Returns parameters and moments after one update by f32 gradients."""
    count = trained["count"] + 1
    t = count.astype(jnp.float32)
    m = jax.tree.map(
        lambda m, g: BETA1 * m + (1 - BETA1) * g, trained["m"], grads
    )
    v = jax.tree.map(
        lambda v, g: BETA2 * v + (1 - BETA2) * jnp.square(g),
        trained["v"],
        grads,
    )
    params = jax.tree.map(
        lambda p, m, v: (
            p
            - lr * m / (1 - BETA1**t) / (jnp.sqrt(v / (1 - BETA2**t)) + EPSILON)
        ),
        *(trained["params"], m, v),
    )
    return {"params": params, "m": m, "v": v, "count": count}


def next_scale(scale, good_steps, finite):
    """Returns loss scale and number of steps since it changed, after one step."""
    grows = good_steps + 1 == STEPS_UNTIL_GROWTH
    scale = jnp.where(finite, jnp.where(grows, scale * 2, scale), scale / 2)
    return scale, jnp.where(finite & ~grows, good_steps + 1, 0)


def step(state, batch, scalars):
    """Takes one step of Adam, or none if a gradient is not finite."""
    trained, scale = state["trained"], state["scale"]
    rounded = jax.tree.map(
        lambda p: p if p.ndim == 1 else p.astype(jnp.float16), trained["params"]
    )

    def scaled_loss(params):
        loss = mean_loss(params, batch["x"], batch["y"])
        return loss * scale, loss

    (_, loss), grads = jax.value_and_grad(scaled_loss, has_aux=True)(rounded)
    grads = jax.tree.map(lambda g: g.astype(jnp.float32) / scale, grads)
    loss, grads = lockstep.all_reduce((loss, grads), "MEAN")
    finite = jnp.all(
        jnp.array([jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(grads)])
    )
    trained = jax.lax.cond(
        finite, lambda t: adam(t, grads, scalars["lr"]), lambda t: t, trained
    )
    scale, good_steps = next_scale(scale, state["good_steps"], finite)
    metrics = {"loss": loss, "scale": scale, "updates": trained["count"]}
    return {
        "trained": trained,
        "scale": scale,
        "good_steps": good_steps,
    }, metrics
