"""The reference interpreter's first losses of the digits perceptron against JAX's."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "digits-mlp"
STEPS = 5


@pytest.fixture(scope="module")
def interpreter():
    folder = os.environ.get("LOCKSTEP_BIN")
    if not folder:
        pytest.skip("expected LOCKSTEP_BIN to name the folder of the built tools")
    return pathlib.Path(folder) / "lockstep-interpret"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with the example's data and initial values."""
    folder = tmp_path_factory.mktemp("digits-mlp")
    environment = dict(os.environ, JAX_PLATFORMS="cpu", PYTHONPATH=str(ROOT / "python-bindings"))
    for command in ([EXAMPLE / "data.py"], ["-m", "lockstep.capture", EXAMPLE / "model.py"]):
        subprocess.run([sys.executable, *command, "-o", folder], check=True, env=environment)
    return folder


def test_first_steps_equal_jax(interpreter, prepared, tmp_path):
    metrics = tmp_path / "metrics.jsonl"
    subprocess.run(
        [
            *(interpreter, EXAMPLE / "step.mlir", "--replicas=4", f"--steps={STEPS}", "--seed=0"),
            *("--init", prepared / "init.safetensors", "--data", prepared / "train.npz", "--metrics", metrics),
        ],
        check=True,
        timeout=300,
    )
    found = [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]
    oracle = json.loads((ROOT / "test" / "oracle" / "digits-mlp-4x20.json").read_text())
    np.testing.assert_allclose(found, oracle["metrics"]["loss"][:STEPS], rtol=1e-5, atol=0)
