"""Modules of the folder `Inputs`, executed in every configuration."""

import itertools
import json
import pathlib

import numpy as np

SERVERS = (
    "--strategy=parameter_server_sync",
    "--servers=2",
    "--partitioner=fixed 2",
)
MODULES = pathlib.Path(__file__).parent / "Inputs"


def results(text):
    """The printed lines as {(what, name, replica): (shape, values)}, or
    {("constant", name): value}; non-finite values are strings.
    """
    found = {}
    for line in text.splitlines():
        entry = json.loads(line)
        if "constant" in entry:
            found["constant", entry["constant"]] = entry["value"]
            continue
        what = "result" if "result" in entry else "variable"
        found[what, entry[what], entry["replica"]] = (
            tuple(entry["shape"]),
            [float(v) for v in entry["values"]],
        )
    return found


class Runner:
    """Runs a module once on the same inputs in every configuration."""

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder

    def run(self, module, replicas, inputs, scalars=()):
        """The results of each configuration, which are checked to be bitwise
        equal.
        """
        source, file = MODULES / f"{module}.mlir", self.folder / "inputs.npz"
        np.savez(file, **inputs)
        settings = [
            text
            for name, value in scalars
            for text in ("--set", f"{name}={value}")
        ]
        given = self.tools.run(
            "lockstep-interpret",
            source,
            f"--replicas={replicas}",
            f"--inputs={file}",
            *settings,
        ).stdout
        for level, strategy in itertools.product(("-O0", "-O2"), ((), SERVERS)):
            artifact = self.compile(module, replicas, level, *strategy)
            for threads in (1, 2):
                for check in (
                    ((), ("--check-races",)) if threads == 1 else ((),)
                ):
                    run = self.tools.run(
                        "lockstep-run",
                        artifact,
                        "--inputs",
                        file,
                        "--threads",
                        threads,
                        *settings,
                        *check,
                    )
                    assert results(run.stdout) == results(given), (
                        level,
                        strategy,
                        threads,
                    )
            for executors in range(2, min(replicas, 3) + 1):
                run = self.tools.run(
                    "lockstep-run",
                    artifact,
                    "--inputs",
                    file,
                    f"--executors={executors}",
                    *settings,
                )
                assert results(run.stdout) == results(given), (
                    level,
                    strategy,
                    executors,
                )
        return results(given)

    def refusal(self, module, replicas, **arrays):
        """The error for arrays with which the compiled module cannot run."""
        artifact, file = self.compile(module, replicas), self.folder / "x.npz"
        np.savez(file, **arrays)
        done = self.tools.run(
            "lockstep-run", artifact, "--inputs", file, check=False
        )
        assert done.returncode == 1
        return done.stderr

    def compile(self, module, replicas, level="-O2", *strategy):
        artifact = (
            self.folder / f"{module}-{replicas}{level}{len(strategy)}.lockstep"
        )
        return self.tools.compile(
            MODULES / f"{module}.mlir",
            artifact,
            f"--replicas={replicas}",
            level,
            *strategy,
        )


def expect(found, replicas, **arrays):
    """Every replica has these results."""
    for name, array in arrays.items():
        for replica in range(replicas):
            shape, values = found["result", name, replica]
            assert shape == np.shape(array), (name, replica)
            np.testing.assert_array_equal(
                np.reshape(values, shape),
                array,
                err_msg=f"{name}, replica {replica}",
            )


def per_replica(name, arrays):
    return {f"{name}@{replica}": array for replica, array in enumerate(arrays)}
