"""Single steps, each begun from JAX's state, so that nothing accumulates: the
loss and the whole next state are JAX's.

The states are too large to commit: JAX computes them beside the compiled step,
which runs through the C API. Gradients are not continuous where two elements of
a pooling window are equal up to rounding, or an activation is zero: the result
of such a step depends on roundings, and differs between machines. The allowed
difference is then how far JAX's own result moves if the state is rounded
differently.
"""

import numpy as np
import pytest
from jax import tree

import capi
import oracle
from conftest import REPLICAS
from lockstep import contract
from lockstep import model as models


def leaves(state):
    return {
        name: np.asarray(leaf)
        for name, leaf in models.named_leaves(state, "state").items()
    }


def relative_error(found, expected):
    """Of a whole tensor: by norms, since single elements may be as small as
    rounding errors of others.
    """
    norm = np.linalg.norm(expected.astype(np.float64))
    return (
        np.linalg.norm(found.astype(np.float64) - expected) / norm
        if norm
        else np.max(np.abs(found), initial=0)
    )


def chance(jax, step, state, expected, seed):
    """How far each variable moves if the state changes by relative errors of
    the size of a rounding: the maximum over some draws.
    """
    rng = np.random.default_rng(seed)

    def rounded(leaf):
        leaf = np.asarray(leaf)
        return (
            leaf
            * rng.choice([1 - 2**-24, 1, 1 + 2**-23], leaf.shape).astype(
                leaf.dtype
            )
            if leaf.dtype == np.float32
            else leaf
        )

    most = {}
    for _ in range(8):
        moved, _ = jax.step(tree.map(rounded, state), *step)
        for variable, value in leaves(moved).items():
            most[variable] = max(
                most.get(variable, 0), relative_error(value, expected[variable])
            )
    return most


@pytest.mark.daily(3)
@pytest.mark.parametrize("name", ["digits-mlp", "digits-cnn", "language-model"])
def test_each_of_100_steps_from_jax_s_state(tools, examples, compiled, name):
    model = models.load(examples(name).model)
    jax = oracle.Oracle(model, REPLICAS)
    state = contract.initial_state(model, 0)
    batches = oracle.batches(
        dict(np.load(examples(name).folder / "train.npz")), jax.rows_per_step, 0
    )
    with capi.Session(
        tools.library, compiled(name, f"--replicas={REPLICAS}")
    ) as session:
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

            before = state
            state, metrics = jax.step(state, batch, scalars)
            np.testing.assert_allclose(
                found["loss"],
                metrics["loss"],
                rtol=1e-5,
                err_msg=f"loss of step {number}",
            )
            expected = leaves(state)
            errors = {
                variable: relative_error(session.get(variable), value)
                for variable, value in expected.items()
            }
            wrong = {
                variable: error
                for variable, error in errors.items()
                if error >= 1e-5
            }
            if wrong:
                by_chance = chance(
                    jax, (batch, scalars), before, expected, number
                )
                assert all(
                    error <= 2 * by_chance[variable]
                    for variable, error in wrong.items()
                ), (number, wrong, by_chance)


def test_the_session_refuses_what_does_not_fit(tools, compiled):
    with capi.Session(
        tools.library, compiled("digits-mlp", f"--replicas={REPLICAS}")
    ) as session:
        with capi.failing(
            "there is no program 'train': the artifact has 'step', 'evaluate'"
        ):
            session.program("train")
        with capi.failing("expected 5120 bytes, found 4"):
            session.variables["params/w2"] = session.variables["params/b2"]
            session.set("params/w2", np.zeros(10))
        with capi.failing("lr"):
            session.set_scalar("lr", np.float64(0.1))
