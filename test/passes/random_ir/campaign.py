"""Checks many programs in batches, which costs less, and those of a failing
batch one by one.
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from .execution import VARIANTS
from .failures import Failure
from .kernels_alone import KernelChecker
from .rewriting import merged
from .shrink import shrink
from .steps import BATCH, StepChecker


@dataclass(frozen=True)
class Settings:
    """`tools`: the folder of the built tools. `kernels`: check single kernels,
    not steps. `all_variants`: leave out every optional pass of every program,
    not one of them."""

    tools: str
    kernels: bool = False
    all_variants: bool = False

    def checker(self, folder):
        if self.kernels:
            return KernelChecker(self.tools, folder)
        return StepChecker(
            self.tools, folder, VARIANTS if self.all_variants else None
        )


@dataclass(frozen=True)
class Case:
    """A program that fails. `seeds`: one, or more if only all of them together
    fail.
    """

    seeds: tuple[int, ...]
    failure: Failure
    settings: Settings

    @property
    def command(self):
        options = "--kernels " if self.settings.kernels else ""
        return f"python -m random_ir {options}--replay={','.join(map(str, self.seeds))}"


def find_cases(checker, settings, seeds):
    """The failing programs among those of a batch, found by halving it."""
    failure = checker.check_seeds(seeds)
    if failure is None:
        return []
    if len(seeds) == 1:
        return [Case(seeds, failure, settings)]
    middle = len(seeds) // 2
    halves = [
        find_cases(checker, settings, half)
        for half in (seeds[:middle], seeds[middle:])
    ]
    return [*halves[0], *halves[1]] or [Case(seeds, failure, settings)]


def check_batch(settings, seeds):
    """The failing programs among those of consecutive seeds of one batch,
    checked in a temporary folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        return find_cases(settings.checker(folder), settings, seeds)


def batches(first, count):
    """The seeds of each batch."""
    end = first + count
    while first < end:
        following = min(end, (first // BATCH + 1) * BATCH)
        yield tuple(range(first, following))
        first = following


def run(settings, first, count, jobs=1):
    """Yields the seeds of each batch and the cases in it, in the order of the
    seeds.
    """
    work = list(batches(first, count))
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(check_batch, settings, seeds) for seeds in work]
        for seeds, future in zip(work, futures, strict=True):
            yield seeds, future.result()


def describe_shrunk(case, most_attempts=300, folder=None):
    """The smallest program found that fails like a case, and the pass that
    makes it fail, if its results differ.

    Its module and its inputs are left in `folder`, if there is one.
    """
    with tempfile.TemporaryDirectory() as temporary:
        checker = case.settings.checker(folder or temporary)
        again = checker.again(case.failure)
        program = shrink(
            merged(checker.programs(case.seeds)),
            lambda program: case.failure.is_like(again(program)),
            most_attempts,
        )
        failure = again(program) or case.failure
        culprit = (
            [f"pass: {checker.culprit(program)}"]
            if failure.is_difference
            else []
        )
        return "\n".join(
            [
                f"{failure.variant}: {failure.text}",
                *culprit,
                "",
                checker.render(program),
            ]
        )
