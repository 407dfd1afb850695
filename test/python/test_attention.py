"""Attention under plain JAX, and its capture."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_capture import captured, make  # noqa: F401

import lockstep

#: Examples, positions of queries and of keys, heads, the size of a head.
SHAPES = [(2, 5, 5, 3, 8), (1, 4, 9, 2, 16), (3, 7, 1, 1, 4)]


def operands(shape, dtype=jnp.float32):
    examples, queries, keys, heads, size = shape
    random = np.random.default_rng(0)
    return [
        jnp.asarray(
            random.standard_normal((examples, positions, heads, size)), dtype
        )
        for positions in (queries, keys, keys)
    ]


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": -0.7}])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients_are_those_of_jax(shape, options):
    def compute(attention):
        def loss(*values):
            return jnp.sum(jnp.sin(attention(*values, **options)))

        values = operands(shape)
        return [
            attention(*values, **options),
            *jax.grad(loss, (0, 1, 2))(*values),
            *jax.jit(jax.grad(loss, (0, 1, 2)))(*values),
        ]

    for found, expected in zip(
        compute(lockstep.dot_product_attention),
        compute(jax.nn.dot_product_attention),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


def plain(query, key, value):
    """Attention in the type of the operands; that of JAX has f32 in between."""
    scores = jnp.einsum("btnh,bsnh->bnts", query, key)
    weights = jax.nn.softmax(scores * query.shape[-1] ** -0.5)
    return jnp.einsum("bnts,bsnh->btnh", weights, value)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_results_have_the_type_of_the_operands(dtype):
    with jax.enable_x64(dtype == "float64"):
        values = operands(SHAPES[0], dtype)
        found = jax.value_and_grad(
            lambda *v: lockstep.dot_product_attention(*v).sum(), (0, 1, 2)
        )(*values)
        wide = [
            value.astype(jnp.promote_types(dtype, "float32"))
            for value in values
        ]
        expected = jax.value_and_grad(lambda *v: plain(*v).sum(), (0, 1, 2))(
            *wide
        )
        tolerance = {"bfloat16": 0.05, "float16": 0.01, "float64": 1e-12}
        for one, other in zip(
            jax.tree.leaves(found), jax.tree.leaves(expected), strict=True
        ):
            assert one.dtype == dtype
            np.testing.assert_allclose(
                np.asarray(one, "float64"),
                np.asarray(other, "float64"),
                rtol=tolerance[dtype],
                atol=tolerance[dtype],
            )


def test_rows_without_a_large_score_are_no_nan():
    """Scores may be large: only their differences from the largest one count."""
    query, key, value = operands(SHAPES[0])
    found = jax.grad(
        lambda q: lockstep.dot_product_attention(q, key, value).sum()
    )(1e4 * query)
    assert np.isfinite(found).all()


def test_layers_of_16_bits():
    """XLA has no code for processors for some products of such factors."""
    query, key, value = operands(SHAPES[0], "bfloat16")
    attend = lockstep.dot_product_attention
    found = jax.jit(lambda q: attend(attend(q, key, value), key, value))(query)
    wide = [x.astype("float32") for x in (query, key, value)]
    expected = plain(plain(*wide), *wide[1:])
    np.testing.assert_allclose(
        np.asarray(found, "float32"), expected, rtol=0.05, atol=0.05
    )


@pytest.mark.parametrize("scale", [1, np.float64(1), jnp.float32(1)])
def test_scales_are_numbers(scale):
    values = operands(SHAPES[0])
    np.testing.assert_array_equal(
        lockstep.dot_product_attention(*values, scale=scale),
        lockstep.dot_product_attention(*values, scale=1.0),
    )


def test_mapped_dimensions_become_examples():
    query, key, value = operands(SHAPES[0])
    mapped = jax.vmap(
        lambda q, k: lockstep.dot_product_attention(
            q, k, value, is_causal=True
        ),
        in_axes=(0, 1),
    )
    found = mapped(jnp.stack([query, -query]), jnp.stack([key, key + 1], 1))
    for i, (q, k) in enumerate([(query, key), (-query, key + 1)]):
        np.testing.assert_allclose(
            found[i],
            lockstep.dot_product_attention(q, k, value, is_causal=True),
            rtol=1e-5,
            atol=1e-6,
        )


def test_arguments_are_checked():
    query, key, value = operands(SHAPES[0])
    with pytest.raises(
        ValueError, match=r"key and value \[B, S, N, H\], none of them empty"
    ):
        lockstep.dot_product_attention(query, key, value[:1])
    with pytest.raises(ValueError, match=r"expected a query \[B, T, N, H\]"):
        lockstep.dot_product_attention(query[0], key[0], value[0])
    with pytest.raises(
        TypeError,
        match="all of float16, bfloat16, float32 or float64, found float32, float32, bfloat16",
    ):
        lockstep.dot_product_attention(query, key, value.astype("bfloat16"))
    with pytest.raises(TypeError, match="found int32, int32, int32"):
        lockstep.dot_product_attention(
            *(x.astype("int32") for x in (query, key, value))
        )
    with pytest.raises(TypeError, match="found float8_e4m3fn, float8_e4m3fn"):
        lockstep.dot_product_attention(
            *(x.astype("float8_e4m3fn") for x in (query, key, value))
        )
    for scale, name in ("1", "str"), (np.ones(1), "ndarray"):
        with pytest.raises(TypeError, match=f"as scale, found {name}"):
            lockstep.dot_product_attention(query, key, value, scale=scale)
    with pytest.raises(TypeError, match="known while the step is traced"):
        jax.jit(
            lambda s: lockstep.dot_product_attention(query, key, value, scale=s)
        )(1.0)


def test_captures_have_one_operation_each(make):  # noqa: F811
    text = captured(
        make(
            """
            import jax, jax.numpy as jnp, lockstep

            batch_spec = {"x": jax.ShapeDtypeStruct((2, 5, 3, 8), jnp.float32)}

            def init(seed):
                return {"w": jnp.ones(8)}

            def step(state, batch, scalars):
                def loss(w):
                    x = batch["x"] * w
                    y = lockstep.dot_product_attention(x, x, x, is_causal=True)
                    return jnp.mean(y ** 2)

                value, gradient = jax.value_and_grad(loss)(state["w"])
                gradient = lockstep.all_reduce(gradient, "MEAN")
                return {"w": state["w"] - gradient}, {"loss": value}
            """
        )
    )
    assert text.count('call_target_name = "lockstep.attention"') == 1
    assert text.count('call_target_name = "lockstep.attention_gradient"') == 1
    assert "exponential" not in text and "math.exp" not in text
