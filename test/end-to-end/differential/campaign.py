"""Many programs: parallel workers that check them, and the summary of their
findings.
"""

import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence

import jax

from differential.check import (
    EQUAL,
    Checker,
    Configuration,
    Outcome,
    configurations,
)
from differential.culprit import Suspects
from differential.execution import Executor
from differential.generate import generate
from differential.rendering import render
from differential.shrink import shrink

#: Most programs of one worker process, for which it starts once.
CHUNK = 200

#: How many of the failures that look alike are shrunk.
SHRUNK = 2

#: The kind of outcome where a process that executes JAX crashes twice.
ENDED = "ended"


@dataclasses.dataclass(frozen=True)
class Settings:
    """How programs are checked; see the command's options."""

    tools: pathlib.Path
    target: str
    thorough: bool = False


@dataclasses.dataclass(frozen=True)
class Failure:
    """A program that is not equal everywhere.

    Attributes:
      seed: of the program.
      outcome: the result.
      model: its text as a model file.
      culprit: the cause, if it was searched.
    """

    seed: int
    outcome: Outcome
    model: str
    culprit: str = ""

    def __str__(self):
        lines = [
            f"seed {self.seed}: {self.outcome}",
            *([f"at fault: {self.culprit}"] if self.culprit else []),
        ]
        return "\n".join(
            [
                *lines,
                f"reproduce: python test/end-to-end/differential --replay={self.seed}",
                self.model,
            ]
        )

    @property
    def is_of_jax(self) -> bool:
        """Whether XLA ended the process while it compiled, as where it folds a
        division of constants by zero: nothing could be compared then. A process
        that ends in the capture is a failure of ours."""
        return (
            self.outcome.kind == ENDED
            and "in backend_compile_and_load" in self.outcome.message
        )

    @property
    def likeness(self) -> tuple[str, str, str]:
        """Equal for failures that may have one cause: how it was executed, and
        the message without places, names and numbers.
        """
        message = re.sub(r"^.*?error: ", "", self.outcome.message)
        words = re.sub(
            r"0x\w+|%\w+|-?\d[\d.e+-]*|\bnan\b|-?\binf\b|\[.*?\]", "_", message
        )
        return (
            self.outcome.kind,
            self.outcome.configuration.name
            if self.outcome.configuration
            else "JAX",
            words[:160],
        )


def examine(
    seed: int, checker: Checker, thorough: bool = False, shrinks: bool = True
) -> Failure | None:
    """Checks the program of a seed; None if it is equal everywhere."""
    program = generate(seed)
    outcome = checker.check(program, configurations(seed, thorough))
    if outcome == EQUAL:
        return None
    culprit = ""
    if shrinks and outcome.configuration:
        decisive = outcome.decisive_configurations
        program = shrink(
            program,
            lambda candidate: outcome.is_like(
                checker.check(candidate, decisive)
            ),
        )
        outcome = checker.check(program, decisive)
        if outcome.kind == "different":
            culprit = Suspects(checker, program, outcome.configuration).name()
    return Failure(seed, outcome, render(program), culprit)


def work(seeds: Iterable[int], settings: Settings, shrinks: bool) -> int:
    """Checks programs and prints a line of JSON for each: what a worker process
    does.
    """
    with tempfile.TemporaryDirectory() as folder:
        executor = Executor(settings.tools, pathlib.Path(folder))
        checker = Checker(executor, settings.target)
        try:
            for seed in seeds:
                failure = examine(seed, checker, settings.thorough, shrinks)
                print(
                    json.dumps([seed, failure and dataclasses.asdict(failure)]),
                    flush=True,
                )
                jax.clear_caches()
        finally:
            executor.close()
    return 0


def run(
    seeds: Sequence[int],
    jobs: int,
    settings: Settings,
    folder: pathlib.Path | None,
) -> int:
    """Checks programs in workers, then shrinks some of each kind of failure;
    prints all of it and returns the exit status.
    """
    start = time.monotonic()
    failures, count = [], 0
    for seed, failure in side_by_side(seeds, jobs, settings):
        count += 1
        if failure:
            failures.append(failure)
            print(f"seed {seed}: {failure.outcome}", flush=True)
        if count % CHUNK == 0 or count == len(seeds):
            print(
                f"{count} of {len(seeds)}: {len(failures)} failed, {(time.monotonic() - start) / count:.2f} s each",
                flush=True,
            )
    for failure in shrunk(failures, jobs, settings):
        print(f"\n{failure}", flush=True)
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"seed-{failure.seed}.py").write_text(failure.model)
    print(summary(count, failures))
    return int(not all(failure.is_of_jax for failure in failures))


def shrunk(
    failures: Iterable[Failure], jobs: int, settings: Settings
) -> Iterator[Failure]:
    """Some of each kind of failures, as small as they can be made."""
    ours = [failure for failure in failures if not failure.is_of_jax]
    chosen = [
        failure.seed
        for group in _alike(ours).values()
        for failure in group[:SHRUNK]
    ]
    return (
        failure
        for _, failure in side_by_side(chosen, jobs, settings, shrinks=True)
        if failure
    )


def _alike(
    failures: Iterable[Failure],
) -> dict[tuple[str, str, str], list[Failure]]:
    groups = collections.defaultdict(list)
    for failure in failures:
        groups[failure.likeness].append(failure)
    return groups


def summary(count: int, failures: Sequence[Failure]) -> str:
    """A table of the kinds of failures, the most frequent ones first."""
    lines = [f"{count} programs, {count - len(failures)} equal"]
    for (kind, configuration, words), group in sorted(
        _alike(failures).items(), key=lambda item: (item[0][0], -len(item[1]))
    ):
        seeds = ", ".join(str(failure.seed) for failure in group[:4]) + (
            ", ..." if len(group) > 4 else ""
        )
        lines.append(
            f"{len(group):6} {kind:10} {configuration:28} {words}  (seed {seeds})"
        )
    return "\n".join(lines)


def check_file(path: pathlib.Path, settings: Settings) -> int:
    """Checks a model file with `data(replicas)` in every configuration and
    prints what differs; returns the exit status.
    """
    with tempfile.TemporaryDirectory() as folder:
        executor = Executor(settings.tools, pathlib.Path(folder))
        checker = Checker(executor, settings.target)
        try:
            status = 0
            for configuration in configurations(0, thorough=True):
                outcome = checker.check_text(path.read_text(), [configuration])
                print(f"{configuration}: {outcome}")
                status |= outcome != EQUAL
            return status
        finally:
            executor.close()


def side_by_side(
    seeds: Sequence[int], jobs: int, settings: Settings, shrinks: bool = False
) -> Iterator[tuple[int, Failure | None]]:
    """Checks programs in this many worker processes; returns their findings, in
    any order.
    """
    size = max(1, min(CHUNK, -(-len(seeds) // jobs)))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = collections.deque()
        pending = {
            pool.submit(_worker, seeds[i : i + size], settings, shrinks, found)
            for i in range(0, len(seeds), size)
        }
        while pending or found:
            while found:
                yield found.popleft()
            done, pending = concurrent.futures.wait(
                pending,
                timeout=1,
                return_when=concurrent.futures.FIRST_COMPLETED,
            )
            for future in done:
                future.result()


def _worker(
    seeds: Sequence[int],
    settings: Settings,
    shrinks: bool,
    found: collections.deque,
):
    """Checks programs in a separate process. If JAX crashes it, another one
    retries that program and continues after it. What a crashed process leaves
    in its temporary folder is removed with that folder.
    """
    seeds, tried = list(seeds), set()
    while seeds:
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            str(pathlib.Path(__file__).parent),
            "--worker",
            *map(str, seeds),
        ]
        command += [
            f"--target={settings.target}",
            *["--thorough"] * settings.thorough,
        ]
        command += ["--no-shrink"] * (not shrinks)
        with (
            tempfile.TemporaryDirectory() as temporary,
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=dict(
                    os.environ,
                    LOCKSTEP_BIN=str(settings.tools),
                    TMPDIR=temporary,
                ),
            ) as process,
        ):
            for line in process.stdout:
                seed, failure = json.loads(line)
                seeds.remove(seed)
                found.append((seed, failure and _failure(failure)))
            status = process.wait()
            errors.seek(0)
            said = errors.read()
        if status and seeds and seeds[0] not in tried:
            tried.add(seeds[0])
        elif status and seeds:
            seed = seeds.pop(0)
            found.append(
                (
                    seed,
                    Failure(
                        seed,
                        Outcome(
                            ENDED,
                            message=f"JAX ends with status {status}: {_cause(said)}",
                        ),
                        "",
                    ),
                )
            )


def _cause(said: str) -> str:
    """The last output of a crashed process: the error and the innermost known
    function.
    """
    lines = [line.strip() for line in said.splitlines()]
    found = [
        line for line in lines if line.startswith("Fatal Python error")
    ] + [line for line in lines if line.startswith("File ")]
    return ", ".join(found[:2]) or said[-500:]


def _failure(fields: dict) -> Failure:
    """The failure of what `dataclasses.asdict` made of one."""
    outcome = fields["outcome"]
    configuration = outcome["configuration"] and Configuration(
        **outcome["configuration"]
    )
    return Failure(
        **{
            **fields,
            "outcome": Outcome(**{**outcome, "configuration": configuration}),
        }
    )
