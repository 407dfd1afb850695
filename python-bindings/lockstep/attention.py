"""Attention as one operation.

JAX's own attention is a chain of operations that stores a score for each pair
of a query and a key, and again for its gradient. Here, the attention and its
gradient are primitives, which captures preserve, so that a library of a GPU can
compute them without storing scores.
"""

import functools
import numbers

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.interpreters import batching, mlir
from jaxlib.mlir import ir

from lockstep import context, primitives

_TYPES = ("float16", "bfloat16", "float32", "float64")
#: The score of a pair that a causal attention leaves out, before the softmax.
_MASKED = float(np.finfo(np.float32).min)


def dot_product_attention(query, key, value, *, scale=None, is_causal=False):
    """Computes `softmax(scale * query . key) . value` for each head.

    The arguments have the names of `jax.nn.dot_product_attention`. Scores and
    sums are in f32, or in f64 for operands of f64; the weights are rounded to
    the type of `value` before they multiply it. The gradient computes the weights
    again from one number for each query, the logarithm of the sum of its
    exponentials.

    Args:
      query: floats [B, T, N, H]: examples, positions, heads, the size of a
        head.
      key: floats of the same type, [B, S, N, H].
      value: floats of the same type, [B, S, N, H].
      scale: factor of the products of queries and keys, a number that is known
        while the step is traced; 1/sqrt(H) by default.
      is_causal: whether position i attends to the positions up to i only.

    Returns:
      Floats of the same type, [B, T, N, H].

    Raises:
      TypeError: if the operands are not all of one type of floats of 16, 32 or
        64 bits, or `scale` is no such number.
      ValueError: if the shapes do not fit together.
    """
    operands = [jnp.asarray(operand) for operand in (query, key, value)]
    _check(operands)
    if scale is None:
        scale = operands[0].shape[-1] ** -0.5
    return _attend(*operands, _number(scale), bool(is_causal))


def _number(scale):
    concrete = not isinstance(scale, jax.core.Tracer)
    if concrete and (
        isinstance(scale, numbers.Real)
        or (np.ndim(scale) == 0 and hasattr(scale, "dtype"))
    ):
        return float(scale)
    raise TypeError(
        "dot_product_attention: expected a number that is known while the step "
        f"is traced as scale, found {type(scale).__name__}"
    )


def _check(operands):
    types = [operand.dtype for operand in operands]
    if len(set(types)) > 1 or types[0] not in _TYPES:
        raise TypeError(
            "dot_product_attention: expected query, key and value all of "
            f"{', '.join(_TYPES[:-1])} or {_TYPES[-1]}, found "
            f"{', '.join(str(dtype) for dtype in types)}"
        )
    shapes = [operand.shape for operand in operands]
    query, key, value = shapes
    fit = (
        len(query) == len(key) == 4
        and key == value
        and (query[0], *query[2:]) == (key[0], *key[2:])
        and 0 not in query + key
    )
    if not fit:
        raise ValueError(
            "dot_product_attention: expected a query [B, T, N, H], and key and "
            "value [B, S, N, H], none of them empty, found shapes "
            f"{', '.join(str(shape) for shape in shapes)}"
        )


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _attend(query, key, value, scale, is_causal):
    return _attend_forward(query, key, value, scale, is_causal)[0]


def _params(scale, is_causal):
    captured = context.mode().captured
    return {"scale": scale, "is_causal": is_causal, "captured": captured}


def _attend_forward(query, key, value, scale, is_causal):
    output, statistics = attention_p.bind(
        query, key, value, **_params(scale, is_causal)
    )
    return output, (query, key, value, output, statistics)


def _attend_backward(scale, is_causal, saved, cotangent):
    return tuple(
        attention_gradient_p.bind(
            *saved, cotangent, **_params(scale, is_causal)
        )
    )


_attend.defvjp(_attend_forward, _attend_backward)


# What the primitives compute, by other operations of JAX


def _wide(dtype):
    return jnp.promote_types(dtype, jnp.float32)


def _contract(subscripts, left, right):
    """Sums of products in the wide type, to which the factors are converted:
    XLA has no code for some products of factors of 16 bits on processors."""
    wide = _wide(left.dtype)
    return jnp.einsum(
        subscripts,
        left.astype(wide),
        right.astype(wide),
        precision=jax.lax.Precision.HIGHEST,
    )


def _scores(query, key, scale, is_causal):
    scores = _contract("btnh,bsnh->bnts", query, key) * scale
    if is_causal:
        kept = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        scores = jnp.where(kept, scores, _MASKED)
    return scores


def _attention(query, key, value, *, scale, is_causal):
    scores = _scores(query, key, scale, is_causal)
    largest = scores.max(axis=-1, keepdims=True)
    exponentials = jnp.exp(scores - largest)
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = (exponentials / total).astype(value.dtype)
    output = _contract("bnts,bsnh->btnh", weights, value)
    statistics = (largest + jnp.log(total))[..., 0]
    return [output.astype(query.dtype), statistics]


def _attention_gradient(
    query, key, value, output, statistics, cotangent, *, scale, is_causal
):
    scores = _scores(query, key, scale, is_causal)
    weights = jnp.exp(scores - statistics[..., None])
    of_value = _contract(
        "bnts,btnh->bsnh", weights.astype(value.dtype), cotangent
    )
    of_weights = _contract("btnh,bsnh->bnts", cotangent, value)
    wide = _wide(query.dtype)
    shift = (cotangent.astype(wide) * output.astype(wide)).sum(axis=-1)
    of_scores = weights * (of_weights - shift.swapaxes(1, 2)[..., None]) * scale
    of_scores = of_scores.astype(query.dtype)
    of_query = _contract("bnts,bsnh->btnh", of_scores, key)
    of_key = _contract("bnts,btnh->bsnh", of_scores, query)
    return [
        gradient.astype(query.dtype)
        for gradient in (of_query, of_key, of_value)
    ]


def _primitive(name, results, function):
    """Makes a primitive that is `function`, or in a capture one operation."""

    def abstract_eval(*avals, scale, is_causal, captured):
        del scale, is_causal, captured
        return [
            aval.update(shape=shape, dtype=dtype, weak_type=False)
            for aval, (shape, dtype) in zip(
                avals[:1] * len(avals), results(*avals), strict=False
            )
        ]

    primitive = core.Primitive(f"lockstep_{name}")
    primitive.multiple_results = True
    primitive.def_abstract_eval(abstract_eval)
    primitive.def_impl(
        lambda *values, **params: jax.jit(
            functools.partial(primitive.bind, **params)
        )(*values)
    )

    def batcher(operands, dims, **params):
        """A mapped dimension becomes a part of that of the examples."""
        size = next(
            operand.shape[dim]
            for operand, dim in zip(operands, dims, strict=True)
            if dim is not None
        )

        def merge(operand, dim):
            mapped = (
                jnp.broadcast_to(operand, (size, *operand.shape))
                if dim is None
                else jnp.moveaxis(operand, dim, 0)
            )
            return mapped.reshape(-1, *mapped.shape[2:])

        results = primitive.bind(*map(merge, operands, dims), **params)
        results = [
            result.reshape(size, -1, *result.shape[1:]) for result in results
        ]
        return results, [0] * len(results)

    batching.primitive_batchers[primitive] = batcher

    def lowering(ctx, *operands, scale, is_causal, captured):
        if captured:
            config = {
                "scale": ir.FloatAttr.get(ir.F64Type.get(), scale),
                "causal": ir.BoolAttr.get(is_causal),
            }
            return primitives.custom_call(
                ctx, f"lockstep.{name}", operands, config, False
            )
        return mlir.lower_fun(
            functools.partial(function, scale=scale, is_causal=is_causal),
            multiple_results=True,
        )(ctx, *operands)

    mlir.register_lowering(primitive, lowering)
    return primitive


def _attention_results(query, key, value):
    del key, value
    examples, positions, heads, _ = query.shape
    return [
        (query.shape, query.dtype),
        ((examples, heads, positions), _wide(query.dtype)),
    ]


def _gradient_results(query, key, value, *_):
    return [(of.shape, of.dtype) for of in (query, key, value)]


attention_p = _primitive("attention", _attention_results, _attention)
attention_gradient_p = _primitive(
    "attention_gradient", _gradient_results, _attention_gradient
)
