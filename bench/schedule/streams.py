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
            runners, steps, expected, collectives = [], [], [], []
            for planned, *schedule in (
                (1,),
                (streams,),
                (streams, "--bucket=none"),
            ):
                write(rates, options.bandwidth, planned)
                artifact = compile(*schedule)
                result = simulate_artifact(
                    binaries, artifact, f"--streams={streams}"
                )
                expected.append(result["seconds"])
                collectives.append(result["collectives"])
                runners.append(
                    run(artifact, streams, options.latency, options.bandwidth)
                )
                steps.append(max(3, int(options.seconds / runners[-1].run(3))))
            rounds = [
                [
                    runner.run(count)
                    for runner, count in zip(runners, steps, strict=True)
                ]
                for _ in range(options.rounds)
            ]
            for runner in runners:
                runner.close()
            times = [
                statistics.median(column)
                for column in zip(*rounds, strict=True)
            ]
            cells = [
                f"{time * 1e3:.2f} ({count}; {time / simulated:.2f})"
                for time, count, simulated in zip(
                    times, collectives, expected, strict=True
                )
            ]
            ratios = [each[0] / each[1] for each in rounds]
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
    print(
        "| model | streams | planned for one | planned for these | no buckets "
        "| ratio |"
    )
    print("|---" * 6 + "|")
    for name in options.models or ["narrow", "tiny", "mlp"]:
        measure(name, options)


if __name__ == "__main__":
    main()
