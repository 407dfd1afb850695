"""Every supported row of docs/semantics.md is named by a test that shows it:
by its id in brackets, or in rows.json if it is a recorded case.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

from case_files import CASES, read

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "semantics.md"
TESTS = ROOT / "test"
NAMED_CASES = Path(__file__).parent / "rows.json"

# Code that may name rows, too.
CODE = ("dialect", "passes", "python-bindings", "runtime", "tools")
SUFFIXES = {".c", ".cpp", ".h", ".mlir", ".py", ".td"}

ID = r"[1-9][0-9]?(?:\.[0-9])?-[a-z]+(?:-[a-z]+)*"
BRACKETS = re.compile(rf"\[({ID}(?:, {ID})*)\]")
QUOTED = re.compile(r"`([^`]+)`")

# Rows without a test say that there is nothing to test, or where it is said.
NOTHING = re.compile(
    r"no counterpart|no meaning|not applicable|not expressible|not supported"
    r"|not there"
)
ELSEWHERE = re.compile(rf"`{ID}`(?:, `{ID}`)*|Section [0-9]+")

# What "by hand (...)" may name, besides files and folders.
BY_HAND = ("collectives", "contexts", "gradients", "variables")


class Row(NamedTuple):
    id: str
    what: str
    tested: str


def rows() -> list[Row]:
    """A row with several ids is several rows."""
    found, header = [], []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line[1:-1].split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif "tested" in header and not line.startswith("|--"):
            row = dict(zip(header, cells, strict=True))
            found += [
                Row(name, row["what Lockstep does"], row["tested"])
                for name in QUOTED.findall(row["row"])
            ]
    return found


def evidence(row: Row) -> tuple[set[str], list[str]]:
    """The recorded categories under 'tested', and what else is there."""
    quoted = QUOTED.findall(row.tested)
    known = {path.stem for path in CASES.glob("*.json")}
    words = re.findall(r"by hand|generated|all categories", row.tested)
    others = [name for name in quoted if name not in known]
    return known & set(quoted), others + words


def in_brackets(folder: Path) -> dict[str, list[str]]:
    """Where each id is in brackets, as `path:line`."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in SUFFIXES or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for match in BRACKETS.finditer(line):
                for name in match[1].split(", "):
                    place = f"{path.relative_to(ROOT)}:{number}"
                    found.setdefault(name, []).append(place)
    return found


def test_every_row_is_named():
    named = in_brackets(TESTS).keys() | json.loads(NAMED_CASES.read_text())
    problems = []
    for row in rows():
        if row.id not in named and (
            row.tested
            or not (NOTHING.search(row.what) or ELSEWHERE.fullmatch(row.what))
        ):
            problems.append(
                f"row '{row.id}': expected a test that names it, found none"
            )
    assert not problems, "\n".join(problems)


def test_names_are_rows():
    ids = [row.id for row in rows()]
    problems = [
        f"row '{name}': expected once in {PAGE.name}, found {ids.count(name)}"
        for name in sorted(set(ids))
        if ids.count(name) > 1
    ]
    problems += [
        f"row '{name}': expected an id like 2.3-meet, found another form"
        for name in ids
        if not re.fullmatch(ID, name)
    ]
    places = {name: [NAMED_CASES.name] for name in json_ids()}
    for folder in ("test", *CODE):
        for name, where in in_brackets(ROOT / folder).items():
            places[name] = places.get(name, []) + where
    problems += [
        f"{place}: expected a row of {PAGE.name}, found '{name}'"
        for name, where in places.items()
        if name not in ids
        for place in where
    ]
    assert not problems, "\n".join(problems)


def json_ids() -> list[str]:
    """The ids of rows.json, of which none is there twice."""
    pairs = json.loads(NAMED_CASES.read_text(), object_pairs_hook=list)
    return [name for name, _ in pairs]


def test_named_cases():
    cases = {
        f"{path.stem}/{case['name']}"
        for path in CASES.glob("*.json")
        for case in read(path)
    }
    named = json.loads(NAMED_CASES.read_text())
    problems = [
        f"{NAMED_CASES.name}: expected row '{name}' once, found it again"
        for i, name in enumerate(json_ids())
        if name in json_ids()[:i]
    ]
    problems += [
        f"row '{name}': expected recorded cases, found '{case}'"
        for name, listed in named.items()
        for case in listed or [""]
        if case not in cases
    ]
    for row in rows():
        categories, others = evidence(row)
        used = {case.split("/")[0] for case in named.get(row.id, [])}
        if categories and not others and not categories & used:
            problems.append(
                f"row '{row.id}': expected a case of "
                f"{', '.join(sorted(categories))}, found "
                f"{', '.join(sorted(used)) or 'none'}"
            )
    assert not problems, "\n".join(problems)


def test_what_is_tested_exists():
    paths = ["/" + p.relative_to(ROOT).as_posix() for p in TESTS.rglob("*")]
    procedures = {
        case.get("op") for path in CASES.glob("*.json") for case in read(path)
    }
    examples = {path.name for path in (ROOT / "examples").iterdir()}
    problems = []
    for row in rows():
        problems += [
            f"row '{row.id}': expected a category, file or folder of tests, "
            f"found '{name}'"
            for name in evidence(row)[1]
            if f"`{name}`" in row.tested
            and name not in procedures | examples
            and not any(path.endswith("/" + name) for path in paths)
        ]
        for words in re.findall(r"by hand \(([a-z, ]+)\)", row.tested):
            problems += [
                f"row '{row.id}': expected one of {', '.join(BY_HAND)} by "
                f"hand, found '{name}'"
                for name in words.split(", ")
                if name not in BY_HAND
            ]
    assert not problems, "\n".join(problems)
