"""Writes random cases with the results of the reference, or compares the
reference with files.

    generate.py --count 5000 --seed 1 -o DIR      one file a category, in the format of cases/
    generate.py --audit DIR ...                   where the reference differs from the files

Files are deterministic, and a case depends only on its number and the seed:
those of a smaller count are the first of a larger one. See generation/ for the
generators.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

from case_files import CASES, FORMAT, judge, programs
from generation import generate


def files_of(paths: list[Path]) -> list[Path]:
    return [
        file
        for path in paths
        for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])
    ]


def write(cases: list[dict], folder: Path) -> None:
    by_category = defaultdict(list)
    for case in cases:
        by_category[case["category"]].append(case)
    folder.mkdir(parents=True, exist_ok=True)
    for category, members in sorted(by_category.items()):
        content = {"format": FORMAT, "category": category, "cases": members}
        (folder / f"{category}.json").write_text(
            json.dumps(content, allow_nan=False) + "\n"
        )


def audit(paths: list[Path]) -> bool:
    """Prints each difference and the count; whether there was none."""
    passed = failed = 0
    for file in files_of(paths):
        for case in programs([file]):
            lines = judge(case)
            passed, failed = passed + (not lines), failed + bool(lines)
            for line in lines:
                print(f"{file.name}: {case['name']}: {line}")
    print(f"{passed} passed, {failed} failed")
    return failed == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--count", type=int, default=300, help="how many cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "-o", "--output", type=Path, help="the folder to write to"
    )
    parser.add_argument(
        "--audit",
        type=Path,
        nargs="+",
        metavar="PATH",
        help="case files, or folders of them",
    )
    arguments = parser.parse_args()
    if arguments.audit:
        return 0 if audit(arguments.audit) else 1
    if not arguments.output:
        parser.error("expected -o DIR, or --audit")
    cases = generate(
        arguments.count, arguments.seed, list(programs(files_of([CASES])))
    )
    write(cases, arguments.output)
    print(f"{len(cases)} cases in {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
