"""Captures models, and runs their compiled steps with random batches."""

import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT / "python-bindings"),
    str(ROOT / "test" / "end-to-end"),
]


def capture(model, folder, replicas, **variables):
    """Captures a model file to `step.mlir` and `init.safetensors` in `folder`.
    `variables` are those of the environment that select a size.
    """
    environment = dict(
        os.environ,
        PYTHONPATH=str(ROOT / "python-bindings"),
        JAX_PLATFORMS="cpu",
        **variables,
    )
    command = [
        sys.executable,
        "-m",
        "lockstep.capture",
        str(model),
        "-o",
        str(folder),
        f"--replicas={replicas}",
    ]
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, env=environment
    )


def compile_step(binaries, folder, output, *options):
    """Compiles a captured model."""
    command = [
        binaries / "lockstep-compile",
        folder / "step.mlir",
        "-o",
        output,
        *options,
    ]
    subprocess.run(list(map(str, command)), check=True)
    return output


class Runner:
    """A compiled step of a model with random batches, ready to run.

    Executed with the library in `lib` beside the folder `binaries`; the other
    options are those of `capi.Session`.
    """

    def __init__(self, binaries, model, folder, artifact, **options):
        import numpy as np
        from safetensors.numpy import load_file

        from capi import Session
        from lockstep import model as models

        os.environ["JAX_PLATFORMS"] = "cpu"
        random = np.random.default_rng(0)
        library = binaries.parent / "lib" / "liblockstep.so"
        self.session = session = Session(library, artifact, **options)
        for name, value in load_file(folder / "init.safetensors").items():
            session.set(name, value)
        loaded, batch = models.load(model), {}
        for name, value in loaded.default_scalars().items():
            session.set_scalar(name, value)
        for name, entry in loaded.batch.items():
            shape = (session.replicas * entry.shape[0], *entry.shape[1:])
            is_float = np.issubdtype(entry.dtype, np.floating)
            batch[name] = (
                random.standard_normal(shape)
                if is_float
                else random.integers(0, 2, shape)
            ).astype(entry.dtype)
        self.program = session.program("step")
        session.bind(self.program, batch)

    def run(self, steps):
        """Returns the seconds of one step."""
        begin = time.perf_counter()
        for _ in range(steps):
            self.session.call("run", self.program)
        return (time.perf_counter() - begin) / steps

    def close(self):
        self.session.close()
