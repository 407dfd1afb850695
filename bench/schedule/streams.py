"""Schedules for a link that carries several collectives at once, measured.

    build/venv/bin/python bench/schedule/streams.py
    [--binaries=build/release/bin] [--latency=SECONDS]
    [--bandwidth=BYTES_PER_SECOND] [MODEL ...]

Two executors of one process exchange messages through the transport `slow`,
whose link carries 1, 2 or 64 at once. Each step is compiled for a link of one
stream, for one with as many as there are, and without buckets. The three
alternate; a round's ratio is the time of the first divided by that of the
second (above 1: the streams are used). The median is printed with the smallest
and the largest, and for each step, the measured time divided by the simulated
one.
"""

import json
import pathlib
import statistics
import tempfile

from link import measure_kernels, topology

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

STREAMS = [1, 2, 64]
KEPT = "--shard-update=off"
#: The columns that are compared.
ONE, SEVERAL = "planned for one", "planned for these"


def measure(name, options):
    binaries = options.binaries
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        capture(name, folder, 2)
        path = folder / "topology.json"

        def write(compute, bandwidth, streams=1):
            keys = topology(compute, bandwidth, latency=options.latency)
            path.write_text(json.dumps(keys | {"streams": streams}))
            return path

        def compile(*schedule):
            return compile_step(
                binaries,
                folder,
                folder / "step.lockstep",
                "--replicas=2",
                "--target=x86-64-v3",
                f"--topology={path}",
                KEPT,
                *schedule,
            )

        def run(artifact, streams=1, latency=1e-7, bandwidth=1e13):
            transport = f"slow:{latency},{bandwidth:.0f},1,{streams}"
            return runner_of(
                binaries,
                name,
                folder,
                artifact,
                workers=2,
                executors=2,
                transport=transport.encode(),
            )

        _, rates, _, _ = measure_kernels(binaries, write, compile, run, options)
        for streams in STREAMS:
            schedules = {
                ONE: (1,),
                SEVERAL: (streams,),
                "no buckets": (streams, "--bucket=none"),
            }
            runners, steps, simulated = {}, {}, {}
            for plan, (planned, *schedule) in schedules.items():
                write(rates, options.bandwidth, planned)
                artifact = compile(*schedule)
                simulated[plan] = simulate_artifact(
                    binaries, artifact, f"--streams={streams}"
                )
                runner = run(
                    artifact, streams, options.latency, options.bandwidth
                )
                runner.run(3)
                steps[plan] = max(3, int(options.seconds / runner.run(3)))
                runners[plan] = runner
            rounds = alternate(runners, steps, options.rounds)
            cells = []
            for plan, step in simulated.items():
                time = statistics.median(each[plan] for each in rounds)
                cells.append(
                    f"{time * 1e3:.2f} ({step['collectives']}; "
                    f"{time / step['seconds']:.2f})"
                )
            ratios = [each[ONE] / each[SEVERAL] for each in rounds]
            print(
                f"| {name} | {streams} | {' | '.join(cells)} | "
                f"{spread_text(ratios)} |",
                flush=True,
            )


def main():
    parser = parser_of(__doc__)
    add_rounds(parser, 9)
    parser.add_argument("--latency", type=float, default=1e-3)
    parser.add_argument("--bandwidth", type=float, default=1e9)
    options = parse(parser)
    print(f"| model | streams | {ONE} | {SEVERAL} | no buckets | ratio |")
    print("|---" * 6 + "|")
    for name in options.models or ["narrow", "tiny", "mlp"]:
        measure(name, options)


if __name__ == "__main__":
    main()
