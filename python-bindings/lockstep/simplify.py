"""Removes operations that do nothing, before legalization trips over them."""

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def simplify(function: ir.Operation):
    """Applies the rules of this file to all operations of a function."""
    for op in _operations(function):
        rule = _RULES.get(op.name)
        values = rule(op) if rule else None
        if values is not None:
            for old, new in zip(op.results, values, strict=True):
                old.replace_all_uses_with(new)
            op.erase()


def _barrier(op):
    """An optimization barrier, of `jax.checkpoint`: XLA's own concern."""
    return list(op.operands)


def _reduction(op):
    """A reduction over no dimension, as of a scalar: the operands."""
    if len(ir.DenseI64ArrayAttr(op.attributes["dimensions"])):
        return None
    return list(op.operands)[: len(op.results)]


def _slice(op):
    """A slice without elements: a constant (its offsets may be past the end)."""
    type_ = ir.RankedTensorType(op.results[0].type)
    if 0 not in type_.shape:
        return None
    with ir.InsertionPoint(op), op.location:
        empty = ir.Attribute.parse(f"dense<> : {type_}")
        return list(stablehlo.ConstantOp(empty).results)


_RULES = {
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.reduce": _reduction,
    "stablehlo.slice": _slice,
}


def _operations(function):
    """Lists all operations of a function, inner ones first."""
    found = []

    def visit(op):
        found.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.POST_ORDER)
    return found
