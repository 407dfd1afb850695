"""Shared by tests of lockstep-run: the artifacts of MakeArtifact.cpp, data and
initial values.
"""

import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from run_tool import EXAMPLES, MAKE_ARTIFACT, REPLICAS, ROOT, initial

sys.path.append(str(ROOT / "test" / "support"))


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A folder with artifacts, data and initial values."""
    folder = tmp_path_factory.mktemp("model")
    for name, arguments in {
        "model.lockstep": [str(REPLICAS)],
        "hangs.lockstep": [str(REPLICAS), "hang"],
        "loops.lockstep": [str(REPLICAS), "loop"],
    }.items():
        subprocess.run(
            [MAKE_ARTIFACT, arguments[0], folder / name, *arguments[1:]],
            check=True,
        )
    rng = np.random.default_rng(0)
    x = rng.normal(size=(EXAMPLES, 3)).astype(np.float32)
    y = (x @ np.array([1, -2, 0.5]) + 3).astype(np.float32)
    np.savez(folder / "train.npz", x=x, y=y)
    np.savez_compressed(folder / "test.npz", x=x[:17] + 1, y=y[:17])
    save_file(initial(), folder / "init.safetensors")
    return folder
