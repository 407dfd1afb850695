"""Inlines every call of a module, before it is legalized.

JAX outlines jitted helpers into private functions. jaxlib's `inline` pass
leaves them (the extension of `func` that it needs is not registered there), so
this module does it; locations become call chains of the user's lines.
"""

from jaxlib.mlir import ir

from lockstep.locations import Locations

#: Operations that call functions of the module, and the attribute that names
#: the function. A composite operation is equivalent to its decomposition.
_CALLEES = {"func.call": "callee", "stablehlo.composite": "decomposition"}


def inline_calls(module: ir.Module, entries: list[str], locations: Locations):
    """Inlines all calls in the functions `entries`, and erases the others.

    JAX's programs do not recurse, so this ends.
    """
    functions = {
        ir.StringAttr(op.attributes["sym_name"]).value: op
        for op in module.body.operations
        if op.operation.name == "func.func"
    }
    done = set()

    def inline_in(name):
        if name in done:
            return
        done.add(name)
        for call in _calls(functions[name]):
            callee = _callee(call)
            inline_in(callee)
            _inline(call, functions[callee], locations)

    for name in entries:
        inline_in(name)
    for name, function in functions.items():
        if name not in entries:
            function.operation.erase()


def _calls(function):
    """Lists the calls in a function, those in nested regions too."""
    found = []

    def visit(op):
        if op.operation.name in _CALLEES:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return found


def _callee(call):
    return ir.FlatSymbolRefAttr(call.attributes[_CALLEES[call.name]]).value


def _inline(call, function, locations):
    """Replaces one call by a copy of the body of `function`."""
    block = function.operation.regions[0].blocks[0]
    values = dict(zip(block.arguments, call.operands, strict=True))
    caller = call.location
    with ir.InsertionPoint(call):
        for op in block.operations:
            if op.operation.name == "func.return":
                results = [values.get(v, v) for v in op.operands]
                for old, new in zip(call.results, results, strict=True):
                    old.replace_all_uses_with(new)
                break
            copy = op.operation.clone()
            _rewire(copy, values, lambda loc: locations.inlined(loc, caller))
            values.update(zip(op.operation.results, copy.results, strict=True))
    call.erase()


def _rewire(root, values, relocate):
    """Maps the operands of a copied operation and of all inside it."""

    def visit(op):
        op = op.operation
        for i, operand in enumerate(op.operands):
            if operand in values:
                op.operands[i] = values[operand]
        op.location = relocate(op.location)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
