"""Captured models and running steps of them, for measurements of schedules."""

import argparse
import json
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

#: Name, file, and the environment that selects a size.
MODELS = {
    "mlp": ("bench/jax/mlp.py", {"LAYERS": "784-1024-1024-10"}),
    "tiny": ("bench/jax/mlp.py", {"LAYERS": "-".join(["16"] * 201)}),
    "cnn": ("examples/digits-cnn/model.py", {}),
    "transformer": ("bench/schedule/transformer.py", {}),
    "resnet": ("bench/schedule/resnet.py", {}),
    "language-model": ("examples/language-model/model.py", {}),
}


def simulation_options(documentation):
    """Parses the options of a measurement by simulation: models, the folder of
    the binaries, the number of replicas.
    """
    parser = argparse.ArgumentParser(
        description=documentation.partition("\n")[0]
    )
    parser.add_argument("models", nargs="*", help=", ".join(MODELS))
    parser.add_argument(
        "--binaries", type=pathlib.Path, default=ROOT / "build/release/bin"
    )
    parser.add_argument("--replicas", type=int, default=8)
    options = parser.parse_args()
    options.binaries = options.binaries.resolve()
    return options


def capture(name, folder, replicas):
    """Captures a model to `step.mlir` and `init.safetensors` in `folder`."""
    path, variables = MODELS[name]
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
        str(ROOT / path),
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


def simulate(binaries, folder, topology, bucket, replicas):
    """Compiles a captured model, and returns the output of lockstep-simulate."""
    artifact = compile_step(
        binaries,
        folder,
        folder / "step.lockstep",
        f"--replicas={replicas}",
        "--target=x86-64-v3",
        f"--topology={topology}",
        f"--bucket={bucket}",
    )
    done = subprocess.run(
        [str(binaries / "lockstep-simulate"), str(artifact), "--format=json"],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


class Runner:
    """A compiled step with random batches, ready to run."""

    def __init__(self, binaries, name, folder, artifact, **options):
        import numpy as np
        from safetensors.numpy import load_file

        from capi import Session
        from lockstep import model as models

        path, variables = MODELS[name]
        os.environ.update(variables)
        os.environ["JAX_PLATFORMS"] = "cpu"
        random = np.random.default_rng(0)
        library = binaries.parent / "lib" / "liblockstep.so"
        self.session = session = Session(library, artifact, **options)
        for key, value in load_file(folder / "init.safetensors").items():
            session.set(key, value)
        loaded, batch = models.load(ROOT / path), {}
        for key, entry in loaded.scalars.items():
            default = loaded.defaults.get(key, 0)
            session.set_scalar(key, np.asarray(default, entry.dtype))
        for key, entry in loaded.batch.items():
            shape = (session.replicas * entry.shape[0], *entry.shape[1:])
            is_float = np.issubdtype(entry.dtype, np.floating)
            batch[key] = (
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
