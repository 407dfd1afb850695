"""A program under construction: its inputs, its global choices, and helpers for
expressions.
"""

import dataclasses
import random

import jax.numpy as jnp

from differential.facts import Facts
from differential.program import Function, Input, Type
from differential.values import KINDS

FLOATS = ("float32", "bfloat16", "float16", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS_AND_BOOL = FLOATS + INTEGERS + ("bool",)

#: Elements of the largest value, and of the largest one that the interpreter
#: computes with loops inside.
LARGEST, LARGE = 20000, 2000


class RejectedError(Exception):
    """A production found no operands, or what it made is no statement."""


@dataclasses.dataclass(frozen=True)
class Value:
    """A value that an expression may use; formatted, it is its text."""

    text: str
    type: Type
    facts: Facts
    uniform: bool = False

    shape = property(lambda self: self.type.shape)
    dtype = property(lambda self: self.type.dtype)
    size = property(lambda self: self.type.size)
    rank = property(lambda self: len(self.type.shape))

    def __str__(self):
        return self.text


@dataclasses.dataclass(frozen=True)
class Draft:
    """What a production returns: an expression and what is known of its
    results.

    Attributes:
      text: the expression.
      facts: of the result, or of each of several ones; those of arithmetic are
        of its exact result, see `Facts.computed`.
      functions: what the text refers to.
      arithmetic: whether the result is rounded to its dtype.
      uniform: whether it is equal on all replicas; None if it is where all
        operands are.
    """

    text: str
    facts: Facts | tuple[Facts, ...] = Facts()
    functions: tuple[Function, ...] = ()
    arithmetic: bool = False
    uniform: bool | None = None


class Builder:
    """A program under construction: its inputs, and the choices that hold for
    all of it.

    Attributes:
      seed, x64, rows, inputs: the program's.
      random: source of all choices.
      subjects: how often productions of each subject are chosen: programs
        differ in what they have much of.
      floats, integers, dtypes: the dtypes that occur.
      extents: the sizes of dimensions of inputs; few, so that operands fit to
        each other.
    """

    def __init__(self, seed: int, subjects: dict[str, float]):
        self.seed = seed
        self.random = random.Random(seed)
        self.subjects = {
            subject: weight * self.random.choice((0.3, 1, 1, 3))
            for subject, weight in subjects.items()
        }
        self.x64 = self.random.random() < 0.25
        self.rows = self.random.choice((1, 1, 1, 2, 3, 4, 5, 8))
        self.inputs: list[Input] = []
        self.named = 0
        widths = 8 if self.x64 else 4
        floats = [dtype for dtype in FLOATS if width(dtype) <= widths]
        integers = [dtype for dtype in INTEGERS if width(dtype) <= widths]
        self.floats = sorted(
            {
                *self.random.choices(
                    floats,
                    (8, 2, 2, 6)[: len(floats)],
                    k=self.random.choice((1, 1, 2)),
                )
            }
        )
        self.integers = sorted(
            {
                "int32",
                *self.random.sample(integers, self.random.choice((0, 1, 2))),
            }
        )
        self.dtypes = (*self.floats, *self.integers, "bool")
        extents = (
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            9,
            12,
            13,
            16,
            17,
            31,
            32,
            33,
            64,
            65,
            128,
            257,
            1000,
            4099,
        )
        weights = (
            2,
            3,
            4,
            4,
            3,
            2,
            3,
            4,
            1,
            2,
            2,
            2,
            2,
            1,
            1,
            1,
            1,
            1,
            0.5,
            0.3,
            0.2,
            0.1,
        )
        self.extents = [*self.random.choices(extents, weights, k=4), self.rows]
        if self.random.random() < 0.1:
            self.extents.append(0)

    def name(self, letter: str) -> str:
        """A name that is used once."""
        self.named += 1
        return f"{letter}{self.named}"

    def input(self, type_: Type, kind: str) -> Value:
        """Adds an input."""
        has_rows = (
            (self.rows == 1 or type_.shape[:1] == (self.rows,))
            and type_.size > 0
            and type_.dtype != "bfloat16"
        )
        place = "batch" if has_rows and self.random.random() < 0.8 else "state"
        entry = Input(self.name("x"), type_, kind, place)
        self.inputs.append(entry)
        facts = KINDS[kind].facts
        if type_.dtype.startswith("u") and facts.bound < 256:
            # Negative numbers wrap.
            facts = dataclasses.replace(
                facts, bound=2.0 ** (8 * width(type_.dtype))
            )
        return Value(entry.name, type_, facts, uniform=place == "state")


def width(dtype: str) -> int:
    """Bytes of an element."""
    return 1 if dtype == "bool" else jnp.dtype(dtype).itemsize
