"""How far a result may be from the reference."""

import dataclasses

import numpy as np

from operations.element_types import DTYPES, is_float

#: Relative to the largest element of a result, for sums of many terms in any
#: order.
_ACCUMULATED = {DTYPES["f32"]: 1e-5, DTYPES["f64"]: 1e-12}
#: Twice the distance from 1 to the next number: two roundings.
_TWO_ROUNDINGS = {DTYPES["f16"]: 2.0**-9, DTYPES["bf16"]: 2.0**-6}
#: The smallest normal numbers of the types whose subnormal ones XLA's CPU
#: backend replaces by zero.
_SMALLEST_NORMAL = {
    DTYPES["f32"]: 2.0**-126,
    DTYPES["f64"]: 2.0**-1022,
    DTYPES["bf16"]: 2.0**-126,
}


class Tolerance:
    """Compares results of one dtype and shape. NaN and infinities have to be in
    the same places; integers and bool are exact.
    """

    def difference(self, found, expected):
        """Describes how `found` differs from `expected`, both NumPy arrays;
        None if it does not.
        """
        if (found.dtype, found.shape) != (expected.dtype, expected.shape):
            return f"expected {expected.dtype}{list(expected.shape)}, found {found.dtype}{list(found.shape)}"
        if not is_float(expected.dtype):
            return _first(found != expected, found, expected)
        wide, other = found.astype(np.float64), expected.astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.abs(wide - other) <= self.allowed(other, expected.dtype)
            near |= (wide == other) | (np.isnan(wide) & np.isnan(other))
        near &= self.same_signs(wide, other)
        return _first(~near, found, expected)

    def allowed(self, expected, dtype):
        """The absolute differences that are accepted, for each element of
        `expected`, which is f64.
        """
        raise NotImplementedError

    def same_signs(self, found, expected):
        """Where the signs of zeros are as they should be."""
        return (
            (found != 0)
            | (expected != 0)
            | (np.signbit(found) == np.signbit(expected))
        )


@dataclasses.dataclass(frozen=True)
class Ulps(Tolerance):
    """Within `count` units in the last place, two of them in f16 and bf16;
    zeros have the same sign.

    Lockstep keeps subnormal numbers, so where JAX has zero or the smallest
    normal number, they count as equal.
    """

    count: int

    def allowed(self, expected, dtype):
        count = min(self.count, 2) if dtype in _TWO_ROUNDINGS else self.count
        smallest = _SMALLEST_NORMAL.get(dtype, 0)
        magnitude = np.abs(expected)
        with np.errstate(invalid="ignore"):
            units = count * np.spacing(magnitude.astype(dtype)).astype(
                np.float64
            )
        return np.where(
            magnitude <= smallest, np.maximum(units, smallest), units
        )


@dataclasses.dataclass(frozen=True)
class Accumulated(Tolerance):
    """For sums and products of many terms: relative to the largest element in
    f32 and f64; two roundings in f16 and bf16.
    """

    def allowed(self, expected, dtype):
        finite = np.abs(expected[np.isfinite(expected)])
        largest = finite.max(initial=0)
        if dtype in _ACCUMULATED:
            return _ACCUMULATED[dtype] * largest
        return (
            _TWO_ROUNDINGS[dtype] * np.abs(expected)
            + _ACCUMULATED[DTYPES["f32"]] * largest
        )

    def same_signs(self, found, expected):
        return True


def _first(wrong, found, expected):
    """Describes the first wrong element, and their number."""
    if not np.any(wrong):
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{np.count_nonzero(wrong)} of {wrong.size} elements differ; {list(index)}: expected {expected[index]}, found {found[index]}"


EXACT = Ulps(0)
ACCUMULATED = Accumulated()
