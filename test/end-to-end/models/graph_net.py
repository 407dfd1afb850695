"""A graph attention net that predicts a number for each graph.

The graphs of a batch are one large graph without edges between them. The
weight of a message is a softmax over all edges that end at the same node, so
messages and weights are scattered by node. Node states are updated by a GRU.
RMSProp.

B graphs with N nodes and M edges each; F features of a node, G of an edge, D
width.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep

BATCH, NODES, EDGES = 4, 7, 18
NODE_FEATURES, EDGE_FEATURES, WIDTH, ROUNDS = 5, 3, 16, 2
DECAY, EPSILON = 0.9, 1e-6

batch_spec = {
    "nodes": jax.ShapeDtypeStruct((BATCH, NODES, NODE_FEATURES), jnp.float32),
    "edges": jax.ShapeDtypeStruct((BATCH, EDGES, EDGE_FEATURES), jnp.float32),
    "senders": jax.ShapeDtypeStruct((BATCH, EDGES), jnp.int32),
    "receivers": jax.ShapeDtypeStruct((BATCH, EDGES), jnp.int32),
    "y": jax.ShapeDtypeStruct((BATCH,), jnp.float32),
}
scalar_spec = {"lr": 2e-3}


def data(rows, seed):
    """Makes `rows` graphs; y is the weighted difference of senders and
    receivers in their first feature.
    """
    random = np.random.default_rng(seed)
    nodes = random.standard_normal((rows, NODES, NODE_FEATURES))
    edges = random.random((rows, EDGES, EDGE_FEATURES))
    senders, receivers = random.integers(NODES, size=(2, rows, EDGES))
    first = nodes[..., 0]
    difference = np.take_along_axis(
        first, senders, axis=1
    ) - np.take_along_axis(first, receivers, axis=1)
    return {
        "nodes": nodes.astype(np.float32),
        "edges": edges.astype(np.float32),
        "senders": senders.astype(np.int32),
        "receivers": receivers.astype(np.int32),
        "y": np.mean(np.abs(difference) * edges[..., 0], axis=1).astype(
            np.float32
        ),
    }


def init(seed):
    """Returns the parameters and RMSProp's mean squares."""
    random = np.random.default_rng(seed)

    def dense(inputs, outputs):
        return {
            "w": random.standard_normal((inputs, outputs), np.float32)
            * inputs**-0.5,
            "b": np.zeros(outputs, np.float32),
        }

    params = {
        "node": dense(NODE_FEATURES, WIDTH),
        "edge": dense(EDGE_FEATURES, WIDTH),
        "message": dense(2 * WIDTH, WIDTH),
        "attention": dense(WIDTH, 1),
        "gates": dense(2 * WIDTH, 2 * WIDTH),
        "candidate": dense(2 * WIDTH, WIDTH),
        "head": dense(WIDTH, 1),
    }
    return {"params": params, "square": jax.tree.map(np.zeros_like, params)}


def apply_dense(p, x):
    return x @ p["w"] + p["b"]


def softmax_by_node(scores, receivers):
    """Softmax of scores [BM] over the edges that end at the same node."""
    count = BATCH * NODES
    largest = jax.ops.segment_max(
        jax.lax.stop_gradient(scores), receivers, count
    )
    weights = jnp.exp(scores - largest[receivers])
    return weights / jax.ops.segment_sum(weights, receivers, count)[receivers]


def gru(params, message, h):
    """Updates node states h, [BN, D], by messages of the same shape."""
    update, reset = jnp.split(
        jax.nn.sigmoid(
            apply_dense(params["gates"], jnp.concatenate([message, h], axis=1))
        ),
        2,
        axis=1,
    )
    candidate = jnp.tanh(
        apply_dense(
            params["candidate"], jnp.concatenate([message, reset * h], axis=1)
        )
    )
    return (1 - update) * h + update * candidate


def predict(params, batch):
    """Predicts y, [B]."""
    offsets = NODES * jnp.arange(BATCH)[:, None]
    senders, receivers = (
        (batch["senders"] + offsets).reshape(-1),
        (batch["receivers"] + offsets).reshape(-1),
    )
    h = jnp.tanh(
        apply_dense(params["node"], batch["nodes"].reshape(-1, NODE_FEATURES))
    )
    edges = apply_dense(
        params["edge"], batch["edges"].reshape(-1, EDGE_FEATURES)
    )
    for _ in range(ROUNDS):
        ends = jnp.concatenate([h[senders], h[receivers]], axis=1)
        messages = jax.nn.leaky_relu(
            apply_dense(params["message"], ends) + edges
        )
        weights = softmax_by_node(
            apply_dense(params["attention"], messages)[:, 0], receivers
        )
        received = (
            jnp.zeros_like(h).at[receivers].add(weights[:, None] * messages)
        )
        h = gru(params, received, h)
    return jnp.sum(apply_dense(params["head"], h).reshape(BATCH, NODES), axis=1)


def step(state, batch, scalars):
    """Takes one step of RMSProp."""

    def loss_fn(params):
        return jnp.mean(jnp.square(predict(params, batch) - batch["y"]))

    loss, grads = lockstep.all_reduce(
        jax.value_and_grad(loss_fn)(state["params"]), "MEAN"
    )
    square = jax.tree.map(
        lambda s, g: DECAY * s + (1 - DECAY) * jnp.square(g),
        state["square"],
        grads,
    )
    params = jax.tree.map(
        lambda p, g, s: p - scalars["lr"] * g * jax.lax.rsqrt(s + EPSILON),
        *(state["params"], grads, square),
    )
    return {"params": params, "square": square}, {"loss": loss}
