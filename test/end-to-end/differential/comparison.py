"""When two results are equal: up to roundings."""

from collections.abc import Callable, Sequence, Set

import ml_dtypes
import numpy as np

Arrays = dict[str, np.ndarray]

#: Allowed differences of floats, relative to the largest element of a result.
RELATIVE = {"float32": 1e-5, "float64": 1e-12}

#: Allowed differences of floats of 16 bits, in units in the last place of the
#: element.
UNITS = 2

#: Largest part of a sum's terms by which it may differ, in units in the last
#: place: a running sum of n equal terms drifts by up to n / 4.
DRIFT = 0.25

#: How large terms of a sum may be that cancel, such as sines.
TERM = 1.0

#: Two executions that round in opposite directions differ by twice what a
#: perturbation in one direction shows.
MARGIN = 2


def first_difference(
    found: Arrays,
    expected: Arrays,
    perturbed: Callable[[], Sequence[Arrays]],
    terms: int = 1,
    single_precision: Set[str] = frozenset(),
) -> tuple[str, str] | None:
    """Compares results with JAX's.

    Args:
      found: results by name.
      expected: JAX's; what else `found` has is not compared.
      perturbed: computes JAX's results for floats that are perturbed by one
        unit in the last place, in several ways; called only if a difference is
        larger than what is allowed anyway.
      terms: of the longest sum that the program may have.
      single_precision: names of results that depend on floats of 32 bits,
        whose roundings show in a result of 64 bits.

    Returns:
      None if they are equal, else the name of the first result that differs,
      and how it does.
    """
    variants = None
    for name, reference in expected.items():
        if not differs(found[name], reference):
            continue
        least = RELATIVE["float32"] if name in single_precision else 0.0
        if is_float(reference.dtype):
            variants = perturbed() if variants is None else variants
            if not differs(
                found[name],
                reference,
                [arrays[name] for arrays in variants],
                terms,
                least,
            ):
                continue
        return name, describe(found[name], reference)
    return None


def differs(
    found: np.ndarray,
    expected: np.ndarray,
    variants: Sequence[np.ndarray] = (),
    terms: int = 1,
    least: float = 0.0,
) -> bool:
    """Whether an array is another one than expected.

    Floats may differ by roundings; `variants` of the expected array show how
    far these go, `terms` is the length of the longest sum that may be in it,
    and at least `least` of the largest element is allowed. Where a rounding
    decides whether an element is finite, it is not compared.
    """
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return True
    if not is_float(expected.dtype):
        return not np.array_equal(found, expected)
    x, y, *others = (
        array.astype(np.float64) for array in (found, expected, *variants)
    )
    stable = np.ones(y.shape, bool)
    for other in others:
        stable &= (np.isfinite(other) == np.isfinite(y)) & (
            np.isnan(other) == np.isnan(y)
        )
    finite = np.isfinite(y)
    special = stable & ~finite
    if not np.array_equal(x[special], y[special], equal_nan=True):
        return True
    compared = stable & finite
    allowed = _allowed(y, expected.dtype, terms, least)[compared]
    for other in others:
        allowed = np.maximum(
            allowed,
            MARGIN * np.abs(other[compared] - y[compared]).max(initial=0),
        )
    return not np.all(np.abs(x[compared] - y[compared]) <= allowed)


def same_bits(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two arrays are equal to the last bit, NaNs of any bits being
    equal.
    """
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return False
    if found.tobytes() == expected.tobytes():
        return True
    if not is_float(expected.dtype):
        return False
    x, y = found.astype(np.float64), expected.astype(np.float64)
    return np.array_equal(x, y, equal_nan=True) and np.array_equal(
        np.signbit(x) | np.isnan(x), np.signbit(y) | np.isnan(y)
    )


def is_float(dtype: np.dtype) -> bool:
    """Whether a dtype is one of floats, those that NumPy lacks included."""
    return np.issubdtype(dtype, np.floating) or dtype == ml_dtypes.bfloat16


def describe(found: np.ndarray, expected: np.ndarray) -> str:
    """Says where two arrays differ most."""
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"expected {expected.dtype}{list(expected.shape)}, found {found.dtype}{list(found.shape)}"
    x, y = found.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    with np.errstate(invalid="ignore"):
        distance = np.where(
            (x == y) | (np.isnan(x) & np.isnan(y)), 0, np.abs(x - y)
        )
    distance = np.where(np.isnan(distance), np.inf, distance)
    place = int(distance.argmax())
    index = tuple(int(i) for i in np.unravel_index(place, expected.shape))
    count = np.count_nonzero(distance)
    return f"{count} of {x.size} elements differ, most at {list(index)}: expected {expected[index]}, found {found[index]}"


def _allowed(
    expected: np.ndarray, dtype: np.dtype, terms: int, least: float
) -> np.ndarray:
    """Allowed difference of each element where sums have up to `terms` terms.
    Subnormal numbers may be 0: JAX on CPUs flushes them.
    """
    finite = np.where(np.isfinite(expected), np.abs(expected), 0)
    if dtype.name in RELATIVE:
        info, largest = np.finfo(dtype), finite.max(initial=0)
        # Terms that cancel may have been larger than their sum.
        drift = DRIFT * (terms - 1) * float(info.eps) * max(largest, TERM)
        part = max(RELATIVE[dtype.name], least)
        scale = max(part * largest, drift) + float(info.tiny)
        return np.full(expected.shape, scale)
    info = ml_dtypes.finfo(dtype)
    exponent = np.floor(
        np.log2(np.maximum(finite, float(info.smallest_normal)))
    )
    return UNITS * 2.0 ** (exponent - info.nmant) + (
        float(info.tiny) if dtype == ml_dtypes.bfloat16 else 0
    )
