"""Buckets on one machine: step times of models compiled with different buckets.

    build/venv/bin/python bench/schedule/host.py
    [--binaries=build/release/bin] [--replicas=2 --replicas=8] [MODEL ...]

All replicas are in one process. Steps compiled with different buckets
alternate; a round's ratio is the time with these buckets divided by that of the
default. The median is printed with the smallest and the largest.
"""

import pathlib
import statistics
import subprocess
import tempfile

from models import (
    add_rounds,
    alternate,
    capture,
    compile_step,
    parse,
    parser_of,
    runner_of,
    spread_text,
)

DEFAULT = "optimal"
BUCKETS = [
    DEFAULT,
    "none",
    "bytes:1000000000000",
    "bytes:1048576",
    "bytes:4194304",
    "bytes:26214400",
]


def measure(name, replicas, options):
    binaries = options.binaries
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        capture(name, folder, replicas)
        runners = {}
        seen = {}
        for bucket in BUCKETS:
            artifact = compile_step(
                binaries,
                folder,
                folder / f"{bucket.replace(':', '-')}.lockstep",
                f"--replicas={replicas}",
                f"--bucket={bucket}",
            )
            # Equal schedules are measured once.
            content = schedule(binaries, artifact)
            if content in seen:
                runners[bucket] = runners[seen[content]]
                continue
            seen[content] = bucket
            runners[bucket] = runner_of(binaries, name, folder, artifact)
            runners[bucket].run(3)
        steps = max(3, int(options.seconds / runners[DEFAULT].run(3)))
        rounds = alternate(
            runners, dict.fromkeys(runners, steps), options.rounds
        )
    default = statistics.median(each[DEFAULT] for each in rounds)
    cells = []
    for bucket in BUCKETS[1:]:
        ratios = [each[bucket] / each[DEFAULT] for each in rounds]
        cells.append(
            spread_text(ratios)
            if runners[bucket] is not runners[DEFAULT]
            else "the same"
        )
    print(
        f"| {name} | {replicas} | {default * 1e3:.2f} | {' | '.join(cells)} |",
        flush=True,
    )


def schedule(binaries, artifact):
    """What an artifact executes, without the remarks."""
    done = subprocess.run(
        [
            str(binaries / "lockstep-inspect"),
            str(artifact),
            "--show=schedule,memory",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--replicas", type=int, action="append")
    add_rounds(parser, 11)
    options = parse(parser)
    print(
        "| model | replicas | default, ms a step | "
        + " | ".join(["none", "one", "1 MiB", "4 MiB", "25 MiB"])
        + " |"
    )
    print("|---" * 8 + "|")
    for name in options.models or ["mlp", "tiny", "cnn", "transformer"]:
        for replicas in options.replicas or [2, 8]:
            measure(name, replicas, options)


if __name__ == "__main__":
    main()
