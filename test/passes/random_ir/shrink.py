"""Makes a program that fails smaller, as long as it fails in the same manner."""

from dataclasses import replace

from .facts import Invalid
from .operations.control_flow import For, If, Switch
from .operations.elements import Empty
from .operations.generic import Generic
from .program import Argument, Region, Statement, analyze
from .rewriting import largest_value, substituted_region, without_unused
from .types import FLOATS


def top_level(program):
    """The step as a region, which yields its results and the new values of
    variables."""
    return Region(
        (),
        program.statements,
        (*program.results, *(value for _, value in program.stores)),
    )


def with_top_level(program, region):
    count = len(program.results)
    stores = tuple(
        (number, value)
        for (number, _), value in zip(
            program.stores, region.yields[count:], strict=True
        )
    )
    return replace(
        program,
        statements=region.statements,
        results=region.yields[:count],
        stores=stores,
    )


#
# Smaller programs, the much smaller ones first.
#


def fewer_results(program):
    total = len(program.results) + len(program.stores)
    if total < 2:
        return
    for number in range(len(program.results)):
        yield replace(program, results=(program.results[number],), stores=())
    for store in program.stores:
        yield replace(program, results=(), stores=(store,))
    for number in range(len(program.results)):
        yield replace(
            program,
            results=(*program.results[:number], *program.results[number + 1 :]),
        )
    for number in range(len(program.stores)):
        yield replace(
            program,
            stores=(*program.stores[:number], *program.stores[number + 1 :]),
        )


def plain_kind(element):
    return (
        "whole" if element in FLOATS else "bool" if element == "i1" else "small"
    )


def inputs_for_statements(program):
    """The results of a statement become inputs."""
    known = analyze(program)
    first = largest_value(program) + 1
    for index in reversed(range(len(program.statements))):
        statement = program.statements[index]
        types = [known[value].type for value in statement.results]
        if any(type.is_scalar for type in types):
            continue
        rest = Region(
            (),
            (*program.statements[:index], *program.statements[index + 1 :]),
            top_level(program).yields,
        )
        # As an input of each replica, if the value need not be the same on all
        # of them.
        for is_variable in (False, True):
            arguments = tuple(
                Argument(
                    first + number,
                    type,
                    plain_kind(type.element),
                    number,
                    is_variable,
                )
                for number, type in enumerate(types)
            )
            mapping = {
                value: argument.value
                for value, argument in zip(
                    statement.results, arguments, strict=True
                )
            }
            changed = with_top_level(program, substituted_region(rest, mapping))
            yield replace(changed, arguments=(*program.arguments, *arguments))


def smaller_regions(region, known, visible):
    """A region with one change in it or in the regions inside. `visible`:
    values from outside.
    """
    inside = [*visible, *region.arguments]
    before = []
    for statement in region.statements:
        before.append(list(inside))
        if not isinstance(statement.operation, Empty):
            inside.extend(statement.results)
    for index in reversed(range(len(region.statements))):
        statement = region.statements[index]
        first, rest = region.statements[:index], region.statements[index + 1 :]
        for mapping in replacements(statement, known, before[index]):
            yield substituted_region(
                Region(region.arguments, (*first, *rest), region.yields),
                mapping,
            )
        for statements, mapping in inlined(statement):
            yield substituted_region(
                Region(
                    region.arguments,
                    (*first, *statements, *rest),
                    region.yields,
                ),
                mapping,
            )
        for changed, mapping in smaller_statements(
            statement, known, before[index]
        ):
            smaller = Region(
                region.arguments, (*first, changed, *rest), region.yields
            )
            yield substituted_region(smaller, mapping)


def replacements(statement, known, visible):
    """Values for the results of a statement: operands, the last value of the
    type, and the first.
    """
    choices = []
    for value in statement.results:
        same = [
            other for other in visible if known[other].type == known[value].type
        ]
        if not same:
            return
        operands = [other for other in statement.operands if other in same]
        choices.append([*operands[:2], same[-1], same[0]])
    for picks in zip(
        *(choice + choice[-1:] * (4 - len(choice)) for choice in choices),
        strict=True,
    ):
        yield dict(zip(statement.results, picks, strict=True))


def inlined(statement):
    """The statements of a branch, or of one iteration of a loop."""
    regions = statement.operation.regions()
    if isinstance(statement.operation, For):
        body, initial = (
            regions[0],
            statement.operands[statement.operation.is_counted :],
        )
        if not any(
            body.arguments[0] in inner.operands for inner in body.statements
        ):
            mapping = dict(zip(body.arguments[1:], initial, strict=True))
            opened = substituted_region(body, mapping)
            yield (
                opened.statements,
                dict(zip(statement.results, opened.yields, strict=True)),
            )
        return
    for region in regions:
        if not region.arguments and len(region.yields) == len(
            statement.results
        ):
            yield (
                region.statements,
                dict(zip(statement.results, region.yields, strict=True)),
            )


def smaller_statements(statement, known, visible):
    """The statement with other attributes, fewer carried values, or smaller
    regions; and replacements for removed results.
    """
    operation = statement.operation
    for simple in operation.simpler():
        yield replace(statement, operation=simple), {}
    if isinstance(operation, For):
        yield from fewer_carried(statement)
    if isinstance(operation, Generic):
        yield from fewer_operands(statement)
    if isinstance(operation, (If, Switch)):
        yield from fewer_yielded(statement)
    regions = operation.regions()
    for number, region in enumerate(regions):
        for smaller in smaller_regions(region, known, visible):
            changed = operation.with_regions(
                (*regions[:number], smaller, *regions[number + 1 :])
            )
            yield replace(statement, operation=changed), {}


def fewer_carried(statement):
    """A loop without one of its carried values, which is replaced by its
    initial value.
    """
    operation = statement.operation
    counts, initial = (
        statement.operands[: operation.is_counted],
        statement.operands[operation.is_counted :],
    )
    for number, value in enumerate(initial):
        counter, *arguments = operation.body.arguments
        yields = without_item(operation.body.yields, number)
        body = Region(
            (counter, *without_item(tuple(arguments), number)),
            operation.body.statements,
            yields,
        )
        body = substituted_region(body, {arguments[number]: value})
        operands = (*counts, *without_item(initial, number))
        changed = Statement(
            replace(operation, body=body),
            operands,
            without_item(statement.results, number),
        )
        yield changed, {statement.results[number]: value}


def fewer_yielded(statement):
    """A branch without one of its results."""
    for number in (
        range(len(statement.results)) if len(statement.results) > 1 else ()
    ):
        regions = tuple(
            replace(region, yields=without_item(region.yields, number))
            for region in statement.operation.regions()
        )
        yield (
            Statement(
                statement.operation.with_regions(regions),
                statement.operands,
                without_item(statement.results, number),
            ),
            {},
        )


def without_item(values, number):
    return (*values[:number], *values[number + 1 :])


def fewer_operands(statement):
    """A `linalg.generic` without an output or an input; another input takes its
    place.
    """
    generic, results = statement.operation, statement.results
    inputs, inits = (
        statement.operands[: len(generic.maps)],
        statement.operands[len(generic.maps) :],
    )
    for number, output in (
        enumerate(generic.outputs) if len(results) > 1 else ()
    ):
        init = sum(other.has_init for other in generic.outputs[:number])
        smaller = replace(
            generic,
            outputs=without_item(generic.outputs, number),
            body=replace(
                generic.body, yields=without_item(generic.body.yields, number)
            ),
        )
        rest = without_item(inits, init) if output.has_init else inits
        yield (
            Statement(smaller, (*inputs, *rest), without_item(results, number)),
            {},
        )
    for number in range(len(inputs)):
        arguments = without_item(generic.body.arguments, number)
        body = Region(arguments, generic.body.statements, generic.body.yields)
        for other in arguments or (generic.body.arguments[number],):
            changed = substituted_region(
                body, {generic.body.arguments[number]: other}
            )
            smaller = replace(
                generic, maps=without_item(generic.maps, number), body=changed
            )
            yield (
                Statement(
                    smaller, (*without_item(inputs, number), *inits), results
                ),
                {},
            )


def smaller_bodies(program):
    region = top_level(program)
    known = analyze(program)
    visible = [argument.value for argument in program.arguments]
    for smaller in smaller_regions(region, known, visible):
        yield with_top_level(program, smaller)


def smaller_sizes(program):
    """All dimensions of one size become smaller."""
    sizes = {
        size for argument in program.arguments for size in argument.type.shape
    }
    sizes |= {
        size
        for known in analyze(program).values()
        if not known.type.is_scalar
        for size in known.type.shape
    }
    for size in sorted(sizes, reverse=True):
        for smaller in (1, 2, 3, 5, size // 2, size - 1):
            if 0 < smaller < size:
                yield resized(
                    program,
                    lambda old, size=size, smaller=smaller: (
                        smaller if old == size else old
                    ),
                )


def resized(program, resize):
    def resized_region(region):
        return Region(
            region.arguments,
            tuple(map(resized_statement, region.statements)),
            region.yields,
        )

    def resized_statement(statement):
        operation = statement.operation.resized(resize)
        return replace(
            statement,
            operation=operation.with_regions(
                tuple(map(resized_region, operation.regions()))
            ),
        )

    arguments = tuple(
        replace(
            argument,
            type=replace(
                argument.type, shape=tuple(map(resize, argument.type.shape))
            ),
        )
        for argument in program.arguments
    )
    return replace(
        with_top_level(program, resized_region(top_level(program))),
        arguments=arguments,
    )


def plainer_inputs(program):
    for number, argument in enumerate(program.arguments):
        kind = plain_kind(argument.type.element)
        if argument.kind != kind:
            changed = replace(argument, kind=kind)
            yield replace(
                program,
                arguments=(
                    *program.arguments[:number],
                    changed,
                    *program.arguments[number + 1 :],
                ),
            )


def fewer_replicas(program):
    for replicas in range(1, program.replicas):
        yield replace(program, replicas=replicas)


STEPS = [
    fewer_results,
    inputs_for_statements,
    smaller_bodies,
    fewer_replicas,
    smaller_sizes,
    plainer_inputs,
]


def candidates(program):
    """Smaller programs that are defined."""
    for step in STEPS:
        for smaller in step(program):
            try:
                candidate = without_unused(smaller)
                analyze(candidate)
            except Invalid:
                continue
            if candidate != program:
                yield candidate


def shrink(program, fails, most_attempts=500):
    """The smallest program found for which `fails(program)`, after so many
    attempts at most.
    """
    attempts, seen = 0, {program}
    while True:
        for candidate in candidates(program):
            if candidate in seen:
                continue
            seen.add(candidate)
            attempts += 1
            if attempts > most_attempts:
                return program
            if fails(candidate):
                program = candidate
                break
        else:
            return program
