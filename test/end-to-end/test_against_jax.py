"""Losses of training runs against JAX's for the same steps, data and replica
count.

JAX's are committed (test/oracle). Every configuration of a step is compared
with them, so configurations agree with each other, too.
"""

import numpy as np
import pytest

LEVELS = ["-O0", "-O2"]


def assert_like_jax(found, expected, names=("loss",)):
    for name in names:
        values = [line[name] for line in found]
        assert len(values) == len(expected[name])
        np.testing.assert_allclose(
            values, expected[name], rtol=1e-5, atol=0, err_msg=name
        )


def first_steps(metrics, count):
    return {name: values[:count] for name, values in metrics.items()}


@pytest.mark.daily(2)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 8, 64])  # [11-jax]
def test_mlp_at_every_replica_count(train, examples, replicas, level):
    found = train("digits-mlp", 20, compile=[f"--replicas={replicas}", level])
    assert_like_jax(found, examples("digits-mlp").oracle(replicas, 20))


@pytest.mark.parametrize("level", LEVELS)
def test_mlp_over_100_steps(train, examples, level):
    found = train("digits-mlp", 100, compile=["--replicas=4", level])
    assert_like_jax(found, examples("digits-mlp").oracle(4, 100))


@pytest.mark.parametrize("level", LEVELS)
def test_cnn(train, examples, level):
    found = train("digits-cnn", 20, compile=["--replicas=4", level])
    assert_like_jax(found, examples("digits-cnn").oracle(4, 20))


# The learning rate is computed from scalars only, so it is equal on all
# replicas without a collective. Without optimization a step takes seconds.
@pytest.mark.daily(2)
@pytest.mark.parametrize("level, steps", [("-O0", 5), ("-O2", 20)])
def test_language_model(train, examples, level, steps):
    found = train("language-model", steps, compile=["--replicas=4", level])
    expected = first_steps(examples("language-model").oracle(4, 20), steps)
    assert_like_jax(found, expected, ["loss", "learning_rate", "skipped"])


# The interpreter takes seconds for a step of the language model: the first five
# are enough to see that it computes the same.
@pytest.mark.parametrize(
    "name, steps",
    [("digits-mlp", 20), ("digits-cnn", 20), ("language-model", 5)],
)
def test_interpreter(train, examples, name, steps):
    found = train(name, steps, compile=["--replicas=4"], interpret=True)
    assert_like_jax(found, first_steps(examples(name).oracle(4, 20), steps))
