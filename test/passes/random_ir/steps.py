"""Checks programs as steps: the interpreter's outputs, and those of each
variant in which the step is compiled.
"""

from .comparison import compare
from .culprit import find_culprit
from .execution import (
    BASELINE,
    OTHER_VARIANTS,
    PLAIN,
    VARIANTS,
    Executor,
    ToolFailure,
)
from .failures import Failure, of_difference, of_tool
from .generation.programs import generate
from .module import render
from .rewriting import merged

#: Programs of consecutive seeds that are checked together, as one step: they
#: have the same number of replicas, and the same variants.
BATCH = 20
INTERPRETER = "interpreter"


def replicas_of(seed):
    return (1, 3)[seed // BATCH % 2]


def variants_of(seed):
    """Without optional passes, with all of them, and another variant, which is
    the next one for every other batch.
    """
    return [
        PLAIN,
        BASELINE,
        OTHER_VARIANTS[seed // BATCH // 2 % len(OTHER_VARIANTS)],
    ]


class StepChecker:
    """`variants`: those to compile in; None: depending on the seeds. Files are
    in `folder`.
    """

    def __init__(self, tools, folder, variants=None):
        self.executor = Executor(tools, folder)
        self.variants = variants

    def programs(self, seeds):
        return [generate(seed, replicas_of(seeds[0])) for seed in seeds]

    def check_seeds(self, seeds):
        return self.check(
            self.programs(seeds), self.variants or variants_of(seeds[0])
        )

    def check(self, programs, variants) -> Failure | None:
        """The first failure of programs that are executed together."""
        program = merged(programs)
        self.executor.write(program)
        try:
            expected = self.executor.interpret(program)
        except ToolFailure as failure:
            return of_tool(INTERPRETER, failure)
        baseline = None
        for variant in variants:
            try:
                found = self.executor.execute(program, variant)
            except ToolFailure as failure:
                return of_tool(variant.name, failure)
            difference = compare(program, expected, found, variant.name)
            if (
                difference is None
                and baseline is not None
                and variant.rounds_alike
            ):
                difference = compare(
                    program,
                    baseline,
                    found,
                    f"{variant.name} against {BASELINE.name}",
                    is_bitwise=True,
                )
            if difference is not None:
                return of_difference(variant.name, difference)
            if variant == BASELINE:
                baseline = found
        return None

    def again(self, failure):
        """A function that checks a program as far as needed for such a failure,
        and returns the result.
        """
        named = [
            variant for variant in VARIANTS if variant.name == failure.variant
        ]
        needs_baseline = (
            named and named[0].rounds_alike and named[0] != BASELINE
        )
        variants = [BASELINE, *named] if needs_baseline else named
        return lambda program: self.check([program], variants)

    def culprit(self, program):
        """The first pass that changes results."""
        try:
            return find_culprit(self.executor, program)
        except ToolFailure as failure:
            return f"not found: {failure.reason}"

    def render(self, program):
        return f"// {program.replicas} replicas\n{render(program)}"
