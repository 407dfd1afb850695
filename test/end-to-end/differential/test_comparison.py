"""The definition of a difference."""

import ml_dtypes
import numpy as np
import pytest

from differential.comparison import differs, first_difference, same_bits


def floats(*values, dtype="float32"):
    return np.array(values, dtype)


def test_floats_differ_relative_to_the_largest_element():
    expected = floats(100, 1e-3)
    assert not differs(floats(100, 1.5e-3), expected)
    assert differs(floats(100, 3e-3), expected)
    assert differs(floats(100, 1.5e-3, dtype="float64"), expected)
    assert differs(
        floats(100, 1e-3 + 1e-9, dtype="float64"),
        floats(100, 1e-3, dtype="float64"),
    )


@pytest.mark.parametrize(
    "dtype, unit", [("float16", 2**-10), ("bfloat16", 2**-7)]
)
def test_floats_of_16_bits_differ_by_units_of_each_element(dtype, unit):
    expected = floats(1, 100, dtype=dtype)
    assert not differs(floats(1 + 2 * unit, 100, dtype=dtype), expected)
    assert differs(floats(1 + 3 * unit, 100, dtype=dtype), expected)
    assert not differs(floats(1, 100 * (1 + unit), dtype=dtype), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool"])
def test_integers_and_booleans_are_exact(dtype):
    assert not differs(np.array([0, 1], dtype), np.array([0, 1], dtype))
    assert differs(np.array([0, 0], dtype), np.array([0, 1], dtype))


@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16])
def test_infinities_and_nans_are_where_they_are_expected(dtype):
    expected = floats(np.nan, np.inf, -np.inf, 1, dtype=dtype)
    assert not differs(expected.copy(), expected)
    for place in range(4):
        for value in (np.nan, np.inf, -np.inf, 1):
            found = expected.copy()
            found[place] = value
            assert differs(found, expected) == (
                found.tobytes() != expected.tobytes()
            )


def test_perturbations_show_what_roundings_may_do():
    expected, variant = floats(1, 1), floats(1, 1.001)
    assert differs(floats(1, 0.999), expected)
    assert not differs(floats(1, 0.999), expected, [variant])
    assert differs(floats(1, 0.99), expected, [variant])
    # Where a rounding makes an element infinite, it is not compared.
    assert not differs(floats(1, np.inf), expected, [floats(1, np.inf)])
    assert differs(floats(np.inf, 1), expected, [floats(1, np.inf)])


def test_perturbations_are_computed_only_where_they_decide():
    calls = []

    def perturbed():
        calls.append(1)
        return [{"a": floats(1.1), "b": floats(1)}]

    expected = {"a": floats(1), "b": floats(1)}
    assert (
        first_difference({"a": floats(1), "b": floats(1)}, expected, perturbed)
        is None
    )
    assert not calls
    assert (
        first_difference(
            {"a": floats(1.05), "b": floats(1)}, expected, perturbed
        )
        is None
    )
    name, how = first_difference(
        {"a": floats(1.05), "b": floats(2)}, expected, perturbed
    )
    assert (
        name == "b"
        and how
        == "1 of 1 elements differ, most at [0]: expected 1.0, found 2.0"
    )
    assert len(calls) == 2


def test_bits_are_compared_with_signs_of_zeros_but_not_of_nans():
    assert same_bits(floats(0, np.nan), floats(0, -np.nan))
    assert not same_bits(floats(0), floats(-0.0))
    assert not same_bits(
        floats(1), floats(np.nextafter(np.float32(1), np.float32(2)))
    )
    assert not same_bits(np.array([1, 2]), np.array([1, 3]))


def test_long_sums_drift():
    expected, found = floats(1), floats(1 + 1e-4)
    assert differs(found, expected, terms=1000)
    assert not differs(found, expected, terms=4096)
    assert differs(
        floats(1 + 1e-4, dtype="float64"),
        floats(1, dtype="float64"),
        terms=4096,
    )


def test_terms_that_cancel_leave_their_roundings():
    expected, found = floats(0), floats(1.2e-7)
    assert differs(found, expected)
    assert not differs(found, expected, terms=6)
    assert differs(floats(1e-5), expected, terms=6)


def test_floats_of_32_bits_show_in_results_of_64():
    expected = {
        name: floats(1, dtype="float64") for name in ("single", "double")
    }
    found = {
        name: floats(1 + 1e-6, dtype="float64") for name in ("single", "double")
    }
    name, _ = first_difference(
        found, expected, list, single_precision={"single"}
    )
    assert name == "double"
    found["double"] = expected["double"]
    assert not first_difference(
        found, expected, list, single_precision={"single"}
    )
    found["single"] = floats(1 + 1e-4, dtype="float64")
    assert first_difference(found, expected, list, single_precision={"single"})
