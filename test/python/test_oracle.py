"""The committed numbers are those of the unmodified examples."""

import json
import pathlib
import runpy

import numpy as np
import pytest

import oracle
from lockstep import contract
from lockstep import model as models

ROOT = pathlib.Path(__file__).resolve().parents[2]


def training_data(example):
    """Returns what the example's `data.py` would write to `train.npz`.

    The language model's text is this project's licence, which is the same
    everywhere; those that Debian installs may change with its releases.
    """
    script = runpy.run_path(str(ROOT / "examples" / example / "data.py"))
    if example == "language-model":
        x, y = script["split"](script["read"]([ROOT / "LICENSE"]))[0]
    else:
        x, y = script["split"]()[0]
    return {"x": x, "y": y}


@pytest.mark.parametrize(
    "example", ["digits-mlp", "digits-cnn", "language-model"]
)
def test_the_first_steps_are_as_recorded(example):
    path = ROOT / "test" / "oracle" / f"{example}-4x20.json"
    recorded = json.loads(path.read_text())
    data = training_data(example)
    assert oracle.digest(data) == recorded["data"], (
        "the data are not those of the recording"
    )
    model = models.load(str(ROOT / "examples" / example / "model.py"))
    assert model.rows == recorded["rows_per_replica"]
    runner = oracle.Oracle(model, recorded["replicas"])
    state = contract.initial_state(model, recorded["seed"])
    batches = oracle.batches(data, runner.rows_per_step, recorded["seed"])
    for number in range(3):
        scalars = runner.scalars(number, recorded["seed"], recorded["set"])
        state, metrics = runner.step(state, next(batches), scalars)
        for name, values in recorded["metrics"].items():
            np.testing.assert_allclose(metrics[name], values[number], rtol=1e-5)


def test_digits_are_split_by_four_to_one():
    for example, shape in (("digits-mlp", (64,)), ("digits-cnn", (8, 8, 1))):
        script = runpy.run_path(str(ROOT / "examples" / example / "data.py"))
        (x, y), (test_x, test_y) = script["split"]()
        assert x.shape == (1437, *shape)
        assert test_x.shape == (360, *shape)
        assert x.dtype == np.float32 and y.dtype == np.int32
        assert x.min() == 0 and x.max() == 1
        assert len(y) == 1437 and len(test_y) == 360


def test_text_is_cut_into_rows_and_their_successors():
    script = runpy.run_path(
        str(ROOT / "examples" / "language-model" / "data.py")
    )
    codes = np.arange(64 * 20 + 1, dtype=np.int32) % 128
    (x, y), (test_x, _) = script["split"](codes)
    assert x.shape == (18, 64) and test_x.shape == (2, 64)
    np.testing.assert_array_equal((x + 1) % 128, y)
    np.testing.assert_allclose(script["entropy"](np.arange(8)), np.log(8))
