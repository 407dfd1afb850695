"""Productions: loops and branches, whose bodies are functions made of other
productions.
"""

from differential.block import Block
from differential.builder import (
    FLOATS,
    INTEGERS,
    SIGNED,
    Draft,
    RejectedError,
    Value,
)
from differential.facts import BITS, ROUNDED, Facts
from differential.program import Type
from differential.table import production

#: Facts about a loop-carried float: `carried` reduces it to this bound.
CARRIED = 4.0

#: The maximum number of elements of values in loops.
SMALL = 300


def carries(block: Block, count: int) -> list[Value]:
    """Initial loop-carried values, of several dtypes."""
    found = []
    for _ in range(count):
        dtypes = (
            block.floats if block.chance(0.65) else (*block.integers, "bool")
        )
        found.append(block.array(dtypes, limit=CARRIED, largest=SMALL))
    return found


def parameters(
    values: list[Value], uniform: bool
) -> list[tuple[Type, Facts, bool]]:
    """Parameters of a loop's body for its carried values."""
    return [
        (
            v.type,
            Facts(ROUNDED, CARRIED) if v.dtype in FLOATS else Facts(BITS),
            uniform and v.uniform,
        )
        for v in values
    ]


def carried(block: Block, previous: Value) -> str:
    """An expression of the next carried value: of the type of `previous`, and
    bounded.
    """
    same = [
        v for v in block.values if v.type == previous.type and v is not previous
    ]
    value = block.random.choice(same[-3:]) if same else previous
    if previous.dtype == "bool":
        return f"~{value}" if value is previous else str(value)
    if previous.dtype in INTEGERS:
        return (
            f"{previous} + 1"
            if value is previous
            else f"{previous} * 3 + {value}"
        )
    if value is previous:
        return f"jnp.cos({previous})"
    return (
        f"0.5 * {previous} + {block.bounded(value, CARRIED / 2)}"
        if block.chance(0.5)
        else f"jnp.tanh({value})"
    )


def elements(block: Block, length: int | None) -> Value:
    """The operands over which a scan iterates."""

    def suits(type_):
        return (
            type_.size > 0
            and type_.shape[0] <= 20
            and (length is None or type_.shape[0] == length)
        )

    return block.array(ranks=(1, 3), largest=600, limit=2**8, where=suits)


@production("control", weight=5, nested=True)
def scan(block: Block) -> Draft:
    """In either direction, with several carried values and stacked outputs."""
    initial = carries(block, block.random.choice((0, 1, 1, 2)))
    xs = [elements(block, None)] if block.chance(0.85) else []
    length = xs[0].shape[0] if xs else block.random.randint(1, 7)
    if xs and block.chance(0.4):
        xs.append(elements(block, length))
    rows = [(Type(x.shape[1:], x.dtype), x.facts, x.uniform) for x in xs]
    body = block.inner([*parameters(initial, False), *rows])
    body.grow(block.random.randint(1, 4))
    count = len(initial)
    new = [carried(body, value) for value in body.parameters[:count]]
    outputs = [v for v in body.values[count:] if v.size <= 1000][
        -block.random.randint(1, 3) :
    ]
    outputs += [v for v in body.parameters[:count] if block.chance(0.3)]
    function = body.finish(f"({_tuple(new)}, {_tuple(outputs)})")
    options = (
        f"length={length}"
        + (", reverse=True" if block.chance(0.4) else "")
        + (", unroll=2" if block.chance(0.15) else "")
    )
    # A function of JAX's form takes tuples.
    call = f"lambda c, x: {function.name}(*c, *x)"
    text = f"lax.scan({call}, {_tuple(initial)}, {_tuple(xs)}, {options})"
    facts = (
        *(entry[1] for entry in parameters(initial, False)),
        *(v.facts for v in outputs),
    )
    return Draft(f"(lambda r: (*r[0], *r[1]))({text})", facts, (function,))


@production("control", weight=1, nested=True)
def counted_loop(block: Block) -> Draft:
    """`fori_loop`, the number of whose iterations is known or computed."""
    initial = carries(block, block.random.choice((1, 2)))
    known = block.chance(0.6) or block.differentiated
    end = (
        str(block.random.randint(1, 6))
        if known
        else f"jnp.clip({block.array(SIGNED, (0, 0))}, 0, 6)"
    )
    counter = (Type((), "int32"), Facts(BITS, 6, 1), known)
    if not known:
        counter = (
            Type((), "int64" if block.builder.x64 else "int32"),
            Facts(BITS, 6, 1),
            False,
        )
        end = f"{end}.astype({counter[0].dtype!r})"
    body = block.inner([counter, *parameters(initial, False)])
    body.grow(block.random.randint(1, 3))
    new = [carried(body, value) for value in body.parameters[1:]]
    function = body.finish(_tuple(new))
    text = f"lax.fori_loop(0, {end}, lambda i, c: {function.name}({'i.astype(' + repr(counter[0].dtype) + ')'}, *c), {_tuple(initial)})"
    return Draft(
        text,
        tuple(entry[1] for entry in parameters(initial, False)),
        (function,),
    )


@production("control", weight=1.5, differentiable=False, nested=True)
def while_loop(block: Block) -> Draft:
    """`while_loop`, with a data-dependent condition and a bounded number of
    iterations.
    """
    initial = carries(block, block.random.choice((1, 1, 2)))
    body = block.inner(
        [
            (Type((), "int32"), Facts(BITS, 10, 1), False),
            *parameters(initial, False),
        ]
    )
    body.grow(block.random.randint(1, 3))
    new = [carried(body, value) for value in body.parameters[1:]]
    function = body.finish(_tuple([f"{body.parameters[0]} + 1", *new]))
    exact = [
        index for index, value in enumerate(initial) if value.dtype in INTEGERS
    ]
    condition = f"c[0] < {block.random.randint(0, 6)}"
    if exact and block.chance(0.6):
        condition += f") & jnp.any(c[{block.random.choice(exact) + 1}] < 20"
    text = f"lax.while_loop(lambda c: ({condition}), lambda c: {function.name}(*c), {_tuple(['jnp.int32(0)', *initial])})"
    return Draft(
        text,
        (
            Facts(BITS, 10, 1),
            *(entry[1] for entry in parameters(initial, False)),
        ),
        (function,),
    )


@production("control", weight=3, nested=True)
def condition(block: Block) -> Draft:
    """`cond` or `switch`, whose condition may differ between replicas."""
    operands = [
        block.array(limit=2**8, largest=SMALL * 3)
        for _ in range(block.random.randint(1, 2))
    ]
    count = block.random.choice((2, 2, 3))
    if count == 2 and block.chance(0.8):
        known = [
            v for v in block.visible() if v.dtype == "bool" and v.rank == 0
        ]
        which = (
            str(block.random.choice(known))
            if known and block.chance(0.7)
            else f"{block.array(block.integers, (0, 0))} > 1"
        )
        head = f"lax.cond({which}, "
    else:
        head = f"lax.switch({block.array(block.integers, (0, 0))}, ["
    bodies, results = [], []
    for _ in range(count):
        body = block.inner([(v.type, v.facts, v.uniform) for v in operands])
        body.grow(block.random.randint(1, 3))
        bodies.append(body)
    floats = [v for v in bodies[0].values if v.size <= 1000]
    if not floats:
        raise RejectedError("nothing to return")
    wanted = block.random.choice(floats[-3:])
    for body in bodies:
        same = [v for v in body.values if v.type == wanted.type]
        results.append(same[-1] if same else None)
    facts = [value.facts if value else Facts(BITS, 1, 1) for value in results]
    constant = f"jnp.ones({wanted.shape}, {wanted.dtype!r})"
    functions = tuple(
        body.finish(value or constant)
        for body, value in zip(bodies, results, strict=True)
    )
    names = ", ".join(function.name for function in functions)
    text = f"{head}{names}{']' if head.startswith('lax.switch') else ''}, {', '.join(map(str, operands))})"
    return Draft(text, _joined(facts), functions)


@production("control", weight=1, nested=True)
def map_over_rows(block: Block) -> Draft:
    xs = elements(block, None)
    body = block.inner([(Type(xs.shape[1:], xs.dtype), xs.facts, xs.uniform)])
    body.grow(block.random.randint(1, 3))
    result = block.random.choice(body.values[-2:])
    return Draft(
        f"lax.map({(function := body.finish(result)).name}, {xs})",
        result.facts,
        (function,),
    )


@production("control", weight=1.5)
def associative_scan(block: Block) -> Draft:
    """A linear recurrence, or a running sum, maximum or product."""
    x = block.array(
        block.floats,
        ranks=(1, 2),
        limit=1,
        largest=SMALL,
        where=lambda t: t.size > 0,
    )
    reverse = ", reverse=True" if block.chance(0.3) else ""
    if block.chance(0.4):
        y = block.like(x, limit=1)
        combine = "lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1])"
        return Draft(
            f"lax.associative_scan({combine}, (jnp.cos({x}) / 2, {y}){reverse})[1]",
            Facts(bound=4),
        )
    name, bound = block.random.choice(
        (("jnp.add", x.shape[0]), ("jnp.multiply", 1))
    )
    axis = block.random.randrange(x.rank)
    return Draft(
        f"lax.associative_scan({name}, {x}{reverse}, axis={axis})",
        Facts(bound=max(bound, *x.shape)),
    )


def _joined(facts: list[Facts]) -> Facts:
    return Facts(
        min(f.level for f in facts),
        max(f.bound for f in facts),
        min(f.quantum for f in facts),
    )


def _tuple(items) -> str:
    items = list(map(str, items))
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
