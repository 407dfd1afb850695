"""Makes the integers inside a legalized function signless.

The legalization to `linalg` picks the signed or unsigned form of each operation
and works on signless types; the remaining operations (loops, branches, gathers)
keep `ui32` with casts around it. They do no arithmetic, so signedness is
irrelevant: types become signless, and casts remain only for unsigned arguments
and results of the function.
"""

from jaxlib.mlir import ir

CAST = "builtin.unrealized_conversion_cast"


def make_signless(function: ir.Operation):
    """Rewrites the body of a `func.func`, but not its signature."""
    entry = function.regions[0].blocks[0]
    for argument in entry.arguments:
        _cast_argument(argument, entry)
    _retype(function, entry)
    for cast in _casts(function):
        if cast.operands[0].type == cast.results[0].type:
            cast.results[0].replace_all_uses_with(cast.operands[0])
            cast.erase()
    _cast_results(function, entry)


def signless(type_: ir.Type) -> ir.Type:
    """Returns a type with signless instead of unsigned or signed elements."""
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    element = type_.element_type
    if not isinstance(element, ir.IntegerType) or element.is_signless:
        return type_
    return ir.RankedTensorType.get(
        type_.shape, ir.IntegerType.get_signless(element.width), type_.encoding
    )


def _cast_argument(argument, entry):
    """Casts an unsigned argument once, for all of its uses."""
    target = signless(argument.type)
    if target == argument.type:
        return
    cast = ir.Operation.create(
        CAST,
        results=[target],
        operands=[argument],
        loc=argument.location,
        ip=ir.InsertionPoint.at_block_begin(entry),
    )
    argument.replace_all_uses_except(cast.results[0], cast)


def _retype(function, entry):
    """Makes all values but the function's arguments signless."""

    def visit(op):
        op = op.operation
        for result in op.results:
            result.set_type(signless(result.type))
        for region in op.regions:
            for block in region.blocks:
                if block != entry:
                    for argument in block.arguments:
                        argument.set_type(signless(argument.type))
        return ir.WalkResult.ADVANCE

    function.walk(visit)


def _casts(function):
    found = []

    def visit(op):
        if op.operation.name == CAST:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def _cast_results(function, entry):
    """Casts the returned values to the result types."""
    kind = ir.FunctionType(
        ir.TypeAttr(function.attributes["function_type"]).value
    )
    terminator = entry.operations[len(entry.operations) - 1].operation
    for i, (value, type_) in enumerate(
        zip(terminator.operands, kind.results, strict=True)
    ):
        if value.type != type_:
            cast = ir.Operation.create(
                CAST,
                results=[type_],
                operands=[value],
                loc=terminator.location,
                ip=ir.InsertionPoint(terminator),
            )
            terminator.operands[i] = cast.results[0]
