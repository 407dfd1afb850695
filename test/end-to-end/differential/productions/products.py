"""Productions: products of matrices and of tensors."""

from differential.block import Block
from differential.builder import FLOATS, INTEGERS, Draft, RejectedError, Value
from differential.facts import Facts
from differential.table import production

#: The most multiplications of a product; the interpreter executes them one by
#: one.
LARGEST_PRODUCT = 300_000


def contraction(text: str, x: Value, y: Value, count: int) -> Draft:
    """A draft of sums of so many products of elements of two values."""
    facts = Facts(
        min(x.facts.level, y.facts.level),
        x.facts.bound * y.facts.bound * max(count, 1),
        x.facts.quantum * y.facts.quantum,
    )
    return Draft(text, facts, arithmetic=True)


def operands(
    block: Block, ranks: tuple[int, int] = (1, 3)
) -> tuple[Value, tuple[str, ...]]:
    """The first operand, and the dtypes of the second one."""
    x = block.array((*FLOATS, *INTEGERS), ranks=ranks, limit=2**5, largest=5000)
    return x, (x.dtype,)


def bounded_work(work: int):
    if work > LARGEST_PRODUCT:
        raise RejectedError("too many multiplications")


@production("products", weight=5)
def matrix_product(block: Block) -> Draft:
    x, dtypes = operands(block)
    depth = x.shape[-1]
    shapes = [(depth, block.random.choice(block.builder.extents))]
    if block.chance(0.3):
        shapes.append((depth,))
    if x.rank == 3:
        shapes.append(
            (x.shape[0], depth, block.random.choice(block.builder.extents))
        )
    shape = block.random.choice(shapes)
    bounded_work(x.size * (shape[-1] if len(shape) > 1 else 1))
    y = block.matching(shape, dtypes, limit=2**5)
    return contraction(f"{x} @ {y}", x, y, depth)


@production("products", weight=2)
def product_with_itself(block: Block) -> Draft:
    x, _ = operands(block, ranks=(2, 2))
    bounded_work(x.size * max(x.shape))
    text, depth = block.random.choice(
        ((f"{x} @ {x}.T", x.shape[1]), (f"{x}.T @ {x}", x.shape[0]))
    )
    return contraction(text, x, x, depth)


@production("products", weight=3)
def general_product(block: Block) -> Draft:
    """`lax.dot_general`: with dimensions of a batch and contracted ones in any
    places.
    """
    x, dtypes = operands(block, ranks=(2, 4))
    places = block.random.sample(range(x.rank), block.random.randint(1, x.rank))
    split = block.random.randint(0, min(1, len(places) - 1))
    batch, contracted = places[:split], places[split:]
    kept = [(axis, x.shape[axis]) for axis in (*batch, *contracted)]
    free = [
        (None, block.random.choice(block.builder.extents))
        for _ in range(block.random.randint(0, 1))
    ]
    order = [*kept, *free]
    block.random.shuffle(order)
    y = block.matching(tuple(extent for _, extent in order), dtypes, limit=2**5)
    place = {axis: index for index, (axis, _) in enumerate(order)}
    numbers = (
        (tuple(contracted), tuple(place[axis] for axis in contracted)),
        (tuple(batch), tuple(place[axis] for axis in batch)),
    )
    bounded_work(x.size * (free[0][1] if free else 1))
    depth = 1
    for axis in contracted:
        depth *= x.shape[axis]
    preferred = (
        ", preferred_element_type='float32'"
        if x.dtype in ("bfloat16", "float16") and block.chance(0.4)
        else ""
    )
    return contraction(
        f"lax.dot_general({x}, {y}, {numbers}{preferred})", x, y, depth
    )


@production("products", weight=3)
def einsum(block: Block) -> Draft:
    x, dtypes = operands(block, ranks=(1, 3))
    letters = "abcd"[: x.rank]
    extents = dict(zip(letters, x.shape, strict=True)) | {
        "z": block.random.choice(block.builder.extents)
    }
    second = "".join(
        block.random.sample(
            letters + "z", block.random.randint(1, min(3, x.rank + 1))
        )
    )
    used = [letter for letter in extents if letter in letters + second]
    result = "".join(
        block.random.sample(used, block.random.randint(0, min(3, len(used))))
    )
    y = block.matching(
        tuple(extents[letter] for letter in second), dtypes, limit=2**5
    )
    depth = work = 1
    for letter in used:
        work *= extents[letter]
        depth *= 1 if letter in result else extents[letter]
    bounded_work(work)
    return contraction(
        f"jnp.einsum('{letters},{second}->{result}', {x}, {y})", x, y, depth
    )


@production("products", weight=1)
def einsum_of_one(block: Block) -> Draft:
    """Traces, diagonals and sums."""
    x = block.array(
        (*FLOATS, *INTEGERS),
        ranks=(2, 2),
        limit=2**8,
        where=lambda t: t.shape[0] == t.shape[1],
    )
    pattern = block.random.choice(("ii->", "ii->i", "ij->ji", "ij->j"))
    return Draft(
        f"jnp.einsum('{pattern}', {x})",
        x.facts.scaled(max(x.shape[0], 1)),
        arithmetic=True,
    )


@production("products", weight=2)
def product_of_vectors(block: Block) -> Draft:
    x = block.array((*FLOATS, *INTEGERS), ranks=(1, 1), limit=2**5, largest=200)
    name = block.random.choice(("outer", "inner", "dot", "vdot", "kron"))
    y = block.like(x, limit=2**5)
    if name in ("outer", "kron"):
        bounded_work(x.size * y.size * 10)
    return contraction(f"jnp.{name}({x}, {y})", x, y, x.size)


@production("products", weight=1)
def product_over_axes(block: Block) -> Draft:
    x, dtypes = operands(block, ranks=(2, 3))
    y = block.matching(
        (*x.shape[-2:], block.random.choice(block.builder.extents)),
        dtypes,
        limit=2**5,
    )
    bounded_work(x.size * y.shape[-1])
    return contraction(
        f"jnp.tensordot({x}, {y}, 2)", x, y, x.shape[-1] * x.shape[-2]
    )


@production("products", weight=0.7)
def cross_product(block: Block) -> Draft:
    shape = block.random.choice(
        ((3,), (block.random.choice(block.builder.extents), 3))
    )
    x, y = (
        block.matching(shape, (block.floats[0],), limit=2**5) for _ in range(2)
    )
    return contraction(f"jnp.cross({x}, {y})", x, y, 2)


@production("products", weight=1)
def attention(block: Block) -> Draft:
    """Queries, keys and values of one head, with a causal mask."""
    length, depth = block.random.choice((3, 4, 8)), block.random.choice((2, 4))
    q, k, v = (
        block.matching((length, depth), (block.floats[0],), limit=4)
        for _ in range(3)
    )
    mask = f"jnp.where(jnp.tril(jnp.ones(({length}, {length}), bool)), {q} @ {k}.T, {-100.0})"
    return Draft(f"jax.nn.softmax({mask}, axis=-1) @ {v}", Facts(bound=4))


@production("products", weight=2)
def attention_of_heads(block: Block) -> Draft:
    query = block.array(FLOATS, ranks=(4, 4), limit=4, largest=2000)
    examples, positions, heads, size = query.shape
    keys = block.random.choice((positions, *block.builder.extents))
    bounded_work(2 * query.size * keys)
    key, value = (
        block.matching((examples, keys, heads, size), (query.dtype,), limit=4)
        for _ in range(2)
    )
    options = block.random.choice(
        ("", ", is_causal=True", ", scale=0.5", ", scale=-1, is_causal=True")
    )
    return Draft(
        f"lockstep.dot_product_attention({query}, {key}, {value}{options})",
        Facts(bound=value.facts.bound),
    )
