"""Set-up of the end-to-end tests: the built tools, the examples' data, initial
values and artifacts.

The tools are taken from the folder that the environment variable LOCKSTEP_BIN
names, the runtime's library from `lib` beside it.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPLICAS = 4

sys.path[:0] = [
    str(ROOT / "python-bindings"),
    str(ROOT / "test" / "oracle"),
    str(ROOT / "test" / "support"),
]

import days  # noqa: E402
import oracle  # noqa: E402
import targets  # noqa: E402

# Helpers that assert explain what they found, as tests do.
pytest.register_assert_rewrite("modules_by_hand")

import modules_by_hand  # noqa: E402

oracle.set_devices(REPLICAS)  # before any test imports JAX

#: Arguments of an example's `data.py`. The language model's text is this
#: project's licence here: unlike those that Debian installs, it is equal on
#: every machine, as for the recorded losses.
DATA_OPTIONS = {"language-model": ["--text", ROOT / "LICENSE"]}


#: With LOCKSTEP_CHECK_MEMORY=1, kernels check every access against its buffer,
#: and the memory of programs is filled with NaNs before each step. Results must
#: not change.
CHECKS_MEMORY = os.environ.get("LOCKSTEP_CHECK_MEMORY") == "1"
MEMORY_OPTIONS = (
    {"lockstep-compile": ["--check-bounds"], "lockstep-run": ["--fill-memory"]}
    if CHECKS_MEMORY
    else {}
)


#: With LOCKSTEP_DAILY=1, the day's share of the tests marked `daily` is
#: executed, and of all of them where kernels check accesses, one in:
DAILY = os.environ.get("LOCKSTEP_DAILY") == "1"
CHECKED_SHARE = 3


#: Whether programs are executed by workers, not by a device with queues.
ON_HOST = targets.DEVICE == "cpu"


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "own_device: the test chooses its devices, or is about processors: it "
        "is skipped where LOCKSTEP_DEVICE is a GPU",
    )
    config.addinivalue_line(
        "markers",
        "daily(count): with LOCKSTEP_DAILY=1, one in `count` cases of the test "
        "is executed, others on the next days",
    )


def not_today(items):
    """The tests that are left to other days."""
    if CHECKS_MEMORY:
        chosen = set(days.share(items, CHECKED_SHARE))
        return [item for item in items if item not in chosen]
    cases = {}
    for item in items:
        if marker := item.get_closest_marker("daily"):
            key = (item.path, item.originalname, *marker.args)
            cases.setdefault(key, []).append(item)
    left = []
    for (_, _, count), of_test in cases.items():
        chosen = set(days.share(of_test, count))
        left += [item for item in of_test if item not in chosen]
    return left


def pytest_collection_modifyitems(config, items):
    if DAILY and (left := set(not_today(items))):
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]
    if targets.DEVICE != "cuda":
        return
    for item in items:
        if item.get_closest_marker("own_device"):
            item.add_marker(pytest.mark.skip("chooses its devices"))


def without_devices(report):
    """A report without the state of devices with queues, which execute a random
    part of their commands until a result is awaited.
    """
    return re.sub(r"\n  its device: [^\n]*", "", report)


class Tools:
    """Runs the built tools; `check=False` returns the output of a failing
    one."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.library = self.folder.parent / "lib" / "liblockstep.so"

    def command(self, tool, *arguments):
        return [
            str(self.folder / tool),
            *map(str, arguments),
            *MEMORY_OPTIONS.get(tool, []),
        ]

    def run(self, tool, *arguments, check=True):
        command = self.command(tool, *arguments)
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=900, check=False
        )
        if check:
            assert done.returncode == 0, (
                f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
            )
        return done

    def shell(self, command, folder, **environment):
        """Executes a line of a shell that finds the tools, in a folder; returns
        (status, all that it printed).
        """
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in ("LOCKSTEP_TRUST", "MAKEFLAGS")
        }
        inherited |= {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "LOCKSTEP_CACHE": str(folder / "cache"),
        }
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=inherited | environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout.rstrip("\n")

    def compile(self, source, output, *options):
        """Compiles for the executing device alone, unless the options name targets."""
        chosen = (
            []
            if any(str(option).startswith("--target") for option in options)
            else [f"--target={targets.BEST}"]
        )
        self.run(
            "lockstep-compile",
            source,
            "-o",
            output,
            "--check-order",
            *chosen,
            *options,
        )
        return output


@pytest.fixture(scope="session")
def tools():
    folder = os.environ.get("LOCKSTEP_BIN")
    if not folder:
        pytest.fail(
            "expected LOCKSTEP_BIN to name the folder of the built tools"
        )
    return Tools(folder)


def run_python(*arguments):
    """Runs Python with the package, on the CPU."""
    environment = dict(
        os.environ,
        JAX_PLATFORMS="cpu",
        PYTHONPATH=str(ROOT / "python-bindings"),
    )
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )


def capture(model, folder):
    """Captures a model file; returns the folder with what results."""
    run_python("-m", "lockstep.capture", model, "-o", folder)
    return folder


class Example:
    """An example's committed capture, its data and its initial values."""

    def __init__(self, name, folder):
        self.name = name
        self.model = ROOT / "examples" / name / "model.py"
        self.source = ROOT / "examples" / name / "step.mlir"
        self.folder = folder
        run_python(
            self.model.parent / "data.py",
            "-o",
            folder,
            *DATA_OPTIONS.get(name, []),
        )
        capture(self.model, folder)

    def arguments(self, steps, metrics):
        """The arguments of lockstep-run to train for `steps` steps."""
        return [
            *("--init", self.folder / "init.safetensors"),
            *("--data", self.folder / "train.npz"),
            *("--steps", steps),
            *("--seed", 0),
            *("--metrics", metrics),
        ]

    def oracle(self, replicas, steps):
        """The metrics that JAX had for the same steps, by name."""
        path = ROOT / "test" / "oracle" / f"{self.name}-{replicas}x{steps}.json"
        return json.loads(path.read_text())["metrics"]


@pytest.fixture(scope="session")
def examples(tmp_path_factory):
    """Examples by name, each prepared once."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = Example(name, tmp_path_factory.mktemp(name))
        return made[name]

    return get


@pytest.fixture(scope="session")
def compiled(tools, examples, tmp_path_factory):
    """Artifacts by the example's name and compile options, each compiled once."""
    made = {}
    folder = tmp_path_factory.mktemp("artifacts")

    def get(name, *options):
        key = (name, *options)
        if key not in made:
            made[key] = tools.compile(
                examples(name).source,
                folder / f"{len(made)}.lockstep",
                *options,
            )
        return made[key]

    return get


def read_metrics(path):
    """The lines of a metrics file."""
    return [
        json.loads(line) for line in pathlib.Path(path).read_text().splitlines()
    ]


def steps_of(lines):
    """The metrics of the steps, without those of evaluations."""
    return [line for line in lines if "evaluate" not in line]


@pytest.fixture
def train(tools, examples, compiled, tmp_path):
    """Trains an example for some steps and returns the metrics of each.

    `train(name, steps, compile=[...], run=[...])`; `interpret=True` executes
    the step by the interpreter instead.
    """
    count = 0

    def trainer(name, steps, compile=(), run=(), interpret=False):
        nonlocal count
        count += 1
        metrics = tmp_path / f"{count}.jsonl"
        example = examples(name)
        if interpret:
            tools.run(
                "lockstep-interpret",
                example.source,
                *compile,
                *example.arguments(steps, metrics),
                *run,
            )
        else:
            tools.run(
                "lockstep-run",
                compiled(name, *compile),
                *example.arguments(steps, metrics),
                *run,
            )
        return steps_of(read_metrics(metrics))

    return trainer


def read_variables(path):
    """The variables of a checkpoint: {name: (type, shape, bytes)}, so that
    comparisons are of bits and bf16 needs no NumPy type.
    """
    content = pathlib.Path(path).read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length :]
    return {
        name: (
            entry["dtype"],
            entry["shape"],
            data[slice(*entry["data_offsets"])],
        )
        for name, entry in header.items()
    }


@pytest.fixture
def runner(tools, tmp_path):
    return modules_by_hand.Runner(tools, tmp_path)


@pytest.fixture
def interpreted(tools, tmp_path):
    """Takes steps of a hand-written module by the interpreter and by compiled
    programs, asserts that all of them leave the same bits in the variables, and
    returns these.

    `interpreted(text, replicas, data={name: array}, steps=1, compile=[...])`.
    Variables without an initial value are not for this.
    """

    def compare(
        text, replicas, data=None, steps=1, options=((),), levels=("-O0", "-O2")
    ):
        source = tmp_path / "step.mlir"
        source.write_text(text)
        arguments = [f"--steps={steps}"]
        if data:
            np.savez(tmp_path / "data.npz", **data)
            arguments.append(f"--data={tmp_path / 'data.npz'}")
        expected = tmp_path / f"expected-{replicas}.safetensors"
        metrics = f"--metrics={tmp_path / 'metrics.jsonl'}"
        tools.run(
            "lockstep-interpret",
            source,
            f"--replicas={replicas}",
            *arguments,
            metrics,
            f"--save={expected}",
        )
        variables = read_variables(expected)
        for level in levels:
            for extra in options:
                artifact = tools.compile(
                    source,
                    tmp_path / "step.lockstep",
                    f"--replicas={replicas}",
                    level,
                    *extra,
                )
                folder = tmp_path / f"compiled-{replicas}"
                shutil.rmtree(folder, ignore_errors=True)
                tools.run(
                    "lockstep-run",
                    artifact,
                    *arguments,
                    metrics,
                    f"--save={folder}",
                    "--check-races",
                )
                found = read_variables(
                    folder / f"checkpoint-{steps}.safetensors"
                )
                assert found == variables, (replicas, level, extra)
        return variables

    return compare


@pytest.fixture
def standin_variables(tools):
    """The environment in which programs find the stand-in for CUDA's driver."""
    folder = tools.folder.parent / "lib" / "cuda-standin"
    if not (tools.folder.parent / "lib" / "liblockstep_cuda.so").exists():
        pytest.skip("the device 'cuda' is not built")
    assert folder.exists(), f"expected the stand-in of the driver in {folder}"
    return {"LD_LIBRARY_PATH": str(folder)}


@pytest.fixture
def gpu(tools, standin_variables):
    """Runs `lockstep-run` on the stand-in: `gpu(arguments..., check, VARIABLE)`,
    where the variables choose what it is like."""

    def run(*arguments, check=True, **variables):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (standin_variables | variables).items():
                patch.setenv(name, value)
            return tools.run("lockstep-run", *arguments, check=check)

    return run


@pytest.fixture
def losses(tmp_path):
    """The losses of a run: `losses(run, arguments...)`."""

    def get(run, artifact, example, steps, *options, **variables):
        metrics = tmp_path / "metrics.jsonl"
        run(artifact, *example.arguments(steps, metrics), *options, **variables)
        return [line["loss"] for line in read_metrics(metrics)]

    return get
