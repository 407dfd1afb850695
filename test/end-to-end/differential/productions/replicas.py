"""Productions: exchanges of replicas; and operations that make a value equal on
all of them, so that it can be kept.
"""

from differential.block import Block
from differential.builder import FLOATS, INTEGERS, Draft, Value
from differential.facts import BITS, ROUNDED, Facts, join, product
from differential.table import production

#: Dtypes of which there are sums over replicas.
REDUCIBLE = (*FLOATS, *INTEGERS)

#: The most replicas that programs are executed with.
MOST_REPLICAS = 3


@production("replicas", weight=4, nested=None)
def reduction_over_replicas(block: Block) -> Draft:
    x = block.array(REDUCIBLE, limit=2**10)
    if x.dtype in FLOATS and block.chance(0.4):
        return Draft(
            f'lockstep.all_reduce({x}, "MEAN")',
            Facts(ROUNDED, x.facts.bound),
            uniform=True,
        )
    return Draft(
        f'lockstep.all_reduce({x}, "SUM")',
        x.facts.scaled(MOST_REPLICAS),
        arithmetic=True,
        uniform=True,
    )


@production("replicas", weight=1.5, nested=None)
def extremum_over_replicas(block: Block) -> Draft:
    """Without NaNs, which JAX's collective does not propagate."""
    x = block.array(level=block.kink)
    number = f"jnp.nan_to_num({x})" if x.dtype in FLOATS else str(x)
    return Draft(
        f'lockstep.all_reduce({number}, "{block.random.choice(("MAX", "MIN"))}")',
        x.facts,
        uniform=True,
    )


@production("replicas", weight=0.7, nested=None)
def product_over_replicas(block: Block) -> Draft:
    x = block.array(REDUCIBLE, limit=2**4)
    facts = join(x.facts, product(*(x.facts,) * MOST_REPLICAS))
    return Draft(
        f'lockstep.all_reduce({x}, "PRODUCT")',
        facts,
        arithmetic=True,
        uniform=True,
    )


@production("replicas", weight=1, nested=None)
def reduction_of_several(block: Block) -> Draft:
    values = [
        block.array(REDUCIBLE, limit=2**10)
        for _ in range(block.random.randint(2, 3))
    ]
    facts = tuple(x.facts.scaled(MOST_REPLICAS) for x in values)
    return Draft(
        f'lockstep.all_reduce(({", ".join(map(str, values))}), "SUM")',
        facts,
        arithmetic=True,
        uniform=True,
    )


@production("replicas", weight=1.5, nested=None)
def gathering(block: Block) -> Draft:
    """Of a shape that depends on the number of replicas, so all of it is
    combined at once, or a part is taken.
    """
    x = block.array(
        (*FLOATS, *INTEGERS),
        ranks=(1, 3),
        limit=2**10,
        where=lambda t: t.size > 0,
    )
    axis = block.random.randrange(x.rank)
    gathered = f"lockstep.all_gather({x}, {axis})"
    if block.chance(0.4):
        facts = x.facts.scaled(MOST_REPLICAS * x.shape[axis])
        return Draft(
            f"jnp.sum({gathered}, {axis})", facts, arithmetic=True, uniform=True
        )
    if block.chance(0.3) and not block.differentiated:
        return Draft(f"jnp.max({gathered}, {axis})", x.facts, uniform=True)
    place = "" if axis == 0 else ":, " * axis
    part = block.random.choice((f"-{x.shape[axis]}:", f":{x.shape[axis]}"))
    return Draft(f"{gathered}[{place}{part}]", x.facts, uniform=True)


@production("replicas", weight=1.5, nested=None)
def number_of_the_replica(block: Block) -> Draft:
    x = block.array(block.floats, limit=2**8)
    facts = Facts(x.facts.level, x.facts.bound + 4, min(x.facts.quantum, 1))
    texts = (
        f"{x} + lockstep.replica_id()",
        f"{x} * (lockstep.replica_id() == 0)",
        f"jnp.where(lockstep.replica_id() > 0, {x}, 2)",
    )
    return Draft(
        f"({block.random.choice(texts)}).astype({x.dtype!r})",
        facts,
        arithmetic=True,
        uniform=False,
    )


@production("replicas", weight=1.5, nested=None)
def gradient_through_replicas(block: Block) -> Draft:
    """Of a sum of all replicas' functions."""
    x = block.array(block.floats, limit=4, largest=600)
    loss = block.random.choice(
        (
            'lockstep.all_reduce(jnp.sin(v), "SUM") ** 2',
            'jnp.cos(v) * lockstep.all_reduce(v * v, "MEAN")',
        )
    )
    if x.rank and x.size and block.chance(0.3):
        loss = "jnp.sin(lockstep.all_gather(v, 0))"
    return Draft(
        f"jax.grad(lambda v: jnp.sum({loss}))({x})", Facts(), uniform=False
    )


@production("replicas", weight=1, nested=None)
def merge_call(block: Block) -> Draft:
    x = block.array(REDUCIBLE, limit=2**8)
    text = f'lockstep.merge_call(lambda strategy, v: strategy.reduce_to("SUM", v), {x})'
    return Draft(
        text, x.facts.scaled(MOST_REPLICAS), arithmetic=True, uniform=True
    )


def shared(block: Block, value: Value) -> Value:
    """Something with all elements of a value in it that is equal on all
    replicas.
    """
    if value.uniform:
        return value
    if value.dtype == "bool":
        draft = Draft(
            f'lockstep.all_reduce({value}.astype("int32"), "SUM")',
            Facts(BITS, MOST_REPLICAS, 1),
            uniform=True,
        )
    elif value.rank > 0 and value.size > 0 and block.chance(0.1):
        draft = Draft(
            f"lockstep.all_gather({value}, 0)[-{value.shape[0]}:]",
            value.facts,
            uniform=True,
        )
    else:
        draft = Draft(
            f'lockstep.all_reduce({value}, "SUM")',
            value.facts.scaled(MOST_REPLICAS),
            arithmetic=True,
            uniform=True,
        )
    return block.add(draft)[0]
