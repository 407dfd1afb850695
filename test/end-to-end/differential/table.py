"""The table of productions of statements.

A production is a function that takes a `Block`, chooses operands from it and
returns a `Draft`. To add one, decorate it in the module of its subject:

    @production("reductions", weight=2)
    def median(block):
        x = block.array(block.floats, ranks=(1, 4), level=NUMBERS)
        return Draft(f"jnp.median({x})", x.facts)

It raises `RejectedError` where it does not apply. Shapes and dtypes of results
need not be given: JAX infers them.
"""

import dataclasses
import typing
from collections.abc import Callable

from differential.builder import Draft, RejectedError, Value

if typing.TYPE_CHECKING:
    from differential.block import Block


@dataclasses.dataclass(frozen=True)
class Production:
    """An entry of the table.

    Attributes:
      name: name of the function.
      subject: its group for counting; a program prefers some subjects.
      make: the function.
      weight: how often it is chosen among those of its subject.
      differentiable: whether JAX takes derivatives of it.
      nested: whether it makes functions, which nest at most twice; or, if None,
        is for the body of the step alone.
    """

    name: str
    subject: str
    make: Callable[["Block"], Draft]
    weight: float
    differentiable: bool
    nested: bool | None


#: How often subjects are chosen.
SUBJECTS = {
    "elementwise": 6,
    "integers": 2,
    "conversions": 2,
    "movement": 6,
    "reductions": 5,
    "windows": 1.5,
    "products": 2.5,
    "indexing": 3,
    "sorts": 1.2,
    "library": 3,
    "random": 0.7,
    "control": 3,
    "derivatives": 2.5,
    "functions": 1,
    "replicas": 2,
}

PRODUCTIONS: list[Production] = []


def production(
    subject: str,
    weight: float = 1,
    differentiable: bool = True,
    nested: bool | None = False,
):
    """Adds a function to the table; see `Production`."""

    def register(make):
        PRODUCTIONS.append(
            Production(
                make.__name__, subject, make, weight, differentiable, nested
            )
        )
        return make

    return register


def choose(block: "Block") -> list[Value]:
    """Adds a statement by a random production and returns its results."""
    per_subject = {
        subject: sum(
            entry.weight for entry in PRODUCTIONS if entry.subject == subject
        )
        for subject in SUBJECTS
    }
    entries = [entry for entry in PRODUCTIONS if _applies(entry, block)]
    weights = [
        block.builder.subjects[entry.subject]
        * entry.weight
        / per_subject[entry.subject]
        for entry in entries
    ]
    while True:
        entry = block.random.choices(entries, weights)[0]
        try:
            return block.add(entry.make(block))
        except RejectedError:
            continue


def _applies(entry: Production, block: "Block") -> bool:
    if (
        block.depth > 0
        and entry.nested is None
        or block.depth > 1
        and entry.nested
    ):
        return False
    return entry.differentiable or not block.differentiated
