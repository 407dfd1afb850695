"""Productions: random numbers of JAX's generator (threefry), whose bits are
computed with integers.
"""

from differential.block import Block
from differential.builder import INTEGERS, Draft
from differential.facts import BITS, Facts
from differential.table import production


def key(block: Block) -> str:
    """An expression of a key; some are of each replica's own."""
    text = f"jax.random.key({block.random.randrange(100)})"
    scalars = [
        v for v in block.visible() if v.rank == 0 and v.dtype in INTEGERS
    ]
    if scalars and block.chance(0.5):
        text = f"jax.random.fold_in({text}, {block.random.choice(scalars)}.astype('uint32'))"
    if block.chance(0.3):
        text = f"jax.random.split({text}, 3)[{block.random.randrange(3)}]"
    return text


@production("random", weight=1)
def bits(block: Block) -> Draft:
    shape = block.shape((0, 3), largest=1000)
    unsigned = [
        dtype
        for dtype in ("uint8", "uint16", "uint32", "uint64")
        if dtype in block.integers
    ] or ["uint32"]
    return Draft(
        f"jax.random.bits({key(block)}, {shape}, {block.random.choice(unsigned)!r})",
        Facts(BITS),
    )


@production("random", weight=3)
def numbers(block: Block) -> Draft:
    shape = block.shape((0, 3), largest=1000)
    dtype = block.random.choice(block.floats)
    texts = (
        (f"jax.random.uniform({{key}}, {shape}, {dtype!r})", 1),
        (f"jax.random.uniform({{key}}, {shape}, {dtype!r}, -2, 3)", 3),
        (f"jax.random.normal({{key}}, {shape}, {dtype!r})", 6),
        (f"jax.random.truncated_normal({{key}}, -1, 2, {shape}, {dtype!r})", 2),
        (f"jax.random.gumbel({{key}}, {shape}, {dtype!r})", 100),
        (f"jax.random.exponential({{key}}, {shape}, {dtype!r})", 100),
        (f"jax.random.laplace({{key}}, {shape}, {dtype!r})", 100),
    )
    text, bound = block.random.choice(texts)
    return Draft(text.format(key=key(block)), Facts(bound=bound))


@production("random", weight=2)
def integers(block: Block) -> Draft:
    shape = block.shape((0, 2), largest=1000)
    texts = (
        (
            f"jax.random.randint({{key}}, {shape}, -3, 9, {block.random.choice(block.integers)!r})",
            9,
        ),
        (f"jax.random.bernoulli({{key}}, 0.4, {shape})", 1),
        (
            f"jax.random.permutation({{key}}, {block.random.choice((3, 7, 16))})",
            16,
        ),
        (f"jax.random.choice({{key}}, 11, {shape})", 11),
    )
    text, bound = block.random.choice(texts)
    return Draft(text.format(key=key(block)), Facts(BITS, bound, 1))


@production("random", weight=1)
def dropout(block: Block) -> Draft:
    x = block.array(block.floats, limit=2**8)
    return Draft(
        f"jnp.where(jax.random.bernoulli({key(block)}, 0.75, {x.shape}), {x} / 0.75, 0)",
        Facts(bound=2 * x.facts.bound),
    )
