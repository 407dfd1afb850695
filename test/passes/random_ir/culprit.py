"""Finds the first pass that changes the results of a program.

Every execution has the mandatory passes. The optional ones are added one by
one, from the pipeline of -O0 to that of -O2.
"""

import re

from .comparison import compare
from .execution import ToolFailure
from .pipeline import OPTIONAL_PASSES


def find_culprit(executor, program):
    """A sentence that names the pass. The program is written by
    `executor.write`.
    """
    executor.write(program)
    expected = executor.interpret(program)

    def is_wrong(left_out):
        try:
            return (
                compare(
                    program,
                    expected,
                    executor.execute_without(program, left_out),
                    "",
                )
                is not None
            )
        except ToolFailure:
            return True

    names = list(OPTIONAL_PASSES)
    if is_wrong(names):
        return find_mandatory(executor, program)
    for count, name in enumerate(names, start=1):
        if is_wrong(names[count:]):
            alone = [other for other in names if not is_wrong([other])]
            return f"first wrong with {name}; right without {' or '.join(alone) or 'none of the passes alone'}"
    return "right in every pipeline of lockstep-opt"


def find_mandatory(executor, program):
    """The mandatory pass that changes values, as far as the check after each
    pass detects it on its own data.
    """
    pipeline = executor.pipeline(program, list(OPTIONAL_PASSES))
    messages = executor.start(
        "lockstep-opt",
        executor.source,
        f"--pass-pipeline={pipeline}",
        "--check-values",
        "-o",
        executor.device_ir,
    ).stderr
    names = re.findall(r"error: '([^']*)' changes what is computed", messages)
    found = (
        f"{names[0]} changes what is computed"
        if names
        else "lockstep-opt --check-values does not see which pass it is"
    )
    return f"wrong without any of the optional passes; {found}"
