"""Single steps, each begun from JAX's state, so that nothing accumulates: the loss and the whole next state are JAX's.

The states are too large to commit: JAX computes them beside the compiled step, which runs through the C API.
"""

import numpy as np
import pytest

import capi
import oracle
from conftest import REPLICAS
from lockstep import contract
from lockstep import model as models


def leaves(state):
    return {name: np.asarray(leaf) for name, leaf in models.named_leaves(state, "state").items()}


def relative_error(found, expected):
    """Of a whole tensor: by norms, since single elements may be as small as rounding errors of others."""
    norm = np.linalg.norm(expected.astype(np.float64))
    return np.linalg.norm(found.astype(np.float64) - expected) / norm if norm else np.max(np.abs(found), initial=0)


@pytest.mark.parametrize("name", ["digits-mlp", "digits-cnn", "language-model"])
def test_each_of_100_steps_from_jax_s_state(tools, examples, compiled, name):
    model = models.load(examples(name).model)
    jax = oracle.Oracle(model, REPLICAS)
    state = contract.initial_state(model, 0)
    batches = oracle.batches(dict(np.load(examples(name).folder / "train.npz")), jax.rows_per_step, 0)
    with capi.Session(tools.library, compiled(name, f"--replicas={REPLICAS}")) as session:
        assert session.replicas == REPLICAS
        assert sorted(session.variables) == sorted(leaves(state))
        step = session.program("step")
        for number in range(100):
            batch, scalars = next(batches), jax.scalars(number, 0, {})
            for variable, value in leaves(state).items():
                session.set(variable, value)
            for scalar, value in scalars.items():
                session.set_scalar(scalar, value)
            session.bind(step, batch)
            found = session.run(step)

            state, metrics = jax.step(state, batch, scalars)
            np.testing.assert_allclose(found["loss"], metrics["loss"], rtol=1e-5, err_msg=f"loss of step {number}")
            errors = {variable: relative_error(session.get(variable), value) for variable, value in leaves(state).items()}
            assert max(errors.values()) < 1e-5, (number, {k: v for k, v in errors.items() if v >= 1e-5})


def test_the_session_refuses_what_does_not_fit(tools, compiled):
    with capi.Session(tools.library, compiled("digits-mlp", f"--replicas={REPLICAS}")) as session:
        with capi.failing("there is no program 'train': the artifact has 'step', 'evaluate'"):
            session.program("train")
        with capi.failing("expected 5120 bytes, found 4"):
            session.variables["params/w2"] = session.variables["params/b2"]
            session.set("params/w2", np.zeros(10))
        with capi.failing("lr"):
            session.set_scalar("lr", np.float64(0.1))
