"""The pass that makes a result wrong is named."""

import pytest

from differential import execution
from differential.check import INTERPRETER, Checker, Configuration
from differential.culprit import Suspects, passes_of, variations
from differential.generate import generate

DUMP = """Pass Manager with 9 passes:
builtin.module(
  import-steps,
  import-stablehlo,
  set-replicas{partitioner= replicas=0},
  apply-strategy,
  lower-replica,
  canonicalize{disable-patterns={{(anonymous namespace)::Some}, other}  max-iterations=10},
  func.func(
    fuse-operations
  ),
  form-kernels{fuse=true},
  plan-memory{reuse=true}
)
<stdin>:1:1: error: expected (a replica count)
"""

PASSES = [
    "import-steps",
    "import-stablehlo",
    "set-replicas{partitioner= replicas=0}",
    "apply-strategy",
    "lower-replica",
    "canonicalize{disable-patterns={{(anonymous namespace)::Some}, other} max-iterations=10}",
    "func.func( fuse-operations )",
    "form-kernels{fuse=true}",
    "plan-memory{reuse=true}",
]


class PlantedExecutor:
    """Takes the place of the tools: what is executed after passes with certain
    texts, or in certain configurations, is wrong.
    """

    folder = source = execution.pathlib.Path()

    def __init__(self, wrong):
        self.wrong = wrong

    def capture(self, loaded, replicas):
        pass

    def run_tool(self, tool, *arguments, check=True):
        if tool == "lockstep-opt":
            self.passes = next(
                (
                    argument
                    for argument in arguments
                    if str(argument).startswith("--pass-pipeline=")
                ),
                "",
            )
        return DUMP

    def interpret(self, loaded, replicas):
        return self.results(loaded, replicas, "interpreter")

    def compile(self, replicas, *options):
        return options[0]

    def execute(self, artifact, loaded, replicas, threads):
        return self.results(
            loaded, replicas, artifact if artifact == "-O0" else self.passes
        )

    def results(self, loaded, replicas, passes):
        right = execution.execute_by_jax(loaded, replicas)
        return (
            {name: 1 - array.astype("float32") for name, array in right.items()}
            if any(w in passes for w in self.wrong)
            else right
        )


AFTER = "a pass after 'apply-strategy'"


@pytest.mark.parametrize(
    "wrong, configuration, said",
    [
        (
            "fuse-operations",
            Configuration("-O2", 1),
            f"{AFTER}, at -O2 alone; the result is right without 'fuse-operations'",
        ),
        (
            "reuse=true",
            Configuration("-O2", 3),
            f"{AFTER}, at -O2 alone; the result is right with 'plan-memory{{reuse=false}}' or without 'plan-memory'",
        ),
        (
            "-O0 fuse=",
            Configuration("-O0", 1),
            f"{AFTER}, at -O0 too; the result is right without 'form-kernels'",
        ),
        (
            "-O0 interpreter",
            Configuration("-O2", 1),
            "the capture or the import: the interpreter and -O0 are wrong",
        ),
        (
            "interpreter",
            Configuration(INTERPRETER, 1),
            "the interpreter: -O0 is right",
        ),
        (
            "-O0 fuse-operations",
            Configuration("-O0", 1),
            f"{AFTER}, at -O0 too; the result is right without 'fuse-operations'",
        ),
    ],
)
def test_the_pass_is_named(wrong, configuration, said):
    assert (
        Suspects(
            Checker(PlantedExecutor(wrong.split())), generate(1), configuration
        ).name()
        == said
    )


def test_passes_are_read_from_a_dump():
    assert passes_of(DUMP) == PASSES


def test_variations_leave_one_pass_out_or_make_it_plain():
    said = [said for said, _ in variations(PASSES, 6)]
    assert said == [
        "without 'fuse-operations'",
        "with 'form-kernels{fuse=false}'",
        "without 'form-kernels'",
        "with 'plan-memory{reuse=false}'",
        "without 'plan-memory'",
    ]
