"""Names the part of the compiler that makes a result wrong.

The results of the interpreter, which executes the imported module, and of `-O0`
show whether the cause is the capture or import, the interpreter, or a later
stage. Then each pass is omitted in turn, or replaced by its form in `-O0`: if
that corrects the result, the pass is named.
"""

import dataclasses
import os
import re
from collections.abc import Callable, Iterator

from differential import execution
from differential.check import (
    INTERPRETER,
    PERTURBATIONS,
    Checker,
    Configuration,
)
from differential.comparison import first_difference
from differential.errors import CrashedError, RefusedError
from differential.program import Program
from differential.rendering import render

#: The passes up to this one are the interpreter's too, or are needed.
LAST_NEEDED = "apply-strategy"

#: Options of passes, and the values that they have at `-O0`.
PLAIN = (
    ("fuse=true", "fuse=false"),
    ("level=O2", "level=O0"),
    ("reuse=true", "reuse=false"),
)


@dataclasses.dataclass
class Suspects:
    """Finds the cause of one program's failure.

    Attributes:
      checker: executes it.
      program: a program with a result that differs from JAX's.
      configuration: how it is executed where it differs.
    """

    checker: Checker
    program: Program
    configuration: Configuration

    def __post_init__(self):
        self.executor = self.checker.executor
        self.loaded = execution.load(render(self.program))
        self.executor.capture(
            self.loaded,
            self.configuration.replicas
            if self.program.needs_replicas
            else None,
        )
        self.expected = execution.execute_by_jax(
            self.loaded, self.configuration.replicas
        )
        texts = [render(self.program, seed) for seed in range(PERTURBATIONS)]
        self.variants = [
            execution.execute_by_jax(
                execution.load(text), self.configuration.replicas
            )
            for text in texts
        ]

    def name(self) -> str:
        """Describes the cause in a few words."""
        interpreted, plain = (
            self._is_right(self._interpret),
            self._is_right(self._compile_plainly),
        )
        if not interpreted:
            return (
                "the interpreter: -O0 is right"
                if plain
                else "the capture or the import: the interpreter and -O0 are wrong"
            )
        if self.configuration.name == INTERPRETER or (
            self.configuration.name == "-O0" and plain
        ):
            return "unknown: the result is right now"
        passes = self.pipeline()
        first = 1 + next(
            index for index, entry in enumerate(passes) if entry == LAST_NEEDED
        )
        right = [
            said
            for said, candidate in variations(passes, first)
            if self._is_right(lambda p=candidate: self._compile(p))
        ]
        level = "at -O2 alone" if plain else "at -O0 too"
        return f"a pass after '{LAST_NEEDED}', {level}; the result is right {' or '.join(right) or 'without none of them'}"

    def pipeline(self) -> list[str]:
        """The passes of `-O2`, in textual form."""
        # An empty module has no number of replicas, which is an error after the
        # dump.
        return passes_of(
            self.executor.run_tool(
                "lockstep-opt",
                "--lockstep-compile",
                "--dump-pass-pipeline",
                os.devnull,
                check=False,
            )
        )

    def _is_right(self, execute: Callable[[], execution.Arrays]) -> bool:
        """Whether an execution succeeds and gives JAX's result."""
        try:
            return (
                first_difference(
                    execute(),
                    self.expected,
                    lambda: self.variants,
                    self.program.terms,
                )
                is None
            )
        except (RefusedError, CrashedError):
            return False

    def _interpret(self) -> execution.Arrays:
        return self.executor.interpret(self.loaded, self.configuration.replicas)

    def _compile_plainly(self) -> execution.Arrays:
        artifact = self.executor.compile(
            self.configuration.replicas, "-O0", *self.checker.targets
        )
        return self.executor.execute(
            artifact,
            self.loaded,
            self.configuration.replicas,
            self.configuration.threads,
        )

    def _compile(self, passes: list[str]) -> execution.Arrays:
        """Executes what these passes make of the module."""
        module, artifact = (
            self.executor.folder / "suspect.mlir",
            self.executor.folder / "suspect.lockstep",
        )
        pipeline = ",".join(passes).replace(
            "replicas=0", f"replicas={self.configuration.replicas}"
        )
        self.executor.run_tool(
            "lockstep-opt",
            "--allow-unregistered-dialect",
            f"--pass-pipeline=builtin.module({pipeline})",
            self.executor.source,
            "-o",
            module,
        )
        self.executor.run_tool(
            "lockstep-translate", "--emit-artifact", module, "-o", artifact
        )
        return self.executor.execute(
            artifact,
            self.loaded,
            self.configuration.replicas,
            self.configuration.threads,
        )


def passes_of(dump: str) -> list[str]:
    """The entries of the outermost `builtin.module(...)` in what
    `--dump-pass-pipeline` prints.
    """
    text = re.sub(
        r"\s+",
        " ",
        dump[dump.index("builtin.module(") + len("builtin.module(") :],
    )
    entries, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "({") - (character in ")}")
        if depth < 0 or (character == "," and depth == 0):
            entries.append(text[start:place].strip())
            start = place + 1
        if depth < 0:
            break
    return entries


def variations(
    passes: list[str], first: int
) -> Iterator[tuple[str, list[str]]]:
    """Pipelines in which one pass after the first ones is missing or in its
    plain form, each with a description.
    """
    for index in range(first, len(passes)):
        entry = passes[index]
        name = re.sub(r"func\.func\(|\{.*|\)|\s", "", entry)
        for value, plain in PLAIN:
            if value in entry:
                yield (
                    f"with '{name}{{{plain}}}'",
                    [
                        *passes[:index],
                        entry.replace(value, plain),
                        *passes[index + 1 :],
                    ],
                )
        yield f"without '{name}'", passes[:index] + passes[index + 1 :]
