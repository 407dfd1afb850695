"""A recommender (DLRM): embedding tables of which a step changes few rows.

Users and items are looked up by `lockstep.embedding_lookup`, so replicas
exchange and update only the rows that occur in the batch. The products of all
pairs of features are the input of a small net that predicts clicks. Adagrad for
the net, plain SGD for the tables.

B examples; F categorical features, D width of an embedding.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, NUMBERS, WIDTH, HIDDEN = 16, 4, 8, 24
ROWS = {"user": 500, "item": 300, "genre": 12}
PAIRS = np.triu_indices(len(ROWS) + 1, k=1)
EPSILON = 1e-6

batch_spec = {
    "numbers": jax.ShapeDtypeStruct((BATCH, NUMBERS), jnp.float32),
    **{name: jax.ShapeDtypeStruct((BATCH,), jnp.int32) for name in ROWS},
    "click": jax.ShapeDtypeStruct((BATCH,), jnp.float32),
}
scalar_spec = {"lr": 0.05, "table_lr": 1.0}


def data(rows, seed):
    """Makes `rows` examples; few ids are common, most are rare."""
    random = np.random.default_rng(seed)
    ids = {
        name: (count * random.random(rows) ** 3).astype(np.int32)
        for name, count in ROWS.items()
    }
    taste = random.standard_normal((ROWS["genre"], NUMBERS))
    numbers = random.standard_normal((rows, NUMBERS))
    wish = np.sum(
        taste[ids["genre"]] * numbers, axis=1
    ) + 0.5 * random.standard_normal(rows)
    return {
        "numbers": numbers.astype(np.float32),
        **ids,
        "click": (wish > 0).astype(np.float32),
    }


def init(seed):
    """Returns the tables, the net's parameters and Adagrad's sums of squares."""
    random = np.random.default_rng(seed)

    def dense(inputs, outputs):
        return {
            "w": random.standard_normal((inputs, outputs), np.float32)
            * inputs**-0.5,
            "b": np.zeros(outputs, np.float32),
        }

    net = {
        "numbers": dense(NUMBERS, WIDTH),
        "hidden": dense(WIDTH + len(PAIRS[0]), HIDDEN),
        "head": dense(HIDDEN, 1),
    }
    tables = {
        name: random.standard_normal((count, WIDTH), np.float32) * WIDTH**-0.5
        for name, count in ROWS.items()
    }
    return {
        "tables": tables,
        "net": net,
        "squares": jax.tree.map(np.zeros_like, net),
    }


def apply_dense(p, x):
    return x @ p["w"] + p["b"]


def logits(tables, net, batch):
    """Predicts the logarithms of the odds of clicks, [B]."""
    number = jax.nn.relu(apply_dense(net["numbers"], batch["numbers"]))
    features = [
        number,
        *(
            lockstep.embedding_lookup(tables[name], batch[name])
            for name in ROWS
        ),
    ]
    features = jnp.stack(features, axis=1)
    products = jnp.einsum("bfd,bgd->bfg", features, features)[:, *PAIRS]
    hidden = jax.nn.relu(
        apply_dense(net["hidden"], jnp.concatenate([number, products], axis=1))
    )
    return apply_dense(net["head"], hidden)[:, 0]


def step(state, batch, scalars):
    """Takes one step: Adagrad for the net, SGD for the tables."""

    def loss_fn(tables, net):
        scores = logits(tables, net, batch)
        return jnp.mean(jax.nn.softplus(scores) - batch["click"] * scores)

    results = jax.value_and_grad(loss_fn, argnums=(0, 1))(
        state["tables"], state["net"]
    )
    loss, (table_grads, grads) = lockstep.all_reduce(results, "MEAN")
    squares = jax.tree.map(
        lambda s, g: s + jnp.square(g), state["squares"], grads
    )
    net = jax.tree.map(
        lambda p, g, s: p - scalars["lr"] * g / (jnp.sqrt(s) + EPSILON),
        *(state["net"], grads, squares),
    )
    tables = jax.tree.map(
        lambda t, g: t - scalars["table_lr"] * g, state["tables"], table_grads
    )
    return {"tables": tables, "net": net, "squares": squares}, {"loss": loss}
