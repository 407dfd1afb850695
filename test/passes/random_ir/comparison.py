"""Compares the outputs of two executions, as far as they have to agree."""

from dataclasses import dataclass

import numpy as np

from .facts import Facts
from .module import expected_names


@dataclass(frozen=True)
class Difference:
    """The first difference of an execution. `what`, `name`: a result or
    variable; `place`: the indices of the element.
    """

    variant: str
    what: str
    name: str
    replica: int
    place: tuple[int, ...]
    expected: object
    found: object
    tolerance: float

    def __str__(self):
        allowed = (
            f" (up to {self.tolerance:.3g} is allowed)"
            if self.tolerance
            else ""
        )
        place = f"{self.what} {self.name} of replica {self.replica}, element {list(self.place)}"
        return f"{self.variant}: {place}: expected {self.expected}, found {self.found}{allowed}"


def are_same(a, b, facts: Facts | None):
    """For each element whether two executions agree in it, as nearly as `facts`
    promise; None: in all bits.
    """
    if a.dtype.kind != "f":
        return a == b
    both_nan = np.isnan(a) & np.isnan(b)
    if facts is None or facts.is_exact:
        has_signs = facts is None or facts.zero_sign
        return both_nan | (
            (a == b) & ((np.signbit(a) == np.signbit(b)) | (not has_signs))
        )
    with np.errstate(invalid="ignore"):
        near = (
            np.abs(a.astype(np.float64) - b.astype(np.float64))
            <= 2 * facts.error
        )
    return both_nan | (a == b) | near


def compare(program, expected, found, variant, is_bitwise=False):
    """The first `Difference` between outputs, or None. `is_bitwise`: everything
    has to have the same bits.
    """
    for (what, name), known in expected_names(program).items():
        facts = None if is_bitwise else known.facts
        for replica in range(program.replicas):
            a, b = expected[what, name, replica], found[what, name, replica]
            if a.shape != b.shape or a.dtype != b.dtype:
                shapes = (
                    f"{a.dtype}{list(a.shape)}",
                    f"{b.dtype}{list(b.shape)}",
                )
                return Difference(
                    variant, what, name, replica, (), *shapes, 0.0
                )
            different = np.argwhere(~are_same(a, b, facts))
            if len(different):
                place = tuple(map(int, different[0]))
                tolerance = 2 * facts.error if facts else 0.0
                return Difference(
                    variant,
                    what,
                    name,
                    replica,
                    place,
                    a[place].item(),
                    b[place].item(),
                    tolerance,
                )
    return None
