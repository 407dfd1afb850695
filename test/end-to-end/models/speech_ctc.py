"""A speech recognizer trained by connectionist temporal classification (CTC).

Frames go through two convolutions along the time and one recurrent layer; the
loss is the sum over all alignments of a label sequence with the frames
(Graves et al., "Connectionist Temporal Classification", 2006, section 4.1),
computed in logarithms by a scan over the frames. Nesterov momentum.

B sequences of T frames with F features, L labels; D width; C classes, of which
0 is the blank.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, LENGTH, FEATURES = 4, 24, 6
LABELS, CLASSES, WIDTH = 4, 5, 16
FRAMES = LENGTH // 2
IMPOSSIBLE = -1e5
CLIP_NORM, MOMENTUM = 1.0, 0.9

batch_spec = {
    "frames": jax.ShapeDtypeStruct((BATCH, LENGTH, FEATURES), jnp.float32),
    "labels": jax.ShapeDtypeStruct(
        (BATCH, LABELS), jnp.int32
    ),  # 1 to C - 1, padded with 0
}
scalar_spec = {"lr": 0.03}


def data(rows, seed):
    """Makes `rows` sequences in which each label is heard for some frames."""
    random = np.random.default_rng(seed)
    sounds = random.standard_normal((CLASSES, FEATURES))
    labels = random.integers(1, CLASSES, size=(rows, LABELS))
    labels[
        np.arange(LABELS) >= random.integers(1, LABELS + 1, size=(rows, 1))
    ] = 0
    begin = np.arange(LABELS) * (LENGTH // LABELS) + random.integers(
        3, size=(rows, LABELS)
    )
    frame = np.arange(LENGTH)[None, :, None]
    heard = (
        (begin[:, None] <= frame)
        & (frame < begin[:, None] + 4)
        & (labels[:, None] > 0)
    )
    kind = np.sum(heard * labels[:, None], axis=2)
    frames = sounds[kind] + 0.3 * random.standard_normal(
        (rows, LENGTH, FEATURES)
    )
    return {
        "frames": frames.astype(np.float32),
        "labels": labels.astype(np.int32),
    }


def init(seed):
    """Returns the parameters and zero velocities."""
    random = np.random.default_rng(seed)

    def layer(*shape):
        scale = (
            (shape[0] * shape[-2]) ** -0.5
            if len(shape) == 3
            else shape[0] ** -0.5
        )
        return {
            "w": random.standard_normal(shape, np.float32) * scale,
            "b": np.zeros(shape[-1], np.float32),
        }

    params = {
        "conv1": layer(5, FEATURES, WIDTH),
        "conv2": layer(3, WIDTH, WIDTH),
        "recurrent": layer(2 * WIDTH, WIDTH),
        "head": layer(WIDTH, CLASSES),
    }
    return {"params": params, "velocity": jax.tree.map(np.zeros_like, params)}


def convolve(p, x, stride, dilation=1):
    """Convolution along the time: [B, T, C] -> [B, T/stride, D]."""
    y = jax.lax.conv_general_dilated(
        x,
        p["w"],
        window_strides=(stride,),
        padding="SAME",
        rhs_dilation=(dilation,),
        dimension_numbers=("NWC", "WIO", "NWC"),
    )
    return jax.nn.gelu(y + p["b"])


def log_probabilities(params, frames):
    """Maps frames [B, T, F] to logarithms of class probabilities, [T/2, B, C]."""
    x = convolve(
        params["conv2"],
        convolve(params["conv1"], frames, stride=2),
        stride=1,
        dilation=2,
    )

    def cell(h, x):
        h = jnp.tanh(
            jnp.concatenate([x, h], axis=1) @ params["recurrent"]["w"]
            + params["recurrent"]["b"]
        )
        return h, h

    h = jax.lax.scan(cell, jnp.zeros((BATCH, WIDTH)), x.swapaxes(0, 1))[1]
    return jax.nn.log_softmax(h @ params["head"]["w"] + params["head"]["b"])


def ctc_losses(scores, labels):
    """Returns -log p(labels) of each sequence, [B]; scores are logarithms of
    probabilities, [T, B, C].
    """
    # Blanks go between the labels and around them: S = 2 L + 1 states.
    states = jnp.stack([jnp.zeros_like(labels), labels], axis=2).reshape(
        BATCH, -1
    )
    states = jnp.pad(states, ((0, 0), (0, 1)))
    position = jnp.arange(states.shape[1])
    # A label may follow the one before it without a blank if they differ.
    skips = (
        (states != 0)
        & (states != jnp.roll(states, 2, axis=1))
        & (position >= 2)
    )

    def advance(alpha, scores):
        one = jnp.where(position >= 1, jnp.roll(alpha, 1, axis=1), IMPOSSIBLE)
        two = jnp.where(skips, jnp.roll(alpha, 2, axis=1), IMPOSSIBLE)
        alpha = jnp.logaddexp(jnp.logaddexp(alpha, one), two)
        return alpha + jnp.take_along_axis(scores, states, axis=1), None

    begin = jnp.where(position < 1, 0.0, IMPOSSIBLE) * jnp.ones((BATCH, 1))
    alpha, _ = jax.lax.scan(advance, begin, scores)
    last = 2 * jnp.sum(labels > 0, axis=1, keepdims=True)
    ends = jnp.take_along_axis(
        alpha, jnp.concatenate([last, last - 1], axis=1), axis=1
    )
    return -jnp.logaddexp(ends[:, 0], ends[:, 1])


def step(state, batch, scalars):
    """Takes one step of SGD with Nesterov's momentum."""

    def loss_fn(params):
        return jnp.mean(
            ctc_losses(
                log_probabilities(params, batch["frames"]), batch["labels"]
            )
        )

    loss, grads = lockstep.all_reduce(
        jax.value_and_grad(loss_fn)(state["params"]), "MEAN"
    )
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(
        lambda g: g * jnp.minimum(1.0, CLIP_NORM / norm), grads
    )
    velocity = jax.tree.map(
        lambda v, g: MOMENTUM * v + g, state["velocity"], grads
    )
    params = jax.tree.map(
        lambda p, g, v: p - scalars["lr"] * (g + MOMENTUM * v),
        state["params"],
        grads,
        velocity,
    )
    return {"params": params, "velocity": velocity}, {
        "loss": loss,
        "gradient_norm": norm,
    }
