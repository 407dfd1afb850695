"""Initial values and a batch of a large model, and runs of lockstep-run on them;
imports JAX."""

import os

import numpy as np
import packages
from safetensors.numpy import save_file

from lockstep.model import named_leaves


def random_batch(model):
    """A batch with random numbers; integers are below 1,000, as
    the classes of ResNet-50."""
    random = np.random.default_rng(0)
    return {
        name: random.standard_normal(spec.shape, np.float32)
        if np.issubdtype(spec.dtype, np.floating)
        else random.integers(0, 1000, spec.shape).astype(spec.dtype)
        for name, spec in model.batch.items()
    }


def write_files(state, batch, files):
    """Writes the files that `command` reads to a folder."""
    save_file(
        {
            key: np.asarray(value)
            for key, value in named_leaves(state, "init").items()
        },
        f"{files}/init.safetensors",
    )
    np.savez(f"{files}/train.npz", **batch)


def command(folder, name, variant, files, steps):
    """A command that executes steps of a model in the folder that prepare.py
    has packed, and the environment for it. `variant` is the precision and what
    computes products and convolutions, for example "tf32-libraries".
    """
    environment = dict(os.environ)
    environment["LD_LIBRARY_PATH"] = packages.library_path(folder / "lib")
    run = [
        folder / "bin" / "lockstep-run",
        folder / "large" / name / f"{variant}.lockstep",
        "--device=cuda",
        f"--init={files}/init.safetensors",
        f"--data={files}/train.npz",
        f"--steps={steps}",
        "--seed=0",
    ]
    return list(map(str, run)), environment
