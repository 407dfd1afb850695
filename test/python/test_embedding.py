"""Lookups under plain JAX, and their capture."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_capture import captured, make  # noqa: F401

import lockstep

TABLE = np.arange(10, dtype=np.float32).reshape(5, 2)
IDS = np.array([[1, 4], [5, -1], [1, 0]], np.int32)


def dense(table, ids):
    """The lookup as JAX has it; its gradient is as large as the table."""
    inside = (ids >= 0) & (ids < table.shape[0])
    return jnp.where(
        inside[..., None], table[jnp.clip(ids, 0, table.shape[0] - 1)], 0
    )


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32"])
def test_rows_by_their_numbers_and_zeros_outside(dtype):
    ids = IDS if dtype.startswith("int") else np.abs(IDS)
    rows = lockstep.embedding_lookup(TABLE, ids.astype(dtype))
    np.testing.assert_array_equal(rows, dense(TABLE, ids))
    assert rows.shape == (3, 2, 2)


@pytest.mark.parametrize("jit", [True, False])
def test_gradients_are_those_of_the_dense_lookup(jit):
    def gradients(lookup):
        def loss(table):
            return jnp.sum(jnp.sin(lookup(table, IDS)) ** 2)

        first = jax.grad(loss)
        second = jax.grad(lambda table: jnp.sum(first(table) ** 2))
        forward = jax.jvp(loss, (TABLE,), (jnp.cos(TABLE),))[1]
        functions = [jax.jit(f) if jit else f for f in (first, second)]
        return [*(f(jnp.asarray(TABLE)) for f in functions), forward]

    for found, expected in zip(
        gradients(lockstep.embedding_lookup), gradients(dense), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_arguments_are_checked():
    with pytest.raises(
        TypeError, match="expected ids of int32 or int64, found float32"
    ):
        lockstep.embedding_lookup(TABLE, IDS.astype(np.float32))
    with pytest.raises(
        TypeError, match="expected ids of int32 or int64, found uint32"
    ):
        lockstep.embedding_lookup(TABLE, np.abs(IDS).astype(np.uint32))
    with pytest.raises(
        ValueError,
        match=r"expected a table with rows, found a scalar \[E_RANK_MISMATCH\]",
    ):
        lockstep.embedding_lookup(np.float32(1), IDS)
    with pytest.raises(
        NotImplementedError,
        match="embedding_lookup under jax.vmap is not supported",
    ):
        jax.vmap(lambda ids: lockstep.embedding_lookup(TABLE, ids))(IDS)


MODEL = """\
import jax
import jax.numpy as jnp

import lockstep

batch_spec = {"ids": ((4, 3), "int32")}


def init(seed):
    return {"table": jnp.ones((50, 2))}


def step(state, batch, scalars):
    def loss(table):
        return jnp.sum(lockstep.embedding_lookup(table, batch["ids"]) ** 2)
    value, grad = jax.value_and_grad(loss)(state["table"])
    value, grad = lockstep.all_reduce((value, grad), "MEAN")
    return {"table": state["table"] - grad}, {"loss": value}
"""


def test_a_capture_says_that_the_gradient_is_rows(make):  # noqa: F811
    text = captured(make(MODEL))
    lookup = re.search(
        r'"stablehlo.custom_call"\(%arg0, %\d+\).*"replica.lookup".*: \((.*)\) -> (\S+)',
        text,
    )
    assert lookup.groups() == (
        "tensor<50x2xf32>, tensor<12xi32>",
        "tensor<12x2xf32>",
    )
    gradient = re.search(
        r'call_target_name = "replica.slices_to_dense".*: \((.*)\) -> (\S+)',
        text,
    )
    assert gradient.groups() == (
        "tensor<12x2xf32>, tensor<12xi32>",
        "tensor<50x2xf32>",
    )
    assert "stablehlo.scatter" not in text
