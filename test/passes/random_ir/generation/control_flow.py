"""Random loops and branches, and the forms in which they carry values."""

from functools import wraps

from ..facts import Invalid, of_integer
from ..operations.control_flow import For, If, Switch, While
from ..operations.elements import Constant, Extract
from ..operations.scalar_table import domain_of
from ..operations.scalars import Arithmetic, Compare
from ..operations.slices import ExtractSlice, InsertSlice, Slice
from ..program import Known
from ..types import Type
from .builder import small_kinds
from .scalars import comparison

DEEPEST = 3


def nested(draw):
    """A production of an operation with regions, which contain what
    `builder.productions` make.
    """

    @wraps(draw)
    def production(builder):
        if builder.depth >= DEEPEST:
            raise Invalid("too deep")
        draw(builder)

    return production


def carried_values(builder):
    """Values that a loop begins with: tensors and scalars, sometimes one of
    them twice.
    """
    count = builder.random.choices([1, 2, 3, 4], [3, 4, 2, 1])[0]
    values = [builder.tensor()]
    for _ in range(count - 1):
        kind = builder.random.random()
        if kind < 0.35:
            values.append(builder.like(values[0]))
        elif kind < 0.7:
            values.append(builder.tensor())
        else:
            values.append(builder.find(is_number))
    return values


def is_number(known):
    """A scalar that loops and branches can carry: no index."""
    return known.type.is_scalar and known.type.element != "index"


def body_statements(builder, most):
    """Some statements of a region."""
    for _ in range(builder.random.randint(1, most)):
        builder.attempt(builder.random.choice(builder.productions))


def next_values(builder, arguments, types):
    """The yielded values for these types: mostly the latest values of the
    region, sometimes an argument, perhaps in another position.
    """
    yields = []
    for number, type in enumerate(types):
        own = [
            value
            for value in builder.visible
            if value >= arguments[0]
            and builder.type(value) == type
            and value not in arguments
        ]
        same = [value for value in arguments if builder.type(value) == type]
        draw = builder.random.random()
        if own and draw < 0.75:
            yields.append(own[-1] if draw < 0.5 else builder.random.choice(own))
        elif same and draw < 0.95:
            yields.append(builder.random.choice(same))
        else:
            yields.append(
                arguments[number]
                if len(arguments) == len(types)
                else builder.of_type(type)
            )
    return yields


@nested
def for_loop(builder):
    """A loop that carries values, for a fixed or computed number of iterations."""
    random = builder.random
    initial = carried_values(builder)
    trips = random.choice([0, 1, 2, 2, 3, 3, 4, 5])
    is_counted = builder.chance(0.3)
    counts = (
        [builder.clamped_index(random.choice([2, 3, 4]))] if is_counted else []
    )
    is_uniform = all(builder.known(count).is_uniform for count in counts)
    lower, step = random.choice([(0, 1), (0, 1), (1, 1), (0, 2), (3, 2)])
    known = [
        Known(
            Type("index"),
            of_integer("index", lower, lower + max(trips - 1, 2) * step),
        ),
        *map(builder.known, initial),
    ]
    with builder.block(known, is_uniform=is_uniform) as (arguments, end):
        body_statements(builder, 4)
        body = end(
            next_values(
                builder,
                arguments[1:],
                [builder.type(value) for value in initial],
            )
        )
    builder.add(For(lower, step, trips, is_counted, body), *counts, *initial)


@nested
def rotation(builder):
    """A loop that permutes its carried values and changes one of them:
    overwritten values are still needed.
    """
    first = builder.tensor()
    initial = [
        first,
        *(builder.like(first) for _ in range(builder.random.choice([1, 2]))),
    ]
    trips = builder.random.choice([1, 2, 3, 4])
    known = [
        Known(Type("index"), of_integer("index", 0, trips - 1)),
        *map(builder.known, initial),
    ]
    with builder.block(known, is_uniform=True) as (arguments, end):
        body_statements(builder, 2)
        own = [
            value
            for value in builder.visible
            if value > arguments[-1]
            and builder.type(value) == builder.type(first)
        ]
        carried = [*arguments[2:], arguments[1]]
        if own:
            carried[builder.random.randrange(len(carried))] = own[-1]
        body = end(carried)
    builder.add(For(0, 1, trips, False, body), *initial)


@nested
def stacked(builder):
    """A scan: each iteration reads a row of one tensor and writes rows of
    others, forwards or backwards, and carries a value.
    """
    random = builder.random
    source = builder.tensor(
        lambda type: 0 < type.rank and 0 < type.shape[0] <= 7
    )
    rows, *rest = builder.type(source).shape
    row_type = Type(builder.type(source).element, tuple(rest))
    state = (
        builder.tensor()
        if builder.chance(0.5)
        else constant_of(builder, row_type)
    )
    num_outputs = random.choice([1, 1, 2])
    outputs = [
        constant_of(builder, Type(row_type.element, (rows, *rest)))
        for _ in range(num_outputs)
    ]
    counter = Known(Type("index"), of_integer("index", 0, rows - 1))
    with builder.block(
        [counter, *map(builder.known, [state, *outputs])], is_uniform=True
    ) as (arguments, end):
        row = row_slice(
            builder, arguments[0], rows, rest, is_reversed=builder.chance(0.5)
        )
        builder.add(ExtractSlice(row[0], drop_first(rest)), source, row[1])
        body_statements(builder, 3)
        yields = [builder.of_type(builder.type(state))]
        for output in arguments[2:]:
            place = row_slice(
                builder,
                arguments[0],
                rows,
                rest,
                is_reversed=builder.chance(0.5),
            )
            value = builder.of_type(row_type)
            yields.append(
                builder.add(
                    InsertSlice(place[0], drop_first(rest)),
                    value,
                    output,
                    place[1],
                )
            )
        body = end(yields)
    builder.add(For(0, 1, rows, False, body), state, *outputs)


@nested
def scattered(builder):
    """A scatter: each iteration combines a row of one tensor with a row of
    another, at an index that is read from a third.
    """
    table = builder.tensor(
        lambda type: (
            type.rank > 0 and type.element != "i1" and 0 not in type.shape
        )
    )
    rows, *rest = builder.type(table).shape
    element = builder.type(table).element
    updates = builder.tensor(
        lambda type: (
            type.element == element
            and type.rank > 0
            and list(type.shape[1:]) == rest
            and type.shape[0] <= 7
        )
    )
    places = builder.tensor(
        lambda type: (
            type.rank == 1
            and type.element in ("i8", "i16", "i32", "i64")
            and type.shape[0] > 0
        )
    )
    trips = min(builder.type(updates).shape[0], builder.type(places).shape[0])
    counter = Known(Type("index"), of_integer("index", 0, max(trips - 1, 0)))
    with builder.block([counter, builder.known(table)]) as (arguments, end):
        builder.add(Extract(), places, arguments[0])
        place = builder.clamped_index(rows)
        row = Slice(
            (None, *(0 for _ in rest)),
            (1, *rest),
            tuple(1 for _ in [rows, *rest]),
        )
        update = builder.add(
            ExtractSlice(row, drop_first(rest)),
            updates,
            arguments[0],
            is_hidden=True,
        )
        old = builder.add(
            ExtractSlice(row, drop_first(rest)),
            arguments[1],
            place,
            is_hidden=True,
        )
        names = (
            ["arith.addf", "arith.maximumf"]
            if domain_of(element) == "float"
            else ["arith.addi", "arith.minsi"]
        )
        new = (
            update
            if builder.chance(0.25)
            else builder.add(
                Arithmetic(builder.random.choice(names)), old, update
            )
        )
        body = end(
            [
                builder.add(
                    InsertSlice(row, drop_first(rest)), new, arguments[1], place
                )
            ]
        )
    builder.add(For(0, 1, trips, False, body), table)


def constant_of(builder, type):
    return builder.add(
        Constant(
            type,
            builder.random.choice(small_kinds(type.element)),
            builder.random.randrange(2**31),
        ),
        is_hidden=True,
    )


def drop_first(rest):
    return (True, *(False for _ in rest))


def row_slice(builder, counter, rows, rest, is_reversed):
    """One row, at the counter of a loop or as far from the end."""
    index = (
        builder.add(
            Arithmetic("arith.subi"),
            builder.index(rows - 1),
            counter,
            is_hidden=True,
        )
        if is_reversed
        else counter
    )
    return Slice(
        (None, *(0 for _ in rest)), (1, *rest), tuple(1 for _ in [rows, *rest])
    ), index


@nested
def while_loop(builder):
    """A loop that ends when a condition on its carried values does not hold, or
    after a few iterations.
    """
    initial = carried_values(builder)
    known = [builder.known(value) for value in initial]
    types = [builder.type(value) for value in initial]
    with builder.block(known) as (arguments, end):
        if builder.chance(0.3):
            body_statements(builder, 1)
        condition = draw_condition(builder)
        passed = (
            next_values(builder, arguments, types)
            if builder.chance(0.3)
            else list(arguments)
        )
        before = end([condition, *passed])
    with builder.block(known) as (arguments, end):
        body_statements(builder, 3)
        after = end(next_values(builder, arguments, types))
    builder.add(
        While(builder.random.choice([1, 2, 3, 4]), before, after), *initial
    )


def draw_condition(builder):
    """A boolean: of a comparison of elements, one that is there, or a constant."""

    def of_elements(_):
        source = builder.tensor(
            lambda type: 0 not in type.shape and type.element != "i1"
        )
        indices = [
            builder.index(builder.random.randrange(size))
            for size in builder.type(source).shape
        ]
        element = builder.add(Extract(), source, *indices)
        if not builder.known(element).facts.is_exact:
            raise Invalid("no condition")
        predicate = builder.random.choice(
            ["ogt", "ole", "one"]
            if builder.type(source).is_float
            else ["sgt", "sle", "ne"]
        )
        builder.add(
            Compare(predicate),
            element,
            builder.number(builder.type(source).element),
        )

    for draw in (
        of_elements,
        lambda _: comparison(builder, lambda known: known.type.is_scalar),
    ):
        if builder.chance(0.7) and builder.attempt(draw):
            break
    try:
        return builder.of_type(Type("i1"))
    except Invalid:
        return builder.number("i1")


@nested
def if_branch(builder):
    condition = draw_condition(builder)
    regions = draw_branches(builder, 2, builder.known(condition).is_uniform)
    builder.add(If(*regions), condition)


@nested
def switch(builder):
    cases = tuple(
        sorted(
            builder.random.sample(range(4), builder.random.choice([1, 2, 3]))
        )
    )
    choice = builder.clamped_index(5)
    regions = draw_branches(
        builder, len(cases) + 1, builder.known(choice).is_uniform
    )
    builder.add(Switch(cases, tuple(regions)), choice)


def draw_branches(builder, count, is_uniform):
    """Regions that yield the same types: new values, or values from outside.
    `is_uniform`: all replicas take the same one.
    """
    types = [
        builder.type(builder.tensor())
        for _ in range(builder.random.choice([1, 1, 2]))
    ]
    if builder.chance(0.25):
        types.append(builder.type(builder.find(is_number)))
    regions = []
    for _ in range(count):
        with builder.block([], is_uniform=is_uniform) as (_, end):
            if builder.chance(0.75):
                body_statements(builder, 3)
            regions.append(end([builder.of_type(type) for type in types]))
    return regions
