"""`merge_call` under plain JAX and in a capture."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lockstep
from lockstep import capture
from lockstep import model as models


def values(replicas, *shape):
    """Different values on every replica."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(replicas, *shape)).astype(np.float32)


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("reduction", ["SUM", "mean"])
def test_reduce_to(run, replicas, reduction, jit):
    def merge(strategy, tree, factor):
        return strategy.reduce_to(reduction, tree)["v"] * factor

    x = values(replicas, 3)
    result = run(
        lambda v: lockstep.merge_call(merge, {"v": v}, 2.0), x, jit=jit
    )
    expected = np.sum(x, 0) if reduction == "SUM" else np.mean(x, 0)
    np.testing.assert_allclose(result, [2 * expected] * replicas, rtol=1e-6)


def test_gather(run, replicas):
    x = values(replicas, 2, 3)
    merge = lambda strategy, v: strategy.gather([v], 1)  # noqa: E731
    result = run(lambda v: lockstep.merge_call(merge, v), x)
    np.testing.assert_array_equal(result[0], [np.concatenate(x, 1)] * replicas)


def test_local_results_are_in_replica_order(run, replicas):
    def merge(strategy, v):
        rows = strategy.local_results({"v": v, "n": 1.0})
        assert len(rows) == strategy.num_replicas_in_sync == replicas
        assert strategy.local_results(5) == (5,)
        return sum(row["v"] * (i + row["n"]) for i, row in enumerate(rows))

    x = values(replicas, 3)
    result = run(lambda v: lockstep.merge_call(merge, v), x)
    expected = sum(row * (i + 1) for i, row in enumerate(x))
    np.testing.assert_allclose(result, [expected] * replicas, rtol=1e-6)


def test_each_replica_gets_its_component_back(run, replicas):  # [2.3-meet]
    def merge(strategy, v):
        return {"own": v, "shared": strategy.broadcast_to(7.0), "host": 3}

    x = values(replicas, 3)
    result = run(lambda v: lockstep.merge_call(merge, v), x)
    np.testing.assert_array_equal(result["own"], x)
    np.testing.assert_array_equal(result["shared"], [7.0] * replicas)
    np.testing.assert_array_equal(result["host"], [3] * replicas)


def test_the_mean_of_a_shared_array_is_that_array(run, replicas):
    def merge(strategy, v):  # [4-reduce-to-mirrored]
        total = strategy.reduce_to("SUM", v)
        return strategy.reduce_to("MEAN", total)

    x = values(replicas, 3)
    result = run(lambda v: lockstep.merge_call(merge, v), x)
    np.testing.assert_allclose(result, [np.sum(x, 0)] * replicas, rtol=1e-6)


def test_in_a_loop(run, replicas):
    def merge(strategy, v):
        return strategy.reduce_to("SUM", v)

    def loop(v):
        return jax.lax.fori_loop(
            0, 3, lambda i, c: lockstep.merge_call(merge, c) / replicas, v
        )

    x = values(replicas, 3)
    np.testing.assert_allclose(
        run(loop, x), [np.mean(x, 0)] * replicas, rtol=1e-5
    )


# Errors.


def no_result(strategy, v):
    return None


ERRORS = [
    (lambda s, v: v + 1, TypeError, "unsupported operand"),
    (lambda s, v: jnp.asarray(v), ValueError, "a PerReplica value was used as an array"),
    (lambda s, v: lockstep.all_reduce(v, "SUM"), RuntimeError, "all_reduce: expected to be called in replica context"),
    (lambda s, v: lockstep.replica_id(), RuntimeError, "replica_id: expected to be called in replica context"),
    (lambda s, v: lockstep.merge_call(no_result, 1), RuntimeError, "merge_call: expected to be called in replica context"),
    (lambda s, v: s.reduce_to("MAX", v), ValueError, "'MAX' is not a valid ReduceOp"),
    (lambda s, v: s.gather(v, 1), ValueError, r"gather: expected an axis in \[0, 1\)"),
    (lambda s, v: s.broadcast_to(v), ValueError, r"broadcast_to: expected an array, found PerReplica\(float32\[3\]\)"),
    (lambda s, v: "text", TypeError, "merge_call: expected arrays, found a leaf of type 'str'"),
]  # fmt: skip


@pytest.mark.parametrize(("merge", "error", "text"), ERRORS)
def test_errors(run, replicas, merge, error, text):
    with pytest.raises(error, match=text):
        run(lambda v: lockstep.merge_call(merge, v), values(replicas, 3))


def test_the_sum_of_a_shared_array(run, replicas):  # [4-reduce-to-mirrored]
    if replicas == 1:
        pytest.skip("one replica sums nothing")
    merge = lambda strategy, v: strategy.reduce_to("SUM", 2.0)  # noqa: E731
    with pytest.raises(ValueError, match="E_NON_DISTRIBUTED_SUM"):
        run(lambda v: lockstep.merge_call(merge, v), values(replicas))


def test_a_value_from_outside_must_be_an_argument(run, replicas):
    def step(v):
        w = v * 2
        return lockstep.merge_call(lambda s, u: s.reduce_to("SUM", u) + w, v)

    with pytest.raises(ValueError, match="float32.*; pass it as an argument"):
        run(step, values(replicas))


def test_no_gradient(run, replicas):  # [2.3-gradient]
    def step(v):
        return lockstep.merge_call(lambda s, u: s.reduce_to("SUM", u), v)

    x = values(replicas)
    with pytest.raises(NotImplementedError, match="cannot be differentiated"):
        run(jax.grad(step), x)
    stopped = run(jax.grad(lambda v: v * step(jax.lax.stop_gradient(v))), x)
    np.testing.assert_allclose(stopped, [np.sum(x)] * replicas, rtol=1e-5)


def test_not_under_vmap(run, replicas):
    def step(v):
        return lockstep.merge_call(lambda s, u: s.reduce_to("SUM", u), v)

    with pytest.raises(NotImplementedError, match="merge_call under jax.vmap"):
        run(jax.vmap(step), values(replicas, 3))


def test_a_strategy_is_good_for_its_call_only(run, replicas):
    kept = []

    def step(v):
        lockstep.merge_call(lambda s, u: kept.append(s), v)
        return kept[0].broadcast_to(v)

    with pytest.raises(
        RuntimeError, match="expected to be called in cross-replica"
    ):
        run(step, values(replicas))


# In a capture.

MODEL = """\
import jax
import jax.numpy as jnp

import lockstep

batch_spec = {"x": ((4, 3), "float32")}


def init(seed):
    return {"w": jnp.zeros(3)}


def merge(strategy, gradient, rows):
    total = strategy.reduce_to("SUM", gradient)
    first, last = strategy.local_results(rows)
    both = strategy.gather(rows, 0)
    return jax.nn.relu(total), strategy.broadcast_to(first - last), both, rows


def step(state, batch, scalars):
    g = jnp.sum(batch["x"], axis=0)
    total, gap, both, own = lockstep.merge_call(merge, g, batch["x"][0])
    w = state["w"] + total + gap + own
    return {"w": w}, {"loss": jnp.sum(both)}
"""


def test_capture(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    text, _ = capture.capture(models.load(str(path)), replicas=2)
    call = next(
        line for line in text.splitlines() if "replica.merge_call" in line
    )
    assert "called_computations = [@merge_step]" in call
    assert "backend_config = {per_replica = [3]}" in call
    assert (
        "(tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<6xf32>, tensor<3xf32>)"
    ) in call
    function = text[: text.index('sym_name = "merge_step"')].count("\n")
    body = "\n".join(text.splitlines()[function:])
    for operation, config, results in (
        ("reduce_to", '{reduction = "SUM"}', "tensor<3xf32>"),
        ("local_results", "{}", "(tensor<3xf32>, tensor<3xf32>)"),
        ("gather", "{axis = 0 : i64}", "tensor<6xf32>"),
        ("broadcast_to", "{}", "tensor<3xf32>"),
    ):
        expected = (
            rf"backend_config = {re.escape(config)},"
            rf' call_target_name = "replica.{operation}".*-> {re.escape(results)} loc'
        )
        assert re.search(expected, body), operation
    assert "func.call" not in text
