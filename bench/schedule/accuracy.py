"""Simulated and measured steps of one machine.

    build/venv/bin/python bench/schedule/accuracy.py
    [--binaries=build/release/bin] [--replicas=2,4,8] [MODEL ...]

All replicas are in one process. Each step is simulated by

- preset: the topology `host` that comes with Lockstep,
- calibrated: what `lockstep-benchmark --calibrate` writes for the other models,
  so that no kernel of a step is among those that its rates come from,
- profile: the same, with the times of kernels in a trace of two replicas.

A round takes a trace, then some time of single steps with each replica count.
Rounds and calibrations in which other processes take more than a part of the
CPUs (`--others`) are repeated for some time (`--patience`); then the quietest
ones count, and the table says how quiet they were. The measured time of a round
is the median of its steps; a ratio is that time divided by the simulated one,
with the profile of the same round, since the speed of a virtual machine changes
within minutes. The table has the medians of all rounds.
"""

import itertools
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from models import (
    add_rounds,
    capture,
    compile_step,
    parse,
    parser_of,
    runner_of,
    simulate_artifact,
    spread_text,
)

#: The replicas of the trace and of calibrations.
PROFILED = 2


def cpu_seconds():
    """(of all processes, of this one and those that it has waited for), on all
    CPUs.
    """
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(text) for text in file.readline().split()[1:9]]
    user, nice, system, _, _, *interrupts = fields
    busy = user + nice + system + sum(interrupts)
    return busy / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])


def share_of_others(action):
    """Returns what `action` does, and the part of the CPUs that other processes
    have taken meanwhile.
    """
    all_before, own_before = cpu_seconds()
    begin = time.perf_counter()
    result = action()
    elapsed = time.perf_counter() - begin
    all_after, own_after = cpu_seconds()
    others = (all_after - all_before) - (own_after - own_before)
    return result, others / (elapsed * len(os.sched_getaffinity(0)))


def wait_until_quiet(options, end):
    while time.monotonic() < end:
        _, share = share_of_others(lambda: time.sleep(0.2))
        if share <= options.others:
            return


def quietest(action, count, options):
    """Returns the `count` quietest results of `action`, and the share of others
    in the last of them.
    """
    found = []
    end = time.monotonic() + options.patience
    while True:
        wait_until_quiet(options, end)
        found.append(share_of_others(action))
        found.sort(key=lambda each: each[1])
        if len(found) >= count and (
            found[count - 1][1] <= options.others or time.monotonic() > end
        ):
            results = [result for result, _ in found[:count]]
            return results, found[count - 1][1]


def median_step(runner, seconds):
    """The median of single steps that take `seconds` together."""
    steps = []
    begin = time.perf_counter()
    while len(steps) < 3 or time.perf_counter() - begin < seconds:
        steps.append(runner.run(1))
    return statistics.median(steps)


def calibrate(binaries, artifacts, output):
    subprocess.run(
        [
            binaries / "lockstep-benchmark",
            "--calibrate",
            *artifacts,
            "-o",
            output,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return output


class Model:
    """A model compiled for several replica counts."""

    def __init__(self, name, folder, options):
        self.name, self.binaries = name, options.binaries
        self.folders, self.artifacts = {}, {}
        for count in sorted({PROFILED, *options.replicas}):
            place = folder / f"{name}-{count}"
            self.folders[count] = place
            self.artifacts[count] = place / "step.lockstep"
            if self.artifacts[count].exists():
                continue
            place.mkdir(parents=True)
            capture(name, place, count)
            compile_step(
                options.compiler or options.binaries,
                place,
                self.artifacts[count],
                f"--replicas={count}",
            )

    def runner(self, count, **settings):
        return runner_of(
            self.binaries,
            self.name,
            self.folders[count],
            self.artifacts[count],
            **settings,
        )

    def trace(self, path, options):
        """Writes a trace of `--trace-seconds`; returns its path."""
        runner = self.runner(PROFILED, trace_file=str(path).encode())
        seconds = runner.run(3)
        runner.run(max(15, min(200, int(options.trace_seconds / seconds))))
        runner.close()
        return path


def compare(model, others, options):
    """Prints a row for each replica count, and returns the relative errors by
    the kind of simulation.
    """
    binaries = options.binaries
    place, numbers = model.folders[PROFILED], itertools.count()
    artifacts = [other.artifacts[PROFILED] for other in others]
    (topology,), quiet = quietest(
        lambda: calibrate(
            binaries, artifacts, place / f"topology-{next(numbers)}.json"
        ),
        1,
        options,
    )
    runners = {count: model.runner(count) for count in options.replicas}
    for runner in runners.values():
        runner.run(3)

    def one_round():
        trace = model.trace(place / f"trace-{next(numbers)}.json", options)
        return trace, {
            count: median_step(runner, options.seconds)
            for count, runner in runners.items()
        }

    rounds, share = quietest(one_round, options.rounds, options)
    for runner in runners.values():
        runner.close()

    def simulated(count, *arguments):
        return simulate_artifact(binaries, model.artifacts[count], *arguments)[
            "seconds"
        ]

    errors = {}
    for count in options.replicas:
        times = [measured[count] for _, measured in rounds]
        preset = simulated(count, "--topology=host")
        calibrated = simulated(count, f"--topology={topology}")
        ratios = {
            "preset": [measured / preset for measured in times],
            "calibrated": [measured / calibrated for measured in times],
            "profile": [
                measured[count]
                / simulated(
                    count, f"--topology={topology}", f"--profile={trace}"
                )
                for trace, measured in rounds
            ],
        }
        for kind, found in ratios.items():
            errors.setdefault(kind, []).append(
                abs(statistics.median(found) - 1)
            )
        print(
            f"| {model.name} | {count} | "
            f"{spread_text([seconds * 1e3 for seconds in times], '.3g')} | "
            + " | ".join(spread_text(found, ".2f") for found in ratios.values())
            + f" | {max(share, quiet):.0%} |",
            flush=True,
        )
    return errors


def main():
    parser = parser_of(__doc__)
    parser.add_argument(
        "--compiler", type=pathlib.Path, help="folder of another compiler"
    )
    parser.add_argument(
        "--replicas",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[2, 4, 8],
    )
    add_rounds(parser, 9)
    parser.add_argument("--trace-seconds", type=float, default=0.5)
    parser.add_argument(
        "--others",
        type=float,
        default=0.05,
        help="part of the CPUs that other processes may take",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=60,
        help="seconds for which each measurement is repeated",
    )
    parser.add_argument(
        "--folder",
        type=pathlib.Path,
        help="where compiled models are kept between runs",
    )
    options = parse(parser)
    names = options.models or ["mlp", "tiny", "cnn", "transformer"]
    with tempfile.TemporaryDirectory() as temporary:
        # The one model of a run is calibrated with the others, too.
        models = [
            Model(name, options.folder or pathlib.Path(temporary), options)
            for name in dict.fromkeys([*names, "mlp", "cnn"])
        ]
        print(
            "| model | replicas | ms a step | preset | calibrated | profile | "
            "others |"
        )
        print("|---" * 7 + "|")
        errors = {}
        for model in models[: len(names)]:
            others = [other for other in models if other is not model]
            for kind, found in compare(model, others, options).items():
                errors.setdefault(kind, []).extend(found)
    print()
    for kind, found in errors.items():
        print(f"{kind}: median error {spread_text(found, '.1%')}")


if __name__ == "__main__":
    main()
