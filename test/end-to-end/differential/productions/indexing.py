"""Productions: gathers and scatters, with indices in and out of range."""

from differential.block import Block
from differential.builder import FLOATS, INTEGERS, LARGE, SIGNED, Draft, Value
from differential.facts import BITS, Facts, join
from differential.program import Type
from differential.table import production

#: JAX's modes for indices out of range. The default depends on the operation.
GATHER_MODES = (
    "",
    ", mode='fill'",
    ", mode='clip'",
    ", mode='wrap'",
    ", mode='fill', fill_value=3",
)
SCATTER_MODES = ("", ", mode='drop'", ", mode='clip'")


def indices(block: Block, shape: tuple[int, ...], extent: int) -> Value:
    """Integers that are indices into a dimension of this extent, or near to it."""
    dtypes = [dtype for dtype in block.integers if dtype in SIGNED]
    known = [
        v for v in block.visible() if v.shape == shape and v.dtype in dtypes
    ]
    value = (
        block.random.choice(known)
        if known and block.chance(0.6)
        else block.input(
            Type(shape, block.random.choice(dtypes)), kinds=("small", "natural")
        )
    )
    if block.chance(0.5):
        return Value(
            f"({value} % {max(extent, 1)})", value.type, Facts(BITS, extent, 1)
        )
    return value


def some(block: Block) -> int:
    """How many indices."""
    return block.random.choice((1, 2, 3, 5, 8, *block.builder.extents))


@production("indexing", weight=3)
def gather_of_rows(block: Block) -> Draft:
    x = block.array(ranks=(1, 3), largest=LARGE, where=lambda t: t.shape[0] > 0)
    index = indices(
        block, (some(block),) if block.chance(0.8) else (2, 3), x.shape[0]
    )
    if block.chance(0.5):
        return Draft(f"{x}[{index}]", x.facts)
    filled = (
        join(x.facts, Facts(BITS, 3, 1))
        if x.dtype in INTEGERS or x.dtype == "bool"
        else Facts(x.facts.level)
    )
    return Draft(
        f"{x}.at[{index}].get({block.random.choice(GATHER_MODES)[2:]})", filled
    )


@production("indexing", weight=2)
def take(block: Block) -> Draft:
    x = block.array(ranks=(1, 3), largest=LARGE, where=lambda t: t.size > 0)
    axis = block.random.randrange(x.rank)
    index = indices(block, (some(block),), x.shape[axis])
    mode = block.random.choice(GATHER_MODES[:4])
    return Draft(
        f"jnp.take({x}, {index}, axis={axis}{mode})", Facts(x.facts.level)
    )


@production("indexing", weight=1.5)
def take_along_axis(block: Block) -> Draft:
    x = block.array(ranks=(1, 3), largest=LARGE, where=lambda t: t.size > 0)
    axis = block.random.randrange(x.rank)
    shape = (*x.shape[:axis], some(block), *x.shape[axis + 1 :])
    index = indices(block, shape, x.shape[axis])
    return Draft(
        f"jnp.take_along_axis({x}, {index}, {axis}{block.random.choice(GATHER_MODES[:3])})",
        Facts(x.facts.level),
    )


@production("indexing", weight=2)
def gather_of_elements(block: Block) -> Draft:
    """Indices in several dimensions, some of them slices."""
    x = block.array(ranks=(2, 3), largest=LARGE, where=lambda t: t.size > 0)
    shape = (some(block),)
    entries = [
        str(indices(block, shape, extent)) if block.chance(0.6) else ":"
        for extent in x.shape
    ]
    return Draft(f"{x}[{', '.join(entries)}]", x.facts)


@production("indexing", weight=1)
def element(block: Block) -> Draft:
    x = block.array(ranks=(1, 3), where=lambda t: t.size > 0)
    index = block.index(x.shape[0])
    texts = (
        f"{x}[{index}]",
        f"lax.dynamic_index_in_dim({x}, {index}, 0, keepdims=False)",
    )
    # A literal that is out of range is an error.
    return Draft(
        texts[1] if index.lstrip("-").isdigit() else block.random.choice(texts),
        x.facts,
    )


@production("indexing", weight=3)
def scatter_add(block: Block) -> Draft:
    """Indices may occur several times."""
    x = block.array(
        (*FLOATS, *INTEGERS),
        ranks=(1, 2),
        limit=2**8,
        largest=LARGE,
        where=lambda t: t.shape[0] > 0,
    )
    count = some(block)
    index = indices(block, (count,), x.shape[0])
    updates = block.matching((count, *x.shape[1:]), (x.dtype,), limit=2**8)
    mode = block.random.choice(SCATTER_MODES)
    facts = Facts(
        min(x.facts.level, updates.facts.level),
        x.facts.bound + count * updates.facts.bound,
        min(x.facts.quantum, updates.facts.quantum),
    )
    return Draft(
        f"{x}.at[{index}].add({updates}{mode})", facts, arithmetic=True
    )


@production("indexing", weight=1.5, differentiable=False)
def scatter_of_extrema(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS),
        ranks=(1, 2),
        largest=LARGE,
        where=lambda t: t.shape[0] > 0,
    )
    count = some(block)
    index = indices(block, (count,), x.shape[0])
    updates = block.matching((count, *x.shape[1:]), (x.dtype,))
    name = block.random.choice(("min", "max"))
    return Draft(
        f"{x}.at[{index}].{name}({updates}{block.random.choice(SCATTER_MODES)})",
        join(x.facts, updates.facts),
    )


@production("indexing", weight=1, differentiable=False)
def scatter_of_factors(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS),
        ranks=(1, 1),
        limit=4,
        largest=200,
        where=lambda t: t.size > 0,
    )
    count = block.random.choice((1, 2, 3))
    index = indices(block, (count,), x.shape[0])
    updates = block.matching((count,), (x.dtype,), limit=2)
    return Draft(
        f"{x}.at[{index}].multiply({updates})",
        Facts(
            min(x.facts.level, updates.facts.level), 2.0**count * x.facts.bound
        ),
    )


@production("indexing", weight=2)
def scatter(block: Block) -> Draft:
    """Each place at most once: which of several updates stays is not specified.
    Some are out of range.
    """
    x = block.array(ranks=(1, 3), largest=LARGE, where=lambda t: t.shape[0] > 0)
    count = block.random.randint(1, x.shape[0])
    places = block.random.sample(
        range(x.shape[0] + (2 if block.chance(0.3) else 0)), count
    )
    updates = block.matching((count, *x.shape[1:]), (x.dtype,))
    mode = (
        ", mode='drop'"
        if block.chance(0.5) or max(places) >= x.shape[0]
        else ""
    )
    return Draft(
        f"{x}.at[jnp.array({places})].set({updates}{mode})",
        join(x.facts, updates.facts),
    )


@production("indexing", weight=1.5)
def update_of_a_slice(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS),
        ranks=(1, 2),
        limit=2**10,
        where=lambda t: t.shape[0] > 1,
    )
    start = block.random.randrange(x.shape[0] - 1)
    step = block.random.choice(("", "", ":2", ":-1"))
    name, number = block.random.choice(
        (("set", 2), ("add", 1.5), ("multiply", 0.5), ("set", 0))
    )
    if x.dtype in INTEGERS:
        number = 2
    place = f"{start}:{step}" if step != ":-1" else "::-1"
    facts = Facts(x.facts.level, x.facts.bound + 3, x.facts.quantum / 8)
    if name == "multiply":
        facts = Facts(x.facts.level, x.facts.bound * 2, x.facts.quantum / 2)
    return Draft(f"{x}.at[{place}].{name}({number})", facts, arithmetic=True)


@production("indexing", weight=1.5)
def segments(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS),
        ranks=(1, 2),
        limit=2**6,
        largest=LARGE,
        where=lambda t: t.shape[0] > 0,
    )
    ids = indices(block, (x.shape[0],), 4)
    name = block.random.choice(
        ("segment_sum", "segment_sum", "segment_max")
        if not block.differentiated
        else ("segment_sum",)
    )
    facts = (
        x.facts.scaled(x.shape[0])
        if name == "segment_sum"
        else Facts(x.facts.level)
    )
    return Draft(
        f"jax.ops.{name}({x}, {ids}, num_segments=4)",
        facts,
        arithmetic=name == "segment_sum",
    )


@production("indexing", weight=1)
def one_hot(block: Block) -> Draft:
    index = indices(block, (some(block),), 5)
    return Draft(
        f"jax.nn.one_hot({index}, {block.random.choice((3, 5, 7))}, dtype={block.random.choice(block.floats)!r})",
        Facts(BITS, 1, 1),
    )


@production("indexing", weight=0.5, differentiable=False)
def histogram(block: Block) -> Draft:
    index = indices(block, (some(block),), 5)
    return Draft(
        f"jnp.bincount(jnp.clip({index}, 0, 6), length=6)", Facts(BITS, 300, 1)
    )
