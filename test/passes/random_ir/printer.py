"""Writes statements as MLIR."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .types import Type


@dataclass
class Printer:
    """`types` has the type of every value. `generalizes`: scalar operations on
    tensors become `linalg.generic`.
    """

    types: Mapping[int, Type]
    generalizes: bool = False
    lines: list[str] = field(default_factory=list)
    depth: int = 1

    def line(self, text):
        self.lines.append("  " * self.depth + text)

    def name(self, value):
        return f"%v{value}"

    def names(self, values):
        return ", ".join(map(self.name, values))

    def type(self, value):
        return self.types[value]

    def types_of(self, values):
        return ", ".join(str(self.types[value]) for value in values)

    def typed(self, values):
        """`%a, %b : f32, i32`"""
        return f"{self.names(values)} : {self.types_of(values)}"

    def statements(self, statements):
        for statement in statements:
            statement.operation.render(statement, self)

    def region(self, region, end):
        """The statements of a region, and `end`, its terminator."""
        self.depth += 1
        self.statements(region.statements)
        self.line(end)
        self.depth -= 1

    def index_constant(self, name, number):
        """Defines an index that only this statement uses, and returns its name."""
        self.line(f"{name} = arith.constant {number} : index")
        return name
