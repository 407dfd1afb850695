"""How a program fails."""

import re
from dataclasses import dataclass

from .comparison import Difference
from .execution import ToolFailure


@dataclass(frozen=True)
class Failure:
    """`variant`: the name of the failing execution. `cause`: equal for similar
    failures. `text`: for people.
    """

    variant: str
    cause: str
    text: str
    is_difference: bool = False

    def is_like(self, other):
        return other is not None and (self.cause, self.variant) == (
            other.cause,
            other.variant,
        )


def of_tool(variant, failure: ToolFailure):
    """The message of a tool, without the numbers, names and types that differ
    from program to program.
    """
    reason = re.sub(r"(tensor|memref|vector)<[^>]*>", "T", failure.reason)
    return Failure(
        variant,
        re.sub(r"-?\d+", "N", reason),
        str(failure).split("Stack dump")[0].strip(),
    )


def of_difference(variant, difference: Difference):
    return Failure(
        variant,
        f"{variant}: other numbers",
        str(difference),
        is_difference=True,
    )
