"""Productions: sorts and searches. Keys have no roundings in them, or their
order would depend on these; ties are allowed.
"""

from differential.block import Block
from differential.builder import FLOATS, INTEGERS, LARGE, Draft
from differential.facts import BITS, NUMBERS, Facts
from differential.table import production


@production("sorts", weight=3)
def sort(block: Block) -> Draft:
    x = block.array(ranks=(1, 3), level=NUMBERS, largest=LARGE)
    axis = block.axis(x)
    return Draft(
        f"jnp.sort({x}, axis={axis}{', descending=True' if block.chance(0.3) else ''})",
        x.facts,
    )


@production("sorts", weight=2)
def order(block: Block) -> Draft:
    x = block.array(ranks=(1, 2), level=NUMBERS, largest=LARGE)
    return Draft(
        f"jnp.argsort({x}, axis={block.axis(x)}{', descending=True' if block.chance(0.3) else ''})",
        Facts(BITS, max(x.size, 1), 1),
    )


@production("sorts", weight=2)
def sort_of_several(block: Block) -> Draft:
    """Values are sorted by one or two keys."""
    key = block.array(
        (*FLOATS, *INTEGERS), ranks=(1, 2), level=NUMBERS, largest=LARGE
    )
    keys = [key]
    if block.chance(0.4):
        keys.append(block.like(key, (*FLOATS, *INTEGERS), level=NUMBERS))
    operands = [*keys, block.like(key, (*FLOATS, *INTEGERS))]
    text = f"lax.sort(({', '.join(map(str, operands))}), dimension={block.axis(key) % key.rank}, num_keys={len(keys)})"
    return Draft(text, tuple(value.facts for value in operands))


@production("sorts", weight=1.5)
def largest_few(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS),
        ranks=(1, 2),
        level=NUMBERS,
        largest=LARGE,
        where=lambda t: t.shape[-1] > 0,
    )
    count = block.random.randint(1, min(x.shape[-1], 5))
    return Draft(
        f"lax.top_k({x}, {count})", (x.facts, Facts(BITS, x.shape[-1], 1))
    )


@production("sorts", weight=1)
def search(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS), ranks=(1, 1), level=NUMBERS, largest=200
    )
    y = block.array((x.dtype,), ranks=(0, 1), level=NUMBERS, largest=200)
    side = block.random.choice(("left", "right"))
    return Draft(
        f"jnp.searchsorted(jnp.sort({x}), {y}, side={side!r})",
        Facts(BITS, x.size + 1, 1),
    )


@production("sorts", weight=1)
def median(block: Block) -> Draft:
    x = block.array(
        block.floats,
        ranks=(1, 2),
        level=NUMBERS,
        largest=200,
        where=lambda t: t.size > 0,
    )
    return Draft(
        f"jnp.median({x}{', axis=0' if block.chance(0.5) else ''})",
        Facts(bound=x.facts.bound),
    )


@production("sorts", weight=0.7, differentiable=False)
def different_elements(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS),
        ranks=(1, 1),
        level=BITS,
        largest=100,
        where=lambda t: t.size > 0,
    )
    if not x.facts.bound < 2**30:
        x = block.input(
            x.type, kinds=("small",) if x.dtype in INTEGERS else ("eighths",)
        )
    return Draft(
        f"jnp.unique({x}, size={block.random.randint(1, 9)}, fill_value=7)",
        Facts(BITS, max(x.facts.bound, 7), min(x.facts.quantum, 1)),
    )


@production("sorts", weight=0.7, differentiable=False)
def places(block: Block) -> Draft:
    x = block.array(("bool",), ranks=(1, 1), largest=200)
    return Draft(
        f"jnp.nonzero({x}, size={block.random.randint(1, 9)}, fill_value=-1)[0]",
        Facts(BITS, x.size + 1, 1),
    )
