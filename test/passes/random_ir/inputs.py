"""The numbers that go into programs."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .facts import Facts, of_integer
from .types import DTYPES, FLOATS, INTEGERS, integer_range


@dataclass(frozen=True)
class Kind:
    """Numbers of a kind: `draw(random, count)` as f64 or i64, with facts."""

    facts: Callable[[str], Facts]
    draw: Callable[[np.random.Generator, int, str], np.ndarray]
    is_float: bool = True


def special_floats(random, count, element):
    """Small whole numbers, with zeros of both signs, infinities and NaNs among
    them.
    """
    numbers = random.integers(-3, 4, count).astype(np.float64)
    special = np.array([np.nan, np.inf, -np.inf, -0.0])
    return np.where(
        random.random(count) < 0.3,
        special[random.integers(0, 4, count)],
        numbers,
    )


def any_integers(random, count, element):
    """All numbers of the type, the least and the greatest ones often."""
    least, greatest = integer_range(element)
    numbers = random.integers(least, greatest, count, np.int64, endpoint=True)
    ends = np.array([least, least + 1, -1, 0, 1, greatest])
    return np.where(
        random.random(count) < 0.3,
        ends[random.integers(0, len(ends), count)],
        numbers,
    )


def whole(low, high):
    """A kind: the whole numbers from `low` to `high`, as floats."""
    return Kind(
        lambda element: Facts(low, high, grain=1.0),
        lambda random, count, element: random.integers(low, high + 1, count),
    )


def integers(low, high):
    return Kind(
        lambda element: of_integer(element, low, high),
        lambda random, count, element: random.integers(low, high + 1, count),
        False,
    )


#: Sums of whole numbers are exact in every order; `real` numbers show where
#: sums are not, and where roundings are left out.
KINDS = {
    "whole": whole(-3, 3),
    "positive": whole(1, 4),
    "eighths": Kind(
        lambda element: Facts(-2, 2, grain=0.125),
        lambda random, count, element: random.integers(-16, 17, count) / 8,
    ),
    "real": Kind(
        lambda element: Facts(-1, 1),
        lambda random, count, element: random.uniform(-1, 1, count),
    ),
    "special": Kind(
        lambda element: Facts(-3, 3, grain=1.0, special=True), special_floats
    ),
    "small": integers(-3, 3),
    "natural": integers(0, 5),
    "any": Kind(of_integer, any_integers, False),
    "bool": integers(0, 1),
}


def kinds_of(element):
    """The kinds of numbers that an element type can have."""
    if element == "i1":
        return ["bool"]
    return [
        name
        for name, kind in KINDS.items()
        if kind.is_float == (element in FLOATS) and name != "bool"
    ]


def facts_of_kind(kind, element):
    return KINDS[kind].facts(element)


def draw(kind, element, shape, seed):
    """An array of such numbers. Those of bf16 are f32s that bf16 can represent."""
    random = np.random.default_rng(seed)
    count = int(np.prod(shape, dtype=np.int64))
    numbers = KINDS[kind].draw(random, count, element).reshape(shape)
    array = numbers.astype(DTYPES[element])
    return round_to_bfloat(array) if element == "bf16" else array


def round_to_bfloat(array):
    """f32s whose lower half is zero: truncated, since inputs need not be
    rounded correctly.
    """
    return (
        (array.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        if array.size
        else array
    )


def dense_literal(element, array):
    """The elements of an array as an attribute `dense<...>`."""
    if not array.size:
        return "dense<>"
    # A few short numbers are written so that one can read them, others as
    # bytes.
    is_short = element in INTEGERS or bool(
        np.isfinite(array).all() and (array * 8 == np.round(array * 8)).all()
    )
    if element == "i1" or (is_short and array.size <= 32):
        numbers = (
            array.tolist()
            if element in INTEGERS
            else array.astype(np.float64).tolist()
        )
        return f"dense<{str(numbers).lower()}>"
    return f'dense<"0x{stored_bytes(element, array).hex().upper()}">'


def stored_bytes(element, array):
    """The elements as memory has them, row-major and little-endian; a boolean
    takes a byte.
    """
    stored = np.ascontiguousarray(array)
    if element == "bf16":
        stored = (stored.view(np.uint32) >> 16).astype(np.uint16)
    return stored.astype(stored.dtype.newbyteorder("<")).tobytes()


#: Names of the types in a safetensors file.
SAFETENSORS = {
    "f16": "F16",
    "bf16": "BF16",
    "f32": "F32",
    "f64": "F64",
    "i1": "BOOL",
    "i8": "I8",
    "i16": "I16",
    "i32": "I32",
    "i64": "I64",
}


def safetensors(tensors):
    """The content of a safetensors file of (name, type, array)."""
    header, data = {}, b""
    for name, type, array in tensors:
        content = stored_bytes(type.element, array)
        header[name] = {
            "dtype": SAFETENSORS[type.element],
            "shape": list(type.shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header).encode()
    # The data is aligned to 8 bytes.
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data
