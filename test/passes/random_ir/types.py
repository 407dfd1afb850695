"""Element types and tensor types of generated programs."""

from dataclasses import dataclass
from math import prod

import numpy as np


@dataclass(frozen=True)
class FloatFormat:
    """A floating-point element type: its bits, those of its significand (the
    hidden one included), its largest and least positive number.
    """

    width: int
    digits: int
    largest: float
    least: float

    @property
    def unit(self):
        """The greatest relative error of one rounding."""
        return 2.0**-self.digits


FLOATS = {
    "f16": FloatFormat(16, 11, 65504.0, 2.0**-24),
    "bf16": FloatFormat(16, 8, 2.0**127 * (2 - 2**-7), 2.0**-133),
    "f32": FloatFormat(32, 24, 2.0**127 * (2 - 2**-23), 2.0**-149),
    "f64": FloatFormat(64, 53, 2.0**1023 * (2 - 2**-52), 5e-324),
}

#: Widths of integer types, in bits.
INTEGERS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}

#: Types that a tensor of a program can have: an index is for addressing only.
ELEMENTS = [*FLOATS, "i1", "i8", "i16", "i32", "i64"]

#: How arrays of the types are stored. NumPy has no bf16: its numbers are given
#: as f32.
DTYPES = {
    "f16": np.float16,
    "bf16": np.float32,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}


@dataclass(frozen=True)
class Type:
    """A ranked tensor, or a scalar if there is no shape."""

    element: str
    shape: tuple[int, ...] | None = None

    def __str__(self):
        if self.is_scalar:
            return self.element
        return f"tensor<{'x'.join(map(str, (*self.shape, self.element)))}>"

    @property
    def is_scalar(self):
        return self.shape is None

    @property
    def is_float(self):
        return self.element in FLOATS

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        """The number of elements."""
        return 1 if self.is_scalar else prod(self.shape)

    def of(self, element):
        """The same shape with other elements."""
        return Type(element, self.shape)


def integer_range(element):
    """The least and the greatest integer of a type; a boolean is 0 or 1, all
    others are signed.
    """
    width = INTEGERS[element]
    return (0, 1) if width == 1 else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def row_major_strides(shape):
    return [prod(shape[dim + 1 :]) for dim in range(len(shape))]
