"""Images and texts embedded in one space by a contrastive loss (CLIP).

Each replica gathers the embeddings of all replicas and classifies its own
images among all texts, and its own texts among all images; gradients return
through the gather. The temperature is learned. Shapes depend on the number of
replicas, so the capture needs `--replicas`. Adam.

B pairs of a replica, N of all replicas; D width of the shared space.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, SIZE, COLORS, PATCH = 4, 8, 3, 4
LENGTH, VOCABULARY = 6, 30
WIDTH, SPACE = 24, 16
BETA1, BETA2, EPSILON = 0.9, 0.98, 1e-6

batch_spec = {
    "image": jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, COLORS), jnp.float32),
    "text": jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32),  # padded with 0
}
scalar_spec = {"lr": 3e-3}


def data(rows, seed):
    """Makes `rows` pairs: an image is the mean of one pattern for each of its
    words, and noise.
    """
    random = np.random.default_rng(seed)
    patterns = random.standard_normal((VOCABULARY, SIZE, SIZE, COLORS))
    text = random.integers(1, VOCABULARY, size=(rows, LENGTH))
    text[
        np.arange(LENGTH) >= random.integers(2, LENGTH + 1, size=(rows, 1))
    ] = 0
    words = (text > 0)[..., None, None, None]
    image = np.sum(
        patterns[text] * words, axis=1
    ) / LENGTH + 0.1 * random.standard_normal((rows, SIZE, SIZE, COLORS))
    return {"image": image.astype(np.float32), "text": text.astype(np.int32)}


def init(seed):
    """Returns the parameters and Adam's moments."""
    random = np.random.default_rng(seed)

    def normal(*shape):
        return random.standard_normal(shape, np.float32) * shape[0] ** -0.5

    params = {
        "patch": random.standard_normal(
            (PATCH, PATCH, COLORS, WIDTH), np.float32
        )
        * (PATCH * PATCH * COLORS) ** -0.5,
        "image": normal((SIZE // PATCH) ** 2 * WIDTH, SPACE),
        "word": random.standard_normal((VOCABULARY, WIDTH), np.float32) * 0.3,
        "position": random.standard_normal((LENGTH, WIDTH), np.float32) * 0.1,
        "qkv": normal(WIDTH, 3 * WIDTH),
        "text": normal(WIDTH, SPACE),
        "log_scale": np.float32(np.log(1 / 0.07)),
    }
    zeros = jax.tree.map(np.zeros_like, params)
    return {"params": params, "m": zeros, "v": zeros, "count": np.int32(0)}


def normalize(x):
    """Scales the rows of x to length 1."""
    return x * jax.lax.rsqrt(
        jnp.sum(jnp.square(x), axis=-1, keepdims=True) + 1e-12
    )


def embed_images(params, x):
    """Maps images [B, 8, 8, 3] to rows of length 1, [B, D]."""
    h = jax.lax.conv_general_dilated(
        x,
        params["patch"],
        (PATCH, PATCH),
        "VALID",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return normalize(jax.nn.gelu(h).reshape(x.shape[0], -1) @ params["image"])


def embed_texts(params, tokens):
    """Maps texts [B, T] to rows of length 1, [B, D]."""
    real = tokens > 0
    x = params["word"][tokens] + params["position"]
    q, k, v = jnp.split(x @ params["qkv"], 3, axis=-1)
    scores = jnp.where(real[:, None, :], q @ k.mT * WIDTH**-0.5, -jnp.inf)
    x = x + jax.nn.softmax(scores) @ v
    mean = jnp.sum(x * real[..., None], axis=1) / jnp.sum(real, axis=1)[:, None]
    return normalize(mean @ params["text"])


def contrastive_loss(params, batch):
    """Mean cross entropy of a replica's pairs among those of all replicas."""
    images, texts = (
        embed_images(params, batch["image"]),
        embed_texts(params, batch["text"]),
    )
    all_images, all_texts = lockstep.all_gather((images, texts), axis=0)
    scale = jnp.exp(jnp.minimum(params["log_scale"], np.log(100.0)))
    own = lockstep.replica_id() * BATCH + jnp.arange(BATCH)

    def cross_entropy(scores):
        chosen = jnp.take_along_axis(scores, own[:, None], axis=1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(scores, axis=1) - chosen)

    return (
        cross_entropy(scale * images @ all_texts.T)
        + cross_entropy(scale * texts @ all_images.T)
    ) / 2


def step(state, batch, scalars):
    """Takes one step of Adam."""
    loss, grads = jax.value_and_grad(contrastive_loss)(state["params"], batch)
    loss, grads = lockstep.all_reduce((loss, grads), "MEAN")
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
    return {"params": params, "m": m, "v": v, "count": count}, {
        "loss": loss,
        "scale": jnp.exp(params["log_scale"]),
    }
