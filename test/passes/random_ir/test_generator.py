"""The generator makes the intended programs, and its facts about values are
true.
"""

import numpy as np
import pytest

from random_ir import inputs, module
from random_ir.facts import Facts, Invalid, join, rounded, summed
from random_ir.generation.programs import generate
from random_ir.operations.collectives import AllReduce
from random_ir.operations.contractions import (
    CONVOLUTIONS,
    PRODUCTS,
    Convolution,
    Product,
)
from random_ir.operations.elements import Extract
from random_ir.operations.generic import Generic, LoopIndex
from random_ir.operations.scalar_table import ARITHMETIC, CONVERSIONS
from random_ir.operations.scalars import Arithmetic, Convert, ScalarOperation
from random_ir.program import Argument, Operation, Program, analyze
from random_ir.rewriting import all_statements, merged, without_unused
from random_ir.types import ELEMENTS, FLOATS, Type

SEEDS = range(2000)


@pytest.fixture(scope="module")
def programs():
    return [generate(seed, replicas=1 + 2 * (seed % 2)) for seed in SEEDS]


def test_a_seed_gives_one_program():
    for seed in (1, 2, 3):
        first, second = (module.render(generate(seed, 3)) for _ in range(2))
        assert first == second
    assert len(
        {module.render(generate(seed, 3)) for seed in SEEDS}
    ) > 0.95 * len(SEEDS)


def subclasses(kind):
    return {
        kind,
        *(
            inner
            for direct in kind.__subclasses__()
            for inner in subclasses(direct)
        ),
    }


def test_every_operation_is_drawn(programs):
    drawn = [
        statement.operation
        for program in programs
        for statement in all_statements(program.statements)
    ]
    assert {type(operation) for operation in drawn} == subclasses(Operation) - {
        Operation,
        ScalarOperation,
    }
    assert {
        operation.name
        for operation in drawn
        if isinstance(operation, Arithmetic)
    } == set(ARITHMETIC)
    assert {
        operation.name for operation in drawn if isinstance(operation, Convert)
    } == set(CONVERSIONS)
    assert {
        operation.name for operation in drawn if isinstance(operation, Product)
    } == set(PRODUCTS)
    assert {
        operation.name
        for operation in drawn
        if isinstance(operation, Convolution)
    } == set(CONVOLUTIONS)
    assert {
        operation.reduction
        for operation in drawn
        if isinstance(operation, AllReduce)
    } == {"sum", "mean", "product", "min", "max"}


def test_every_form_of_a_loop_is_drawn(programs):
    """Outputs that are overwritten and combined, axes of every form."""
    generics = [
        statement.operation
        for program in programs
        for statement in all_statements(program.statements)
        if isinstance(statement.operation, Generic)
    ]
    outputs = {
        (output.combiner is None, output.has_init)
        for generic in generics
        for output in generic.outputs
    }
    assert outputs == {(True, False), (True, True), (False, True)}
    axes = {
        axis for generic in generics for axes in generic.maps for axis in axes
    }
    forms = {
        (
            len(axis.terms),
            tuple(min(max(c, -1), 2) for _, c in axis.terms),
            axis.offset > 0,
        )
        for axis in axes
    }
    plain, shifted, constant = (1, (1,), False), (1, (1,), True), (0, (), True)
    backwards, strided, added = (
        (1, (-1,), True),
        (1, (2,), True),
        (2, (1, 1), False),
    )
    assert {plain, shifted, constant, backwards, strided, added} <= forms
    assert {
        operation
        for generic in generics
        for operation in map(type, body_operations(generic))
    } >= {LoopIndex, Extract}


def body_operations(generic):
    return [statement.operation for statement in generic.body.statements]


def test_every_element_type_and_size_is_drawn(programs):
    types = {
        argument.type for program in programs for argument in program.arguments
    }
    assert {type.element for type in types} == set(ELEMENTS)
    sizes = {size for type in types for size in type.shape}
    assert {0, 1} <= sizes and max(sizes) > 256


def test_results_lie_in_the_range_that_is_known(programs, executor):
    """Values of the interpreter satisfy the facts of `analyze`: finite or not,
    in their range, multiples of the grain.
    """
    for first in range(0, 100, 10):
        batch = [
            program
            for program in programs[first : first + 10]
            if program.replicas == 1
        ]
        program = merged(batch)
        executor.write(program)
        outputs = executor.interpret(program)
        for (what, name), known in module.expected_names(program).items():
            values = outputs[what, name, 0]
            assert values.shape == known.type.shape
            finite = (
                values[np.isfinite(values)] if known.type.is_float else values
            )
            assert known.facts.special or finite.size == values.size
            slack = known.facts.error + 1e-12
            assert (finite >= known.facts.low - slack).all() and (
                finite <= known.facts.high + slack
            ).all(), (name, known, values)
            if known.facts.grain and known.type.is_float:
                scaled = finite.astype(np.float64) / known.facts.grain
                np.testing.assert_array_equal(
                    scaled, np.round(scaled), err_msg=name
                )


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("size", [0, 1, 5, 100])
def test_inputs_and_initial_values_arrive(element, size, executor):
    """Numbers of every kind, as an input, as a literal, and as an initial value
    in a file.
    """
    for kind in inputs.kinds_of(element):
        type = Type(element, (size,))
        arguments = tuple(
            Argument(number, type, kind, 7, is_variable)
            for number, is_variable in enumerate((False, True))
        )
        program = Program(1, arguments, (), (0, 1))
        executor.write(program)
        expected = inputs.draw(kind, element, (size,), 7)
        for values in executor.interpret(program).values():
            np.testing.assert_array_equal(values, expected)
            assert (
                element not in FLOATS
                or (np.signbit(values) == np.signbit(expected)).all()
                or np.isnan(expected).any()
            )


def test_programs_that_are_merged_give_what_each_gives_alone(
    programs, executor
):
    pair = [program for program in programs if program.replicas == 3][:2]
    found = []
    for program in (*pair, merged(pair)):
        executor.write(program)
        outputs = executor.interpret(program)
        found.append(
            [
                outputs["result", module.result_name(number), 2]
                for number in range(len(program.results))
            ]
        )
    for alone, together in zip([*found[0], *found[1]], found[2], strict=True):
        np.testing.assert_array_equal(alone, together)


def test_nothing_unused_is_left(programs):
    for program in programs:
        assert without_unused(program) == program


def test_sums_of_small_whole_numbers_are_exact():
    whole = Facts(-3, 3, grain=1.0)
    assert summed("f32", whole, 1000).error == 0
    # bf16 has no odd numbers above 256, but sums are taken in f32 and rounded
    # once.
    assert summed("bf16", whole, 1000) == Facts(-3000, 3000, zero_sign=False)
    assert summed("f32", Facts(-1, 1), 1000).error > 0
    assert summed("f32", whole, 10**7).error > 0


def test_roundings_count_where_operands_differ_already():
    third = rounded("f32", Facts(0.0, 1 / 3))
    assert third.is_exact and third.grain == 0
    assert rounded("f32", Facts(0.0, 1.0, error=1e-3)).error > 1e-3
    with pytest.raises(Invalid):
        rounded("f16", Facts(0.0, 1e5))


def test_what_two_values_have_in_common():
    joined = join(
        Facts(-1, 2, grain=0.5), Facts(0, 5, grain=1.0, error=0.1, special=True)
    )
    assert joined == Facts(-1, 5, grain=0.5, error=0.1, special=True)


def test_a_result_that_replicas_do_not_share_is_not_stored():
    type = Type("f32", (2,))
    arguments = (
        Argument(0, type, "whole", 1, is_variable=True),
        Argument(1, type, "whole", 1),
    )
    analyze(Program(3, arguments, (), (), ((0, 0),)))
    with pytest.raises(Invalid):
        analyze(Program(3, arguments, (), (), ((0, 1),)))
