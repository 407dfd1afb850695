"""The contents of inputs: kinds of numbers, each as a NumPy expression with
facts about its elements.
"""

import dataclasses

from differential.facts import BITS, ROUNDED, Facts


@dataclasses.dataclass(frozen=True)
class Kind:
    """How arrays are drawn.

    Attributes:
      text: expression of the random generator `r`, the shape `s` and the quoted
        dtype `{d}`.
      facts: of every element.
    """

    text: str
    facts: Facts


#: Floats at which functions and conversions have rules of their own. Numbers
#: below the smallest normal one are not among them: JAX on CPUs takes them as
#: 0.
_SPECIAL = "[0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 100.0, -300.0, np.inf, -np.inf, np.nan]"

KINDS = {
    # Floats.
    "eighths": Kind("r.integers(-32, 33, s) / 8", Facts(BITS, 4, 1 / 8)),
    "units": Kind(
        "r.choice([-1.0, 1.0, 1.0, 0.5, 2.0], s)", Facts(BITS, 2, 1 / 2)
    ),
    "normal": Kind("r.normal(size=s)", Facts(ROUNDED, 6)),
    "positive": Kind("r.uniform(0.25, 2, s)", Facts(ROUNDED, 2)),
    "special": Kind(f"r.choice({_SPECIAL}, s)", Facts(BITS)),
    "large": Kind(
        "r.choice([-1, 1], s) * 2.0 ** r.integers(-10, 14, s)",
        Facts(BITS, 2.0**13, 2.0**-10),
    ),
    # Integers.
    "small": Kind("r.integers(-4, 5, s)", Facts(BITS, 4, 1)),
    "natural": Kind("r.integers(0, 8, s)", Facts(BITS, 7, 1)),
    "bits": Kind("r.integers(-(2**63), 2**63 - 1, s)", Facts(BITS)),
    # Among them the smallest and the largest number, and their neighbours: the
    # highest bit of some is flipped.
    "limits": Kind(
        "r.choice([0, 1, 2, 7, -1, -3], s) ^ r.integers(0, 2, s) << 8 * np.dtype({d}).itemsize - 1",
        Facts(BITS),
    ),
    # Bool.
    "flags": Kind("r.integers(0, 2, s)", Facts(BITS, 1, 1)),
    # Values that every dtype can hold, for reduced programs.
    "ones": Kind("np.ones(s)", Facts(BITS, 1, 1)),
    "count": Kind("np.arange(np.prod(s)).reshape(s) % 7", Facts(BITS, 6, 1)),
}

FLOAT_KINDS = ("eighths", "units", "normal", "positive", "special", "large")
INTEGER_KINDS = ("small", "natural", "bits", "limits")
