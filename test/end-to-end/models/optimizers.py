"""One small net trained by seven optimizers side by side.

All start from the same parameters and see the same batches: SGD with Nesterov's
momentum, Adagrad, RMSProp, Adam, AdamW (gradients clipped by their global norm,
decoupled decay, a cosine schedule), LAMB and Lion. Every optimizer has two
functions: the first makes the state of a parameter, the second computes its
update.

Rows [B, F] of C classes; all gradients travel in one collective.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, FEATURES, HIDDEN, CLASSES = 16, 12, 24, 5
TOTAL_STEPS, CLIP_NORM, WEIGHT_DECAY, EPSILON = 40.0, 0.5, 0.01, 1e-7

batch_spec = {
    "x": jax.ShapeDtypeStruct((BATCH, FEATURES), jnp.float32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.int32),
}
scalar_spec = {"lr_scale": 1.0}


def data(rows, seed):
    """Makes `rows` points around a center for each class."""
    random = np.random.default_rng(seed)
    centers = random.standard_normal((CLASSES, FEATURES))
    y = random.integers(CLASSES, size=rows)
    x = centers[y] + random.standard_normal((rows, FEATURES))
    return {"x": x.astype(np.float32), "y": y.astype(np.int32)}


# A state is a dict of arrays with the parameter's shape. An update takes the
# gradient g, the parameter p, its state s and the number of the update t, an
# f32 scalar that counts from 1. It returns the direction, which is subtracted
# from p after it is multiplied by the learning rate, and the new state.


def one(p):
    """State of an optimizer with one array for each parameter."""
    return {"a": np.zeros_like(p)}


def two(p):
    """State of an optimizer with two arrays for each parameter."""
    return {"m": np.zeros_like(p), "v": jnp.zeros_like(p)}


def nesterov(g, p, s, t):
    velocity = 0.9 * s["a"] + g
    return g + 0.9 * velocity, {"a": velocity}


def adagrad(g, p, s, t):
    total = s["a"] + jnp.square(g)
    return g / (jnp.sqrt(total) + EPSILON), {"a": total}


def rmsprop(g, p, s, t):
    average = 0.9 * s["a"] + 0.1 * jnp.square(g)
    return g / jnp.sqrt(average + EPSILON), {"a": average}


def adam(g, p, s, t):
    m = 0.9 * s["m"] + 0.1 * g
    v = 0.99 * s["v"] + 0.01 * jnp.square(g)
    return m / (1 - 0.9**t) / (jnp.sqrt(v / (1 - 0.99**t)) + EPSILON), {
        "m": m,
        "v": v,
    }


def adamw(g, p, s, t):
    direction, s = adam(g, p, s, t)
    cosine = 0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(t / TOTAL_STEPS, 1.0)))
    return cosine * (direction + WEIGHT_DECAY * p), s


def lamb(g, p, s, t):
    direction, s = adam(g, p, s, t)
    direction = direction + WEIGHT_DECAY * p
    length, wanted = jnp.linalg.norm(direction), jnp.linalg.norm(p)
    trust = jnp.where(
        (length > 0) & (wanted > 0), wanted / jnp.maximum(length, EPSILON), 1.0
    )
    return trust * direction, s


def lion(g, p, s, t):
    direction = jnp.sign(0.9 * s["a"] + 0.1 * g) + WEIGHT_DECAY * p
    return direction, {"a": 0.99 * s["a"] + 0.01 * g}


#: Name -> state, update, learning rate.
OPTIMIZERS = {
    "nesterov": (one, nesterov, 0.05),
    "adagrad": (one, adagrad, 0.05),
    "rmsprop": (one, rmsprop, 0.01),
    "adam": (two, adam, 0.01),
    "adamw": (two, adamw, 0.02),
    "lamb": (two, lamb, 0.02),
    "lion": (one, lion, 0.003),
}


def init(seed):
    """Returns parameters and state of each optimizer, and the number of
    updates.
    """
    random = np.random.default_rng(seed)
    params = {
        "w1": random.standard_normal((FEATURES, HIDDEN), np.float32)
        * FEATURES**-0.5,
        "b1": np.zeros(HIDDEN, np.float32),
        "w2": random.standard_normal((HIDDEN, CLASSES), np.float32)
        * HIDDEN**-0.5,
        "b2": np.zeros(CLASSES, np.float32),
    }
    nets = {
        name: {
            "params": params,
            "state": {k: make(p) for k, p in params.items()},
        }
        for name, (make, _, _) in OPTIMIZERS.items()
    }
    return {"nets": nets, "count": np.int32(0)}


def mean_loss(params, batch):
    """Mean cross entropy of a batch."""
    scores = (
        jnp.tanh(batch["x"] @ params["w1"] + params["b1"]) @ params["w2"]
        + params["b2"]
    )
    return -jnp.mean(
        jnp.take_along_axis(
            jax.nn.log_softmax(scores), batch["y"][:, None], axis=1
        )
    )


def clip(grads):
    """Scales gradients down to a global norm of `CLIP_NORM`."""
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in grads.values()))
    return {k: g * jnp.minimum(1.0, CLIP_NORM / norm) for k, g in grads.items()}


def step(state, batch, scalars):
    """Takes one step of every optimizer."""
    results = {
        name: jax.value_and_grad(mean_loss)(net["params"], batch)
        for name, net in state["nets"].items()
    }
    results = lockstep.all_reduce(results, "MEAN")
    count = state["count"] + 1
    nets = {}
    for name, (_, update, lr) in OPTIMIZERS.items():
        net, grads = state["nets"][name], results[name][1]
        if name == "adamw":
            grads = clip(grads)
        nets[name] = {"params": {}, "state": {}}
        for key, p in net["params"].items():
            direction, s = update(
                grads[key], p, net["state"][key], count.astype(jnp.float32)
            )
            nets[name]["params"][key] = p - lr * scalars["lr_scale"] * direction
            nets[name]["state"][key] = s
    return {"nets": nets, "count": count}, {
        name: loss for name, (loss, _) in results.items()
    }
