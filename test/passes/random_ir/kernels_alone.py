"""Checks programs as single kernels: code is generated for all statements of
one together, and called.

A kernel may be allowed to write a result to the memory of an argument. No
earlier pass orders the reads and writes of elements then:
only code generation does.
"""

import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from random import Random

import numpy as np

from . import module
from .comparison import compare
from .execution import Executor, ToolFailure
from .failures import Failure, of_difference, of_tool
from .generation.programs import generate
from .inputs import draw
from .operations.shapes import Cast, Collapse, Expand
from .operations.slices import ExtractSlice
from .printer import Printer
from .program import analyze
from .rewriting import merged, without_unused
from .steps import INTERPRETER

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Codegen"))

import kernels  # noqa: E402

LEVELS = ("O0", "O2")
#: How a kernel is called: its name, whether results take over arguments, and
#: whether the last tile comes first.
CALLS = (
    ("", False, False),
    (" in place", True, False),
    (" in place, tiles backwards", True, True),
)


def without_views(program):
    """The program without results that are only parts of an argument, which a
    kernel does not compute.
    """
    views = {
        value
        for statement in program.statements
        if isinstance(
            statement.operation, (Cast, Collapse, Expand, ExtractSlice)
        )
        for value in statement.results
    }
    return without_unused(
        replace(
            program,
            results=tuple(
                value for value in program.results if value not in views
            ),
        )
    )


def permissions(program):
    """For each result an argument of its type whose memory it may reuse, or -1.
    No argument is reused twice.
    """
    types = analyze(program)
    free = list(range(len(program.arguments)))
    Random(len(free)).shuffle(free)
    chosen = []
    for value in program.results:
        fitting = [
            number
            for number in free
            if program.arguments[number].type == types[value].type
        ]
        chosen.append(fitting[0] if fitting else -1)
        if fitting:
            free.remove(fitting[0])
    return chosen


def render(program, name):
    """The program as a `device.kernel`; variables are arguments like others."""
    printer = Printer(
        {value: known.type for value, known in analyze(program).items()},
        generalizes=True,
    )
    arguments = ", ".join(
        f"{printer.name(argument.value)}: {argument.type}"
        for argument in program.arguments
    )
    printer.statements(program.statements)
    attributes = f"{{in_place = array<i64: {', '.join(map(str, permissions(program)))}>}}"
    header = f"device.kernel @{name}({arguments}) -> ({printer.types_of(program.results)}) attributes {attributes} {{"
    return (
        "\n".join(
            [
                header,
                *printer.lines,
                f"  device.yield {printer.typed(program.results)}",
                "}",
            ]
        )
        + "\n"
    )


def to_memory(element, array):
    """An array as a kernel has it: bf16 as its bits."""
    return (
        (array.view(np.uint32) >> 16).astype(np.uint16)
        if element == "bf16"
        else array
    )


def from_memory(element, array):
    return (
        (array.astype(np.uint32) << 16).view(np.float32)
        if element == "bf16"
        else array
    )


def call(kernel, program, in_place, is_backwards):
    """The outputs of a kernel, as `Executor.interpret` has those of a step."""
    inputs = [
        to_memory(
            argument.type.element,
            draw(
                argument.kind,
                argument.type.element,
                argument.type.shape,
                argument.seed,
            ),
        )
        for argument in program.arguments
    ]
    tiles = list(reversed(range(kernel.grid))) if is_backwards else None
    run, results = kernel.bind(*inputs, in_place=in_place, tiles=tiles)
    run()
    types = analyze(program)
    return {
        ("result", module.result_name(number), 0): from_memory(
            types[value].type.element, results[number]
        )
        for number, value in enumerate(program.results)
    }


def compile_and_call(opt, programs, expected, level):
    """The first failure of any of `programs` at a level of code generation;
    `expected`: the outputs of each.
    """
    kernels.OPT = opt
    text = "".join(
        render(program, f"kernel{number}")
        for number, program in enumerate(programs)
    )
    target = kernels.host_targets()[0]
    try:
        compiled = kernels.Module(
            text, targets=[target], level=level, passes=["--widen-accumulation"]
        )[target]
    except kernels.CompileError as error:
        return of_tool(
            f"kernel -{level}", ToolFailure("lockstep-opt", "fails", str(error))
        )
    for number, program in enumerate(programs):
        for name, in_place, is_backwards in CALLS:
            variant = f"kernel -{level}{name}"
            found = call(
                compiled[f"kernel{number}"], program, in_place, is_backwards
            )
            if difference := compare(program, expected[number], found, variant):
                return of_difference(variant, difference)
    return None


class KernelChecker:
    """The same interface as `steps.StepChecker`. Kernels run in a process of
    their own, which may crash.
    """

    def __init__(self, tools, folder):
        self.executor = Executor(tools, folder)

    def programs(self, seeds):
        """The programs of the seeds that can be kernels: one replica, without
        variables that are assigned.
        """
        programs = [
            without_views(generate(seed, 1, is_kernel=True)) for seed in seeds
        ]
        return [program for program in programs if program.results]

    def check_seeds(self, seeds):
        return self.check(self.programs(seeds), LEVELS)

    def check(self, programs, levels) -> Failure | None:
        if not programs:
            return None
        try:
            expected = self.interpret(programs)
        except ToolFailure as failure:
            return of_tool(INTERPRETER, failure)
        opt = str(self.executor.tools / "lockstep-opt")
        for level in levels:
            try:
                with ProcessPoolExecutor(1) as pool:
                    failure = pool.submit(
                        compile_and_call, opt, programs, expected, level
                    ).result()
            except BrokenProcessPool:
                return of_tool(
                    f"kernel -{level}", ToolFailure("kernel", "crashes", "")
                )
            if failure is not None:
                return failure
        return None

    def interpret(self, programs):
        """The outputs of each program, executed as one step."""
        together = merged(programs)
        self.executor.write(together)
        outputs, first, expected = self.executor.interpret(together), 0, []
        for program in programs:
            names = [
                module.result_name(number)
                for number in range(len(program.results))
            ]
            expected.append(
                {
                    ("result", name, 0): outputs[
                        "result", module.result_name(first + number), 0
                    ]
                    for number, name in enumerate(names)
                }
            )
            first += len(names)
        return expected

    def again(self, failure):
        levels = [
            level
            for level in LEVELS
            if failure.variant.startswith(f"kernel -{level}")
        ]
        return lambda program: self.check(
            [program] if program.results else [], levels
        )

    def culprit(self, program):
        return "generate-code"

    def render(self, program):
        return render(program, "kernel")
