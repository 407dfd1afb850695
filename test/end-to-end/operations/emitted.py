"""JAX functions that lower to given operations, for those that no function of
JAX lowers to.
"""

import re

import jax
from jax.extend import core
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func


def emit(name, results, attributes="", regions="", operands=None):
    """Makes a function whose lowering is one StableHLO operation.

    Args:
      name: of the operation, without the dialect's.
      results: makes the type of the result, or a list of types, from the types
        of the arguments; or is a type or a list of them.
      attributes: inherent attributes, as in MLIR's generic form without the
        braces.
      regions: regions, as in the generic form with their parentheses. Arguments
        of the function are `%a0`, `%a1`, ...
      operands: how many of the arguments are operands of the operation, if not
        all; regions may name the others.

    In `attributes` and `regions`, `T` is replaced by the type of the first
    result, and `E` by its element type.
    """

    def body(arguments, found):
        names = [f"%a{i}" for i in range(len(arguments))][:operands]
        types = ", ".join(map(tensor_type, arguments[:operands]))
        values = f"%r:{len(found)} = " if found else ""
        properties = f"<{{{attributes}}}>" if attributes else ""
        signature = f"({types}) -> ({', '.join(map(tensor_type, found))})"
        return f'{values}"stablehlo.{name}"({", ".join(names)}) {properties} {regions} : {signature}'

    return _primitive(
        name, results, body, lambda count: [f"%r#{i}" for i in range(count)]
    )


def emit_like(name, attributes="", regions=""):
    """As `emit`; the result has the type of the first argument."""
    return emit(
        name,
        lambda first, *_: jax.ShapeDtypeStruct(first.shape, first.dtype),
        attributes,
        regions,
    )


def emit_body(name, result, body):
    """Makes a function whose lowering is `body`: operations in MLIR's generic
    form that define the result as `%r`.

    `name`, `result`, and the meaning of `T` and `E` in `body` are as for
    `emit`.
    """
    return _primitive(name, result, lambda *_: body, lambda _: ["%r"])


def computation(operation, arguments=2):
    """A region in generic form that applies a StableHLO operation to its scalar
    arguments.
    """
    names = [f"%x{i}" for i in range(arguments)]
    typed = ", ".join(f"{name}: tensor<E>" for name in names)
    types = ", ".join(["tensor<E>"] * arguments)
    return (
        f'({{^bb0({typed}): %y = "stablehlo.{operation}"({", ".join(names)}) : ({types}) -> tensor<E> '
        '"stablehlo.return"(%y) : (tensor<E>) -> ()})'
    )


def tensor_type(aval):
    """The type of a value in MLIR, such as `tensor<3xui8>`. A context has to be
    current.
    """
    return f"tensor<{''.join(f'{size}x' for size in aval.shape)}{mlir.dtype_to_ir_type(aval.dtype)}>"


def _primitive(name, results, body, values):
    """Makes a JAX function whose lowering is a call of a function with the
    operations of `body(argument types, result types)`.
    """

    def listed(arguments):
        found = results(*arguments) if callable(results) else results
        return found if isinstance(found, list) else [found]

    primitive = core.Primitive(name)
    primitive.multiple_results = True
    primitive.def_abstract_eval(
        lambda *arguments: [
            jax.core.ShapedArray(r.shape, r.dtype) for r in listed(arguments)
        ]
    )

    def lowering(context, *operands):
        arguments, found = context.avals_in, context.avals_out
        typed = ", ".join(
            f"%a{i}: {tensor_type(aval)}" for i, aval in enumerate(arguments)
        )
        types = ", ".join(map(tensor_type, found))
        text = f"""
            func.func private @{re.sub(r"[^a-z_]", "_", name)}({typed}) -> ({types}) {{
              {body(arguments, found)}
              "func.return"({", ".join(values(len(found)))}) : ({types}) -> ()
            }}"""
        if found:
            text = re.sub(r"\bT\b", tensor_type(found[0]), text)
            text = re.sub(
                r"\bE\b",
                str(mlir.dtype_to_ir_type(found[0].dtype)),
                re.sub(r"xE\b", "x E", text),
            )
        # The module has to outlive the copy of its function.
        source = ir.Module.parse(text)
        function = source.body.operations[0].operation.clone(
            ir.InsertionPoint(context.module_context.module.body)
        )
        context.module_context.symbol_table.insert(function)
        result_types = [
            mlir.aval_to_ir_type(context.module_context, aval) for aval in found
        ]
        return list(
            func.CallOp(
                result_types,
                ir.StringAttr(function.attributes["sym_name"]).value,
                operands,
            ).results
        )

    mlir.register_lowering(primitive, lowering)

    def call(*arguments):
        found = primitive.bind(*arguments)
        return found[0] if len(found) == 1 else tuple(found)

    return call
