"""Simulated and measured steps of one machine.

    build/venv/bin/python bench/schedule/accuracy.py
    [--binaries=build/release/bin] [--replicas=2,4,8] [MODEL ...]

All replicas are in one process. Each step is simulated by

- preset: the topology `host` that comes with Lockstep,
- calibrated: what `lockstep-benchmark --calibrate` writes for the other models,
  so that no kernel of a step is among those that its rates come from,
- profile: the same, with the times of kernels in a trace of two replicas.

The replica counts of a model alternate. A round is some time of single steps of
one of them; those in which other processes have taken more than a part of the
CPUs (`--others`) are repeated for some time (`--patience`). The measured time
is the median of all rounds; a ratio is the measured time divided by the
simulated one.

Where other processes never leave the CPUs alone, `--clock=cpu` measures a step
by the time that this process has the CPUs, divided by their number: with as
many replicas as CPUs, or more, all of them are busy until the end of a step.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from models import MODELS, ROOT, Runner, capture, compile_step

#: The replicas of the trace and of calibrations.
PROFILED = 2


def cpu_seconds():
    """(of all processes, of this one), on all CPUs."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(text) for text in file.readline().split()[1:9]]
    user, nice, system, _, _, *interrupts = fields
    busy = user + nice + system + sum(interrupts)
    own = os.times()
    return busy / os.sysconf("SC_CLK_TCK"), own.user + own.system


def measure_round(runner, options):
    """Returns the time of a step, and the part of the CPUs that other processes
    have taken meanwhile.
    """
    cpus = len(os.sched_getaffinity(0))
    all_before, own_before = cpu_seconds()
    begin = time.perf_counter()
    steps = []
    while len(steps) < 3 or time.perf_counter() - begin < options.seconds:
        steps.append(runner.run(1))
    elapsed = time.perf_counter() - begin
    all_after, own_after = cpu_seconds()
    own = own_after - own_before
    others = (all_after - all_before - own) / (elapsed * cpus)
    step = (
        own / cpus / len(steps)
        if options.clock == "cpu"
        else statistics.median(steps)
    )
    return step, others


def measure(runners, options):
    """Returns, for each replica count, the times of all rounds, and the largest
    part of the CPUs that others have taken in one of them.
    """
    rounds = {count: [] for count in runners}
    end = time.monotonic() + options.patience
    while True:
        waiting = False
        for count, runner in runners.items():
            kept = sorted(rounds[count], key=lambda found: found[1])
            kept = kept[: options.rounds]
            if len(kept) == options.rounds and kept[-1][1] <= options.others:
                continue
            waiting = True
            rounds[count].append(measure_round(runner, options))
        enough = all(
            len(found) >= options.rounds for found in rounds.values()
        )
        if not waiting or (enough and time.monotonic() > end):
            break
    best = {
        count: sorted(found, key=lambda each: each[1])[: options.rounds]
        for count, found in rounds.items()
    }
    return {count: [each for each, _ in found] for count, found in best.items()}, max(
        share for found in best.values() for _, share in found
    )


def simulate(binaries, artifact, *arguments):
    """Returns the seconds of a simulated step."""
    done = subprocess.run(
        [binaries / "lockstep-simulate", artifact, "--format=json", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)["seconds"]


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
            place.mkdir()
            capture(name, place, count)
            self.folders[count] = place
            self.artifacts[count] = compile_step(
                options.compiler or options.binaries,
                place,
                place / "step.lockstep",
                f"--replicas={count}",
            )

    def runner(self, count, **settings):
        return Runner(
            self.binaries,
            self.name,
            self.folders[count],
            self.artifacts[count],
            **settings,
        )

    def trace(self, seconds):
        """Writes a trace of some seconds; returns its path."""
        path = self.folders[PROFILED] / "trace.json"
        runner = self.runner(PROFILED, trace_file=str(path).encode())
        runner.run(3)
        runner.run(max(5, min(200, int(seconds / runner.run(3)))))
        runner.close()
        return path


def compare(model, others, options):
    """Prints a row for each replica count, and returns the relative errors by
    the kind of simulation.
    """
    binaries = options.binaries
    topology = calibrate(
        binaries,
        [other.artifacts[PROFILED] for other in others],
        model.folders[PROFILED] / "topology.json",
    )
    trace = model.trace(options.trace_seconds)
    runners = {count: model.runner(count) for count in options.replicas}
    for runner in runners.values():
        runner.run(3)
    measured, share = measure(runners, options)
    for runner in runners.values():
        runner.close()
    errors = {}
    for count, times in measured.items():
        middle = statistics.median(times)
        cells = []
        for kind, arguments in {
            "preset": ["--topology=host"],
            "calibrated": [f"--topology={topology}"],
            "profile": [f"--topology={topology}", f"--profile={trace}"],
        }.items():
            ratio = middle / simulate(
                binaries, model.artifacts[count], *arguments
            )
            errors.setdefault(kind, []).append(abs(ratio - 1))
            cells.append(f"{ratio:.2f}")
        print(
            f"| {model.name} | {count} | {middle * 1e3:.3g} "
            f"({min(times) * 1e3:.3g} to {max(times) * 1e3:.3g}) | "
            f"{' | '.join(cells)} | {share:.0%} |",
            flush=True,
        )
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", help=", ".join(MODELS))
    parser.add_argument(
        "--binaries", type=pathlib.Path, default=ROOT / "build/release/bin"
    )
    parser.add_argument(
        "--compiler", type=pathlib.Path, help="folder of another compiler"
    )
    parser.add_argument(
        "--replicas",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[2, 4, 8],
    )
    parser.add_argument(
        "--seconds", type=float, default=0.3, help="of one round"
    )
    parser.add_argument("--trace-seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--others",
        type=float,
        default=0.05,
        help="part of the CPUs that others may take in a round",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=60,
        help="seconds to wait for such rounds; then the quietest count",
    )
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    options = parser.parse_args()
    options.binaries = options.binaries.resolve()
    names = options.models or ["mlp", "tiny", "cnn", "transformer"]
    with tempfile.TemporaryDirectory() as temporary:
        # The one model of a run is calibrated with the others, too.
        models = [
            Model(name, pathlib.Path(temporary), options)
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
        print(
            f"{kind}: median error {statistics.median(found):.1%} "
            f"({min(found):.1%} to {max(found):.1%})"
        )


if __name__ == "__main__":
    main()
