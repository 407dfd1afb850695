"""The operations of the replica context under plain JAX (uncaptured)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lockstep


def values(replicas, *shape, seed=0):
    """Different values on every replica."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(replicas, *shape)).astype(np.float32)


@pytest.mark.parametrize("jit", [True, False])  # [2.1-mirrored]
@pytest.mark.parametrize("reduction", ["SUM", "MEAN", "sum", "Mean"])
def test_all_reduce_gives_every_replica_the_same(run, replicas, reduction, jit):
    x = values(replicas, 3, 2)
    result = run(lambda v: lockstep.all_reduce(v, reduction), x, jit=jit)
    expected = np.sum(x, 0) if reduction.upper() == "SUM" else np.mean(x, 0)
    np.testing.assert_allclose(result, [expected] * replicas, rtol=1e-6)


@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32"],
)
@pytest.mark.parametrize(
    "reduction, function",
    [("PRODUCT", np.multiply), ("MIN", np.minimum), ("MAX", np.maximum)],
)
def test_other_reductions(run, replicas, reduction, function, dtype):
    bits = np.random.default_rng(0).integers(0, 256, (replicas, 16))
    x = (bits / 128 if "float" in dtype else bits * 0x1010101).astype(
        jnp.dtype(dtype)
    )
    result = run(lambda v: lockstep.all_reduce(v, reduction), x)
    assert result.dtype == x.dtype
    wide = x.astype(np.float32) if "float" in dtype else x
    expected = function.reduce(wide, axis=0, dtype=wide.dtype).astype(x.dtype)
    np.testing.assert_array_equal(result, [expected] * replicas)


def test_reductions_of_booleans(run, replicas):
    x = np.random.default_rng(0).integers(0, 2, (replicas, 16)).astype(bool)
    np.testing.assert_array_equal(
        run(lambda v: lockstep.all_reduce(v, "MIN"), x), [x.all(0)] * replicas
    )
    np.testing.assert_array_equal(
        run(lambda v: lockstep.all_reduce(v, "MAX"), x), [x.any(0)] * replicas
    )


def test_all_reduce_takes_a_tree_of_shapes_and_dtypes(run, replicas):
    tree = {
        "a": values(replicas, 3),
        "b": [np.arange(replicas, dtype=np.int32)],
    }
    result = run(lambda t: lockstep.all_reduce(t, "SUM"), tree)
    assert list(result) == ["a", "b"]
    np.testing.assert_array_equal(
        result["b"][0], [replicas * (replicas - 1) // 2] * replicas
    )
    assert result["b"][0].dtype == np.int32


def test_all_reduce_of_a_number_is_a_reduction_of_arrays(run, replicas):
    x = values(replicas)
    result = run(lambda v: lockstep.all_reduce(2.0, "SUM") + 0 * v, x)
    np.testing.assert_allclose(result, [2.0 * replicas] * replicas)


def test_sums_of_16_bit_floats_round_once(run, replicas):  # [2.1-narrow]
    # 256 + 1 is 256 in bfloat16, so adding one by one would give 256.
    x = np.array([256.0] + [1.0] * (replicas - 1)).astype(jnp.bfloat16)
    result = run(lambda v: lockstep.all_reduce(v, "SUM"), x)
    expected = np.float32(255 + replicas).astype(jnp.bfloat16)
    assert result.dtype == jnp.bfloat16
    np.testing.assert_array_equal(result, [expected] * replicas)


def test_the_mean_of_integers_is_a_double(run, replicas):  # [2.1-mean-int]
    x = np.arange(replicas, dtype=np.int32)
    with jax.enable_x64(True):
        result = run(lambda v: lockstep.all_reduce(v, "MEAN"), x)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, [(replicas - 1) / 2] * replicas)


@pytest.mark.parametrize("axis", [0, 1])
def test_all_gather_concatenates_in_replica_order(run, replicas, axis):
    x = values(replicas, 2, 3)
    result = run(lambda v: lockstep.all_gather(v, axis), x)
    np.testing.assert_array_equal(result, [np.concatenate(x, axis)] * replicas)


def test_all_gather_takes_every_dtype(run, replicas):  # [2.2-dtypes]
    x = np.arange(replicas)[:, None] % 2 == 0
    result = run(lambda v: lockstep.all_gather({"b": v}, 0), x)
    np.testing.assert_array_equal(result["b"], [x[:, 0]] * replicas)


@pytest.mark.parametrize("jit", [True, False])
def test_identity_and_count(run, replicas, jit):
    x = values(replicas)

    def function(v):
        del v
        count = lockstep.num_replicas_in_sync()
        assert isinstance(count, int)
        return lockstep.replica_id(), jnp.int32(count)

    ids, counts = run(function, x, jit=jit)
    np.testing.assert_array_equal(ids, np.arange(replicas))
    assert ids.dtype == np.int32
    np.testing.assert_array_equal(counts, [replicas] * replicas)


# Gradients: of the sum of all replicas' losses, by the local input.


@pytest.mark.parametrize("reduction", ["SUM", "MEAN"])  # [2.4-all-reduce]
def test_gradient_of_all_reduce_is_the_all_reduce_of_gradients(
    run, replicas, reduction
):
    x, c = values(replicas, 3), values(replicas, 3, seed=1)

    def loss(v, factor):
        return jnp.sum(lockstep.all_reduce(v, reduction) * factor)

    result = run(jax.grad(loss), x, c)
    expected = np.sum(c, 0) if reduction == "SUM" else np.mean(c, 0)
    np.testing.assert_allclose(result, [expected] * replicas, rtol=1e-6)


def test_gradient_of_all_gather_is_the_own_slice_of_the_sum(run, replicas):
    x = values(replicas, 2, 3)  # [2.4-all-gather]
    c = values(replicas, 2, 3 * replicas, seed=1)

    def loss(v, factor):
        return jnp.sum(lockstep.all_gather(v, 1) * factor)

    result = run(jax.grad(loss), x, c)
    expected = np.split(np.sum(c, 0), replicas, axis=1)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_gradient_through_a_tree_with_an_unused_result(run, replicas):
    x, c = values(replicas, 3), values(replicas, 3, seed=1)

    def loss(v, factor):
        used, _ = lockstep.all_reduce((v, v * 2), "SUM")
        return jnp.sum(used * factor)

    result = run(jax.grad(loss), x, c)
    np.testing.assert_allclose(result, [np.sum(c, 0)] * replicas, rtol=1e-6)


def test_an_integer_beside_a_float_has_no_gradient(run, replicas):
    x = values(replicas, 3)

    def loss(v):
        total, count = lockstep.all_reduce((v, jnp.int32(1)), "SUM")
        return jnp.sum(total) / count

    np.testing.assert_allclose(
        run(jax.grad(loss), x), np.ones((replicas, 3)), rtol=1e-6
    )


def test_second_derivative(run, replicas):
    x = values(replicas)

    def loss(v):
        return lockstep.all_reduce(v**3, "SUM")

    result = run(jax.grad(jax.grad(loss)), x)
    np.testing.assert_allclose(result, 6 * x * replicas, rtol=1e-5)


# Inside the transformations that a step uses.


def test_in_a_scan_with_its_gradient(run, replicas):
    x = values(replicas, 4)

    def loss(v):
        def body(carry, item):
            return carry + lockstep.all_reduce(item, "SUM"), carry

        return jax.lax.scan(body, jnp.float32(0), v)[0]

    np.testing.assert_allclose(run(loss, x), [np.sum(x)] * replicas, rtol=1e-5)
    np.testing.assert_allclose(
        run(jax.grad(loss), x), np.full_like(x, replicas)
    )


def test_in_a_branch_a_jitted_helper_and_a_checkpoint(run, replicas):
    x = values(replicas, 3)
    reduce = functools.partial(lockstep.all_reduce, reduction="MEAN")

    def loss(v):
        v = jax.checkpoint(lambda u: jnp.sin(reduce(u)))(v)
        v = jax.jit(reduce)(v)
        return jnp.sum(jax.lax.cond(True, reduce, lambda u: u, v))

    mean = np.mean(x, 0)
    np.testing.assert_allclose(
        run(loss, x), [np.sum(np.sin(mean))] * replicas, rtol=1e-5
    )
    np.testing.assert_allclose(
        run(jax.grad(loss), x), [np.cos(mean)] * replicas, rtol=1e-5
    )


# Errors.


@pytest.mark.parametrize("reduction", ["PRODUCT", "MIN", "MAX"])
def test_reductions_without_a_gradient(run, replicas, reduction):
    x = values(replicas, 3)
    with pytest.raises(
        NotImplementedError,
        match=f"the reduction '{reduction}' has no gradient",
    ):
        run(jax.grad(lambda v: jnp.sum(lockstep.all_reduce(v, reduction))), x)
    stopped = run(
        jax.grad(
            lambda v: jnp.sum(
                v * lockstep.all_reduce(jax.lax.stop_gradient(v), reduction)
            )
        ),
        x,
    )
    np.testing.assert_array_equal(
        stopped, run(lambda v: lockstep.all_reduce(v, reduction), x)
    )


@pytest.mark.parametrize("reduction", ["MEDIAN", "prod", None])
def test_unknown_reduction(reduction):
    with pytest.raises(
        ValueError, match=f"'{reduction}' is not a valid ReduceOp"
    ):
        lockstep.all_reduce(jnp.ones(3), reduction)


@pytest.mark.parametrize("value", [np.array([True]), np.array([1j])])
def test_dtypes_without_a_reduction(run, replicas, value):
    with pytest.raises(
        TypeError, match=f"found {jnp.asarray(value).dtype.name}"
    ):
        run(
            lambda v: lockstep.all_reduce(v, "SUM"),
            np.stack([value] * replicas),
        )


def test_mean_of_integers_needs_x64(run, replicas):
    x = np.arange(replicas, dtype=np.int32)
    with pytest.raises(
        TypeError, match="needs jax.config.update.'jax_enable_x64'"
    ):
        run(lambda v: lockstep.all_reduce(v, "MEAN"), x)


def test_a_leaf_that_is_no_array(run, replicas):
    with pytest.raises(TypeError, match="found a leaf of type 'str'"):
        run(lambda v: lockstep.all_reduce("text", "SUM"), values(replicas))


@pytest.mark.parametrize(
    ("axis", "error", "text"),
    [
        (2, ValueError, r"expected an axis in \[0, 2\).*found 2"),
        (-1, ValueError, r"expected an axis in \[0, 2\).*found -1"),
        (0.0, TypeError, "expected an integer axis, found 0.0"),
        (True, TypeError, "expected an integer axis, found True"),
    ],
)
def test_gather_axis(run, replicas, axis, error, text):
    with pytest.raises(error, match=text):
        run(lambda v: lockstep.all_gather(v, axis), values(replicas, 2, 3))


def test_gather_of_a_scalar(run, replicas):
    with pytest.raises(ValueError, match="rank 1 or more, found a scalar"):
        run(lambda v: lockstep.all_gather(v, 0), values(replicas))


@pytest.mark.parametrize(
    "function",
    [
        lambda v: lockstep.all_reduce(v, "SUM"),
        lambda v: lockstep.all_gather(v[None], 0),
    ],
)
def test_not_under_vmap(run, replicas, function):
    with pytest.raises(
        NotImplementedError, match="under jax.vmap is not supported"
    ):
        run(jax.vmap(function), values(replicas, 3))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("all_reduce", lambda: lockstep.all_reduce(jnp.ones(2), "SUM")),
        ("all_gather", lambda: lockstep.all_gather(jnp.ones(2), 0)),
        ("replica_id", lockstep.replica_id),
        ("num_replicas_in_sync", lockstep.num_replicas_in_sync),
    ],
)
def test_outside_shard_map(name, call):
    with pytest.raises(
        RuntimeError, match=f"{name}: expected to be called inside"
    ):
        call()
