"""Rewrites operations that legalization does not support, and removes those
without effect.
"""

import re

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from lockstep.locations import describe
from lockstep.model import ModelError


def simplify(function: ir.Operation):
    """Applies the rules of this file to all operations of a function.

    Raises:
      ModelError: if an operation is not supported in a step.
    """
    for op in _operations(function):
        rule = _no_elements if _makes_nothing(op) else _RULES.get(op.name)
        values = rule(op) if rule else None
        if values is not None:
            for old, new in zip(op.results, values, strict=True):
                old.replace_all_uses_with(new)
            op.erase()


def _is_empty(value):
    """Whether a value is a tensor without elements."""
    return isinstance(value.type, ir.RankedTensorType) and 0 in value.type.shape


# Operations whose results have no elements


def _makes_nothing(op):
    """Whether an operation computes tensors without elements, and has no other
    effect.
    """
    if not op.name.startswith(("stablehlo.", "chlo.")) or op.name in (
        "stablehlo.constant",
        "stablehlo.custom_call",
    ):
        return False
    return len(op.results) > 0 and all(
        _is_empty(result) and _has_kernels(result) for result in op.results
    )


def _has_kernels(value):
    """Whether elements are integers or floats; others are rejected later, with
    the name of their type.
    """
    return isinstance(
        ir.RankedTensorType(value.type).element_type,
        ir.IntegerType | ir.FloatType,
    )


def _no_elements(op):
    with ir.InsertionPoint(op), op.location:
        return [
            stablehlo.ConstantOp(
                ir.Attribute.parse(f"dense<> : {result.type}")
            ).result
            for result in op.results
        ]


# Operations that return their operands unchanged, or do not read some of them


def _barrier(op):
    """An optimization barrier of `jax.checkpoint`, relevant only for XLA."""
    return list(op.operands)


def _reduction(op):
    """A reduction over no dimension, as of a scalar, or of no elements."""
    count = len(op.results)
    if _is_empty(op.operands[0]):
        return _filled(op, list(op.operands)[count:])
    if len(ir.DenseI64ArrayAttr(op.attributes["dimensions"])):
        return None
    return list(op.operands)[:count]


def _pad(op):
    """A pad around no elements."""
    return _filled(op, [op.operands[1]]) if _is_empty(op.operands[0]) else None


def _concatenate(op):
    """A concatenation of which some parts have no elements."""
    parts = [operand for operand in op.operands if not _is_empty(operand)]
    if len(parts) == len(op.operands):
        return None
    with ir.InsertionPoint(op), op.location:
        return [
            stablehlo.ConcatenateOp(parts, op.attributes["dimension"]).result
        ]


def _scatter(op):
    """A scatter of no updates."""
    count = len(op.results)
    return (
        list(op.operands)[:count] if _is_empty(op.operands[count + 1]) else None
    )


def _select_and_scatter(op):
    """A scatter of no elements to positions selected by windows."""
    return _filled(op, [op.operands[2]]) if _is_empty(op.operands[1]) else None


# Operations that legalization converts incorrectly, or rejects


def _add(op):
    """A sum of booleans is "or"; legalization adds their bits."""
    if ir.RankedTensorType(
        op.results[0].type
    ).element_type != ir.IntegerType.get_signless(1):
        return None
    with ir.InsertionPoint(op), op.location:
        return [stablehlo.OrOp(op.operands[0], op.operands[1]).result]


def _clamped(op, starts, shape, sizes):
    """Start indices, those of type ui64 clamped as unsigned numbers.

    Legalization clamps indices as signed ones, for which the upper half of the
    range of ui64 is negative. Returns None if no index is of type ui64.
    """
    unsigned = ir.IntegerType.get_unsigned(64)
    types = [ir.RankedTensorType(start.type) for start in starts]
    if all(type_.element_type != unsigned for type_ in types):
        return None
    clamped = []
    with ir.InsertionPoint(op), op.location:
        for start, type_, size, slice_size in zip(
            starts, types, shape, sizes, strict=True
        ):
            if type_.element_type == unsigned:
                last = ir.DenseElementsAttr.get_splat(
                    type_, ir.IntegerAttr.get(unsigned, size - slice_size)
                )
                start = stablehlo.MinOp(
                    start, stablehlo.ConstantOp(last).result
                ).result
            clamped.append(start)
    return clamped


def _dynamic_slice(op):
    """A slice with unsigned start indices of 64 bits."""
    operand, *starts = op.operands
    sizes = op.attributes["slice_sizes"]
    clamped = _clamped(
        op, starts, operand.type.shape, ir.DenseI64ArrayAttr(sizes)
    )
    if clamped is None:
        return None
    with ir.InsertionPoint(op), op.location:
        return [stablehlo.DynamicSliceOp(operand, clamped, sizes).result]


def _dynamic_update_slice(op):
    """An update of no elements, or with unsigned start indices of 64 bits."""
    operand, update, *starts = op.operands
    if _is_empty(update):
        return [operand]
    clamped = _clamped(op, starts, operand.type.shape, update.type.shape)
    if clamped is None:
        return None
    with ir.InsertionPoint(op), op.location:
        return [stablehlo.DynamicUpdateSliceOp(operand, update, clamped).result]


def _dot_general(op):
    """A product whose algorithm requires accumulation in f32 or f64, as all
    products do.
    """
    if re.search(
        r"accumulation_type = f(32|64)\b",
        str(op.attributes["algorithm"]) if "algorithm" in op.attributes else "",
    ):
        del op.attributes["algorithm"]


def _reshape(op):
    """A reshape to the same shape; for unsigned scalars, legalization would
    generate invalid IR.
    """
    return (
        [op.operands[0]] if op.operands[0].type == op.results[0].type else None
    )


def _convolution(op):
    """A convolution of unsigned integers is bitwise equal to that of signed
    ones."""
    result = ir.RankedTensorType(op.results[0].type)
    if (
        not isinstance(result.element_type, ir.IntegerType)
        or not result.element_type.is_unsigned
    ):
        return None
    signless = ir.IntegerType.get_signless(result.element_type.width)

    def cast(value, element):
        type_ = ir.RankedTensorType.get(
            ir.RankedTensorType(value.type).shape, element
        )
        return stablehlo.BitcastConvertOp(type_, value).result

    with ir.InsertionPoint(op), op.location:
        operands = [cast(operand, signless) for operand in op.operands]
        copy = op.clone()
        for i, operand in enumerate(operands):
            copy.operands[i] = operand
        copy.results[0].set_type(
            ir.RankedTensorType.get(result.shape, signless)
        )
        return [cast(copy.results[0], result.element_type)]


def _random_numbers(op):
    """Numbers that XLA draws from a generator of its own, without a key."""
    raise ModelError(
        f"{describe(op.location)}: cannot capture '{op.name}': its numbers depend on XLA's own state; use jax.random"
    )


def _einsum(op):
    """An operation that JAX does not generate: its products are `dot_general`,
    which supports all element types.
    """
    raise ModelError(
        f"{describe(op.location)}: cannot capture '{op.name}': expected 'stablehlo.dot_general', as jnp.einsum makes it"
    )


def _set_dimension_size(op):
    """A bounded size, which only XLA's types can hold."""
    raise ModelError(
        f"{describe(op.location)}: cannot capture '{op.name}': the type of its result does not have the size that it sets"
    )


def _filled(op, scalars):
    """Tensors of the types of the results, filled with scalars."""
    none = ir.DenseI64ArrayAttr.get([])
    with ir.InsertionPoint(op), op.location:
        return [
            stablehlo.BroadcastInDimOp(result.type, scalar, none).result
            for result, scalar in zip(op.results, scalars, strict=True)
        ]  # fmt: skip


_RULES = {
    "stablehlo.add": _add,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.convolution": _convolution,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.einsum": _einsum,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.pad": _pad,
    "stablehlo.reduce": _reduction,
    "stablehlo.reshape": _reshape,
    "stablehlo.rng": _random_numbers,
    "stablehlo.scatter": _scatter,
    "stablehlo.select_and_scatter": _select_and_scatter,
    "stablehlo.set_dimension_size": _set_dimension_size,
    "stablehlo.unary_einsum": _einsum,
}


def _operations(function):
    """Lists all operations of a function, inner ones first."""
    found = []

    def visit(op):
        found.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.POST_ORDER)
    return found
