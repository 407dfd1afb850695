"""Facts about the elements of a value, known at generation.

A result may differ between two correct executions by roundings alone. Where a
function jumps (comparisons, `floor`, conversions to integers, the order of a
sort) a rounding would become a difference of any size, so these take operands
that no rounding has touched.
"""

import dataclasses
import functools
import math

#: Levels of exactness. Elements of a value may differ by roundings; are the
#: same numbers, zeros perhaps of another sign; or are the same bits.
ROUNDED, NUMBERS, BITS = range(3)

#: Bits of the significand, the implicit one included.
PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}

#: The largest magnitude that results are scaled to, so that programs do not end
#: in infinities.
CAP = {
    "float16": 2.0**8,
    "bfloat16": 2.0**20,
    "float32": 2.0**20,
    "float64": 2.0**30,
}


@dataclasses.dataclass(frozen=True)
class Facts:
    """Facts about all elements of a value.

    Attributes:
      level: `ROUNDED`, `NUMBERS` or `BITS`.
      bound: a bound on their magnitude; infinite where none is known, and where
        NaNs may be.
      quantum: a power of 2 that all of them are multiples of; 0 where none is
        known.
    """

    level: int = ROUNDED
    bound: float = math.inf
    quantum: float = 0.0

    def fits(self, dtype: str) -> bool:
        """Whether every multiple of `quantum` within `bound` is a number of the
        dtype.
        """
        if dtype not in PRECISION:
            return True
        limit = 2.0**15 if dtype == "float16" else math.inf
        return self.quantum > 0 and self.bound <= min(
            limit, self.quantum * 2.0 ** PRECISION[dtype]
        )

    def computed(self, dtype: str) -> "Facts":
        """The facts of a result in `dtype` of arithmetic whose exact result has
        these facts.
        """
        if self.level == ROUNDED or not self.fits(dtype):
            return Facts(ROUNDED, self.bound)
        return dataclasses.replace(self, level=NUMBERS)

    def scaled(self, factor: float) -> "Facts":
        """Facts of multiples of the elements by a power of 2, or of sums of so
        many of them.
        """
        return dataclasses.replace(
            self,
            bound=self.bound * factor,
            quantum=self.quantum * min(factor, 1.0),
        )


def join(*facts: Facts) -> Facts:
    """Facts of what consists of elements of all of these."""
    level, bound, quantum = (
        f(getattr(entry, name) for entry in facts)
        for f, name in ((min, "level"), (max, "bound"), (min, "quantum"))
    )
    return Facts(level, bound, quantum)


def total(*facts: Facts) -> Facts:
    """Facts of a sum with one element of each."""
    return dataclasses.replace(
        join(*facts), bound=sum(entry.bound for entry in facts)
    )


def product(*facts: Facts) -> Facts:
    """Facts of a product with one element of each."""

    def multiply(name):
        return functools.reduce(
            lambda x, y: x * y if x and y else 0.0,
            (getattr(entry, name) for entry in facts),
        )

    return Facts(
        min(entry.level for entry in facts),
        multiply("bound"),
        multiply("quantum"),
    )


def constant(value: float) -> Facts:
    """Facts of a Python number that is a multiple of 1/8."""
    quantum = 1.0 if value == int(value) else 1 / 8
    return Facts(BITS, abs(value), quantum)
