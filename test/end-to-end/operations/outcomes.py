"""Executes cases, and returns the outcome of each."""

import dataclasses
import enum
import pathlib
import re
import tempfile

import jax
import numpy as np

from operations.element_types import COMPLEX, DTYPES, HALF, STORABLE, is_float
from operations.execution import Call, Failed, Refused, Step
from operations.tolerances import ACCUMULATED

#: Cases of one step. More of them need fewer starts of the compiler, fewer have
#: less to do again after an error.
BATCH = 100


class Kind(enum.Enum):
    """Possible outcomes of a case."""

    SUPPORTED = "gives JAX's results at every level and in the interpreter"
    REFUSED = "is an error"
    WRONG = "gives other results, or ends a tool without an error"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a case.

    Attributes:
      text: the error, or the difference.
    """

    kind: Kind
    text: str = ""


def outcomes(tools, cases):
    """Tries cases.

    Args:
      tools: runs the built tools (`conftest.Tools`).
      cases: a list of `Case`.

    Returns:
      A dict of case -> `Outcome`.

    Raises:
      AssertionError: if the function of a case is not lowered to the operation
        that it is to try.
    """
    found = {}
    with jax.enable_x64(True):
        # Types that no variable can have are rejected. They are separate from
        # the others, which then need no second attempt.
        for apart in (False, True):
            chosen = [
                case
                for case in cases
                if (case.type not in STORABLE or case.form.error is not None)
                == apart
            ]
            for first in range(0, len(chosen), BATCH):
                found |= _tried(tools, chosen[first : first + BATCH])
    return {case: found[case] for case in cases}


def is_clear(case, text):
    """Whether an error names the operation, or the element type for which it
    was rejected.
    """
    words = {case.form.error or case.form.operation.split(".")[1]}
    if case.type in COMPLEX:
        words.add("complex")
    elif case.type not in STORABLE:
        words |= {case.type, DTYPES[case.type].name}
    return any(word.lower() in text.lower() for word in words)


def faults(found):
    """Describes failures: wrong results, and errors that do not name the
    rejected operation.
    """
    lines = []
    for case, outcome in found.items():
        if outcome.kind is Kind.WRONG:
            lines.append(f"{case}: wrong: {outcome.text}")
        elif outcome.kind is Kind.REFUSED and not is_clear(case, outcome.text):
            lines.append(
                f"{case}: expected an error that names the operation or the type, found '{outcome.text}'"
            )
    return lines


def _tried(tools, cases):
    """Executes cases in one step, then without those that an error names, until
    none is left.
    """
    found = {}
    named = {f"case_{i:03}": case for i, case in enumerate(cases)}
    calls = {
        name: Call(
            name, case.form.function, case.form.inputs(DTYPES[case.type])
        )
        for name, case in named.items()
    }
    while calls:
        step = Step(list(calls.values()))
        try:
            for name, text in step.lowered().items():
                assert re.search(
                    rf"{re.escape(named[name].form.operation)}\b", text
                ), f"{named[name]}: it is not lowered to it, but to\n{text}"
            with tempfile.TemporaryDirectory() as folder:
                executed = list(step.executed(tools, pathlib.Path(folder)))
        except Refused as error:
            errors = _errors(str(error), calls)
            if not errors:
                break
            for name, texts in errors.items():
                # An operation may be rejected for several reasons, such as its
                # token and itself.
                best = next(
                    (text for text in texts if is_clear(named[name], text)),
                    texts[0],
                )
                found[named[name]] = Outcome(Kind.REFUSED, best)
                del calls[name]
        except Failed as error:
            if len(calls) == 1:
                return found | {
                    named[name]: Outcome(Kind.WRONG, str(error))
                    for name in calls
                }
            break
        else:
            return found | _compared(
                step, {name: named[name] for name in calls}, executed
            )
    # The failures among the others are found by bisection.
    rest = [named[name] for name in calls]
    middle = len(rest) // 2
    for half in filter(None, (rest[:middle], rest[middle:])):
        found |= _tried(tools, half)
    return found


def _errors(text, calls):
    """The errors of a text by the name of the call that their locations have;
    those of a single call need no location.
    """
    errors = {}
    for part in re.split(r"\n(?=\S+ error: )", text):
        named = [
            name for name in re.findall(r"\bcase_\d+", part) if name in calls
        ] or (list(calls) if len(calls) == 1 else [])
        if named:
            # The compiler's errors have the word after their location; those of
            # the capture and of JAX may start with a location only.
            match = re.search(r"error: (.*)", part) or re.search(
                r"(?:\S+:\d+:\d+: )?(.*)", part
            )
            errors.setdefault(named[0], []).append(match.group(1))
    return errors


def _compared(step, cases, executed):
    """The outcomes of cases, a dict by name, that were executed."""
    expected = {}
    computed = []
    for call in step.calls:
        form = cases[call.name].form
        if form.reference:
            expected[call.name] = [
                np.asarray(result)
                for result in jax.tree.leaves(form.reference(*call.arguments))
            ]
        elif form.tolerance == ACCUMULATED and cases[call.name].type in HALF:
            computed.append(
                Call(
                    call.name,
                    _in_f32(form.function, call.results),
                    call.arguments,
                )
            )
        else:
            computed.append(call)
    if computed:
        expected |= Step(computed).expected()
    return {
        case: _outcome(
            case,
            [
                (configuration, results[name])
                for configuration, results in executed
            ],
            expected[name],
        )
        for name, case in cases.items()
    }


def _in_f32(function, results):
    """A function that computes `function` in f32 instead of f16 or bf16, and
    then rounds to the types of `results`.
    """

    def widened(*arguments):
        wide = [
            x.astype(np.float32) if is_float(x.dtype) else x for x in arguments
        ]
        return [
            x.astype(result.dtype)
            for x, result in zip(
                jax.tree.leaves(function(*wide)), results, strict=True
            )
        ]

    return widened


def _outcome(case, executed, expected):
    for configuration, results in executed:
        for i, (result, right) in enumerate(
            zip(results, expected, strict=True)
        ):
            difference = case.form.tolerance.difference(result, right)
            if difference:
                return Outcome(
                    Kind.WRONG, f"{configuration}, result {i}: {difference}"
                )
    return Outcome(Kind.SUPPORTED)
