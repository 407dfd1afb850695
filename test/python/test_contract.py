"""Errors of model files that break the contract."""

import textwrap

import numpy as np
import pytest

from lockstep import capture
from lockstep import model as models

GOOD = {
    "init": "def init(seed): return {'w': jnp.zeros(3)}",
    "step": "def step(state, batch, scalars): return state, {'loss': state['w'][0]}",
    "evaluate": "def evaluate(state, batch): return {'a': (jnp.float32(1), jnp.float32(1))}",
    "batch": "batch_spec = {'x': ((4, 3), 'float32')}",
    "scalars": "scalar_spec = {'lr': 0.1}",
}


@pytest.fixture
def message(tmp_path):
    """Captures a model with some parts replaced; returns the error's text."""

    def capture_it(**parts):
        lines = [v for v in {**GOOD, **parts}.values() if v is not None]
        path = tmp_path / "model.py"
        path.write_text(
            "import jax, jax.numpy as jnp\n" + "\n".join(lines) + "\n"
        )
        with pytest.raises(models.ModelError) as error:
            capture.capture(models.load(str(path)))
        return str(error.value)

    return capture_it


CASES = [
    # Functions.
    ({"init": None}, "expected a function 'init(seed) -> state', found none"),
    ({"step": "step = 3"}, "expected a function 'step(state, batch, scalars) -> (state, metrics)', found no function"),
    ({"evaluate": "evaluate = 3"}, "expected 'evaluate' to be a function"),
    # The batch.
    ({"batch": None}, "expected 'batch_spec', a dict of name -> jax.ShapeDtypeStruct or (shape, dtype), found none"),
    ({"batch": "batch_spec = {'x': 3}"}, "batch_spec['x']: expected jax.ShapeDtypeStruct or (shape, dtype), found 3"),
    ({"batch": "batch_spec = {'x': ((3,), 'complex64')}"}, "batch_spec['x']: dtype complex64 is not supported"),
    ({"batch": "batch_spec = {'x': ((), 'int32')}"}, "batch_spec['x']: expected a shape with rows, found ()"),
    ({"batch": "batch_spec = {'x': ((3,), 'int32'), 'y': ((4,), 'int32')}"}, "batch_spec: expected the same number of rows in all entries, found x: 3, y: 4"),
    ({"batch": "batch_spec = {'mask': ((3,), 'int32')}"}, "batch_spec: the name 'mask' is taken: evaluate gets it, for the rows that are real"),
    ({"batch": "batch_spec = {'lr': ((3,), 'int32')}"}, "the name 'lr' is used by batch_spec and scalar_spec"),
    ({"batch": "batch_spec = {}"}, "evaluate: expected a 'batch_spec' with entries, whose rows it evaluates, found an empty one"),
    # Scalars.
    ({"scalars": "scalar_spec = {'lr': 'fast'}"}, "scalar_spec['lr']: expected a number, found 'fast'"),
    ({"scalars": "scalar_spec = {'lr': [1, 2]}"}, "scalar_spec['lr']: expected a number, found [1, 2]"),
    ({"scalars": "scalar_spec = {'step': 0.5}"}, "scalar_spec: expected 'step' to be int32, found float32"),
    # The state.
    ({"init": "def init(seed): return jnp.zeros(3)"}, "init: expected a pytree with names (a dict, say), found a ArrayImpl"),
    ({"init": "def init(seed): return {'a/b': 1, 'a': {'b': 2}}"}, "init: the name 'a/b' is used twice"),
    ({"init": "def init(seed): return {'w': 'text'}"}, "init: variable 'w': expected an array, found a str"),
    ({"init": "def init(seed): return {'w': 1j}"}, "init: variable 'w': dtype complex64 is not supported"),
    # What a step returns.
    ({"step": "def step(state, batch, scalars): return state"}, "step: expected (state, metrics), found a dict"),
    ({"step": "def step(state, batch, scalars): return {}, {}"}, "step: expected the state to have 'w', found none"),
    ({"step": "def step(state, batch, scalars): return {**state, 'm': 1.0}, {}"}, "step: the state that it returns has 'm', which init's has not"),
    ({"step": "def step(state, batch, scalars): return {'w': state['w'][:2]}, {}"}, "step: state 'w': expected float32[3] as from init, found float32[2]"),
    ({"step": "def step(state, batch, scalars): return {'w': state['w'] > 0}, {}"}, "step: state 'w': expected float32[3] as from init, found bool[3]"),
    ({"step": "def step(state, batch, scalars): return state, {'epoch': jnp.float32(1)}"}, "step: metrics: expected a name other than step, epoch, evaluate, found 'epoch'"),
    ({"step": "def step(state, batch, scalars): return state, 1.0"}, "step: metrics: expected a dict of name -> array, found float32[]"),
    # What evaluate returns.
    ({"evaluate": "def evaluate(state, batch): return 1.0"}, "evaluate: expected a dict of name -> (sum, count), found float32[]"),
    ({"evaluate": "def evaluate(state, batch): return {'a': jnp.ones(())}"}, "evaluate: 'a': expected (sum, count), found float32[]"),
    ({"evaluate": "def evaluate(state, batch): return {'a': (state['w'], 1)}"}, "evaluate: 'a': 'sum': expected a scalar, found float32[3]"),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "text"), CASES)
def test_message(message, parts, text):
    assert message(**parts) == text


def test_the_command_reports_errors(tmp_path, capsys):
    path = tmp_path / "model.py"
    path.write_text(textwrap.dedent("def init(seed): return {}"))
    assert capture.main([str(path), "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith(
        f"error: {path}: expected a function"
    )
    assert capture.main([str(tmp_path / "none.py"), "-o", str(tmp_path)]) == 1
    assert "expected a Python file, found none at" in capsys.readouterr().err


def test_default_scalars(tmp_path):
    path = tmp_path / "model.py"
    path.write_text("\n".join(["import jax.numpy as jnp", *GOOD.values()]))
    found = models.load(str(path)).default_scalars()
    assert {name: (value, value.dtype) for name, value in found.items()} == {
        "lr": (np.float32(0.1), "float32"),
        "seed": (0, "uint32"),
        "step": (0, "int32"),
    }
