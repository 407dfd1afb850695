"""Productions: slices, transposes, reshapes, broadcasts, concatenations, pads:
movement without computation.
"""

from differential.block import Block
from differential.builder import (
    FLOATS,
    INTEGERS,
    LARGE,
    LARGEST,
    Draft,
    RejectedError,
    Value,
)
from differential.facts import BITS, Facts, constant, join
from differential.table import production


def moved(text: str, *values: Value, **options) -> Draft:
    """A draft of the values' elements at other places."""
    return Draft(text, join(*(value.facts for value in values)), **options)


def bounds(block: Block, extent: int) -> str:
    """A slice of a dimension: of any step and direction, and empty now and
    then.
    """
    start, stop = sorted(block.random.choices(range(extent + 1), k=2))
    if start == stop and not block.chance(0.05):
        start, stop = 0, extent
    step = block.random.choice((1, 1, 1, 2, 3, -1, -1, -2))
    if step > 0:
        return f"{start or ''}:{'' if stop == extent else stop}" + (
            f":{step}" if step > 1 else ""
        )
    last = "" if start == 0 else start - 1
    return (
        f"{'' if stop == extent else stop - 1}:{last}:{step}" if stop else "0:0"
    )


@production("movement", weight=5)
def slices(block: Block) -> Draft:
    x = block.array(ranks=(1, 4))
    entries = [
        ":" if block.chance(0.4) else bounds(block, extent)
        for extent in x.shape
    ]
    for axis, extent in enumerate(x.shape):
        if extent > 0 and block.chance(0.12):
            entries[axis] = str(block.random.randrange(-extent, extent))
    if block.chance(0.08):
        entries.insert(block.random.randrange(x.rank + 1), "None")
    return moved(f"{x}[{', '.join(entries)}]", x)


@production("movement", weight=2)
def dynamic_slice(block: Block) -> Draft:
    """With starts that reach out of the array, which JAX clamps."""
    x = block.array(ranks=(1, 3), where=lambda t: t.size > 0)
    starts = [block.index(extent) for extent in x.shape]
    sizes = tuple(block.random.randint(1, extent) for extent in x.shape)
    if block.chance(0.4):
        axis = block.random.randrange(x.rank)
        return moved(
            f"lax.dynamic_slice_in_dim({x}, {starts[axis]}, {sizes[axis]}, {axis})",
            x,
        )
    return moved(f"lax.dynamic_slice({x}, ({', '.join(starts)},), {sizes})", x)


@production("movement", weight=1.5)
def dynamic_update_slice(block: Block) -> Draft:
    x = block.array(ranks=(1, 3), where=lambda t: t.size > 0)
    y = block.array(
        (x.dtype,),
        (x.rank,) * 2,
        where=lambda t: all(
            a <= b for a, b in zip(t.shape, x.shape, strict=True)
        ),
    )
    return moved(
        f"lax.dynamic_update_slice({x}, {y}, ({', '.join(block.index(extent) for extent in x.shape)},))",
        x,
        y,
    )


@production("movement", weight=2)
def reversal(block: Block) -> Draft:
    x = block.array(ranks=(1, 4))
    axes = block.axes(x)
    return moved(
        f"lax.rev({x}, {axes})"
        if block.chance(0.5)
        else f"jnp.flip({x}, {axes})",
        x,
    )


@production("movement", weight=3)
def transpose(block: Block) -> Draft:
    x = block.array(ranks=(2, 4))
    axes = list(range(x.rank))
    block.random.shuffle(axes)
    first, second = block.axis(x), block.axis(x)
    template = block.random.choice(
        (
            f"{x}.T",
            f"{x}.transpose({axes})",
            f"jnp.swapaxes({x}, {first}, {second})",
            f"jnp.moveaxis({x}, {first}, {second})",
        )
    )
    return moved(template, x)


def factors(block: Block, size: int) -> tuple[int, ...]:
    """A random shape with this many elements."""
    if size == 0:
        return block.random.choice(((0,), (3, 0), (0, 2)))
    shape = []
    while size > 1 and len(shape) < 3:
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        shape.append(block.random.choice(divisors))
        size //= shape[-1]
    return (*shape, size) if size > 1 or block.chance(0.2) else tuple(shape)


@production("movement", weight=4)
def reshape(block: Block) -> Draft:
    x = block.array()
    shape = factors(block, x.size)
    if block.chance(0.2):
        return moved(f"{x}.ravel()", x)
    if block.chance(0.1) and len(shape) > 1:
        return moved(f"{x}.T.reshape({shape})", x)
    return moved(f"{x}.reshape({shape})", x)


@production("movement", weight=2)
def broadcast(block: Block) -> Draft:
    x = block.array(ranks=(0, 3), largest=LARGE)
    lead = tuple(
        block.random.choice(block.builder.extents)
        for _ in range(block.random.randint(0, 2))
    )
    shape = (
        *lead,
        *(
            block.random.choice(block.builder.extents)
            if extent == 1
            else extent
            for extent in x.shape
        ),
    )
    if block.chance(0.3) and x.rank:
        return moved(f"jnp.expand_dims({x}, {block.axis(x)})", x)
    if block.chance(0.2) and lead:
        return moved(f"lax.broadcast({x}, {lead})", x)
    return moved(f"jnp.broadcast_to({x}, {shape})", x)


@production("movement", weight=1)
def broadcast_in_dimensions(block: Block) -> Draft:
    x = block.array(ranks=(1, 2), largest=LARGE)
    places = sorted(block.random.sample(range(3), x.rank))
    shape = [block.random.choice(block.builder.extents) for _ in range(3)]
    for place, extent in zip(places, x.shape, strict=True):
        shape[place] = extent
    return moved(
        f"lax.broadcast_in_dim({x}, {tuple(shape)}, {tuple(places)})", x
    )


@production("movement", weight=1)
def repetition(block: Block) -> Draft:
    x = block.array(ranks=(1, 3), largest=LARGE)
    times = block.random.randint(1, 3)
    tiles = tuple(block.random.randint(1, 3) for _ in range(x.rank))
    return moved(
        block.random.choice(
            (
                f"jnp.tile({x}, {tiles})",
                f"jnp.repeat({x}, {times}, {block.axis(x)})",
            )
        ),
        x,
    )


@production("movement", weight=3)
def concatenation(block: Block) -> Draft:
    x = block.array(ranks=(1, 3), largest=LARGEST // 3)
    axis = block.random.randrange(x.rank)

    def joins(t):
        return all(
            a == b
            for d, (a, b) in enumerate(zip(t.shape, x.shape, strict=True))
            if d != axis
        )

    parts = [x]
    for _ in range(block.random.randint(1, 2)):
        try:
            parts.append(
                block.array(
                    (x.dtype,), (x.rank,) * 2, largest=LARGEST // 3, where=joins
                )
            )
        except RejectedError:
            parts.append(x)
    block.random.shuffle(parts)
    return moved(
        f"jnp.concatenate([{', '.join(map(str, parts))}], {axis})", *parts
    )


@production("movement", weight=1)
def stack(block: Block) -> Draft:
    x = block.array(ranks=(0, 3), largest=LARGE)
    parts = [x, *(block.like(x) for _ in range(block.random.randint(1, 2)))]
    return moved(
        f"jnp.stack([{', '.join(map(str, parts))}], {block.random.randint(0, x.rank)})",
        *parts,
    )


@production("movement", weight=1)
def split(block: Block) -> Draft:
    x = block.array(
        ranks=(1, 3), where=lambda t: any(extent > 1 for extent in t.shape)
    )
    axis = block.random.choice(
        [axis for axis, extent in enumerate(x.shape) if extent > 1]
    )
    place = block.random.randrange(1, x.shape[axis])
    return Draft(f"jnp.split({x}, [{place}], {axis})", x.facts)


@production("movement", weight=1.5)
def roll(block: Block) -> Draft:
    x = block.array(ranks=(1, 3))
    shift = (
        block.index(x.shape[0])
        if block.chance(0.3)
        else block.random.randint(-5, 5)
    )
    axis = "" if block.chance(0.2) else f", {block.axis(x)}"
    return moved(f"jnp.roll({x}, {shift}{axis})", x)


@production("movement", weight=2)
def pad(block: Block) -> Draft:
    """All modes of `jnp.pad`; those that repeat elements need at least one."""
    x = block.array(ranks=(1, 3), largest=LARGE, where=lambda t: t.size > 0)
    mode = block.random.choice(
        (
            "constant",
            "constant",
            "edge",
            "reflect",
            "symmetric",
            "wrap",
            "linear_ramp",
            "maximum",
            "mean",
            "minimum",
        )
    )
    widths = tuple(
        (block.random.randint(0, 3), block.random.randint(0, 3))
        for _ in range(x.rank)
    )
    if mode == "constant":
        number = block.random.choice((0, 1, 2))
        return Draft(
            f"jnp.pad({x}, {widths}, constant_values={number})",
            join(x.facts, constant(number)),
        )
    if mode in ("linear_ramp", "mean"):
        if x.dtype not in FLOATS:
            raise RejectedError("rounded to integers")
        return Draft(
            f"jnp.pad({x}, {widths}, {mode!r})", Facts(bound=x.facts.bound)
        )
    if mode in ("maximum", "minimum") and (
        block.differentiated or x.dtype == "bool"
    ):
        raise RejectedError("has kinks")
    return moved(f"jnp.pad({x}, {widths}, {mode!r})", x)


@production("movement", weight=2)
def low_level_pad(block: Block) -> Draft:
    """Between elements, and by negative numbers, which cut elements off."""
    x = block.array((*FLOATS, *INTEGERS), ranks=(1, 3), largest=LARGE)
    config = ", ".join(
        f"({block.random.randint(-2, 3)}, {block.random.randint(-2, 3)}, {block.random.choice((0, 0, 1, 2))})"
        for _ in x.shape
    )
    number = block.random.choice((0, 0, 1, 2))
    return Draft(
        f"lax.pad({x}, jnp.array({number}, {x.dtype!r}), [{config}])",
        join(x.facts, constant(number)),
    )


@production("movement", weight=1.5)
def triangle(block: Block) -> Draft:
    x = block.array((*FLOATS, *INTEGERS), ranks=(2, 3))
    offset = block.random.randint(-2, 2)
    if x.rank == 2 and block.chance(0.4):
        return moved(f"jnp.diagonal({x}, {offset})", x)
    return Draft(
        f"jnp.{block.random.choice(('tril', 'triu'))}({x}, {offset})",
        join(x.facts, constant(0)),
    )


@production("movement", weight=0.5)
def diagonal_matrix(block: Block) -> Draft:
    x = block.array((*FLOATS, *INTEGERS), ranks=(1, 1), largest=40)
    return Draft(
        f"jnp.diag({x}, {block.random.randint(-2, 2)})",
        join(x.facts, constant(0)),
    )


@production("movement", weight=0.5)
def rotation(block: Block) -> Draft:
    x = block.array(ranks=(2, 3))
    return moved(f"jnp.rot90({x}, {block.random.randint(1, 3)})", x)


@production("movement", weight=1.5)
def constants(block: Block) -> Draft:
    """Arrays that the program knows."""
    shape = block.shape(ranks=(1, 3), largest=1000)
    size = block.random.choice(block.builder.extents)
    dtype = block.random.choice((*block.floats, *block.integers))
    texts = (
        (f"jnp.arange({size}, dtype={dtype!r})", size),
        (
            f"lax.broadcasted_iota({dtype!r}, {shape}, {block.random.randrange(len(shape))})",
            max(shape, default=0),
        ),
        (
            f"jnp.eye({size}, {block.random.choice((3, 4, 7))}, k={block.random.randint(-1, 1)}, dtype={dtype!r})",
            1,
        ),
        (f"jnp.full({shape}, 3, {dtype!r})", 3),
        (f"jnp.asarray(np.arange({size}) % 3 == 0)", 1),
        (f"jnp.asarray(np.tril(np.ones(({size}, {size}), bool)))", 1),
        (f"jnp.asarray(np.arange({size}) % 5, {dtype!r})", 5),
    )
    text, bound = block.random.choice(texts)
    return Draft(text, Facts(BITS, max(bound, 1), 1))


@production("movement", weight=0.5)
def linspace(block: Block) -> Draft:
    size, dtype = (
        block.random.choice(block.builder.extents),
        block.random.choice(block.floats),
    )
    return Draft(
        f"jnp.linspace(-1, 2, {size}, dtype={dtype!r})", Facts(bound=2)
    )
