"""Productions: arithmetic on integers and their bits, and conversions between
dtypes.
"""

from differential.block import Block
from differential.builder import FLOATS, INTEGERS, NUMBERS_AND_BOOL, Draft
from differential.facts import BITS, NUMBERS, Facts, join, product, total
from differential.table import production

#: Of results whose numbers wrap.
ANY = Facts(BITS)


@production("integers", weight=4)
def integer_arithmetic(block: Block) -> Draft:
    x = block.array(INTEGERS)
    y = block.fitting(x, (x.dtype,) if block.chance(0.8) else INTEGERS)
    operator = block.random.choice("+-*")
    facts = (product if operator == "*" else total)(x.facts, y.facts)
    return Draft(f"{x} {operator} {y}", facts)


@production("integers", weight=3)
def integer_division(block: Block) -> Draft:
    """Also by 0, and of the smallest number by -1."""
    x = block.array(INTEGERS)
    y = block.fitting(x)
    templates = (
        "{x} // {y}",
        "{x} % {y}",
        "jnp.fmod({x}, {y})",
        "{x} // 3",
        "{x} % 4",
        "jnp.divmod({x}, {y})[1]",
    )
    low_level = (
        ("lax.div({x}, {y})", "lax.rem({x}, {y})") if x.shape == y.shape else ()
    )
    return Draft(
        block.random.choice(templates + low_level).format(x=x, y=y), ANY
    )


@production("integers", weight=2)
def shift(block: Block) -> Draft:
    """Also by more than there are bits."""
    x = block.array(INTEGERS)
    y = block.like(x)
    templates = (
        "{x} << {y}",
        "{x} >> {y}",
        "{x} << 3",
        "{x} >> 2",
        "lax.shift_right_logical({x}, {y})",
        "lax.shift_right_arithmetic({x}, {y})",
        "lax.shift_left({x}, {y})",
    )
    return Draft(block.random.choice(templates).format(x=x, y=y), ANY)


@production("integers", weight=2)
def bit_operation(block: Block) -> Draft:
    x = block.array(INTEGERS)
    templates = (
        "{x} & {y}",
        "{x} | {y}",
        "{x} ^ {y}",
        "~{x}",
        "lax.population_count({x})",
        "lax.clz({x})",
        "{x} & 7",
    )
    return Draft(
        block.random.choice(templates).format(x=x, y=block.fitting(x)), ANY
    )


@production("integers", weight=2)
def integer_function(block: Block) -> Draft:
    x = block.array(INTEGERS)
    templates = (
        "jnp.abs({x})",
        "-{x}",
        "jnp.sign({x})",
        "jnp.maximum({x}, {y})",
        "jnp.minimum({x}, {y})",
        "jnp.clip({x}, 0, 5)",
        "jnp.square({x})",
        "{x} ** 3",
        "jnp.gcd({x} & 15, {y} & 15)",
    )
    return Draft(
        block.random.choice(templates).format(x=x, y=block.fitting(x)), ANY
    )


@production("conversions", weight=4)
def conversion(block: Block) -> Draft:
    dtype = block.random.choice(block.dtypes)
    level = BITS if dtype == "bool" else NUMBERS if dtype in INTEGERS else 0
    x = block.array(NUMBERS_AND_BOOL, level=level)
    # The sum of a number that no longer fits with another one is rounded.
    facts = x.facts if dtype in FLOATS else ANY
    if dtype in FLOATS and x.dtype in FLOATS and not facts.fits(dtype):
        facts = Facts(facts.level and NUMBERS, facts.bound)
    return Draft(f"{x}.astype({dtype!r})", facts)


@production("conversions", weight=1, differentiable=False)
def conversion_of_special_values(block: Block) -> Draft:
    """Infinities, NaNs, and numbers that an integer cannot hold."""
    x = block.special(block.shape(largest=100))
    return Draft(f"{x}.astype({block.random.choice(block.dtypes)!r})", ANY)


@production("conversions", weight=1, differentiable=False)
def bits_of(block: Block) -> Draft:
    x = block.array(
        (*FLOATS, *INTEGERS), level=BITS, where=lambda t: t.dtype != "float64"
    )
    if x.dtype in FLOATS and not x.facts.bound < 2**20:
        x = block.input(x.type, kinds=("eighths",))
    width = {"float32": 32, "float16": 16, "bfloat16": 16}.get(x.dtype) or int(
        x.dtype.lstrip("uint")
    )
    same = [dtype for dtype in INTEGERS if dtype.endswith(f"int{width}")]
    if width > 8 and block.chance(0.3):
        return Draft(f"lax.bitcast_convert_type({x}, 'uint{width // 2}')", ANY)
    return Draft(
        f"lax.bitcast_convert_type({x}, {block.random.choice(same)!r})", ANY
    )


@production("conversions", weight=0.5)
def reduced_precision(block: Block) -> Draft:
    x = block.array(("float32",), level=BITS)
    return Draft(
        f"lax.reduce_precision({x}, {block.random.choice((5, 8))}, {block.random.choice((3, 7, 10))})",
        Facts(NUMBERS, x.facts.bound),
    )


@production("conversions", weight=1)
def mixed_arithmetic(block: Block) -> Draft:
    """Operands that JAX promotes to a common dtype."""
    x = block.array((*FLOATS, *INTEGERS), limit=2**10)
    y = block.fitting(x, (*FLOATS, *INTEGERS), limit=2**10)
    return Draft(f"{x} + {y}", total(x.facts, y.facts), arithmetic=True)


@production("conversions", weight=0.5)
def quotient_of_integers(block: Block) -> Draft:
    x = block.array(INTEGERS, level=BITS)
    return Draft(
        f"{x} / 4", join(x.facts, Facts(BITS, 1, 1 / 8)), arithmetic=True
    )
