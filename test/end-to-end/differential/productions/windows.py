"""Productions: reductions of windows, pooling and convolutions."""

from differential.block import Block
from differential.builder import FLOATS, INTEGERS, LARGE, Draft, Value
from differential.facts import BITS, ROUNDED, Facts
from differential.table import production


def finite(x: Value) -> str:
    """Without infinities and NaN: XLA on CPUs leaves the zeros between dilated
    elements out, whose products with them are NaN.
    """
    return f"jnp.where(jnp.isfinite({x}), {x}, 1)"


def tuple_of(make, rank: int) -> tuple:
    return tuple(make() for _ in range(rank))


@production("windows", weight=3)
def window_reduction(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS),
        ranks=(1, 3),
        level=block.kink,
        limit=2**8,
        largest=LARGE,
        where=lambda t: t.size > 0,
    )
    window = tuple(
        block.random.randint(1, min(extent, 4)) for extent in x.shape
    )
    strides = tuple_of(lambda: block.random.choice((1, 1, 2, 3)), x.rank)
    padding = block.random.choice(
        (
            "'SAME'",
            "'VALID'",
            tuple_of(
                lambda: (
                    block.random.randint(0, 2),
                    block.random.randint(0, 2),
                ),
                x.rank,
            ),
        )
    )
    name = block.random.choice(("add", "add", "max", "min"))
    integer = x.dtype not in FLOATS
    start = {
        "add": "0",
        "max": f"jnp.iinfo({x.dtype!r}).min" if integer else "-jnp.inf",
        "min": f"jnp.iinfo({x.dtype!r}).max" if integer else "jnp.inf",
    }
    dilation = ""
    if name == "add" and block.chance(0.3) and not isinstance(padding, str):
        base, inner = (
            tuple_of(lambda: block.random.choice((1, 2)), x.rank)
            for _ in range(2)
        )
        dilation = f", base_dilation={base}, window_dilation={inner}"
    # A window may lie in the padding as a whole, and is infinite then.
    facts = (
        x.facts.scaled(64) if name == "add" else Facts(x.facts.level and BITS)
    )
    first = (
        f"jnp.array({start[name]}, {x.dtype!r})"
        if name == "add" or block.chance(0.5) or integer
        else start[name]
    )
    text = f"lax.reduce_window({x}, {first}, lax.{name}, {window}, {strides}, {padding}{dilation})"
    return Draft(text, facts, arithmetic=name == "add")


@production("windows", weight=2)
def pooling(block: Block) -> Draft:
    """As in a network: windows of two dimensions in an array of four, or of one
    in three.
    """
    rank = block.random.choice((1, 2))
    shape = (
        block.random.choice((1, 2)),
        *tuple_of(lambda: block.random.choice((4, 5, 8)), rank),
        block.random.choice((1, 3)),
    )
    x = block.matching(shape, block.floats, level=block.kink)
    window, strides = (
        tuple_of(lambda: block.random.choice((2, 3)), rank) for _ in range(2)
    )
    padding = block.random.choice(("SAME", "VALID"))
    reduce, start = block.random.choice((("max", "-jnp.inf"), ("add", "0.0")))
    text = f"lax.reduce_window({x}, {start}, lax.{reduce}, {(1, *window, 1)}, {(1, *strides, 1)}, {padding!r})"
    return Draft(
        text,
        x.facts.scaled(1 if reduce == "max" else 16),
        arithmetic=reduce == "add",
    )


@production("windows", weight=4)
def convolution(block: Block) -> Draft:
    rank = block.random.choice((1, 1, 2))
    groups = block.random.choice((1, 1, 1, 2, 3))
    inputs, outputs = (
        groups * block.random.choice((1, 2, 3)) for _ in range(2)
    )
    extents = tuple_of(lambda: block.random.choice((3, 4, 5, 7, 8)), rank)
    kernel = tuple(block.random.choice((1, 2, 3)) for _ in extents)
    x = block.matching(
        (block.random.choice((1, 2)), inputs, *extents), block.floats, limit=8
    )
    y = block.matching(
        (outputs, inputs // groups, *kernel), (x.dtype,), limit=8
    )
    options = [f"feature_group_count={groups}"] if groups > 1 else []
    strides = tuple_of(lambda: block.random.choice((1, 1, 2, 3)), rank)
    # No negative numbers, with which JAX on CPUs reads past the end; those of
    # derivatives are none if padding is narrower than the kernel.
    widths = [
        (block.random.randrange(size), block.random.randrange(size))
        for size in kernel
    ]
    padding = block.random.choice(("'SAME'", "'VALID'", widths))
    if block.chance(0.3):
        options.append(
            f"rhs_dilation={tuple_of(lambda: block.random.choice((1, 2)), rank)}"
        )
    if block.chance(0.25):
        options.append(
            f"lhs_dilation={tuple_of(lambda: block.random.choice((1, 2)), rank)}"
        )
    # Which zeros are multiplied is not the same everywhere: those between
    # dilated elements, and those of other groups. The derivative of a
    # convolution with strides is one of dilated elements. Of f64, XLA on CPUs
    # leaves out the zeros of the padding, too.
    has_zeros = (
        block.differentiated
        or groups > 1
        or any("dilation" in option for option in options)
    )
    x_text = finite(x) if has_zeros else str(x)
    y_text = finite(y) if has_zeros or padding != "'VALID'" else str(y)
    if block.chance(0.3):
        # As most networks have it: features last.
        letters = "HW"[:rank]
        x_text, y_text = (
            f"jnp.moveaxis({x_text}, 1, -1)",
            f"({y_text}).transpose({(*range(2, rank + 2), 1, 0)})",
        )
        options.append(
            f"dimension_numbers=('N{letters}C', '{letters}IO', 'N{letters}C')"
        )
    text = f"lax.conv_general_dilated({', '.join([x_text, y_text, str(strides), str(padding), *options])})"
    count = inputs // groups * max(1, _product(kernel))
    return Draft(text, _sum_of_products(x, y, count), arithmetic=True)


@production("windows", weight=1)
def transposed_convolution(block: Block) -> Draft:
    rank = block.random.choice((1, 2))
    letters = "HW"[:rank]
    inputs, outputs = (block.random.choice((1, 2, 3)) for _ in range(2))
    extents = tuple_of(lambda: block.random.choice((3, 4, 5)), rank)
    kernel = tuple_of(lambda: block.random.choice((2, 3)), rank)
    x = block.matching((1, *extents, inputs), block.floats, limit=8)
    y = block.matching((*kernel, inputs, outputs), (x.dtype,), limit=8)
    strides = tuple_of(lambda: block.random.choice((1, 2)), rank)
    numbers = f"('N{letters}C', '{letters}IO', 'N{letters}C')"
    padding = block.random.choice(("SAME", "VALID"))
    text = f"lax.conv_transpose({finite(x)}, {finite(y)}, {strides}, {padding!r}, dimension_numbers={numbers})"
    return Draft(
        text, _sum_of_products(x, y, inputs * _product(kernel)), arithmetic=True
    )


@production("windows", weight=1)
def convolution_of_vectors(block: Block) -> Draft:
    x = block.array(
        block.floats,
        ranks=(1, 1),
        limit=8,
        largest=100,
        where=lambda t: t.size > 0,
    )
    y = block.array(
        (x.dtype,),
        ranks=(1, 1),
        limit=8,
        largest=20,
        where=lambda t: t.size > 0,
    )
    name = block.random.choice(("convolve", "correlate"))
    mode = block.random.choice(("full", "same", "valid"))
    # Of few elements, XLA on CPUs leaves out the zeros of the padding.
    pads = mode != "valid"
    x_text, y_text = (finite(v) if pads else str(v) for v in (x, y))
    return Draft(
        f"jnp.{name}({x_text}, {y_text}, mode={mode!r})",
        Facts(ROUNDED, 64 * min(x.size, y.size)),
    )


def _product(extents) -> int:
    result = 1
    for extent in extents:
        result *= extent
    return result


def _sum_of_products(x, y, count: int) -> Facts:
    return Facts(
        min(x.facts.level, y.facts.level),
        x.facts.bound * y.facts.bound * max(count, 1),
        x.facts.quantum * y.facts.quantum,
    )
