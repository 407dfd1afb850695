"""Makes a program smaller while it still fails."""

import dataclasses
import re
from collections.abc import Callable, Iterator

import jax

from differential import inference
from differential.generate import REPLICAS
from differential.program import (
    NAME,
    Function,
    Input,
    Program,
    Statement,
    Type,
    names_in,
    texts,
    without_unused,
)
from differential.values import FLOAT_KINDS
from lockstep import context

#: Values that extents are reduced to, besides half of them and one less.
EXTENTS = (1, 2, 3)

#: Simpler dtypes to try.
SIMPLER = {
    "float64": "float32",
    "bfloat16": "float32",
    "float16": "float32",
    **dict.fromkeys(
        ("int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64"),
        "int32",
    ),
}

Fails = Callable[[Program], bool]


def shrink(program: Program, fails: Fails) -> Program:
    """Returns a program for which `fails` is true, as small as the steps below
    get it.

    Args:
      program: one for which it is true.
      fails: whether a program shows the same failure; it may be called with
        programs that JAX does not accept.
    """
    before = None
    while program != before:
        before = program
        program = without_aliases(program)
        for step in (
            _fewer_results,
            _fresh_inputs,
            _operands_instead,
            _smaller_extents,
            _simpler_dtypes,
            _simpler_inputs,
        ):
            program = _exhaust(program, step, fails)
    return program


def _exhaust(
    program: Program, step: Callable[[Program], Iterator[Program]], fails: Fails
) -> Program:
    """Takes candidates of one step as long as one of them fails."""
    tried = set()
    progress = True
    while progress:
        progress = False
        for candidate in step(program):
            candidate = without_unused(candidate)
            if candidate == program or candidate in tried:
                continue
            tried.add(candidate)
            candidate = retyped(candidate)
            if candidate is not None and fails(candidate):
                program, progress = candidate, True
                break
    return program


def retyped(program: Program) -> Program | None:
    """The program with the types that its statements have now; None if JAX does
    not accept it.
    """
    types = {entry.name: entry.type for entry in program.inputs}
    statements = []
    with jax.enable_x64(program.x64), context.capturing(REPLICAS):
        for statement in program.statements:
            try:
                inferred = inference.infer(statement, types)
            except inference.NotTypedError:
                return None
            inferred = [inferred] if isinstance(inferred, Type) else inferred
            if len(inferred) != len(statement.names):
                return None
            types.update(zip(statement.names, inferred, strict=True))
            statements.append(
                dataclasses.replace(statement, types=tuple(inferred))
            )
    return dataclasses.replace(program, statements=tuple(statements))


def without_aliases(program: Program) -> Program:
    """The program without statements that only rename a value."""
    aliases = {
        s.names[0]: s.text
        for s in _all_statements(program.statements)
        if len(s.names) == 1 and NAME.fullmatch(s.text)
    }
    # Kept values must be computed: an input is in the state by its own name.
    inputs = {entry.name for entry in program.inputs}

    def original(name):
        while name in aliases:
            name = aliases[name]
        return name

    aliases = {
        name: text
        for name, text in aliases.items()
        if name not in program.results or original(name) not in inputs
    }
    results = tuple(dict.fromkeys(map(original, program.results)))
    renamed = _map_texts(
        program.statements,
        lambda text: NAME.sub(lambda match: original(match.group()), text),
    )
    return without_unused(
        dataclasses.replace(program, results=results, statements=renamed)
    )


# Steps: each yields candidates that are smaller in one respect, larger cuts
# first.


def _fewer_results(program: Program) -> Iterator[Program]:
    """One of the results alone, or all but one."""
    if len(program.results) > 1:
        for result in program.results:
            yield dataclasses.replace(program, results=(result,))
        for result in program.results:
            yield dataclasses.replace(
                program,
                results=tuple(
                    name for name in program.results if name != result
                ),
            )


def _fresh_inputs(program: Program) -> Iterator[Program]:
    """Inputs instead of a statement's results, so that its operands are not
    needed.
    """
    for statement in reversed(program.statements):
        if set(statement.names) & set(program.results):
            continue
        place = "batch" if "lockstep." not in statement.text else "state"
        entries = []
        for name, type_, exact in zip(
            statement.names, statement.types, statement.exact, strict=True
        ):
            kind = (
                "flags"
                if type_.dtype == "bool"
                else "small"
                if "int" in type_.dtype
                else "eighths"
                if exact
                else "normal"
            )
            fits = (
                place == "batch"
                and type_.size > 0
                and type_.dtype != "bfloat16"
                and program.rows in (1, *type_.shape[:1])
            )
            entries.append(
                Input(name, type_, kind, "batch" if fits else "state")
            )
        rest = tuple(
            other for other in program.statements if other != statement
        )
        yield dataclasses.replace(
            program, inputs=(*program.inputs, *entries), statements=rest
        )


def _operands_instead(program: Program) -> Iterator[Program]:
    """One of the names in a statement instead of all that it computes; also in
    functions.
    """
    for statement in _all_statements(program.statements):
        if len(statement.names) > 1:
            continue
        for name in sorted(
            names_in(statement) & set(NAME.findall(statement.text))
        ):
            if name[0] != "f" and name != statement.text:
                yield _with_text(program, statement.names[0], name)


def _smaller_extents(program: Program) -> Iterator[Program]:
    """A smaller number for one of the extents, at all of its uses."""
    extents = {
        extent for entry in program.inputs for extent in entry.type.shape
    } | {program.rows}
    extents |= {
        int(number)
        for text in texts(program.statements)
        for number in re.findall(r"(?<![\w.])\d+(?![\w.])", text)
    }
    for extent in sorted(extents, reverse=True):
        for smaller in dict.fromkeys((*EXTENTS, extent // 2, extent - 1)):
            if 0 < smaller < extent:
                yield _with_extent(program, extent, smaller)


def _simpler_dtypes(program: Program) -> Iterator[Program]:
    if program.x64:
        yield dataclasses.replace(program, x64=False)
    for dtype, simpler in SIMPLER.items():

        def replaced(text, pattern=rf"\b{dtype}\b", simpler=simpler):
            return re.sub(pattern, simpler, text)

        inputs = tuple(
            dataclasses.replace(
                entry,
                type=dataclasses.replace(
                    entry.type, dtype=replaced(entry.type.dtype)
                ),
            )
            for entry in program.inputs
        )
        yield dataclasses.replace(
            program,
            inputs=inputs,
            statements=_map_texts(program.statements, replaced),
        )


def _simpler_inputs(program: Program) -> Iterator[Program]:
    """Numbers that are easier to read; and one row for each replica."""
    for index, entry in enumerate(program.inputs):
        kinds = (
            ("ones", "count", "eighths", "normal")
            if entry.kind in FLOAT_KINDS
            else ("ones", "count", "small")
        )
        for kind in (
            kinds[: kinds.index(entry.kind)] if entry.kind in kinds else kinds
        ):
            inputs = list(program.inputs)
            inputs[index] = dataclasses.replace(entry, kind=kind)
            yield dataclasses.replace(program, inputs=tuple(inputs))


# Changes of statements, those in functions included.


def _all_statements(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, the last ones first."""
    for statement in reversed(statements):
        yield statement
        for function in statement.functions:
            yield from _all_statements(function.statements)


def _map_statements(
    statements: tuple[Statement, ...], change: Callable[[Statement], Statement]
) -> tuple[Statement, ...]:
    def inside(function: Function) -> Function:
        return dataclasses.replace(
            function, statements=_map_statements(function.statements, change)
        )

    return tuple(
        dataclasses.replace(
            change(s), functions=tuple(map(inside, change(s).functions))
        )
        for s in statements
    )


def _map_texts(
    statements: tuple[Statement, ...], change: Callable[[str], str]
) -> tuple[Statement, ...]:
    def changed(statement: Statement) -> Statement:
        functions = tuple(
            dataclasses.replace(function, result=change(function.result))
            for function in statement.functions
        )
        # Types in functions are comments, and would be wrong now.
        return dataclasses.replace(
            statement, text=change(statement.text), functions=functions
        )

    return _map_statements(statements, changed)


def _with_text(program: Program, name: str, text: str) -> Program:
    """The program where the statement that defines `name` has another text."""

    def changed(statement: Statement) -> Statement:
        return (
            dataclasses.replace(statement, text=text, functions=())
            if statement.names[0] == name
            else statement
        )

    return dataclasses.replace(
        program, statements=_map_statements(program.statements, changed)
    )


def _with_extent(program: Program, extent: int, smaller: int) -> Program:
    """The program with another number for an extent, in shapes and in
    expressions.
    """

    def replaced(text):
        return re.sub(rf"(?<![\w.]){extent}(?![\w.])", str(smaller), text)

    def resized(type_):
        return dataclasses.replace(
            type_,
            shape=tuple(smaller if e == extent else e for e in type_.shape),
        )

    inputs = tuple(
        dataclasses.replace(entry, type=resized(entry.type))
        for entry in program.inputs
    )
    rows = smaller if program.rows == extent else program.rows
    return dataclasses.replace(
        program,
        rows=rows,
        inputs=inputs,
        statements=_map_texts(program.statements, replaced),
    )
