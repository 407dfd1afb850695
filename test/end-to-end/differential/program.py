"""A program as data: inputs, statements and the values that it keeps; and its
text as a `model.py` that can be captured.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator

#: Names of values and functions: a letter and a number that is used once in a
#: program, so that no name hides another one.
NAME = re.compile(r"\b[a-z]\d+\b")


@dataclasses.dataclass(frozen=True)
class Type:
    """Shape and dtype of an array."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def size(self):
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def __str__(self):
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclasses.dataclass(frozen=True)
class Input:
    """An array that the program reads.

    Attributes:
      name: name of the value.
      type: in the program: one replica's part of a batch, or a variable.
      kind: a key of `values.KINDS`, the kind of its numbers.
      place: "batch" (an own value on each replica) or "state" (a variable,
        equal on all replicas).
    """

    name: str
    type: Type
    kind: str
    place: str


@dataclasses.dataclass(frozen=True)
class Function:
    """A function that a statement defines before it is evaluated; `result` is
    an expression, or several with commas between them.
    """

    name: str
    parameters: tuple[str, ...]
    statements: tuple["Statement", ...]
    result: str


@dataclasses.dataclass(frozen=True)
class Statement:
    """`names = text`, where `text` is a Python expression over earlier names.

    Attributes:
      names: the values that it defines; with several, `text` evaluates to a
        tuple.
      text: the expression.
      types: of each name.
      functions: functions that `text` uses.
      exact: of each name, whether no rounding shows in it: its elements must
        not be perturbed.
    """

    names: tuple[str, ...]
    text: str
    types: tuple[Type, ...]
    functions: tuple[Function, ...] = ()
    exact: tuple[bool, ...] = (False,)


@dataclasses.dataclass(frozen=True)
class Program:
    """A random step.

    Attributes:
      seed: of the generation; also that of its inputs.
      x64: whether JAX's 64-bit types are enabled.
      rows: rows of a replica's batch.
      inputs, statements: in order.
      results: names of values that are equal on all replicas; each is kept in
        the state.
    """

    seed: int
    x64: bool
    rows: int
    inputs: tuple[Input, ...]
    statements: tuple[Statement, ...]
    results: tuple[str, ...]

    @property
    def types(self) -> dict[str, Type]:
        """Types of inputs and of what the statements define, by name."""
        found = {entry.name: entry.type for entry in self.inputs}
        for statement in self.statements:
            found.update(zip(statement.names, statement.types, strict=True))
        return found

    @property
    def terms(self) -> int:
        """Elements of the largest array, which is about how many terms a sum
        has at most.
        """
        return max(type_.size for type_ in self.types.values())

    @property
    def single_precision(self) -> frozenset[str]:
        """The results that depend on floats of 32 bits."""
        return frozenset(
            name for name in self.results if _has_single_precision(self, name)
        )

    @property
    def needs_replicas(self):
        """Whether it can only be captured for a fixed number of replicas."""
        return any(
            "all_gather" in text or "num_replicas" in text
            for text in texts(self.statements)
        )


def texts(statements: Iterable[Statement]) -> Iterator[str]:
    """All expressions of statements and of the functions in them."""
    for statement in statements:
        yield statement.text
        for function in statement.functions:
            yield from texts(function.statements)
            yield function.result


def names_in(statement: Statement) -> set[str]:
    """All names that a statement mentions, without those that it defines, those
    inside of its functions included.
    """
    return {
        name for text in texts([statement]) for name in NAME.findall(text)
    } - set(statement.names)


def without_unused(program: Program) -> Program:
    """The program without the inputs and statements that no result depends on."""
    statements, needed = live(program.statements, set(program.results))
    inputs = tuple(entry for entry in program.inputs if entry.name in needed)
    return dataclasses.replace(program, inputs=inputs, statements=statements)


def _has_single_precision(program: Program, result: str) -> bool:
    part = without_unused(dataclasses.replace(program, results=(result,)))
    return any(
        type_.dtype == "float32" for type_ in part.types.values()
    ) or any("float32" in text for text in texts(part.statements))


def live(
    statements: tuple[Statement, ...], needed: set[str]
) -> tuple[tuple[Statement, ...], set[str]]:
    """The statements that `needed` depends on, in functions too, and all names
    that these mention.
    """
    kept, needed = [], set(needed)
    for statement in reversed(statements):
        if needed.isdisjoint(statement.names):
            continue
        functions = []
        for function in statement.functions:
            body, mentioned = live(
                function.statements, set(NAME.findall(function.result))
            )
            functions.append(dataclasses.replace(function, statements=body))
            needed |= mentioned
        needed |= set(NAME.findall(statement.text))
        kept.append(dataclasses.replace(statement, functions=tuple(functions)))
    return tuple(reversed(kept)), needed
