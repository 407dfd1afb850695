"""Programs are reduced to the failing part, and no further."""

import itertools

import pytest

from differential import execution
from differential.check import Checker, Configuration
from differential.generate import generate
from differential.program import texts
from differential.shrink import shrink


class PlantedExecutor:
    """Takes the place of the tools: executes by JAX a program in which some
    function is replaced by a wrong one.
    """

    def __init__(self, function, wrong):
        self.function, self.wrong = function, wrong

    def capture(self, loaded, replicas):
        pass

    def compile(self, replicas, *options):
        return options[0]

    def execute(self, artifact, loaded, replicas, threads):
        text = (
            loaded.text.replace(self.function, self.wrong)
            if artifact == "-O2"
            else loaded.text
        )
        return execution.execute_by_jax(execution.load(text), replicas)


def first_that_differs(checker, function, configuration):
    """The first program with the function in which the wrong one shows."""
    for seed in itertools.count(1):
        program = generate(seed)
        if any(function in text for text in texts(program.statements)):
            outcome = checker.check(
                program, [Configuration("-O0", 1), configuration]
            )
            if outcome.kind != "equal":
                return program, outcome


@pytest.mark.parametrize(
    "function, wrong",
    [("jnp.cumsum(", "2 * jnp.cumsum("), ("lax.rev(", "jnp.roll(")],
    ids=["cumsum", "rev"],
)
def test_a_wrong_result_is_found_and_shrunk_to_one_statement(function, wrong):
    checker, configuration = (
        Checker(PlantedExecutor(function, wrong)),
        Configuration("-O2", 1),
    )
    program, outcome = first_that_differs(checker, function, configuration)
    assert (outcome.kind, outcome.configuration) == ("different", configuration)
    small = shrink(
        program,
        lambda candidate: outcome.is_like(
            checker.check(candidate, [configuration])
        ),
    )
    assert outcome.is_like(checker.check(small, [configuration]))
    assert len(small.results) == 1
    computing = [
        statement
        for statement in small.statements
        if "(" in statement.text and "all_reduce" not in statement.text
    ]
    assert len(computing) == 1 and function in computing[0].text
