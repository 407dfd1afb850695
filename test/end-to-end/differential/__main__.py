"""The command: checks random programs and shrinks those that fail.

    python test/end-to-end/differential --count=1000 --seed=1 --jobs=2
    python test/end-to-end/differential --replay=17
    python test/end-to-end/differential --show=17
    python test/end-to-end/differential --model=model.py

`LOCKSTEP_BIN` names the folder of the built tools, as in the other tests. The
exit status is 1 if a program failed.
"""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [
    str(HERE.parent),
    str(ROOT / "python-bindings"),
    str(ROOT / "test" / "oracle"),
    str(ROOT / "test" / "support"),
]

import oracle  # noqa: E402

oracle.set_devices(3)  # before JAX is imported

import targets  # noqa: E402


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="differential",
        description="Compares random JAX functions with what Lockstep makes of them.",
    )
    parser.add_argument(
        "--count",
        type=int,
        default=300,
        metavar="N",
        help="number of programs (default: 300)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="S",
        help="the first program's seed; the others follow (default: 1)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="J",
        help="processes that work side by side (default: 1)",
    )
    parser.add_argument(
        "--replay",
        type=int,
        metavar="SEED",
        help="check one program, with every variant",
    )
    parser.add_argument(
        "--show", type=int, metavar="SEED", help="print one program and end"
    )
    parser.add_argument(
        "--model",
        type=pathlib.Path,
        metavar="FILE",
        help="check a file that a failure was printed as",
    )
    parser.add_argument(
        "--target",
        metavar="T",
        help="instruction set to compile for (default: the best one of this machine)",
    )
    parser.add_argument(
        "--thorough",
        action="store_true",
        help="execute every program with 1 and 3 replicas and every option, not in turn",
    )
    parser.add_argument(
        "--no-shrink", action="store_true", help=argparse.SUPPRESS
    )
    parser.add_argument(
        "-o",
        dest="folder",
        type=pathlib.Path,
        metavar="DIR",
        help="also write programs that fail to this folder",
    )
    parser.add_argument(
        "--worker", type=int, nargs="+", metavar="SEED", help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.show is None and not os.environ.get("LOCKSTEP_BIN"):
        parser.error(
            "expected LOCKSTEP_BIN to name the folder of the built tools"
        )
    return options


def main() -> int:
    from differential import campaign
    from differential.generate import generate
    from differential.rendering import render

    options = arguments()
    if options.show is not None:
        print(render(generate(options.show)), end="")
        return 0
    settings = campaign.Settings(
        tools=pathlib.Path(os.environ["LOCKSTEP_BIN"]),
        target=options.target or targets.BEST,
        thorough=options.thorough or options.replay is not None,
    )
    if options.model:
        return campaign.check_file(options.model, settings)
    if options.worker:
        return campaign.work(options.worker, settings, not options.no_shrink)
    seeds = (
        range(options.seed, options.seed + options.count)
        if options.replay is None
        else [options.replay]
    )
    return campaign.run(seeds, options.jobs, settings, options.folder)


if __name__ == "__main__":
    sys.exit(main())
