"""Writes the reference page from the outcomes of all cases."""

import pathlib

from operations.element_types import ALL, STORABLE
from operations.outcomes import Kind

PATH = (
    pathlib.Path(__file__).resolve().parents[3]
    / "docs"
    / "reference"
    / "operations.md"
)

#: How the page is made, from the root of the repository after `make build`.
COMMAND = "LOCKSTEP_BIN=$PWD/build/release/bin build/venv/bin/python test/end-to-end/operations"

_HEAD = f"""\
# StableHLO operations

Which operations of StableHLO a step may have, with which element types. The tests try each operation in the forms that are listed below its table: captured from JAX,
compiled at `-O0` and at `-O2`, and interpreted. This page says what they found; it is written by

```
{COMMAND}
```

| | |
|---|---|
| ✓ | gives JAX's results at both levels and in the interpreter, infinities, NaN and the signs of zeros included |
| ✗ | is refused; the error is below the table, or, where it is about the type, in the next section |
| part | some forms are refused, the others are right |
| | is not tried: the operation is not defined for elements of this type, or nothing in JAX makes it |

The first form of an operation is tried with every type, further ones with types of each kind and width.
How exactly results agree, and when they are rounded, is in [numerics](../numerics.md).

## Element types
"""

#: What the page calls types that are refused everywhere, by their names.
REFUSED_TYPES = {
    "i4": "`i4` stands for integers of two and four bits",
    "f8": "`f8` for floats of up to eight bits",
    "complex": "`complex` for complex numbers",
}


def render(groups, outcomes):
    """Writes the page.

    Args:
      groups: the groups of operations, in order.
      outcomes: the outcome of every case of them, none of which is wrong.
    """
    parts = [_HEAD, _types(outcomes)]
    parts += [section(group, outcomes) for group in groups]
    return "\n".join(parts)


def section(group, outcomes):
    """The section about a group of operations; `outcomes` has those of its
    cases.
    """
    operations = {}
    for case, outcome in outcomes.items():
        operations.setdefault(case.form.operation, []).append((case, outcome))
    own = {
        name.removeprefix("stablehlo."): operations[name]
        for name in dict.fromkeys(form.operation for form in group.forms)
    }
    parts = [f"## {group.title}\n", group.about and f"{group.about}\n"]
    parts += [_table(own), _forms(own), _errors(own)]
    return "\n".join(filter(None, parts))


def read():
    """Returns what the page says about types, and its sections by title."""
    text = PATH.read_text(encoding="utf-8")
    _, about_types, *sections = text.rstrip().split("\n## ")
    return about_types, {
        part.partition("\n")[0]: f"## {part}" for part in sections
    }


def _types(outcomes):
    """The text about types that are rejected everywhere."""
    lines = [
        f"All values of a step may have elements of type {', '.join(f'`{name}`' for name in STORABLE)}. "
        f"In the tables, {', '.join(REFUSED_TYPES.values())}. They are refused:\n"
    ]
    lines += [
        f"- `{type_}`: {_quoted(text)}"
        for type_ in REFUSED_TYPES
        for text in sorted(refusals(outcomes, type_))
    ]
    return "\n".join(lines) + "\n"


def refusals(outcomes, type_):
    """The errors that refuse a type whatever the operation is."""
    return {
        outcome.text
        for case, outcome in outcomes.items()
        if case.type == type_ and _is_about_type(outcome)
    }


def _is_about_type(outcome):
    return "E_DTYPE_UNSUPPORTED" in outcome.text


# The functions below take the operations of a group: {name: [(case, outcome)]}.


def _table(operations):
    """A row for each operation, a column for each type that any of them is
    tried with.
    """
    tried = {
        case.type for outcomes in operations.values() for case, _ in outcomes
    }
    types = [type_ for type_ in ALL if type_ in tried]
    lines = [
        f"| operation | {' | '.join(types)} |",
        "|---|" + ":-:|" * len(types),
    ]
    for name, outcomes in operations.items():
        cells = [
            _cell(
                {
                    outcome.kind
                    for case, outcome in outcomes
                    if case.type == type_
                }
            )
            for type_ in types
        ]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(kinds):
    if len(kinds) > 1:
        return "part"
    return (
        {Kind.SUPPORTED: "✓", Kind.REFUSED: "✗"}[kinds.pop()] if kinds else ""
    )


def _forms(operations):
    """The forms of the operations that have several."""
    lines = []
    for name, outcomes in operations.items():
        forms = _names(outcomes)
        if len(forms) > 1:
            lines.append(f"- `{name}`: {'; '.join(forms)}")
    return "Forms:\n\n" + "\n".join(lines) + "\n" if lines else ""


def _errors(operations):
    """The errors by operation; the same error for several forms and types is
    there once.
    """
    lines = []
    for name, outcomes in operations.items():
        texts = {}
        for case, outcome in outcomes:
            if outcome.kind is Kind.REFUSED and not _is_about_type(outcome):
                texts.setdefault(outcome.text, []).append((case, outcome))
        for text, refused in texts.items():
            forms = _names(refused)
            which = (
                f" ({'; '.join(forms)})" if forms != _names(outcomes) else ""
            )
            types = ", ".join(
                f"`{type_}`"
                for type_ in dict.fromkeys(case.type for case, _ in refused)
            )
            lines.append(f"- `{name}`{which}, {types}: {_quoted(text)}")
    return "Refused:\n\n" + "\n".join(lines) + "\n" if lines else ""


def _names(outcomes):
    """The names of the forms, each once."""
    return list(dict.fromkeys(case.form.name for case, _ in outcomes))


def _quoted(text):
    return f"“{text.strip()}”"
