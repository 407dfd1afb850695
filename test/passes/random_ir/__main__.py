"""Checks random tensor programs.

    export PYTHONPATH=test/passes
    python -m random_ir --tools=build/release/bin --count=2000 --seed=1 --jobs=2
    python -m random_ir --tools=build/release/bin --replay=1234

The exit status is 1 if a program fails.
"""

import argparse
import os
import pathlib
import sys
from collections import Counter

from .campaign import Settings, check_batch, describe_shrunk, run


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="random_ir", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "--tools",
        default=os.environ.get("LOCKSTEP_BIN"),
        help="folder of the built tools (default: LOCKSTEP_BIN)",
    )
    parser.add_argument(
        "--count", type=int, default=2000, help="number of programs"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the first program"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--kernels", action="store_true", help="check single kernels, not steps"
    )
    parser.add_argument(
        "--replay",
        metavar="SEED,...",
        help="check the program of these seeds, in all variants",
    )
    parser.add_argument(
        "--show", action="store_true", help="print the program of --replay"
    )
    parser.add_argument(
        "--all-variants",
        action="store_true",
        help="leave out every optional pass of every program, not one of them",
    )
    parser.add_argument(
        "--attempts",
        type=int,
        default=300,
        help="smaller programs that are tried of a failing one; 0: none",
    )
    parser.add_argument(
        "--each",
        type=int,
        default=1,
        help="failing programs of one cause that are made smaller",
    )
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        help="leave modules and inputs of programs that were made smaller there",
    )
    arguments = parser.parse_args()
    if not arguments.tools:
        parser.error("expected --tools, or LOCKSTEP_BIN in the environment")
    return arguments


def report(arguments, case, is_shrunk=True):
    """Prints the result of a program, and its reduced form."""
    print(f"{case.command}: {case.failure.cause}", flush=True)
    if not is_shrunk or not arguments.attempts:
        return
    folder = (
        pathlib.Path(arguments.keep) / "-".join(map(str, case.seeds))
        if arguments.keep
        else None
    )
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    print(describe_shrunk(case, arguments.attempts, folder), flush=True)


def replay(arguments):
    """Checks one program; the exit status."""
    settings = Settings(arguments.tools, arguments.kernels, all_variants=True)
    seeds = tuple(map(int, arguments.replay.split(",")))
    if arguments.show:
        checker = settings.checker(os.devnull)
        for program in checker.programs(seeds):
            print(checker.render(program))
    cases = check_batch(settings, seeds)
    for case in cases:
        report(arguments, case)
    return 1 if cases else 0


def main():
    arguments = parse_arguments()
    if arguments.replay:
        return replay(arguments)
    settings = Settings(
        arguments.tools, arguments.kernels, arguments.all_variants
    )
    causes, failing, checked = Counter(), 0, 0
    for seeds, cases in run(
        settings, arguments.seed, arguments.count, arguments.jobs
    ):
        checked += len(seeds)
        failing += len(cases)
        for case in cases:
            causes[case.failure.cause] += 1
            report(
                arguments,
                case,
                is_shrunk=causes[case.failure.cause] <= arguments.each,
            )
        if sys.stderr.isatty():
            print(
                f"\r{checked} programs, {failing} fail",
                end="",
                file=sys.stderr,
                flush=True,
            )
    print(f"{checked} programs: {failing} fail")
    for cause, count in causes.most_common():
        print(f"{count:6} {cause}")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
