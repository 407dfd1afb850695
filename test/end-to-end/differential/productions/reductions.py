"""Productions: reductions over any dimensions, running sums, softmax and other
normalizations.
"""

from differential.block import Block
from differential.builder import FLOATS, INTEGERS, LARGE, Draft, Value
from differential.facts import BITS, NUMBERS, ROUNDED, Facts
from differential.table import production


def options(block: Block, x: Value, keepdims: bool = True) -> tuple[str, int]:
    """Arguments that choose dimensions, and the number of elements of each
    reduction.
    """
    if block.chance(0.25):
        axes, text = range(x.rank), ""
    else:
        axes = block.axes(x)
        text = f", axis={axes[0] if len(axes) == 1 and block.chance(0.7) else axes}"
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return text + (
        ", keepdims=True" if keepdims and block.chance(0.2) else ""
    ), count


@production("reductions", weight=6)
def addition(block: Block) -> Draft:
    x = block.array((*FLOATS, *INTEGERS), ranks=(1, 4), limit=2**10)
    arguments, count = options(block, x)
    if block.chance(0.1):
        mask = block.like(x, ("bool",))
        return Draft(
            f"jnp.sum({x}{arguments}, where={mask})",
            x.facts.scaled(max(count, 1)),
            arithmetic=True,
        )
    return Draft(
        f"jnp.sum({x}{arguments})",
        x.facts.scaled(max(count, 1)),
        arithmetic=True,
    )


@production("reductions", weight=2)
def moment(block: Block) -> Draft:
    x = block.array(
        block.floats, ranks=(1, 4), limit=2**6, where=lambda t: t.size > 0
    )
    arguments, _ = options(block, x)
    name, bound = block.random.choice(
        (("mean", 1), ("mean", 1), ("var", 64), ("nanmean", 1))
    )
    # JAX sums these floats in 16 bits in `nanmean` alone; Lockstep in f32.
    if name == "nanmean" and x.dtype in ("float16", "bfloat16"):
        name = "mean"
    return Draft(
        f"jnp.{name}({x}{arguments})", Facts(ROUNDED, bound * x.facts.bound)
    )


@production("reductions", weight=0.7)
def deviation(block: Block) -> Draft:
    """Roots have no derivative at 0, so what is deviated from differs in one
    place at least.
    """
    x = block.array(
        block.floats, ranks=(1, 3), limit=2**6, where=lambda t: 2 <= t.size
    )
    template = block.random.choice(
        (
            "jnp.sqrt(jnp.var({x}) + 0.5)",
            "jnp.linalg.norm({x}.ravel()) + 1",
            "jnp.sqrt(jnp.sum({x} * {x}) + 0.25)",
        )
    )
    return Draft(
        template.format(x=x), Facts(ROUNDED, x.facts.bound * x.size**0.5 + 2)
    )


#: XLA's reductions of more elements may lose a NaN: `jnp.min` of 11**4 elements
#: with NaN and -inf among them is -inf.
NANS_ARE_KEPT = 1000


def without_lost_nans(x: Value) -> str:
    return (
        f"jnp.where(jnp.isnan({x}), 0, {x})"
        if x.dtype in FLOATS and x.size > NANS_ARE_KEPT
        else str(x)
    )


@production("reductions", weight=3)
def largest(block: Block) -> Draft:
    x = block.array(ranks=(1, 4), level=block.kink, where=lambda t: t.size > 0)
    arguments, _ = options(block, x)
    name = block.random.choice(
        ("max", "min", "max", "min", "ptp")
        if x.dtype != "bool"
        else ("max", "min")
    )
    if name == "ptp":
        return Draft(
            f"jnp.ptp({without_lost_nans(x)}{arguments})",
            x.facts.scaled(2),
            arithmetic=True,
        )
    return Draft(f"jnp.{name}({without_lost_nans(x)}{arguments})", x.facts)


@production("reductions", weight=0.5)
def largest_with_initial_value(block: Block) -> Draft:
    x = block.array((*FLOATS, *INTEGERS), ranks=(1, 3), level=block.kink)
    arguments, _ = options(block, x)
    facts = Facts(x.facts.level, max(x.facts.bound, 2), min(x.facts.quantum, 1))
    return Draft(
        f"jnp.{block.random.choice(('max', 'min'))}({without_lost_nans(x)}{arguments}, initial=2)",
        facts,
    )


@production("reductions", weight=1)
def multiplication(block: Block) -> Draft:
    """Of factors near 1: the products of others are 0 or infinite soon."""
    if block.chance(0.3):
        x = block.array(INTEGERS, ranks=(1, 3))
        return Draft(f"jnp.prod({x}{options(block, x)[0]})", Facts(BITS))
    x = block.array(block.floats, ranks=(1, 3), limit=1e3, largest=64)
    return Draft(
        f"jnp.prod(1 + 0.25 * jnp.sin({x}){options(block, x)[0]})",
        Facts(ROUNDED, 1.25**x.size),
    )


@production("reductions", weight=1)
def quantifier(block: Block) -> Draft:
    x = block.array(("bool",), ranks=(1, 4))
    return Draft(
        f"jnp.{block.random.choice(('any', 'all', 'count_nonzero'))}({x}{options(block, x)[0]})",
        Facts(BITS, x.size + 1, 1),
    )


@production("reductions", weight=1.5)
def place_of_largest(block: Block) -> Draft:
    """With ties, of which the first one counts."""
    x = block.array(ranks=(1, 3), level=NUMBERS, where=lambda t: t.size > 0)
    axis = "" if block.chance(0.2) else f", axis={block.axis(x)}"
    return Draft(
        f"jnp.{block.random.choice(('argmax', 'argmin'))}({x}{axis})",
        Facts(BITS, x.size, 1),
    )


@production("reductions", weight=2)
def running_sum(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS), ranks=(1, 3), limit=2**6, largest=LARGE
    )
    axis = block.axis(x)
    if block.chance(0.3):
        return Draft(
            f"lax.cumsum({x}, {axis % x.rank}, reverse=True)",
            x.facts.scaled(max(x.shape[axis], 1)),
            arithmetic=True,
        )
    return Draft(
        f"jnp.cumsum({x}, {axis})",
        x.facts.scaled(max(x.shape[axis], 1)),
        arithmetic=True,
    )


@production("reductions", weight=1)
def running_product(block: Block) -> Draft:
    """Short ones of half precision: XLA rounds after every factor."""
    longest = {"float16": 12, "bfloat16": 12}
    x = block.array(
        block.floats,
        ranks=(1, 2),
        limit=1e3,
        largest=400,
        where=lambda t: max(t.shape) <= longest.get(t.dtype, 64),
    )
    axis = block.axis(x)
    return Draft(
        f"jnp.cumprod(1 + 0.25 * jnp.cos({x}), {axis})",
        Facts(ROUNDED, 1.25 ** x.shape[axis]),
    )


@production("reductions", weight=1)
def running_extremum(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS), ranks=(1, 3), level=block.kink, largest=LARGE
    )
    reverse = block.random.choice(("", ", reverse=True"))
    return Draft(
        f"lax.{block.random.choice(('cummax', 'cummin'))}({x}, {block.random.randrange(x.rank)}{reverse})",
        x.facts,
    )


@production("reductions", weight=3)
def normalization(block: Block) -> Draft:
    x = block.array(
        block.floats, ranks=(1, 3), limit=20, where=lambda t: t.size > 0
    )
    axis = block.axis(x)
    texts = (
        (f"jax.nn.softmax({x}, axis={axis})", 1),
        (f"jax.nn.log_softmax({x}, axis={axis})", 50),
        (f"jax.nn.standardize({x}, axis={axis}, epsilon=0.1)", 70),
        (f"{x} / (jnp.sum({x} * {x}, axis={axis}, keepdims=True) + 0.5)", 1),
        (f"jax.scipy.special.logsumexp({x}, axis={axis})", 30),
        (f"jax.nn.logsumexp({x}, axis={axis}, keepdims=True)", 30),
        (f"lax.cumlogsumexp({x}, {axis % x.rank})", 30),
    )
    text, bound = block.random.choice(texts)
    return Draft(text, Facts(ROUNDED, bound))


@production("reductions", weight=0.7, differentiable=False)
def reduction_by_a_function(block: Block) -> Draft:
    """`lax.reduce` of two arrays at once: the largest element and its place."""
    x = block.array(
        ("float32", "int32"), ranks=(1, 3), level=NUMBERS, limit=2**20
    )
    axes = block.axes(x)
    operator, start = block.random.choice(((">=", "min"), ("<=", "max")))
    number = (
        f"jnp.{'finfo' if x.dtype in FLOATS else 'iinfo'}({x.dtype!r}).{start}"
    )
    operands = f"({x}, lax.broadcasted_iota('int32', {x.shape}, {axes[0]}))"
    combine = f"lambda x, y: tuple(jnp.where(x[0] {operator} y[0], a, b) for a, b in zip(x, y))"
    text = f"lax.reduce({operands}, (jnp.array({number}, {x.dtype!r}), jnp.array(-1, 'int32')), {combine}, {axes})"
    # Of equal elements either place may be the result, so the place is not
    # kept.
    return Draft(
        f"{text}[0]", Facts(x.facts.level, x.facts.bound, x.facts.quantum)
    )


@production("reductions", weight=1)
def reduction_of_special_values(block: Block) -> Draft:
    if block.differentiated:
        x = block.input(block.array(block.floats).type, kinds=("eighths",))
    else:
        x = block.special(block.shape(ranks=(1, 2), largest=60))
    names = (
        "max",
        "min",
        "sum",
        "prod",
        "argmax",
        "argmin",
        "any",
        "all",
        "nansum",
        "nanmax",
        "cumsum",
    )
    if x.size == 0 or block.differentiated:
        names = ("sum", "nansum")
    return Draft(
        f"jnp.{block.random.choice(names)}({x}{', axis=0' if block.chance(0.5) and x.rank else ''})",
        Facts(bound=float("inf")),
    )
