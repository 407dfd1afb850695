"""Schedules on a slow link, measured and simulated.

    build/venv/bin/python bench/schedule/link.py
    [--binaries=build/release/bin] [--per-host=1] [MODEL ...]

Two executors of one process, or those of two hosts with `--per-host` executors
each, exchange messages between hosts through the transport `slow`,
whose link has a latency of 50 us and a bandwidth at which one bucket of all
gradients takes as long as the kernels of a step. Steps with different schedules
alternate; a round's ratio is the time with one bucket divided by that with
others (above 1: faster than one bucket). In all but `default` and `not split`,
variables are whole; in `not split`, each gradient is exchanged at once; in `not
moved`, buckets are optimal, but kernels are not moved for the link. The median
is printed with the smallest and the largest, and the measured time divided by
the simulated one.

The rates of kernels in the topology are scaled so that the simulated time of
kernels is that of a measured step without the link.
"""

import json
import pathlib
import statistics
import tempfile

from models import (
    add_rounds,
    alternate,
    capture,
    compile_step,
    parse,
    parser_of,
    runner_of,
    simulate_artifact,
    spread_text,
)

LATENCY = 50e-6
ONE_BUCKET = "bytes:1000000000000"
ONE = "one"
#: Options of the compiler by name. By default the variables are divided among
#: the replicas, and split into pieces, if that pays.
SCHEDULES = {
    "default": [],
    "not split": ["--split=none"],
    "optimal": ["--shard-update=off"],
    "not moved": ["--shard-update=off", "--order-kernels=false"],
    "none": ["--shard-update=off", "--bucket=none"],
    ONE: ["--shard-update=off", f"--bucket={ONE_BUCKET}"],
    "1 MiB": ["--shard-update=off", "--bucket=bytes:1048576"],
    "4 MiB": ["--shard-update=off", "--bucket=bytes:4194304"],
}


def topology(compute, bandwidth, per_host=1, latency=LATENCY):
    levels = [
        {
            "name": "link",
            "latency_seconds": latency,
            "bytes_per_second": bandwidth,
        }
    ]
    if per_host > 1:
        # Messages on a host are read in memory.
        levels.insert(
            0,
            {
                "name": "host",
                "size": per_host,
                "latency_seconds": 1e-6,
                "bytes_per_second": 1e10,
            },
        )
    return {
        "name": "slow-link",
        "compute": compute,
        "reduces_on_compute": False,
        "algorithm": "direct",
        "levels": levels,
    }


def measure_kernels(binaries, write, compile, run, options):
    """Measures steps on a link that takes no time. `write` makes a topology of
    rates and a bandwidth, `compile` an artifact for it, and `run` a runner of
    the artifact. Returns the seconds of kernels, rates by which the simulation
    has the same, the number of steps of a round, and the simulation.
    """
    rates = {
        "flops_per_second": 1e10,
        "bytes_per_second": 1e9,
        "launch_seconds": 1e-7,
    }
    path = write(rates, 1e9)
    artifact = compile()
    alone = run(artifact)
    alone.run(3)
    steps = max(3, int(options.seconds / alone.run(3)))
    kernels = statistics.median(alone.run(steps) for _ in range(5))
    alone.close()
    simulated = simulate_artifact(binaries, artifact, f"--topology={path}")
    factor = simulated["compute_seconds"] / kernels
    rates = {
        key: value / factor if key == "launch_seconds" else value * factor
        for key, value in rates.items()
    }
    return kernels, rates, steps, simulated


def measure(name, options):
    binaries = options.binaries
    per_host = options.per_host
    executors = 2 * per_host
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        capture(name, folder, executors)
        path = folder / "topology.json"

        def write(compute, bandwidth):
            path.write_text(json.dumps(topology(compute, bandwidth, per_host)))
            return path

        def compile(schedule):
            return compile_step(
                binaries,
                folder,
                folder / f"{schedule}.lockstep",
                f"--replicas={executors}",
                "--target=x86-64-v4" if options.v4 else "--target=x86-64-v3",
                f"--topology={path}",
                *SCHEDULES[schedule],
            )

        def run(artifact, bandwidth=1e13, latency=1e-7):
            return runner_of(
                binaries,
                name,
                folder,
                artifact,
                workers=executors,
                executors=executors,
                transport=f"slow:{latency},{bandwidth:.0f},{per_host}".encode(),
            )

        kernels, rates, steps, simulated = measure_kernels(
            binaries, write, lambda: compile(ONE), run, options
        )
        # Both phases of an all_reduce between the hosts send half of the bytes
        # of an executor, in one message.
        wire = simulated["exchanged_bytes"] / per_host
        bandwidth = wire / max(kernels - 2 * LATENCY, kernels / 2)
        write(rates, bandwidth)

        expected, runners, collectives = {}, {}, {}
        for schedule in SCHEDULES:
            artifact = compile(schedule)
            result = simulate_artifact(binaries, artifact, f"--topology={path}")
            expected[schedule] = result["seconds"]
            collectives[schedule] = result["collectives"]
            runners[schedule] = run(artifact, bandwidth, LATENCY)
            runners[schedule].run(3)
        rounds = alternate(
            runners, dict.fromkeys(runners, steps), options.rounds
        )
    print(
        f"\n{name}: kernels {kernels * 1e3:.2f} ms, {wire / 2**20:.2f} MiB over "
        f"{bandwidth / 1e6:.0f} MB/s\n"
    )
    print(
        "| schedule | collectives | ms a step | one bucket / this | measured / simulated |"
    )
    print("|---|---|---|---|---|")
    for schedule in SCHEDULES:
        times = [each[schedule] for each in rounds]
        ratios = [each[ONE] / each[schedule] for each in rounds]
        print(
            f"| {schedule} | {collectives[schedule]} | "
            f"{statistics.median(times) * 1e3:.2f} | "
            f"{spread_text(ratios)} | "
            f"{statistics.median(times) / expected[schedule]:.2f} |",
            flush=True,
        )


def main():
    parser = parser_of(__doc__)
    add_rounds(parser, 11)
    parser.add_argument(
        "--v4", action="store_true", help="kernels for x86-64-v4"
    )
    parser.add_argument(
        "--per-host", type=int, default=1, help="executors of each host"
    )
    options = parse(parser)
    for name in options.models or ["mlp", "transformer", "towers"]:
        measure(name, options)


if __name__ == "__main__":
    main()
