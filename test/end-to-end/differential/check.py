"""Executes one program in every configuration and compares with JAX."""

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence, Set

import targets
from differential import execution
from differential.comparison import Arrays, first_difference, same_bits
from differential.errors import CrashedError, RefusedError
from differential.execution import Executor, Loaded
from differential.program import Program
from differential.rendering import render

#: Numbers of replicas that every program is executed with.
REPLICAS = (1, 3)

#: `-O2` with one optional pass changed, or with checks.
VARIANTS = (
    "--simplify=false",
    "--bucket=none",
    "--overlap=false",
    "--bucket=bytes:256",
    "--shard-update=on",
    "--topology=ethernet-25g --shard-update=off",
    "--topology=torus-3d --shard-update=on",
    "--reassociate",
    "--products=cublaslt" if targets.DEVICE == "cuda" else "--check-bounds",
)

#: Options that may round differently than plain `-O2`.
REASSOCIATING = ("--reassociate", "--products=cublaslt")

#: Perturbed executions that show how far roundings go.
PERTURBATIONS = 3

INTERPRETER = "interpreter"


@dataclasses.dataclass(frozen=True)
class Configuration:
    """How a program is executed: `name` is `INTERPRETER`, or the options of the
    compiler; `threads` are those that execute it.
    """

    name: str
    replicas: int
    threads: int = 1

    def __str__(self):
        threads = f", {self.threads} threads" if self.threads > 1 else ""
        return f"{self.name}, {self.replicas} replica{'s' * (self.replicas > 1)}{threads}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of a program.

    Attributes:
      kind: "equal", "different", "refused", "crashed", "invalid" if JAX itself
        does not execute it, or "ended" if JAX ends its process.
      configuration: how it was executed, unless it is equal everywhere.
      message: what differs, or the error.
      result: the result that differs.
    """

    kind: str
    configuration: Configuration | None = None
    message: str = ""
    result: str | None = None

    def __str__(self):
        place = f", result '{self.result}'" if self.result else ""
        return self.kind + (
            f": {self.configuration}{place}: {self.message}"
            if self.message
            else ""
        )

    @property
    def decisive_configurations(self) -> list[Configuration]:
        """The execution that reproduces it."""
        if self.configuration.name.startswith("-O2"):
            return [
                *dict.fromkeys(
                    (
                        Configuration("-O2", self.configuration.replicas),
                        self.configuration,
                    )
                )
            ]
        return [self.configuration]

    def is_like(self, other: "Outcome") -> bool:
        """Whether another outcome is of the same kind, has the same error, or
        differs in the same execution.
        """
        if (self.kind, self.configuration) != (other.kind, other.configuration):
            return False
        return self.kind == "different" or _without_places(
            self.message
        ) == _without_places(other.message)


EQUAL = Outcome("equal")


def configurations(number: int, thorough: bool = False) -> list[Configuration]:
    """How the program of a number is executed: with one of the numbers of
    replicas and one of the variants in turn, or with all of them.

    Optional passes are about collectives, so only programs with several
    replicas have variants.
    """
    chosen = REPLICAS if thorough else (REPLICAS[number % len(REPLICAS)],)
    variants = (
        VARIANTS
        if thorough
        else (VARIANTS[number // len(REPLICAS) % len(VARIANTS)],)
    )
    result = []
    for replicas in chosen:
        result += [
            Configuration(INTERPRETER, replicas),
            Configuration("-O0", replicas),
            Configuration("-O2", replicas),
        ]
        if replicas > 1:
            result.append(Configuration("-O2", replicas, threads=2))
            result += [
                Configuration(f"-O2 {variant}", replicas)
                for variant in variants
            ]
    return result


def _without_places(message: str) -> str:
    """An error without the line that it is at, and without types."""
    return re.sub(r"\S*:\d+:\d+|'?\w*<[^']*>'?|\d+", "", message)


class Checker:
    """Checks programs.

    Attributes:
      executor: what executes them.
      targets: options that say which instruction sets are compiled for.
    """

    def __init__(self, executor: Executor, *targets: str):
        self.executor = executor
        self.targets = [f"--target={target}" for target in targets]

    def check(
        self, program: Program, chosen: Sequence[Configuration]
    ) -> Outcome:
        """Executes a program in the given configurations, in this order;
        returns the first outcome that is not equal.
        """
        return self.check_text(
            render(program),
            chosen,
            lambda: [render(program, seed) for seed in range(PERTURBATIONS)],
            program.terms,
            program.single_precision,
        )

    def check_text(
        self,
        text: str,
        chosen: Sequence[Configuration],
        perturbed=lambda: [],
        terms: int = 1,
        single_precision: Set[str] = frozenset(),
    ) -> Outcome:
        """As `check`, of a model file's text; `perturbed` makes variants of it,
        sums have up to `terms` terms, and the results `single_precision` depend
        on floats of 32 bits.
        """
        try:
            loaded = execution.load(text)
        except Exception as error:
            return Outcome(
                "invalid", message=f"{type(error).__name__}: {error}"
            )
        captured = False
        for replicas in dict.fromkeys(
            configuration.replicas for configuration in chosen
        ):
            try:
                expected = execution.execute_by_jax(loaded, replicas)
            except Exception as error:
                return Outcome(
                    "invalid", message=f"{type(error).__name__}: {error}"
                )
            mine = [
                configuration
                for configuration in chosen
                if configuration.replicas == replicas
            ]
            try:
                if not captured or "all_gather" in text:
                    self.executor.capture(
                        loaded, replicas if "all_gather" in text else None
                    )
                    captured = True
            except RefusedError as error:
                return Outcome("refused", mine[0], str(error))
            variants = _Variants(perturbed, replicas)
            compare = functools.partial(
                first_difference,
                perturbed=variants,
                terms=terms,
                single_precision=single_precision,
            )
            outcome = self._compare(loaded, mine, expected, compare)
            if outcome.kind == "different":
                # The reference is the program as written, not XLA's
                # simplification of it.
                as_written = execution.execute_by_jax(
                    loaded, replicas, as_written=True
                )
                outcome = self._compare(loaded, mine, as_written, compare)
            if outcome.kind != "equal":
                return outcome
        return EQUAL

    def _compare(
        self,
        loaded: Loaded,
        chosen: Sequence[Configuration],
        expected: Arrays,
        compare: Callable[[Arrays, Arrays], tuple[str, str] | None],
    ) -> Outcome:
        plain, artifact, compiled = None, None, None
        for configuration in chosen:
            try:
                if configuration.name == INTERPRETER:
                    found = self.executor.interpret(
                        loaded, configuration.replicas
                    )
                else:
                    if compiled != configuration.name:
                        artifact, compiled = (
                            self.executor.compile(
                                configuration.replicas,
                                *configuration.name.split(),
                                *self.targets,
                            ),
                            configuration.name,
                        )
                    found = self.executor.execute(
                        artifact,
                        loaded,
                        configuration.replicas,
                        configuration.threads,
                    )
            except RefusedError as error:
                return Outcome("refused", configuration, str(error))
            except CrashedError as error:
                return Outcome("crashed", configuration, str(error))
            difference = compare(found, expected)
            if difference:
                return Outcome(
                    "different", configuration, difference[1], difference[0]
                )
            if configuration.name == "-O2" and plain is None:
                plain = found
            elif (
                plain
                and configuration.name.startswith("-O2")
                and not configuration.name.endswith(REASSOCIATING)
            ):
                for name, array in plain.items():
                    if not same_bits(found[name], array):
                        return Outcome(
                            "different",
                            configuration,
                            f"'{name}' has other bits than at -O2",
                            name,
                        )
        return EQUAL


class _Variants:
    """JAX's results with perturbed floats, computed when they are first asked
    for.
    """

    def __init__(self, perturbed, replicas: int):
        self.perturbed, self.replicas = perturbed, replicas
        self.results = None

    def __call__(self):
        if self.results is None:
            self.results = [
                execution.execute_by_jax(execution.load(text), self.replicas)
                for text in self.perturbed()
            ]
        return self.results
