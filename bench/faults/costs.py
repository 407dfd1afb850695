"""Measures the cost of run-time checks, in processor time, since the machine
may be busy.

    python bench/faults/costs.py DIGITS/digits.lockstep --bin=build/release/bin
    --init=... --data=... > table.md

Runs with and without an option alternate; a ratio is that of two consecutive
runs.
"""

import pathlib
import sys

import command_line

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from measuring import cost, spread_text  # noqa: E402

#: Configurations without spinning threads: one thread, and more threads than
#: CPUs.
PLACES = {
    "one executor, `--threads=1`": ["--threads=1"],
    "four executors, `--executors=4`": ["--executors=4"],
}
CHECKS = [
    "--check-finite",
    "--shadow-variables",
    "--check-mirrored=10",
    "--check-mirrored=1",
]


def seconds(options, arguments):
    """Processor time of a run, user and system."""
    used, _ = cost(
        [
            options.bin / "lockstep-run",
            options.artifact,
            f"--init={options.init}",
            f"--data={options.data}",
            f"--steps={options.steps}",
            *arguments,
        ]
    )
    return used


def measure(options, place, checks):
    """Check -> the ratios of its runs to those without it."""
    ratios = {check: [] for check in checks}
    for _ in range(options.runs):
        plain = seconds(options, place)
        for check in checks:
            ratios[check].append(seconds(options, [*place, check]) / plain)
    return ratios


def cell(ratios):
    return spread_text(ratios) if ratios else ""


def main():
    parser = command_line.parser_of(__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    table = {
        # One executor has no other copies to compare.
        name: measure(
            options,
            place,
            [
                check
                for check in CHECKS
                if "--executors=4" in place or "mirrored" not in check
            ],
        )
        for name, place in PLACES.items()
    }
    print(f"| option | {' | '.join(table)} |\n|---|{'---|' * len(table)}")
    for check in CHECKS:
        print(
            f"| `{check}` | {' | '.join(cell(ratios.get(check, [])) for ratios in table.values())} |"
        )


if __name__ == "__main__":
    main()
