"""Random programs: the productions, their weights, and the results of a
program.
"""

from random import Random

from .. import inputs
from ..facts import Invalid
from ..operations.elements import FromElements
from ..program import Argument, Known, Program, analyze, free_values
from ..rewriting import all_statements, without_unused
from ..types import INTEGERS, Type
from . import (
    collectives,
    control_flow,
    elements,
    generics,
    layers,
    named,
    parts,
    patterns,
    scalars,
)
from .builder import Builder

#: Productions by how often they are drawn. A new one is a function that adds
#: statements to a builder, or raises `Invalid`.
PRODUCTIONS = {
    scalars.scalar_operation: 3,
    scalars.tensor_operation: 9,
    generics.generic: 14,
    parts.extract_slice: 6,
    parts.insert_slice: 6,
    parts.copy_rows: 2,
    parts.pad: 2,
    parts.concat: 3,
    parts.collapse: 2,
    parts.expand: 2,
    elements.extract: 4,
    elements.insert: 3,
    elements.from_elements: 1,
    elements.splat: 1,
    elements.constant: 2,
    elements.generate: 1,
    parts.cast: 1,
    named.product: 3,
    named.convolution: 2,
    named.transpose: 3,
    named.broadcast: 3,
    named.reduce: 4,
    named.elementwise: 4,
    layers.dense: 3,
    layers.softmax: 1,
    layers.centered: 2,
    patterns.slices_reduced: 3,
    patterns.shifted: 1,
    patterns.swapped_halves: 1,
    patterns.old_and_new: 2,
    control_flow.for_loop: 2,
    control_flow.rotation: 1,
    control_flow.stacked: 3,
    control_flow.scattered: 2,
    control_flow.while_loop: 1,
    control_flow.if_branch: 2,
    control_flow.switch: 1,
    collectives.all_reduce: 5,
    collectives.all_gather: 3,
    collectives.replica_id: 1,
}

#: The productions of a region, by weight.
INNER_PRODUCTIONS = [
    production
    for production, weight in PRODUCTIONS.items()
    for _ in range(weight)
]

MOST_RESULTS = 6


def draw_arguments(builder):
    """Inputs of each replica, and variables: values computed only from
    variables are equal on all replicas.
    """
    arguments = []
    variable_share = builder.random.choice([0, 0.3, 0.3, 1])
    for _ in range(builder.random.choice([1, 2, 2, 3])):
        element = builder.random.choice(builder.elements)
        type = Type(element, builder.shape())
        kind = builder.random.choice(inputs.kinds_of(element))
        is_variable = builder.chance(variable_share)
        value = builder.define(
            Known(type, inputs.facts_of_kind(kind, element), is_variable)
        )
        builder.visible.append(value)
        arguments.append(
            Argument(
                value, type, kind, builder.random.randrange(2**31), is_variable
            )
        )
    return arguments


def add_index_source(builder, arguments):
    """An input of small integers, from which indices and numbers of iterations
    are computed.
    """
    type = Type(builder.random.choice(["i32", "i64"]), (3,))
    value = builder.define(
        Known(type, inputs.facts_of_kind("natural", type.element), False)
    )
    builder.visible.append(value)
    arguments.append(
        Argument(value, type, "natural", builder.random.randrange(2**31))
    )


def draw_statements(builder):
    """The requested number of productions, most of which use the results of the
    latest ones.
    """
    productions, weights = list(PRODUCTIONS), list(PRODUCTIONS.values())
    wanted = builder.random.choice([2, 3, 4, 6, 8, 12])
    for _ in range(5 * wanted):
        if wanted == 0:
            return
        wanted -= builder.attempt(
            builder.random.choices(productions, weights)[0]
        )


def draw_results(builder):
    """Values that nothing uses, and some that are used, as tensors."""
    used = set()
    for statement in all_statements(builder.blocks[0]):
        used.update(statement.operands)
        for region in statement.operation.regions():
            used |= free_values(region)
    made = [
        value
        for statement in builder.blocks[0]
        for value in statement.results
        if value in builder.visible
    ]
    made = [value for value in made if builder.type(value).element != "index"]
    chosen = [value for value in made if value not in used]
    chosen += [value for value in made if value in used and builder.chance(0.3)]
    if not chosen:
        raise Invalid("nothing to return")
    chosen = builder.random.sample(chosen, min(len(chosen), MOST_RESULTS))
    return [
        builder.add(FromElements(()), value)
        if builder.type(value).is_scalar
        else value
        for value in chosen
    ]


def draw_stores(builder, arguments, results):
    """Variables that are assigned: those that are read, and new ones instead of
    results.
    """
    stores = []
    for number, argument in enumerate(list(arguments)):
        fitting = [
            value
            for value in builder.visible
            if builder.type(value) == argument.type
            and builder.known(value).is_uniform
        ]
        if argument.is_variable and fitting and builder.chance(0.7):
            # Mostly a new value, sometimes that of another variable.
            stores.append(
                (
                    number,
                    builder.random.choice(
                        fitting[-3:] if builder.chance(0.8) else fitting
                    ),
                )
            )
    for value in list(results):
        if builder.known(value).is_uniform and builder.chance(0.4):
            type = builder.type(value)
            kind = (
                "bool"
                if type.element == "i1"
                else "small"
                if type.element in INTEGERS
                else "whole"
            )
            unread = builder.define(
                Known(type, inputs.facts_of_kind(kind, type.element))
            )
            stores.append((len(arguments), value))
            arguments.append(Argument(unread, type, kind, 0, is_variable=True))
            results.remove(value)
    return stores


def generate(seed, replicas, is_kernel=False):
    """The program of a seed. `is_kernel`: without collectives and without
    variables that are assigned.
    """
    random = Random(seed)
    while True:
        builder = Builder(
            random,
            replicas,
            INNER_PRODUCTIONS,
            may_exchange=random.random() < 0.4 and not is_kernel,
        )
        arguments = draw_arguments(builder)
        if builder.chance(0.6):
            add_index_source(builder, arguments)
        draw_statements(builder)
        try:
            results = draw_results(builder)
            stores = (
                [] if is_kernel else draw_stores(builder, arguments, results)
            )
            program = Program(
                replicas,
                tuple(arguments),
                tuple(builder.blocks[0]),
                tuple(results),
                tuple(stores),
            )
            analyze(program)
        except Invalid:
            continue
        return without_unused(program)
