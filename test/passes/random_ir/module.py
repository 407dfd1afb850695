"""A program as the text of a module, and its inputs as arrays."""

from .inputs import dense_literal, draw
from .printer import Printer
from .program import analyze

MOST_LITERAL_ELEMENTS = 32


def result_name(number):
    return f"r{number}"


def variable_name(number):
    return f"w{number}"


def input_name(number):
    return f"x{number}"


def stored_type(type):
    """The type of an input array: NumPy has no bf16."""
    return type.of("f32") if type.element == "bf16" else type


def render(program):
    """The module. Inputs are `x0`, `x1`, ... by their place among the
    arguments, variables `w0`, ..., results `r0`, ...
    """
    printer = Printer(
        {value: known.type for value, known in analyze(program).items()}
    )
    arguments, reads = [], []
    for number, argument in enumerate(program.arguments):
        name = printer.name(argument.value)
        if argument.is_variable:
            reads.append(
                f"{name} = replica.read @{variable_name(number)} : {argument.type}"
            )
            continue
        given = stored_type(argument.type)
        is_converted = given != argument.type
        arguments.append(
            f'{name}{"_given" if is_converted else ""}: {given} {{replica.batch = "{input_name(number)}"}}'
        )
        if is_converted:
            reads.append(
                f"{name} = arith.truncf {name}_given : {given} to {argument.type}"
            )
    for line in reads:
        printer.line(line)
    printer.statements(program.statements)
    for number, value in program.stores:
        printer.line(
            f"replica.assign @{variable_name(number)}, {printer.typed([value])}"
        )
    printer.line(
        f"replica.return {printer.typed(program.results)}"
        if program.results
        else "replica.return"
    )
    types = [
        f'{printer.type(value)} {{replica.result = "{result_name(number)}"}}'
        for number, value in enumerate(program.results)
    ]
    results = f" -> ({', '.join(types)})" if types else ""
    lines = [
        *declarations(program),
        f"replica.step @step({', '.join(arguments)}){results} {{",
        *printer.lines,
        "}",
    ]
    return "\n".join(lines) + "\n"


def declarations(program):
    for number, argument in variables(program):
        type, attribute = argument.type, ""
        if is_literal(type):
            array = draw(argument.kind, type.element, type.shape, argument.seed)
            attribute = (
                f" {{initial = {dense_literal(type.element, array)} : {type}}}"
            )
        yield f"replica.variable @{variable_name(number)} : {type}{attribute}"


def variables(program):
    return [
        (number, argument)
        for number, argument in enumerate(program.arguments)
        if argument.is_variable
    ]


def is_literal(type):
    """Whether the initial value of a variable is in the module; those of many
    elements are in a file.
    """
    return type.size <= MOST_LITERAL_ELEMENTS


def initial_values(program):
    """The variables whose initial values are not in the module: (name, type,
    array).
    """
    for number, argument in variables(program):
        type = argument.type
        if not is_literal(type):
            yield (
                variable_name(number),
                type,
                draw(argument.kind, type.element, type.shape, argument.seed),
            )


def input_arrays(program):
    """The arrays of the `.npz`: other numbers for each replica, `x0@1` are
    those of replica 1.
    """
    arrays = {}
    for number, argument in enumerate(program.arguments):
        if argument.is_variable:
            continue
        for replica in range(program.replicas):
            array = draw(
                argument.kind,
                argument.type.element,
                argument.type.shape,
                argument.seed + replica,
            )
            arrays[f"{input_name(number)}@{replica}"] = array
    return arrays


def expected_names(program):
    """The outputs of a run: (what, name) -> facts."""
    known = analyze(program)
    names = {
        ("result", result_name(number)): known[value]
        for number, value in enumerate(program.results)
    }
    for number, value in program.stores:
        names["variable", variable_name(number)] = known[value]
    return names
