"""From lowered StableHLO to the captured module.

The functions are moved into one module, inlined, and legalized to `linalg` by
jaxlib's own passes. The remaining operations (`stablehlo.while`, `case`,
`scatter`, the `replica.*` custom calls) are left for the compiler's import.
"""

import math
import re

from jax.interpreters import mlir
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir._mlir_libs import _stablehlo

from lockstep import inlining
from lockstep.locations import Locations, describe
from lockstep.model import ModelError
from lockstep.signless import make_signless
from lockstep.simplify import simplify

# MLIR's pattern FoldInsertPadIntoFill places padding in padding at a wrong
# offset where the outer one has a stride (`passes/Canonicalization.h`).
_PIPELINE = (
    "builtin.module("
    "func.func(chlo-legalize-to-stablehlo),"
    "stablehlo-legalize-to-linalg{enable-primitive-ops=false},"
    "canonicalize{disable-patterns='(anonymous namespace)::FoldInsertPadIntoFill'},"
    "cse,symbol-dce)"
)


#: The module's attribute with the replica count that it was captured for.
_REPLICAS = "replica.captured_replicas"


def legalize(name, functions, lowered, locations: Locations, replicas) -> str:
    """Makes the captured module.

    Args:
      name: name of the module.
      functions: descriptions (`contract.Function`) of the functions.
      lowered: for each, StableHLO text with the function `@main`.
      locations: how to write locations.
      replicas: the replica count of the capture, or None if it is open.

    Returns:
      The module in generic form, with locations.
    """
    _stablehlo.register_stablehlo_passes()
    ctx = mlir.make_ir_context()
    with ctx, ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        if replicas is not None:
            module.operation.attributes[_REPLICAS] = ir.IntegerAttr.get(
                ir.IntegerType.get_signless(64), replicas
            )
        for function, text in zip(functions, lowered, strict=True):
            _append(module, function, ir.Module.parse(text), locations)
        passes = passmanager.PassManager.parse(_PIPELINE)
        _run(passes, module)
        for op in module.body.operations:
            make_signless(op.operation)
        _relocate(module, locations)
        return _pack_booleans(
            module.operation.get_asm(
                enable_debug_info=True, print_generic_op_form=True
            )
        )


_BOOLEANS = re.compile(r'dense<"0x([0-9A-F]+)"> : tensor<((?:[0-9]+x)+)i1>')


def _pack_booleans(text):
    """Writes large constants of booleans as LLVM 22 reads them.

    It takes eight elements of a hexadecimal constant from a byte, the first
    from the lowest bit, where jaxlib's newer MLIR writes one byte per element.
    """

    def pack(match):
        elements = bytes.fromhex(match[1])
        if len(elements) != math.prod(
            map(int, match[2].removesuffix("x").split("x"))
        ):
            return match[0]
        packed = bytearray(-(-len(elements) // 8))
        for index, element in enumerate(elements):
            packed[index // 8] |= (element & 1) << index % 8
        return f'dense<"0x{packed.hex().upper()}"> : tensor<{match[2]}i1>'

    return _BOOLEANS.sub(pack, text)


def _append(module, function, source, locations):
    """Moves `@main` of `source` to `module`, as the described function.

    The functions of its merge calls go with it, as `@NAME_step`, say.
    """
    _relocate(source, locations)
    merges = {_symbol(call): call for call in _merge_calls(source)}
    inlining.inline_calls(source, ["main", *merges], locations)
    names = {name: f"{name}_{function.name}" for name in merges}
    for call in _merge_calls(source):
        callee = ir.FlatSymbolRefAttr.get(names[_symbol(call)])
        call.attributes["called_computations"] = ir.ArrayAttr.get([callee])
    names["main"] = function.name
    for op in source.body.operations:
        copy = op.operation.clone(ir.InsertionPoint(module.body))
        simplify(copy)
        name = names[ir.StringAttr(op.attributes["sym_name"]).value]
        copy.attributes["sym_name"] = ir.StringAttr.get(name)
        if name == function.name:
            _describe(copy, function, locations)


def _describe(op, function, locations):
    """Adds the description of its function to an operation."""
    op.location = locations.of_function(function.source)
    op.attributes["arg_attrs"] = _attributes(function.inputs, op, "inputs")
    op.attributes["res_attrs"] = _attributes(function.outputs, op, "results")
    arguments = op.regions[0].blocks[0].arguments
    for argument, value in zip(arguments, function.inputs, strict=True):
        argument.set_location(ir.Location.name(value.name))


def _merge_calls(module):
    """Lists the merge calls of a module."""
    found = []

    def visit(op):
        op = op.operation
        if (
            op.name == "stablehlo.custom_call"
            and _target(op) == "replica.merge_call"
        ):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _target(call):
    return ir.StringAttr(call.attributes["call_target_name"]).value


def _symbol(call):
    """Name of the function of a merge call."""
    callees = ir.ArrayAttr(call.attributes["called_computations"])
    return ir.FlatSymbolRefAttr(callees[0]).value


def _run(passes, module):
    """Runs the passes; their errors name the user's line."""
    try:
        passes.run(module.operation)
    except ir.MLIRError as error:
        first = error.error_diagnostics[0]
        raise ModelError(
            f"{describe(first.location)}: cannot capture this operation: {first.message}"
        ) from None


def _attributes(values, function, which):
    """Makes the `replica.*` attributes of arguments or results."""
    kind = ir.FunctionType(
        ir.TypeAttr(function.attributes["function_type"]).value
    )
    types = getattr(kind, which)
    entries = []
    for value, type_ in zip(values, types, strict=True):
        entry = {f"replica.{value.role}": ir.StringAttr.get(value.name)}
        if value.default is not None:
            element = ir.RankedTensorType(type_).element_type
            entry["replica.default"] = _number(value.default, element)
        entries.append(ir.DictAttr.get(entry))
    return ir.ArrayAttr.get(entries)


def _number(value, type_):
    """Makes a typed attribute of a NumPy scalar."""
    if isinstance(type_, ir.IntegerType):
        return ir.IntegerAttr.get(type_, int(value))
    return ir.FloatAttr.get(type_, float(value))


def _relocate(module, locations):
    """Rewrites the locations of all operations and block arguments.

    An operation without a location inside of another one (the scalar operations
    of a named `linalg` operation) gets that one's.
    """

    def visit(op):
        op = op.operation
        location = locations.user_location(op.location)
        if isinstance(location, ir.UnknownLoc) and op.name != "arith.constant":
            location = op.parent.location if op.parent else location
        op.location = location
        if op.name != "func.func":
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.arguments:
                        argument.set_location(ir.Location.unknown())
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
