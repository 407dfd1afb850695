"""A planted wrong result is found, its program is reduced, and the pass that
causes it is named.
"""

import numpy as np
import pytest

from random_ir import culprit, pipeline
from random_ir.comparison import are_same, compare
from random_ir.execution import BASELINE, PLAIN, Executor, ToolFailure
from random_ir.facts import Facts
from random_ir.failures import of_tool
from random_ir.generation.programs import generate
from random_ir.operations.control_flow import For
from random_ir.operations.scalars import Arithmetic, Compare
from random_ir.operations.slices import Concat
from random_ir.program import Argument, Program, Region, Statement
from random_ir.rewriting import all_statements
from random_ir.shrink import shrink
from random_ir.steps import StepChecker
from random_ir.types import Type

VECTOR = Type("f32", (5,))


def operations(program):
    return [
        statement.operation for statement in all_statements(program.statements)
    ]


def has(program, kind):
    return any(isinstance(operation, kind) for operation in operations(program))


def first_with(kind, replicas=1):
    """A program of some statements, one of which is of the kind."""
    for seed in range(1000):
        program = generate(seed, replicas)
        if has(program, kind) and len(operations(program)) > 8:
            return program
    raise AssertionError(f"no program with {kind}")


@pytest.mark.parametrize("kind", [Concat, Compare, For])
def test_what_does_not_matter_is_left_out(kind):
    program = first_with(kind, replicas=3)
    small = shrink(program, lambda candidate: has(candidate, kind))
    assert has(small, kind) and len(operations(small)) <= 5 < len(
        operations(program)
    )
    assert small.replicas == 1 and len(small.results) + len(small.stores) == 1
    assert all(
        size <= 2
        for argument in small.arguments
        for size in argument.type.shape
    )


def test_shrinking_ends_after_so_many_attempts():
    program, tried = first_with(Concat), []
    assert (
        shrink(
            program,
            lambda candidate: bool(tried.append(candidate)),
            most_attempts=7,
        )
        == program
    )
    assert len(tried) == 7


def test_a_loop_loses_what_it_need_not_carry():
    """Two values are carried; the loop is kept for one of them."""
    add = Statement(Arithmetic("arith.addf"), (3, 0), (5,))
    loop = Statement(
        For(1, 2, 4, False, Region((2, 3, 4), (add,), (5, 4))), (0, 1), (6, 7)
    )
    arguments = tuple(
        Argument(number, VECTOR, "whole", number) for number in range(2)
    )
    small = shrink(
        Program(1, arguments, (loop,), (6, 7)),
        lambda program: has(program, For) and has(program, Arithmetic),
    )
    (left,) = small.statements
    assert (
        len(left.operands) == 1
        and left.operation.trips == 1
        and left.operation.step == 1
    )


class WrongConcat(Executor):
    """With all passes, the last element of the first result is wrong if the
    program has a concatenation.
    """

    def execute(self, program, variant):
        outputs = super().execute(program, variant)
        if variant.name == "-O2" and has(program, Concat):
            outputs["result", "r0", 0].flat[-1] = 77
        return outputs


def test_a_planted_difference_is_found_and_made_small(tools, tmp_path):
    checker = StepChecker(tools, tmp_path)
    checker.executor = WrongConcat(tools, tmp_path)
    wrong = Program(
        1,
        (Argument(0, VECTOR, "whole", 1), Argument(1, VECTOR, "whole", 2)),
        (Statement(Concat(0), (0, 1), (2,)),),
        (2,),
    )
    right = Program(
        1,
        (Argument(0, VECTOR, "whole", 1),),
        (Statement(Arithmetic("arith.negf"), (0,), (1,)),),
        (1,),
    )
    assert checker.check([right], [PLAIN, BASELINE]) is None
    failure = checker.check([wrong, right], [PLAIN, BASELINE])
    assert (
        failure.variant == "-O2"
        and failure.is_difference
        and "found 77" in failure.text
    )
    again = checker.again(failure)
    small = shrink(wrong, lambda program: failure.is_like(again(program)))
    assert operations(small) == [Concat(0)] and max(
        argument.type.shape for argument in small.arguments
    ) == (1,)


class WrongPass(Executor):
    """The results are wrong if a pass is in the pipeline."""

    def __init__(self, tools, folder, culprit):
        super().__init__(tools, folder)
        self.culprit = culprit

    def execute_without(self, program, left_out):
        outputs = super().execute_without(program, left_out)
        if self.culprit in self.pipeline(program, left_out):
            outputs["result", "r0", 0].flat[0] += 1
        return outputs


@pytest.mark.parametrize(
    "text, name",
    [
        ("simplify-collectives", "simplify-collectives"),
        ("fuse-operations", "fuse-operations"),
        ("{fuse=true", "form-kernels{fuse}"),
        ("level=O2", "generate-code{level=O2}"),
        ("reuse=true", "plan-memory{reuse}"),
    ],
)
def test_a_planted_difference_is_blamed_on_its_pass(
    text, name, tools, tmp_path
):
    program = Program(
        1,
        (Argument(0, VECTOR, "whole", 1),),
        (Statement(Arithmetic("arith.negf"), (0,), (1,)),),
        (1,),
    )
    found = culprit.find_culprit(WrongPass(tools, tmp_path, text), program)
    assert found == f"first wrong with {name}; right without {name}"


def test_a_mandatory_pass_is_not_an_optional_one(tools, tmp_path):
    program = Program(1, (Argument(0, VECTOR, "whole", 1),), (), (0,))
    found = culprit.find_culprit(
        WrongPass(tools, tmp_path, "lower-variables"), program
    )
    assert found.startswith(
        "wrong without any of the optional passes; lockstep-opt --check-values does not see"
    )
    assert "right in every pipeline" in culprit.find_culprit(
        Executor(tools, tmp_path), program
    )


def test_a_pass_that_is_gone_is_an_error():
    with pytest.raises(ValueError, match="expected the pass 'fuse-operations'"):
        pipeline.without("builtin.module( cse )", ["fuse-operations"])


def test_numbers_agree_as_nearly_as_is_known():
    a = np.array([1.0, 0.0, np.nan, np.inf], np.float32)
    b = np.array([1.0, -0.0, np.nan, np.inf], np.float32)
    exact = Facts(0.0, 1.0, grain=1.0)
    assert are_same(a, b, exact).tolist() == [True, False, True, True]
    assert are_same(a, b, Facts(0.0, 1.0, grain=1.0, zero_sign=False)).all()
    near = np.array([1.001, 0.0, 0.0, -np.inf], np.float32)
    assert are_same(a, near, Facts(0.0, 1.0, error=1e-3)).tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert not are_same(a, near, exact)[0] and not are_same(a, near, None)[0]
    assert are_same(np.array([1, 2]), np.array([1, 3]), exact).tolist() == [
        True,
        False,
    ]


def test_a_difference_says_where_it_is():
    program = Program(
        1, (Argument(0, Type("f32", (2, 3)), "whole", 1),), (), (0,)
    )
    expected = {("result", "r0", 0): np.zeros((2, 3), np.float32)}
    found = {("result", "r0", 0): np.zeros((2, 3), np.float32)}
    assert compare(program, expected, found, BASELINE.name) is None
    found["result", "r0", 0][1, 2] = 5
    assert (
        str(compare(program, expected, found, "-O2"))
        == "-O2: result r0 of replica 0, element [1, 2]: expected 0.0, found 5.0"
    )
    found = {("result", "r0", 0): np.zeros((3, 2), np.float32)}
    assert "expected float32[2, 3], found float32[3, 2]" in str(
        compare(program, expected, found, "-O2")
    )


def test_programs_that_fail_alike_have_one_cause():
    texts = [
        "a.mlir:3:4: error: no code for 'x' on tensor<2xf32>, 5 left",
        "b.mlir:13:1: error: no code for 'x' on tensor<7x1xi8>, 12 left",
    ]
    failures = [
        of_tool("-O0", ToolFailure("lockstep-compile", "fails", text))
        for text in texts
    ]
    assert (
        failures[0].is_like(failures[1])
        and failures[0].cause
        == "lockstep-compile fails: no code for 'x' on T, N left"
    )
    assert not failures[0].is_like(
        of_tool("-O2", ToolFailure("lockstep-compile", "fails", texts[0]))
    )
    assert not failures[0].is_like(None)
