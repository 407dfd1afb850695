"""A Wasserstein GAN with gradient penalty, on points of a mixture.

In a step the critic is updated three times, on a third of the batch each, then
the generator once. The penalty is on the norm of the critic's gradient with
respect to its input, so the critic's own update takes the gradient of a
gradient. Adam for both.

B points with F features, P in a step of the critic; Z size of the generator's
noise.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, FEATURES, NOISE, HIDDEN = 24, 8, 6, 32
CRITIC_STEPS = 3
PART = BATCH // CRITIC_STEPS
PENALTY = 10.0
BETA1, BETA2, EPSILON = 0.5, 0.9, 1e-8

batch_spec = {"x": jax.ShapeDtypeStruct((BATCH, FEATURES), jnp.float32)}
scalar_spec = {"generator_lr": 1e-3, "critic_lr": 3e-3}


def data(rows, seed):
    """Makes `rows` points around four centers."""
    random = np.random.default_rng(seed)
    centers = random.standard_normal((4, FEATURES))
    x = centers[random.integers(4, size=rows)] + 0.1 * random.standard_normal(
        (rows, FEATURES)
    )
    return {"x": x.astype(np.float32)}


def init(seed):
    """Returns generator and critic, each with Adam's moments."""

    random = np.random.default_rng(seed)

    def dense(inputs, outputs):
        return {
            "w": random.standard_normal((inputs, outputs), np.float32)
            * inputs**-0.5,
            "b": np.zeros(outputs, np.float32),
        }

    def network(*widths):
        params = [dense(i, o) for i, o in itertools.pairwise(widths)]
        zeros = jax.tree.map(np.zeros_like, params)
        return {"params": params, "m": zeros, "v": zeros, "count": np.int32(0)}

    return {
        "generator": network(NOISE, HIDDEN, HIDDEN, FEATURES),
        "critic": network(FEATURES, HIDDEN, HIDDEN, 1),
    }


def apply_network(params, x):
    """Dense layers with SiLU between them: [..., F] -> [..., G]."""
    for layer in params[:-1]:
        x = jax.nn.silu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def critique(params, x):
    """Scores one point: [F] -> scalar."""
    return apply_network(params, x)[0]


def adam(network, grads, lr):
    """Returns the network after one update."""
    count = network["count"] + 1
    t = count.astype(jnp.float32)
    m = jax.tree.map(
        lambda m, g: BETA1 * m + (1 - BETA1) * g, network["m"], grads
    )
    v = jax.tree.map(
        lambda v, g: BETA2 * v + (1 - BETA2) * jnp.square(g),
        network["v"],
        grads,
    )
    params = jax.tree.map(
        lambda p, m, v: (
            p
            - lr * m / (1 - BETA1**t) / (jnp.sqrt(v / (1 - BETA2**t)) + EPSILON)
        ),
        *(network["params"], m, v),
    )
    return {"params": params, "m": m, "v": v, "count": count}


def critic_loss(critic, generator, real, noise, share):
    """Returns the critic's loss and its two terms.

    The penalty is evaluated between the points generated from `noise`, [P, Z],
    and the real ones, [P, F]; `share`, [P, 1], is the weight of the real ones.
    """
    fake = apply_network(generator, noise)
    between = share * real + (1 - share) * fake
    slopes = jax.vmap(jax.grad(critique, argnums=1), in_axes=(None, 0))(
        critic, between
    )
    lengths = jnp.sqrt(jnp.sum(jnp.square(slopes), axis=1) + 1e-12)
    penalty = jnp.mean(jnp.square(lengths - 1))
    distance = jnp.mean(apply_network(critic, real)) - jnp.mean(
        apply_network(critic, fake)
    )
    return PENALTY * penalty - distance, {
        "distance": distance,
        "penalty": penalty,
    }


def generator_loss(generator, critic, noise):
    """Returns the negated score of the points generated from `noise`, [B, Z]."""
    return -jnp.mean(apply_network(critic, apply_network(generator, noise)))


def step(state, batch, scalars):
    """Takes some steps of the critic and one of the generator."""
    key = jax.random.fold_in(jax.random.key(scalars["seed"]), scalars["step"])
    noise_key, share_key = jax.random.split(
        jax.random.fold_in(key, lockstep.replica_id())
    )
    noise = jax.random.normal(noise_key, (2, BATCH, NOISE))
    share = jax.random.uniform(share_key, (CRITIC_STEPS, PART, 1))
    generator = state["generator"]

    def critic_step(critic, inputs):
        grads, terms = jax.grad(critic_loss, has_aux=True)(
            critic["params"], generator["params"], *inputs
        )
        grads, terms = lockstep.all_reduce((grads, terms), "MEAN")
        return adam(critic, grads, scalars["critic_lr"]), terms

    parts = (
        batch["x"].reshape(CRITIC_STEPS, PART, FEATURES),
        noise[0].reshape(CRITIC_STEPS, PART, NOISE),
        share,
    )
    critic, terms = jax.lax.scan(critic_step, state["critic"], parts)

    loss, grads = jax.value_and_grad(generator_loss)(
        generator["params"], critic["params"], noise[1]
    )
    loss, grads = lockstep.all_reduce((loss, grads), "MEAN")
    generator = adam(generator, grads, scalars["generator_lr"])
    return {"generator": generator, "critic": critic}, {
        "generator_loss": loss,
        **jax.tree.map(jnp.mean, terms),
    }
