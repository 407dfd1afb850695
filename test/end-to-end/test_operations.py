"""Every StableHLO operation against JAX, and the reference page of supported
ones.

`operations` has the table of cases; `python test/end-to-end/operations` writes
the page.
"""

import ml_dtypes
import numpy as np
import pytest
from jax import lax

from operations import outcomes, page, table
from operations.emitted import emit_like
from operations.forms import Case, operation
from operations.special_values import of_shape
from operations.tolerances import ACCUMULATED, EXACT, Ulps

GROUPS = {group.title: group for group in table.GROUPS}


@pytest.fixture(scope="module")
def found(tools):
    """The outcomes of the cases of a group, by its title; each group is tried
    once.
    """
    made = {}

    def get(title):
        if title not in made:
            made[title] = outcomes.outcomes(tools, GROUPS[title].cases())
        return made[title]

    return get


def test_every_operation_has_a_form():
    forms = [form for group in table.GROUPS for form in group.forms]
    assert table.all_operations() - {form.operation for form in forms} == set()
    assert all(form.types for form in forms)
    names = [(form.operation, form.name) for form in forms]
    assert len(names) == len(set(names))


@pytest.mark.daily(3)
@pytest.mark.parametrize("title", GROUPS)
def test_results_are_those_of_jax_or_errors_are_clear(found, title):
    assert outcomes.faults(found(title)) == []


@pytest.mark.daily(3)
@pytest.mark.parametrize("title", GROUPS)
def test_page_says_what_was_found(found, title):
    about_types, sections = page.read()
    by = f"the page is written by\n{page.COMMAND}"
    assert list(sections) == list(GROUPS), by
    expected = page.section(GROUPS[title], found(title))
    assert sections[title].rstrip() == expected.rstrip(), by
    for type_ in page.REFUSED_TYPES:
        for text in page.refusals(found(title), type_):
            assert text.strip() in about_types, by


# Among the cases of one step, a wrong result and an error are distinguished
# from right results, and the wrong case is named.
def test_wrong_and_refused_cases_are_found(tools):
    inputs = of_shape((5,))
    forms = [
        *operation("negate", ("f32",), inputs, ("right", lax.neg)),
        *operation(
            "negate",
            ("f32",),
            inputs,
            ("wrong", lax.neg, {"reference": lambda x: 2 - x}),
        ),
        *operation(
            "unary_einsum",
            ("f32",),
            inputs,
            ("refused", emit_like("unary_einsum", 'einsum_config = "a->a"')),
        ),
    ]
    found = outcomes.outcomes(tools, [Case(form, "f32") for form in forms])
    assert {
        case.form.name: outcome.kind.name for case, outcome in found.items()
    } == {
        "right": "SUPPORTED",
        "wrong": "WRONG",
        "refused": "REFUSED",
    }
    (fault,) = outcomes.faults(found)
    assert fault.startswith(
        "stablehlo.negate, wrong, f32: wrong: -O0, result 0: 5 of 5 elements differ; [0]: expected "
    )


def test_function_without_its_operation_is_an_error(tools):
    (form,) = operation("sine", ("f32",), of_shape((5,)), ("cosine", lax.cos))
    with pytest.raises(
        AssertionError,
        match="stablehlo.sine, cosine, f32: it is not lowered to it",
    ):
        outcomes.outcomes(tools, [Case(form, "f32")])


NEAR = [
    (EXACT, np.float32, [1, np.nan, np.inf, -0.0], [1, np.nan, np.inf, -0.0]),
    (EXACT, np.float32, [1e-40], [0]),  # JAX has no subnormal numbers.
    (Ulps(1), np.float32, [1 + 2**-23], [1]),
    (Ulps(4), ml_dtypes.bfloat16, [1 + 2**-6], [1]),
    (ACCUMULATED, np.float32, [100, 1e-6], [100, 0]),
    (ACCUMULATED, np.float16, [1 + 2**-9], [1]),
]
FAR = [
    (EXACT, np.float32, [0.0], [-0.0]),
    (EXACT, np.float32, [np.inf], [3e38]),
    (EXACT, np.float32, [np.nan], [0]),
    (EXACT, np.float32, [1e-37], [0]),
    (EXACT, np.float16, [2**-24], [0]),
    (EXACT, np.int32, [1], [2]),
    (Ulps(1), np.float32, [1 + 2**-22], [1]),
    (Ulps(4), ml_dtypes.bfloat16, [1 + 3 * 2**-7], [1]),
    (ACCUMULATED, np.float32, [100, 1e-2], [100, 0]),
    (ACCUMULATED, np.float64, [1 + 1e-11], [1]),
    (ACCUMULATED, np.float16, [1 + 3 * 2**-10], [1]),
]


@pytest.mark.parametrize("tolerance, dtype, found, expected", NEAR)
def test_near_results_are_accepted(tolerance, dtype, found, expected):
    assert (
        tolerance.difference(np.array(found, dtype), np.array(expected, dtype))
        is None
    )


@pytest.mark.parametrize("tolerance, dtype, found, expected", FAR)
def test_far_results_are_not_accepted(tolerance, dtype, found, expected):
    assert "1 of" in tolerance.difference(
        np.array(found, dtype), np.array(expected, dtype)
    )


def test_results_of_other_types_and_shapes_are_not_accepted():
    assert (
        EXACT.difference(np.zeros(2, np.float32), np.zeros(2, np.float64))
        == "expected float64[2], found float32[2]"
    )
    assert (
        EXACT.difference(np.zeros((2, 1)), np.zeros(2))
        == "expected float64[2], found float64[2, 1]"
    )
