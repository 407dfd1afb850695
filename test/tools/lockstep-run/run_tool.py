"""lockstep-run, to be started by tests.

The environment names the two executables: LOCKSTEP_RUN and
LOCKSTEP_MAKE_ARTIFACT.
"""

import importlib.util
import json
import os
import pathlib
import subprocess

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
RUN = os.environ.get("LOCKSTEP_RUN")
MAKE_ARTIFACT = os.environ.get("LOCKSTEP_MAKE_ARTIFACT")
ROWS, REPLICAS, EXAMPLES = 4, 3, 30
USUAL = ["--init=init.safetensors", "--data=train.npz", "--set=lr=0.1"]

if not RUN or not MAKE_ARTIFACT:
    raise RuntimeError(
        "expected LOCKSTEP_RUN and LOCKSTEP_MAKE_ARTIFACT to name the executables, as ctest does"
    )


def _shuffle():
    """The module by its file: the package around it would import JAX."""
    path = ROOT / "python-bindings" / "lockstep" / "shuffle.py"
    spec = importlib.util.spec_from_file_location("shuffle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shuffle = _shuffle()


def initial():
    return {
        "params/w": np.array([0.5, 0.25, -1], np.float32),
        "params/b": np.array(1, np.float32),
        "tally": np.array(0, np.float32),
    }


def run(model, *options, artifact="model.lockstep", check=True, env=None):
    """Runs the tool in the folder; returns (status, output, errors)."""
    result = subprocess.run(
        [RUN, artifact, *options],
        cwd=model, capture_output=True, text=True, timeout=120,
        env={**os.environ, **(env or {})},
    )  # fmt: skip
    if check:
        assert result.returncode == 0, result.stderr
    return result.returncode, result.stdout, result.stderr


def train(model, *options, **more):
    """Runs with the usual options."""
    return run(
        model, "--init=init.safetensors", "--data=train.npz", "--set", "lr=0.1",
        *options, **more,
    )  # fmt: skip


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def failure(model, *options, **more):
    """The message of a run that fails, without "lockstep-run: error: "."""
    status, _, err = run(model, *options, check=False, **more)
    assert status in (1, 2)
    assert "lockstep-run: error: " in err
    return err.split("lockstep-run: error: ")[1].rstrip("\n")
