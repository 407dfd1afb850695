"""Productions: derivatives of functions made of other productions, and other
transformations of functions.
"""

from differential.block import Block
from differential.builder import FLOATS, Draft, RejectedError, Value
from differential.facts import Facts
from differential.program import Type
from differential.table import production

#: The maximum number of elements of differentiated inputs.
LARGEST = 600


def arguments(block: Block, count: int, largest: int = LARGEST) -> list[Value]:
    """Floats to differentiate by, of one dtype, so that sums of what is
    computed from them are no less precise than they are.
    """
    first = block.array(
        block.floats, limit=8, largest=largest, where=lambda t: t.size > 0
    )
    return [
        first,
        *(
            block.array(
                (first.dtype,),
                limit=8,
                largest=largest,
                where=lambda t: t.size > 0,
            )
            for _ in range(count - 1)
        ),
    ]


def body_of(
    block: Block,
    values: list[Value],
    statements: tuple[int, int],
    differentiated: bool = True,
) -> Block:
    """The body of a function of these values."""
    body = block.inner(
        [(value.type, value.facts, value.uniform) for value in values],
        differentiated,
    )
    body.grow(block.random.randint(*statements))
    return body


def scalar(body: Block) -> str:
    """An expression of one float that depends on some of a body's values."""
    floats = [v for v in body.values if v.dtype in FLOATS and v.size > 0]
    chosen = [*floats[-2:], *(v for v in body.parameters if v in floats)][
        : body.random.randint(1, 3)
    ]
    if not chosen:
        raise RejectedError("nothing to differentiate")
    templates = (
        "jnp.sum({v})",
        "jnp.sum({v} * {v})",
        "jnp.mean(jnp.sin({v}))",
        "jnp.sum(jnp.cos({v}))",
        "jnp.mean({v} * {v})",
    )
    terms = [
        body.random.choice(templates).format(v=body.bounded(value, 16))
        for value in chosen
    ]
    return " + ".join(terms)


@production("derivatives", weight=6, nested=True)
def gradient(block: Block) -> Draft:
    values = arguments(block, block.random.choice((1, 1, 2)))
    body = body_of(block, values, (1, 6))
    function = body.finish(scalar(body))
    wrapped = block.random.choice(
        ("{f}", "{f}", "{f}", "jax.checkpoint({f})", "jax.jit({f})")
    ).format(f=function.name)
    operands = ", ".join(map(str, values))
    if len(values) == 1:
        return Draft(f"jax.grad({wrapped})({operands})", functions=(function,))
    if block.chance(0.5):
        return Draft(
            f"jax.grad({wrapped}, argnums={tuple(range(len(values)))})({operands})",
            functions=(function,),
        )
    return Draft(
        f"(lambda r: (r[0], *r[1]))(jax.value_and_grad({wrapped}, argnums=(0, 1))({operands}))",
        functions=(function,),
    )


@production("derivatives", weight=2, nested=True)
def vector_jacobian_product(block: Block) -> Draft:
    values = arguments(block, 1)
    body = body_of(block, values, (1, 5))
    results = [v for v in body.values[1:] if v.dtype in FLOATS and v.size > 0]
    if not results:
        raise RejectedError("nothing to differentiate")
    result = results[-1]
    cotangent = block.matching(result.shape, (result.dtype,), limit=4)
    function = body.finish(result)
    return Draft(
        f"jax.vjp({function.name}, {values[0]})[1]({cotangent})[0]",
        functions=(function,),
    )


@production("derivatives", weight=1.5, nested=True)
def jacobian_vector_product(block: Block) -> Draft:
    values = arguments(block, 1)
    tangent = block.like(values[0], limit=4)
    body = body_of(block, values, (1, 5))
    results = [v for v in body.values[1:] if v.dtype in FLOATS]
    if not results:
        raise RejectedError("nothing to differentiate")
    function = body.finish(results[-1])
    return Draft(
        f"jax.jvp({function.name}, ({values[0]},), ({tangent},))[1]",
        functions=(function,),
    )


@production("derivatives", weight=1.5, nested=True)
def second_derivative(block: Block) -> Draft:
    """The gradient of a function of a gradient."""
    values = arguments(block, 1, largest=100)
    body = body_of(block, values, (1, 3))
    function = body.finish(scalar(body))
    penalty = block.random.choice(
        ("jnp.sum(jax.grad({f})(x) ** 2)", "jnp.sum(jnp.sin(jax.grad({f})(x)))")
    ).format(f=function.name)
    return Draft(
        f"jax.grad(lambda x: {penalty})({values[0]})", functions=(function,)
    )


@production("derivatives", weight=1, nested=True)
def gradient_of_each_row(block: Block) -> Draft:
    """`vmap` of a gradient."""
    x = block.array(
        block.floats,
        ranks=(1, 3),
        limit=8,
        largest=LARGEST,
        where=lambda t: t.size > 0,
    )
    row = Value(x.text, Type(x.shape[1:], x.dtype), x.facts, x.uniform)
    body = body_of(block, [row], (1, 4))
    function = body.finish(scalar(body))
    return Draft(
        f"jax.vmap(jax.grad({function.name}))({x})", functions=(function,)
    )


@production("functions", weight=3, nested=True)
def vectorized(block: Block) -> Draft:
    x = block.array(
        ranks=(1, 3), limit=2**8, largest=LARGEST, where=lambda t: t.size > 0
    )
    axis = block.random.randrange(x.rank)
    row = (
        Type((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype),
        x.facts,
        x.uniform,
    )
    shared = block.array(limit=2**8, largest=LARGEST)
    body = block.inner([row, (shared.type, shared.facts, shared.uniform)])
    body.grow(block.random.randint(1, 4))
    result = body.values[-1]
    function = body.finish(result)
    out = (
        f", out_axes={block.random.randint(0, result.rank)}"
        if block.chance(0.3)
        else ""
    )
    return Draft(
        f"jax.vmap({function.name}, in_axes=({axis}, None){out})({x}, {shared})",
        result.facts,
        (function,),
    )


@production("functions", weight=2, nested=True)
def called_twice(block: Block) -> Draft:
    """A jitted function of two arguments of one type, called with both orders
    of them.
    """
    x = block.array(block.floats, limit=2**8)
    y = block.like(x, limit=2**8)
    level = min(x.facts.level, y.facts.level)
    facts = Facts(
        level,
        max(x.facts.bound, y.facts.bound),
        min(x.facts.quantum, y.facts.quantum),
    )
    body = block.inner([(x.type, facts, False), (y.type, facts, False)])
    body.grow(block.random.randint(1, 4))
    result = body.values[-1]
    function = body.finish(result)
    name = f"jax.jit({function.name})"
    return Draft(
        f"jnp.stack([{name}({x}, {y}), {name}({y}, {x})])",
        result.facts,
        (function,),
    )


@production("functions", weight=1)
def stopped_gradient(block: Block) -> Draft:
    x = block.array(block.floats)
    return Draft(f"lax.stop_gradient({x})", x.facts)
