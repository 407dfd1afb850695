"""Generated programs: JAX accepts them, and the facts about values hold."""

import jax
import numpy as np
import pytest

from differential import execution
from differential.block import Block
from differential.builder import Builder, RejectedError
from differential.facts import BITS, NUMBERS, ROUNDED, Facts, product, total
from differential.generate import REPLICAS, generate
from differential.program import Type, texts
from differential.rendering import render
from differential.table import PRODUCTIONS, SUBJECTS
from lockstep import context

SEEDS = range(1, 13)


def equal(x, y):
    """Whether two arrays have the same numbers; NumPy does not find NaNs among
    the floats that it lacks.
    """
    return np.array_equal(
        x.astype("float64"), y.astype("float64"), equal_nan=True
    )


def test_a_seed_gives_one_program():
    assert generate(3) == generate(3)
    assert render(generate(3)) == render(generate(3))
    assert generate(3) != generate(4)


@pytest.mark.parametrize("entry", PRODUCTIONS, ids=lambda entry: entry.name)
def test_productions_make_statements(entry):
    """Each production adds a statement to most programs."""
    made = 0
    for seed in range(8):
        builder = Builder(seed, SUBJECTS)
        with jax.enable_x64(builder.x64), context.capturing(REPLICAS):
            block = Block(builder)
            block.input(Type((3, 4), builder.floats[0]))
            for _ in range(4):
                try:
                    made += bool(block.add(entry.make(block)))
                    break
                except RejectedError:
                    pass
    assert made >= 3


@pytest.mark.parametrize("seed", SEEDS)
def test_types_are_those_of_jax_and_results_are_equal_on_all_replicas(seed):
    program = generate(seed)
    loaded = execution.load(render(program))
    for replicas in (1, 3):
        results = execution.execute_by_jax(loaded, replicas, shared=False)
        for name in program.results:
            first, *others = np.split(results[name], replicas)
            type_ = program.types[name]
            assert (first.shape[1:], first.dtype.name) == (
                type_.shape,
                type_.dtype,
            )
            for other in others:
                assert equal(other, first), name


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_exact_is_not_touched_by_roundings(seed):
    program = generate(seed)
    exact = {
        name: flag
        for s in program.statements
        for name, flag in zip(s.names, s.exact, strict=True)
    }
    plain = execution.execute_by_jax(execution.load(render(program)), 1)
    for perturbation in range(2):
        found = execution.execute_by_jax(
            execution.load(render(program, perturbation)), 1
        )
        for name in program.results:
            if exact[name]:
                assert equal(found[name], plain[name]), name


def test_a_program_uses_no_name_twice():
    for seed in SEEDS:
        names = [entry.name for entry in generate(seed).inputs]
        pending = list(generate(seed).statements)
        while pending:
            statement = pending.pop()
            names += statement.names
            for function in statement.functions:
                names += [function.name, *function.parameters]
                pending += function.statements
        assert len(names) == len(set(names))


def test_facts_of_arithmetic():
    eighths, small = Facts(BITS, 4, 1 / 8), Facts(BITS, 4, 1)
    assert total(eighths, small) == Facts(BITS, 8, 1 / 8)
    assert product(eighths, small) == Facts(BITS, 16, 1 / 8)
    assert product(eighths, eighths).computed("float32") == Facts(
        NUMBERS, 16, 1 / 64
    )
    # Sixteens of 64 parts need 11 bits, and bfloat16 has 8.
    assert product(eighths, eighths).computed("bfloat16").level == ROUNDED
    assert (
        total(eighths, Facts(ROUNDED, 1)).computed("float64").level == ROUNDED
    )
    assert Facts(BITS).computed("float32").level == ROUNDED


def test_perturbed_programs_are_other_programs():
    program = generate(1)
    assert len({render(program), render(program, 0), render(program, 1)}) == 3
    assert list(texts(program.statements))
