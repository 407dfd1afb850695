"""Programs as data: statements in static single assignment, regions, and the
step around them.

Values are identified by numbers. Only the statement that defines a value is
stored: `analyze` computes its type and facts, so that a program
can be changed by replacing statements (`shrink.py`), and is valid if it
can be analyzed.
"""

from dataclasses import dataclass

from .facts import Facts, Invalid
from .inputs import facts_of_kind
from .types import Type


@dataclass(frozen=True)
class Known:
    """Facts about a value. `is_uniform`: equal on all replicas."""

    type: Type
    facts: Facts
    is_uniform: bool = True


@dataclass(frozen=True)
class Operation:
    """The operation of a statement, without its operands. Subclasses are
    dataclasses of its attributes.

    `context` in `infer` and `render` gives access to values that regions take
    from outside.
    """

    def infer(self, operands, context):
        """`operands` -> what is known of each result (lists of `Known`).
        Invalid: not defined for these operands.
        """
        raise NotImplementedError

    def render(self, statement, printer):
        """Writes the operation by `printer.line`."""
        raise NotImplementedError

    def regions(self):
        return ()

    def with_regions(self, regions):
        """The same with other regions."""
        return self

    def resized(self, resize):
        """The same with `resize(size)` for every size among its attributes."""
        return self

    def simpler(self):
        """Operations with simpler attributes, for the same operands."""
        return ()


@dataclass(frozen=True)
class Statement:
    operation: Operation
    operands: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Region:
    """A block: it may use its arguments and all values defined before in the
    regions around it.
    """

    arguments: tuple[int, ...]
    statements: tuple[Statement, ...]
    yields: tuple[int, ...]


@dataclass(frozen=True)
class Argument:
    """An input of a step: a value of each replica's batch, or the value of a
    variable, which is equal on all replicas.

    `kind` is a key of `inputs.KINDS`, which together with `seed` determines the
    numbers.
    """

    value: int
    type: Type
    kind: str
    seed: int
    is_variable: bool = False


@dataclass(frozen=True)
class Program:
    """A step. `results` are returned by every replica; `stores` are (number of
    a variable among `arguments`, new value).
    """

    replicas: int
    arguments: tuple[Argument, ...]
    statements: tuple[Statement, ...]
    results: tuple[int, ...]
    stores: tuple[tuple[int, int], ...] = ()


@dataclass
class Context:
    """What is known of all values so far, by their numbers. `loops`: the sizes
    of the loops of the `linalg.generic` around.
    """

    known: dict[int, Known]
    replicas: int
    loops: tuple[int, ...] = ()

    def __getitem__(self, value):
        if value not in self.known:
            raise Invalid(f"value {value} is not defined")
        return self.known[value]

    def run(self, statements):
        for statement in statements:
            operands = [self[operand] for operand in statement.operands]
            results = statement.operation.infer(operands, self)
            if len(results) != len(statement.results):
                raise Invalid("another number of results")
            self.known.update(zip(statement.results, results, strict=True))

    def run_region(self, region, arguments):
        """What a region yields for arguments of which `arguments` is known."""
        if len(arguments) != len(region.arguments):
            raise Invalid("another number of arguments")
        self.known.update(zip(region.arguments, arguments, strict=True))
        self.run(region.statements)
        return [self[value] for value in region.yields]

    def captured(self, region):
        """What is known of the values that a region takes from outside."""
        return [
            self.known[value]
            for value in sorted(free_values(region))
            if value in self.known
        ]


def used_values(region):
    """The values that statements of a region and of those inside use."""
    used = set(region.yields)
    for statement in region.statements:
        used.update(statement.operands)
        for inner in statement.operation.regions():
            used |= free_values(inner)
    return used


def free_values(region):
    """The values that a region uses and does not define."""
    defined = set(region.arguments)
    for statement in region.statements:
        defined.update(statement.results)
    return used_values(region) - defined


def analyze(program):
    """The facts of every value. Invalid: the program is undefined."""
    context = Context({}, program.replicas)
    for argument in program.arguments:
        facts = facts_of_kind(argument.kind, argument.type.element)
        context.known[argument.value] = Known(
            argument.type, facts, argument.is_variable
        )
    context.run(program.statements)
    for value in program.results:
        if context[value].type.is_scalar:
            raise Invalid("a scalar as a result")
    for number, value in program.stores:
        argument = program.arguments[number]
        if (
            context[value].type != argument.type
            or not context[value].is_uniform
        ):
            raise Invalid(
                "a variable takes values of its type that all replicas have"
            )
    return context.known
