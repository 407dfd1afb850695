"""Productions: arithmetic and functions on elements of floats, comparisons,
choices between values.
"""

import math

from differential.block import Block
from differential.builder import FLOATS, INTEGERS, Draft
from differential.facts import (
    BITS,
    NUMBERS,
    ROUNDED,
    Facts,
    constant,
    join,
    product,
    total,
)
from differential.table import production

#: Differentiable functions: expression, bound on the operand, bound on the
#: result.
SMOOTH = (
    ("jnp.sin({x})", 1e3, 1),
    ("jnp.cos({x})", 1e3, 1),
    ("jnp.tan({x})", 1, 1.6),
    ("jnp.arcsin({x})", 0.9, 1.6),
    ("jnp.arccos({x})", 0.9, 3.2),
    ("jnp.arctan({x})", 1e3, 1.6),
    ("jnp.sinh({x})", 3, 11),
    ("jnp.cosh({x})", 3, 11),
    ("jnp.tanh({x})", 1e3, 1),
    ("jnp.arcsinh({x})", 1e3, 8),
    ("jnp.arccosh({x} * {x} + 1.5)", 10, 6),
    ("jnp.arctanh({x})", 0.9, 1.5),
    ("jnp.exp({x})", 4, 55),
    ("jnp.exp2({x})", 6, 64),
    ("jnp.expm1({x})", 4, 55),
    ("jnp.log({x} * {x} + 0.5)", 1e2, 10),
    ("jnp.log1p({x} * {x})", 1e2, 10),
    ("jnp.log2({x} * {x} + 1)", 1e2, 15),
    ("jnp.log10({x} * {x} + 1)", 1e2, 5),
    ("jnp.sqrt({x} * {x} + 0.5)", 1e2, 101),
    ("lax.rsqrt({x} * {x} + 0.5)", 1e2, 1.5),
    ("jnp.cbrt({x} + 5)", 4, 3),
    ("jnp.square({x})", 16, 256),
    ("jnp.reciprocal({x} * {x} + 1)", 1e2, 1),
    ("1 / (2 + jnp.cos({x}))", 1e2, 1),
    ("{x} ** 3", 8, 512),
    ("{x} ** -2", 0, 0),
    ("({x} * {x} + 0.5) ** 1.5", 8, 520),
    ("2.0 ** {x}", 6, 64),
    ("jax.nn.sigmoid({x})", 1e2, 1),
    ("jax.nn.softplus({x})", 1e2, 101),
    ("jax.nn.silu({x})", 1e2, 1e2),
    ("jax.nn.gelu({x})", 1e2, 1e2),
    ("jax.nn.gelu({x}, approximate=False)", 1e2, 1e2),
    ("jax.nn.soft_sign({x})", 1e2, 1),
    ("jax.nn.log_sigmoid({x})", 1e2, 1e2),
    ("lax.erf({x})", 1e2, 1),
    ("lax.erfc({x})", 3, 2),
    ("lax.erf_inv({x})", 0.9, 1.2),
    ("lax.lgamma({x} * {x} + 2.5)", 8, 210),
    ("lax.digamma({x} * {x} + 2)", 8, 5),
    ("jnp.sinc({x} + 6)", 4, 1),
    ("jnp.i0({x})", 3, 5),
    ("jnp.deg2rad({x})", 1e3, 18),
)

#: Continuous functions with kinks.
KINKED = (
    ("jnp.abs({x})", 1),
    ("jax.nn.relu({x})", 1),
    ("jax.nn.relu6({x})", 1),
    ("jax.nn.leaky_relu({x}, 0.25)", 1),
    ("jax.nn.hard_tanh({x})", 1),
    ("jnp.clip({x}, -0.75, 1.5)", 1),
    ("jnp.clip({x}, None, 0.5)", 1),
    ("jnp.maximum({x}, 0.25)", 1),
    ("jnp.minimum({x}, -0.125)", 1),
    ("lax.clamp(-1.0, {x}.astype('float32'), 2.0)", 1),
    ("-{x}", 1),
)

#: Functions that jump.
JUMPING = (
    "jnp.floor({x})",
    "jnp.ceil({x})",
    "jnp.round({x})",
    "jnp.trunc({x})",
    "jnp.rint({x})",
    "jnp.sign({x})",
    "lax.round({x}, lax.RoundingMethod.AWAY_FROM_ZERO)",
    "jnp.heaviside({x}, 0.5)",
    "jnp.nan_to_num({x}, nan=2.0, posinf=3.0, neginf=-4.0)",
    "jnp.modf({x})[1]",
)

#: Functions applied to infinities, NaNs and zeros of both signs, or outside of
#: their domains.
ANYWHERE = (
    "jnp.exp({x})", "jnp.log({x})", "jnp.log1p({x})", "jnp.expm1({x})", "jnp.sqrt({x})", "lax.rsqrt({x})", "jnp.cbrt({x})",
    "jnp.tanh({x})", "jnp.sinh({x} / 8)", "jnp.cosh({x} / 8)", "jnp.arcsin({x})", "jnp.arccos({x})", "jnp.arctan({x})", "jnp.arctanh({x})",
    "jnp.arccosh({x})", "jnp.arcsinh({x})", "jnp.reciprocal({x})", "jax.nn.sigmoid({x})", "jax.nn.softplus({x})", "jax.nn.relu({x})",
    "jax.nn.gelu({x})", "lax.erf({x})", "lax.erfc({x})", "lax.erf_inv({x})", "lax.lgamma({x})", "lax.digamma({x})", "{x} ** 2",
    "{x} ** 0.5", "{x} ** -1", "0.5 ** {x}", "{x} ** {x}", "jnp.sign({x})", "jnp.abs({x})", "jnp.floor({x})", "jnp.round({x})",
    "jnp.maximum({x}, {y})", "jnp.minimum({x}, {y})", "jnp.fmax({x}, {y})", "jnp.clip({x}, -1, 1)", "{x} + {y}", "{x} - {y}",
    "{x} * {y}", "{x} / {y}", "jnp.arctan2({x}, {y})", "jnp.logaddexp({x}, {y})", "jnp.fmod({x}, {y})", "jnp.remainder({x}, {y})",
    "{x} // {y}", "jnp.hypot({x}, {y})", "jnp.isfinite({x})", "jnp.isnan({x})", "jnp.isinf({x})", "jnp.isneginf({x})", "{x} == {y}",
    "{x} < {y}", "{x} != {y}", "{x} >= {y}", "jnp.signbit({x})", "jnp.copysign({x}, {y})", "jnp.nan_to_num({x})", "jnp.float_power({x}, 2)",
)  # fmt: skip

#: Differentiable functions of two operands.
SMOOTH_PAIRS = (
    ("jnp.arctan2({x}, {y} * {y} + 0.5)", 10, 3.2),
    ("jnp.hypot({x} + 6, {y})", 4, 11),
    ("jnp.logaddexp({x}, {y})", 20, 21),
    ("jax.scipy.special.xlogy({x}, {y} * {y} + 0.5)", 10, 50),
    ("{x} / ({y} * {y} + 0.5)", 10, 20),
    ("({x} * {x} + 0.5) ** {y}", 2, 25),
)


@production("elementwise", weight=4)
def smooth(block: Block) -> Draft:
    text, limit, bound = block.random.choice(SMOOTH)
    if not limit:
        x = block.array(block.floats, limit=1)
        return Draft(f"({x} + 2) ** -2", Facts(ROUNDED, 1))
    return Draft(
        text.format(x=block.array(block.floats, limit=limit)),
        Facts(ROUNDED, bound),
    )


@production("elementwise", weight=1)
def smooth_of_two(block: Block) -> Draft:
    text, limit, bound = block.random.choice(SMOOTH_PAIRS)
    x = block.array(block.floats, limit=limit)
    return Draft(
        text.format(x=x, y=block.fitting(x, limit=limit)), Facts(ROUNDED, bound)
    )


@production("elementwise", weight=1)
def kinked(block: Block) -> Draft:
    x = block.array(block.floats, level=block.kink)
    text = block.random.choice(KINKED)[0]
    return Draft(
        text.format(x=x), join(x.facts, Facts(BITS, 2, 1 / 8)), arithmetic=True
    )


@production("elementwise", weight=1)
def jumping(block: Block) -> Draft:
    x = block.array(block.floats, level=NUMBERS)
    facts = (
        Facts(NUMBERS, x.facts.bound + 1, 1 / 8)
        if x.facts.bound < math.inf
        else Facts(BITS)
    )
    return Draft(block.random.choice(JUMPING).format(x=x), facts)


@production("elementwise", weight=1, differentiable=False)
def anywhere(block: Block) -> Draft:
    """Special values, as an input, so that no other operation has decided about
    the signs of zeros.
    """
    shape = block.shape(largest=200)
    x, y = (block.special(shape) for _ in range(2))
    return Draft(block.random.choice(ANYWHERE).format(x=x, y=y))


@production("elementwise", weight=6)
def arithmetic(block: Block) -> Draft:
    x = block.array(block.floats, limit=2**10)
    dtypes = (
        (x.dtype,) if block.chance(0.85) else (*block.floats, *block.integers)
    )
    y = block.fitting(x, dtypes, limit=2**10)
    operator = block.random.choice("+-**/")
    if operator == "/":
        return Draft(f"{x} / (2 + jnp.sin({y}))", Facts(ROUNDED, x.facts.bound))
    return Draft(
        f"{x} {operator} {y}",
        (product if operator == "*" else total)(x.facts, y.facts),
        arithmetic=True,
    )


@production("elementwise", weight=2)
def arithmetic_with_constant(block: Block) -> Draft:
    x = block.array(block.floats)
    number = block.random.choice((0.5, 2.0, -1.0, 0.25, 3.0, 1.5, -0.125))
    text, combine = block.random.choice(
        (
            ("{x} + {n}", total),
            ("{n} - {x}", total),
            ("{x} * {n}", product),
            ("{n} * {x} - 1", product),
        )
    )
    facts = combine(x.facts, constant(number))
    return Draft(
        text.format(x=x, n=number), total(facts, constant(1)), arithmetic=True
    )


@production("elementwise", weight=1.5)
def extremum(block: Block) -> Draft:
    x = block.array(block.floats, level=block.kink)
    y = block.fitting(x, level=block.kink)
    return Draft(
        f"jnp.{block.random.choice(('maximum', 'minimum'))}({x}, {y})",
        join(x.facts, y.facts),
    )


@production("elementwise", weight=2)
def comparison(block: Block) -> Draft:
    x = block.array(level=NUMBERS)
    y = block.fitting(x, level=NUMBERS)
    if block.chance(0.2):
        return Draft(
            f"jnp.isclose({x}, {y})"
            if x.dtype in block.floats and block.chance(0.3)
            else f"{x} == 1",
            Facts(BITS, 1, 1),
        )
    operator = block.random.choice(("<", "<=", ">", ">=", "==", "!="))
    return Draft(f"{x} {operator} {y}", Facts(BITS, 1, 1))


@production("elementwise", weight=3)
def choice(block: Block) -> Draft:
    x = block.array((*FLOATS, *INTEGERS))
    condition = block.fitting(x, ("bool",))
    if block.chance(0.4):
        number = block.random.choice((0, 1, 2))
        order = (x, number) if block.chance(0.5) else (number, x)
        return Draft(
            f"jnp.where({condition}, {order[0]}, {order[1]})",
            join(x.facts, constant(number)),
        )
    y = block.fitting(x)
    return Draft(f"jnp.where({condition}, {x}, {y})", join(x.facts, y.facts))


@production("elementwise", weight=0.5)
def choice_of_several(block: Block) -> Draft:
    x = block.array((*FLOATS, *INTEGERS), ranks=(0, 3))
    cases = [x, *(block.like(x) for _ in range(block.random.randint(1, 2)))]
    which = (
        block.like(x, ("int32",))
        if block.chance(0.7)
        else block.array(("int32",), ranks=(0, 0))
    )
    text = f"lax.select_n(jnp.clip({which}, 0, {len(cases) - 1}), {', '.join(map(str, cases))})"
    return Draft(text, join(*(case.facts for case in cases)))


@production("elementwise", weight=1)
def logic(block: Block) -> Draft:
    x = block.array(("bool",))
    y = block.fitting(x)
    template = block.random.choice(
        (
            "{x} & {y}",
            "{x} | {y}",
            "{x} ^ {y}",
            "~{x}",
            "jnp.logical_and({x}, ~{y})",
            "jnp.logical_xor({x}, {y})",
        )
    )
    return Draft(template.format(x=x, y=y), Facts(BITS, 1, 1))


@production("elementwise", weight=0.5)
def jumping_of_two(block: Block) -> Draft:
    """Remainders of numbers that both are exact, so that no quotient is just
    below an integer in one execution alone.
    """
    x = block.array(block.floats, level=NUMBERS, limit=64)
    number = block.random.choice((0.5, 1.0, 2.0, -2.0, 4.0))
    template = block.random.choice(
        (
            "{x} % {n}",
            "jnp.fmod({x}, {n})",
            "{x} // {n}",
            "jnp.remainder({n}, {x})",
            "lax.rem({x}, 0 * {x} + {n})",
        )
    )
    return Draft(
        template.format(x=x, n=number),
        Facts(NUMBERS, 2 * x.facts.bound + 4, x.facts.quantum),
        arithmetic=True,
    )
