"""Hand-written steps with operations of the `collective` dialect, executed in
every configuration."""

import json

import numpy as np


def collective(
    name,
    kind,
    operands,
    results,
    group="all",
    reduction="none",
    attributes="",
    sizes="",
    sources=None,
):
    """The lines of a start and its wait; `operands` are (value, type), `name` is the wait's result."""
    values, types = (", ".join(part) for part in zip(*operands, strict=True))
    pending = f"!collective.pending<{', '.join(results)}>"
    named = (
        f" {{sources = array<i64: {', '.join(map(str, sources))}>}}"
        if sources
        else ""
    )
    return (
        f"  %{name}_pending = collective.start {kind} {reduction} @{group} {attributes} ({values} : {types}){sizes}{named} -> {pending}\n"
        f"  %{name} = collective.wait %{name}_pending ({values} : {types}) : {pending} -> {', '.join(results)}\n"
    )


def groups(**ranks):
    """Declarations of groups; `all` is always there."""
    named = "".join(
        f"collective.group @{name} {{ranks = array<i64: {', '.join(map(str, of))}>}}\n"
        for name, of in ranks.items()
    )
    return "collective.group @all\n" + named


def step(body, inputs, results, declared=None):
    """A module with one step; `inputs` are (name, type, attributes), `results` (name, value, type)."""
    arguments = ", ".join(
        f'%{name}: {kind} {{replica.batch = "{name}"{extra}}}'
        for name, kind, extra in inputs
    )
    types = ", ".join(
        f'{kind} {{replica.result = "{name}"}}' for name, _, kind in results
    )
    values, kinds = (
        ", ".join(part)
        for part in zip(
            *((f"%{value}", kind) for _, value, kind in results), strict=True
        )
    )
    declared = groups() if declared is None else declared
    return f"{declared}replica.step @step({arguments}) -> ({types}) {{\n{body}  replica.return {values} : {kinds}\n}}\n"


def tensor(shape, element="f32"):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def drawn(replicas, shape, low=-9):
    """Small whole numbers: sums and products are exact in every order."""
    random = np.random.default_rng(replicas)
    return [
        random.integers(low, 10, shape).astype(np.float32)
        for _ in range(replicas)
    ]


def named(arrays, name="x"):
    return {f"{name}@{replica}": array for replica, array in enumerate(arrays)}


class CollectiveRunner:
    """Runs a module in the interpreter and compiled: at both levels, on one executor and several, with one thread and two."""

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder

    def executions(self, text, replicas, inputs):
        """Yields the printed results of each configuration, as {(name,
        replica): array}."""
        source, file = self.folder / "module.mlir", self.folder / "inputs.npz"
        source.write_text(text)
        np.savez(file, **inputs)
        yield (
            "interpreter",
            self.read(
                self.tools.run(
                    "lockstep-interpret",
                    source,
                    f"--replicas={replicas}",
                    f"--inputs={file}",
                )
            ),
        )
        for level in ("-O0", "-O2"):
            artifact = self.tools.compile(
                source,
                self.folder / f"module{level}.lockstep",
                f"--replicas={replicas}",
                level,
            )
            for threads in (1, 2):
                run = self.tools.run(
                    "lockstep-run",
                    artifact,
                    "--inputs",
                    file,
                    "--threads",
                    threads,
                    "--check-races",
                )
                yield f"{level}, {threads} threads", self.read(run)
            for executors in range(2, min(replicas, 4) + 1):
                run = self.tools.run(
                    "lockstep-run",
                    artifact,
                    "--inputs",
                    file,
                    f"--executors={executors}",
                )
                yield f"{level}, {executors} executors", self.read(run)

    @staticmethod
    def read(run):
        found = {}
        for line in run.stdout.splitlines():
            entry = json.loads(line)
            values = np.reshape(
                [float(value) for value in entry["values"]], entry["shape"]
            )
            found[entry["result"], entry["replica"]] = values
        return found

    def check(self, text, replicas, inputs, expected):
        """`expected` is {name: one array for each replica}; None where a
        replica's value is not specified."""
        for execution, found in self.executions(text, replicas, inputs):
            for name, arrays in expected.items():
                assert len(arrays) == replicas
                for replica, array in enumerate(arrays):
                    if array is not None:
                        message = f"{execution}: {name} of replica {replica}"
                        np.testing.assert_array_equal(
                            found[name, replica],
                            array,
                            err_msg=message,
                            strict=False,
                        )

    def refusal(self, text, replicas):
        """The errors of the compiler and the interpreter for a module, which
        are equal."""
        source = self.folder / "module.mlir"
        source.write_text(text)
        said = []
        for tool, output in (
            ("lockstep-compile", ("-o", self.folder / "x.lockstep")),
            ("lockstep-interpret", ()),
        ):
            done = self.tools.run(
                tool, source, f"--replicas={replicas}", *output, check=False
            )
            assert done.returncode == 1, done.stdout
            said.append(done.stderr)
        assert said[0].splitlines()[0] == said[1].splitlines()[0]
        return said[0]
