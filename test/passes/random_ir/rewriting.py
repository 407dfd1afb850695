"""Transformations of programs: renumbering of values, concatenation, removal of
unused statements.
"""

from collections.abc import Mapping
from dataclasses import replace

from .program import Program, Region, Statement, free_values


def all_statements(statements):
    """The statements, and those in their regions."""
    for statement in statements:
        yield statement
        for region in statement.operation.regions():
            yield from all_statements(region.statements)


def largest_value(program):
    """The greatest number that a value has."""
    values = [argument.value for argument in program.arguments]
    for statement in all_statements(program.statements):
        values.extend(statement.results)
        for region in statement.operation.regions():
            values.extend(region.arguments)
    return max(values, default=0)


def renumbered(program, offset):
    """The same program with other numbers of values."""

    def statement(old):
        operation = old.operation.with_regions(
            tuple(map(region, old.operation.regions()))
        )
        return Statement(operation, shift(old.operands), shift(old.results))

    def region(old):
        return Region(
            shift(old.arguments),
            tuple(map(statement, old.statements)),
            shift(old.yields),
        )

    def shift(values):
        return tuple(value + offset for value in values)

    return replace(
        program,
        arguments=tuple(
            replace(argument, value=argument.value + offset)
            for argument in program.arguments
        ),
        statements=tuple(map(statement, program.statements)),
        results=shift(program.results),
        stores=tuple(
            (number, value + offset) for number, value in program.stores
        ),
    )


def merged(programs):
    """The concatenation of `programs` as one program."""
    arguments, statements, results, stores = [], [], [], []
    offset = 0
    for program in programs:
        moved = renumbered(program, offset)
        offset += largest_value(program) + 1
        stores.extend(
            (number + len(arguments), value) for number, value in moved.stores
        )
        arguments.extend(moved.arguments)
        statements.extend(moved.statements)
        results.extend(moved.results)
    return Program(
        programs[0].replicas,
        tuple(arguments),
        tuple(statements),
        tuple(results),
        tuple(stores),
    )


def without_unused_statements(region):
    """The region without statements, here and in regions inside, whose results
    nothing uses; and the values that it uses.
    """
    needed, kept = set(region.yields), []
    for statement in reversed(region.statements):
        if not needed & set(statement.results):
            continue
        operation = statement.operation
        operation = operation.with_regions(
            tuple(
                without_unused_statements(inner)[0]
                for inner in operation.regions()
            )
        )
        kept.append(Statement(operation, statement.operands, statement.results))
        needed.update(statement.operands)
        for inner in operation.regions():
            needed |= free_values(inner)
    return Region(
        region.arguments, tuple(reversed(kept)), region.yields
    ), needed


def without_unused(program):
    """The program without statements and arguments that no result needs."""
    region, needed = without_unused_statements(
        Region(
            (),
            program.statements,
            (*program.results, *(value for _, value in program.stores)),
        )
    )
    stored = {number for number, _ in program.stores}
    kept = [
        number
        for number, argument in enumerate(program.arguments)
        if argument.value in needed or number in stored
    ]
    numbers: Mapping[int, int] = {old: new for new, old in enumerate(kept)}
    return replace(
        program,
        arguments=tuple(program.arguments[number] for number in kept),
        statements=region.statements,
        stores=tuple(
            (numbers[number], value) for number, value in program.stores
        ),
    )


def substituted(statement, mapping):
    """A statement that uses other values."""
    regions = tuple(
        substituted_region(region, mapping)
        for region in statement.operation.regions()
    )
    operands = tuple(mapping.get(value, value) for value in statement.operands)
    return Statement(
        statement.operation.with_regions(regions), operands, statement.results
    )


def substituted_region(region, mapping):
    statements = tuple(
        substituted(statement, mapping) for statement in region.statements
    )
    return Region(
        region.arguments,
        statements,
        tuple(mapping.get(value, value) for value in region.yields),
    )
