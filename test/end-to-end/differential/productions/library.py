"""Productions: functions of JAX's libraries that consist of many operations, in
one table.
"""

import dataclasses

from differential.block import Block
from differential.builder import FLOATS, INTEGERS, SIGNED, Draft
from differential.facts import BITS, NUMBERS, ROUNDED, Facts
from differential.table import production


@dataclasses.dataclass(frozen=True)
class Entry:
    """A function.

    Attributes:
      text: an expression of `x` and, for functions of two operands, `y`, which
        has the shape and dtype of `x`.
      ranks: numbers of dimensions that `x` may have.
      limit: bound on the magnitude of the operands.
      level: least level of exactness: `NUMBERS` for functions that jump.
      bound: bound on the result.
    """

    text: str
    ranks: tuple[int, int] = (0, 3)
    limit: float = 4
    level: int = ROUNDED
    bound: float = 64


#: Differentiable functions of floats.
SMOOTH = (
    Entry("jax.scipy.special.entr({x} * {x} + 0.5)"),
    Entry("jax.scipy.special.expit({x})", limit=64, bound=1),
    Entry("jax.scipy.special.logit(0.5 + 0.25 * jnp.sin({x}))"),
    Entry("jax.scipy.special.ndtr({x})", bound=1),
    Entry("jax.scipy.special.log_ndtr({x})", limit=3),
    Entry("jax.scipy.special.ndtri(0.5 + 0.25 * jnp.sin({x}))"),
    Entry("jax.scipy.special.i0e({x})", bound=1),
    Entry("jax.scipy.special.i1({x})", limit=2),
    Entry("jax.scipy.special.i1e({x})", bound=1),
    Entry("jax.scipy.special.gammaln({x} * {x} + 2.5)", limit=3),
    Entry(
        "jax.scipy.special.kl_div({x} * {x} + 0.5, {y} * {y} + 0.5)", limit=3
    ),
    Entry(
        "jax.scipy.special.rel_entr({x} * {x} + 0.5, {y} * {y} + 0.5)", limit=3
    ),
    Entry("jax.scipy.special.xlog1py({x}, {y} * {y})", limit=3),
    Entry("jax.scipy.stats.norm.logpdf({x}, 0.5, 2.0)", bound=20),
    Entry("jax.scipy.stats.norm.cdf({x})", bound=1),
    Entry("jax.nn.elu({x} * {x})", bound=16),
    Entry("jax.nn.mish({x})"),
    Entry("jax.nn.squareplus({x})"),
    Entry("jax.nn.swish({x})"),
    Entry("jax.nn.glu(jnp.concatenate([{x}, {x}], -1))", (1, 2)),
    Entry("jnp.polyval(jnp.array([0.5, -1.0, 0.25], {x}.dtype), {x})"),
    Entry("jnp.diff({x}, axis=-1)", (1, 3)),
    Entry("jnp.diff({x}, n=2, axis=0)", (1, 2)),
    Entry("jnp.gradient(jnp.concatenate([{x}, {x}], 0), axis=0)", (1, 2)),
    Entry("jnp.trapezoid({x}, axis=0)", (1, 2), bound=1e4),
    Entry("jnp.average({x}, axis=-1, weights=2 + jnp.sin({y}))", (1, 3)),
    Entry("jnp.ravel(jnp.meshgrid({x}, {x})[0] * 0.5)", (1, 1)),
    Entry(
        "jnp.logspace(0, 1, 5, dtype={x}.dtype) * jnp.sum({x})",
        (1, 1),
        bound=1e5,
    ),
    Entry("jnp.vander({x}[:5], 4)", (1, 1)),
    Entry(
        "jnp.exp(-jnp.square({x}[:, None] - {y}[None]).sum(-1))",
        (2, 2),
        bound=1,
    ),
    Entry("jnp.linalg.norm(jnp.stack([{x}, jnp.ones_like({x})]), axis=0)"),
    Entry(
        "jnp.linalg.matrix_power(0.25 * {x}[:3, :3] @ jnp.ones(({x}[:3, :3].shape[1], {x}[:3, :3].shape[0]), {x}.dtype), 3)",
        (2, 2),
        bound=1e6,
    ),
    # JAX on CPUs has no attention in float16.
    Entry(
        "jax.nn.dot_product_attention(*(v.astype('float32')[None, :, None] for v in ({x}, {y}, {x})))[0]",
        (2, 2),
        limit=2,
        bound=2,
    ),
    Entry("jax.nn.logmeanexp({x}, axis=-1)", (1, 2)),
    Entry("jnp.cov(jnp.stack([{x}, {y}]))", (1, 1)),
    Entry("jnp.tensordot(jnp.sin({x}), {y}, axes={x}.ndim)", bound=1e4),
    Entry("jax.image.resize({x}, (5, 3), 'linear')", (2, 2)),
    Entry("jnp.block([[{x}, {y}], [{y}, {x}]])", (2, 2)),
)

#: Functions with kinks or jumps, for operands that no rounding has touched.
JUMPING = (
    Entry("jax.nn.hard_sigmoid({x})"),
    Entry("jax.nn.hard_swish({x})"),
    Entry("jax.nn.celu({x})"),
    Entry("jax.nn.selu({x})"),
    Entry(
        "jnp.interp({x}, jnp.array([-2.0, 0.0, 3.0]), jnp.array([1.0, -1.0, 2.0]))"
    ),
    Entry("jnp.select([{x} > 1, {x} > 0], [{x}, 2 * {x}], {y})"),
    Entry(
        "jnp.piecewise({x}, [{x} < 0, {x} >= 1], [lambda v: v - 1, lambda v: 2 * v, 0.5])"
    ),
    Entry("jnp.quantile({x}, 0.25)", (1, 1)),
    Entry("jnp.percentile({x}, jnp.array([10.0, 60.0]))", (1, 1)),
    Entry("jnp.digitize({x}, jnp.array([-1.0, 0.5, 2.0]))"),
    Entry(
        "jnp.histogram({x}, bins=jnp.array([-4.0, -1.0, 0.5, 2.0]))[0]", (1, 1)
    ),
    Entry("jnp.ldexp({x}, 3)"),
    Entry("jnp.frexp({x})[0]"),
    Entry("jnp.modf({x})[0]"),
    Entry("jnp.divmod({x}, 0.5)[1]"),
    Entry("jnp.nanmax({x}, axis=0, initial=-9)", (1, 2)),
    Entry("jnp.where({x} > 0, jnp.sqrt(jnp.where({x} > 0, {x}, 1)), 0)"),
    Entry("jnp.argsort(jnp.argsort({x}))", (1, 1)),
    Entry("jnp.array_equal({x}, {y})"),
    Entry("jnp.allclose({x}, {y})"),
    Entry("jnp.insert({x}, 1, 2.0)", (1, 1)),
    Entry("jnp.delete({x}, 0)", (1, 1)),
    Entry("jnp.fill_diagonal({x}, 2.0, inplace=False)", (2, 2)),
    Entry("jnp.apply_along_axis(jnp.max, 0, {x})", (1, 2)),
    Entry("jnp.resize({x}, (3, 5))", (1, 2)),
    Entry("jax.lax.reduce_and({x} > 0, ({x}.ndim - 1,))", (1, 2)),
    Entry("jax.lax.clamp({y} - 1, {x}, {y} + 1)"),
)

#: Functions of integers.
OF_INTEGERS = (
    Entry("jnp.bitwise_count({x})"),
    Entry("jnp.float_power({x} & 3, 2)"),
    Entry("jnp.mean({x}.astype('int8'))"),
    Entry("jnp.lcm({x} & 7, {y} & 7)"),
    Entry("jnp.packbits({x} > 1)", (1, 1)),
    Entry("jnp.unpackbits({x}.astype('uint8'))", (1, 1)),
    Entry("jnp.isin({x}, jnp.array([0, 2, 5]))"),
    Entry("jnp.choose({x}, [{y}, {x}], mode='wrap')"),
    Entry("jnp.diff({x})", (1, 1)),
    Entry("jnp.true_divide({x} & 15, 4)"),
    Entry("jnp.average({x} & 15)", (1, 2)),
    Entry("jnp.cumsum({x}, dtype='float32')", (1, 1)),
    Entry("jnp.sum({x}, dtype='int8')"),
    Entry("jnp.bitwise_left_shift({x}, 2) ^ jnp.bitwise_right_shift({y}, 1)"),
    Entry("lax.reduce_or({x}, ({x}.ndim - 1,))", (1, 2)),
    Entry("lax.reduce_xor({x}, (0,))", (1, 2)),
    Entry("jnp.invert({x}) | {y}"),
    Entry("jnp.roll({x}, {x}.ravel()[:1].sum())", (1, 1)),
    Entry("jnp.ravel_multi_index(({x}, {y}), (4, 2), mode='clip')"),
    Entry("jnp.stack(jnp.unravel_index({x} & 7, (4, 2)))"),
)

#: The most elements of an operand; functions of pairs of elements have as many
#: as their square.
LARGEST = 100


def call(
    block: Block, entry: Entry, dtypes: tuple[str, ...], facts: Facts
) -> Draft:
    """A draft of a function of the table."""
    x = block.array(
        dtypes,
        entry.ranks,
        entry.level,
        entry.limit,
        LARGEST,
        where=lambda t: t.size > 0,
    )
    y = (
        block.like(x, level=entry.level, limit=entry.limit)
        if "{y}" in entry.text
        else x
    )
    return Draft(entry.text.format(x=x, y=y), facts)


@production("library", weight=3)
def smooth_function(block: Block) -> Draft:
    entry = block.random.choice(SMOOTH)
    return call(block, entry, FLOATS, Facts(ROUNDED, entry.bound))


@production("library", weight=2)
def jumping_function(block: Block) -> Draft:
    entry = dataclasses.replace(block.random.choice(JUMPING), level=NUMBERS)
    return call(block, entry, FLOATS, Facts(ROUNDED, entry.bound))


@production("library", weight=1.5)
def function_of_integers(block: Block) -> Draft:
    return call(
        block,
        block.random.choice(OF_INTEGERS),
        SIGNED if block.chance(0.5) else INTEGERS,
        Facts(BITS),
    )
