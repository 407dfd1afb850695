"""A convolutional variational auto-encoder of small binary images.

Images [B, 8, 8, 1]. The noise of the latent code differs on every replica and
in every step. The weight of the divergence grows over the first steps. Adam.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, SIZE, CHANNELS, LATENT = 8, 8, 8, 4
FEATURES = (SIZE // 2) ** 2 * CHANNELS
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8

batch_spec = {"x": jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, 1), jnp.float32)}
scalar_spec = {"lr": 3e-3, "warmup_steps": 10.0}


def data(rows, seed):
    """Makes `rows` images, each of a rectangle and some random pixels."""
    random = np.random.default_rng(seed)
    begin = random.integers(SIZE // 2, size=(2, rows, 1))
    end = begin + random.integers(2, SIZE // 2, size=(2, rows, 1))
    inside = (begin <= np.arange(SIZE)) & (np.arange(SIZE) < end)
    x = (inside[0][:, :, None] & inside[1][:, None, :]) ^ (
        random.random((rows, SIZE, SIZE)) < 0.05
    )
    return {"x": x[..., None].astype(np.float32)}


def init(seed):
    """Returns the parameters and Adam's moments."""
    random = np.random.default_rng(seed)

    def layer(shape, fan_in):
        return {
            "w": random.standard_normal(shape, np.float32) * fan_in**-0.5,
            "b": np.zeros(shape[-1], np.float32),
        }

    params = {
        "down": layer((3, 3, 1, CHANNELS), 9),
        "code": layer((FEATURES, 2 * LATENT), FEATURES),
        "features": layer((LATENT, FEATURES), LATENT),
        "up": layer((4, 4, CHANNELS, 1), 4 * CHANNELS),
    }
    zeros = jax.tree.map(np.zeros_like, params)
    return {"params": params, "m": zeros, "v": zeros, "count": np.int32(0)}


def encode(params, x):
    """Returns mean and logarithm of the variance of each code, [B, LATENT]
    each.
    """
    p = params["down"]
    h = jax.lax.conv_general_dilated(
        x, p["w"], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    h = jax.nn.elu(h + p["b"]).reshape(x.shape[0], FEATURES)
    return jnp.split(h @ params["code"]["w"] + params["code"]["b"], 2, axis=-1)


def decode(params, z):
    """Maps codes to the logits of pixels, [B, LATENT] -> [B, 8, 8, 1]."""
    h = jax.nn.elu(z @ params["features"]["w"] + params["features"]["b"])
    h = h.reshape(z.shape[0], SIZE // 2, SIZE // 2, CHANNELS)
    p = params["up"]
    return (
        jax.lax.conv_transpose(
            h,
            p["w"],
            (2, 2),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        + p["b"]
    )


def losses(params, x, noise):
    """Returns the mean reconstruction error and divergence of an example, in
    nats.
    """
    mean, log_variance = encode(params, x)
    pixels = decode(params, mean + jnp.exp(0.5 * log_variance) * noise)
    errors = jax.nn.softplus(pixels) - x * pixels
    divergence = 0.5 * (
        jnp.exp(log_variance) + jnp.square(mean) - 1 - log_variance
    )
    return jnp.mean(jnp.sum(errors, axis=(1, 2, 3))), jnp.mean(
        jnp.sum(divergence, axis=1)
    )


def step(state, batch, scalars):
    """Takes one step of Adam."""
    key = jax.random.fold_in(jax.random.key(scalars["seed"]), scalars["step"])
    noise = jax.random.normal(
        jax.random.fold_in(key, lockstep.replica_id()), (BATCH, LATENT)
    )
    weight = jnp.minimum(1.0, (scalars["step"] + 1) / scalars["warmup_steps"])

    def loss_fn(params):
        error, divergence = losses(params, batch["x"], noise)
        return error + weight * divergence, (error, divergence)

    (loss, (error, divergence)), grads = jax.value_and_grad(
        loss_fn, has_aux=True
    )(state["params"])
    metrics = {"loss": loss, "error": error, "divergence": divergence}
    metrics, grads = lockstep.all_reduce((metrics, grads), "MEAN")

    count = state["count"] + 1
    t = count.astype(jnp.float32)
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
            / (1 - BETA1**t)
            / (jnp.sqrt(v / (1 - BETA2**t)) + EPSILON)
        ),
        *(state["params"], m, v),
    )
    return {"params": params, "m": m, "v": v, "count": count}, metrics
