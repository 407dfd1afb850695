"""Set-up of the end-to-end tests: the built tools, the examples' data and initial values.

The tools are taken from the folder that the environment variable LOCKSTEP_BIN names.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Tools:
    """Runs the built tools; `check=False` returns what a failing one said."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def run(self, tool, *arguments, check=True):
        command = [str(self.folder / tool), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if check:
            assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done

    def compile(self, source, output, *options):
        self.run("lockstep-compile", source, "-o", output, *options)
        return output


@pytest.fixture(scope="session")
def tools():
    folder = os.environ.get("LOCKSTEP_BIN")
    if not folder:
        pytest.fail("expected LOCKSTEP_BIN to name the folder of the built tools")
    return Tools(folder)


class Example:
    """An example's committed capture, its data and its initial values."""

    def __init__(self, name, folder):
        self.name = name
        self.source = ROOT / "examples" / name / "step.mlir"
        self.folder = folder
        environment = dict(os.environ, JAX_PLATFORMS="cpu", PYTHONPATH=str(ROOT / "python-bindings"))
        example = ROOT / "examples" / name
        subprocess.run([sys.executable, example / "data.py", "-o", folder], check=True, env=environment)
        subprocess.run(
            [sys.executable, "-m", "lockstep.capture", example / "model.py", "-o", folder], check=True, env=environment
        )

    def arguments(self, steps, metrics):
        """What lockstep-run needs to train for `steps` steps."""
        return [
            *("--init", self.folder / "init.safetensors"),
            *("--data", self.folder / "train.npz"),
            *("--steps", steps),
            *("--seed", 0),
            *("--metrics", metrics),
        ]

    def oracle(self, replicas, steps):
        """The losses that JAX had for the same steps."""
        path = ROOT / "test" / "oracle" / f"{self.name}-{replicas}x{steps}.json"
        return json.loads(path.read_text())["metrics"]["loss"]


@pytest.fixture(scope="session")
def examples(tmp_path_factory):
    made = {}

    def get(name):
        if name not in made:
            made[name] = Example(name, tmp_path_factory.mktemp(name))
        return made[name]

    return get


def read_losses(metrics):
    """The training losses of a metrics file, in the order of the steps."""
    records = [json.loads(line) for line in pathlib.Path(metrics).read_text().splitlines()]
    return [record["loss"] for record in records if "loss" in record]


@pytest.fixture
def train(tools, tmp_path):
    """Compiles an example, trains it for some steps, and returns its losses.

    `train(example, steps, compile=[...], run=[...])`.
    """
    count = 0

    def trainer(example, steps, compile=(), run=()):
        nonlocal count
        count += 1
        artifact = tools.compile(example.source, tmp_path / f"{count}.lockstep", *compile)
        metrics = tmp_path / f"{count}.jsonl"
        tools.run("lockstep-run", artifact, *example.arguments(steps, metrics), *run)
        return read_losses(metrics)

    return trainer


def read_variables(path):
    """The variables of a checkpoint: {name: (type, shape, bytes)}, so that comparisons are of bits and bf16 needs no NumPy type."""
    content = pathlib.Path(path).read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length :]
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]) for name, entry in header.items()}


@pytest.fixture
def interpreted(tools, tmp_path):
    """Takes steps of a hand-written module by the interpreter and by compiled programs, asserts that all of them leave the same
    bits in the variables, and returns these.

    `interpreted(text, replicas, data={name: array}, steps=1, compile=[...])`. Variables without an initial value are not for this.
    """

    def compare(text, replicas, data=None, steps=1, options=((),), levels=("-O0", "-O2")):
        source = tmp_path / "step.mlir"
        source.write_text(text)
        arguments = [f"--steps={steps}"]
        if data:
            np.savez(tmp_path / "data.npz", **data)
            arguments.append(f"--data={tmp_path / 'data.npz'}")
        expected = tmp_path / f"expected-{replicas}.safetensors"
        metrics = f"--metrics={tmp_path / 'metrics.jsonl'}"
        tools.run("lockstep-interpret", source, f"--replicas={replicas}", *arguments, metrics, f"--save={expected}")
        variables = read_variables(expected)
        for level in levels:
            for extra in options:
                artifact = tools.compile(source, tmp_path / "step.lockstep", f"--replicas={replicas}", level, *extra)
                folder = tmp_path / f"compiled-{replicas}"
                tools.run("lockstep-run", artifact, *arguments, metrics, f"--save={folder}", "--check-races")
                found = read_variables(folder / f"checkpoint-{steps}.safetensors")
                assert found == variables, (replicas, level, extra)
        return variables

    return compare
