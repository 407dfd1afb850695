"""Models of unusual form: no batch, random keys in the state, metrics that are
arrays.
"""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from conftest import ROOT, read_metrics, read_variables

MODEL = """\
import jax

batch_spec = {}


def init(seed):
    return {"key": jax.random.key(seed), "x": jax.numpy.zeros(3)}


def step(state, batch, scalars):
    key, own = jax.random.split(state["key"])
    return {"key": key, "x": jax.random.uniform(own, 3)}, {"x": state["x"], "loss": state["x"].sum()}
"""


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_random_walk_without_data(tools, tmp_path, replicas):
    (tmp_path / "model.py").write_text(MODEL)
    environment = dict(
        os.environ,
        JAX_PLATFORMS="cpu",
        PYTHONPATH=str(ROOT / "python-bindings"),
    )
    subprocess.run(
        [
            sys.executable,
            "-m",
            "lockstep.capture",
            tmp_path / "model.py",
            "-o",
            tmp_path,
            "--seed=5",
        ],
        check=True,
        env=environment,
    )
    source, init = (
        tmp_path / "step.mlir",
        f"--init={tmp_path / 'init.safetensors'}",
    )

    key, x, expected = jax.random.key(5), np.zeros(3, np.float32), []
    for _ in range(4):
        expected.append(x)
        key, own = jax.random.split(key)
        x = np.asarray(jax.random.uniform(own, 3))

    for level in ("-O0", "-O2"):
        artifact = tools.compile(
            source, tmp_path / "step.lockstep", f"--replicas={replicas}", level
        )
        metrics, saved = tmp_path / "metrics.jsonl", tmp_path / f"saved{level}"
        tools.run(
            "lockstep-run",
            artifact,
            init,
            "--steps=4",
            f"--metrics={metrics}",
            f"--save={saved}",
        )
        lines = read_metrics(metrics)
        np.testing.assert_array_equal(
            np.array([line["x"] for line in lines], np.float32), expected
        )
        np.testing.assert_allclose(
            [line["loss"] for line in lines], np.sum(expected, 1), rtol=1e-6
        )
        variables = read_variables(saved / "checkpoint-4.safetensors")
        np.testing.assert_array_equal(
            np.frombuffer(variables["key"][2], np.uint32),
            jax.random.key_data(key),
        )
