"""What several streams, and collectives in pieces, could gain: simulated.

    build/venv/bin/python bench/schedule/limits.py
    [--binaries=build/release/bin] [--replicas=8] [MODEL ...]

A ratio is a simulated step time divided by that with default options, of which
each collective has the link alone. With several streams, latencies overlap: each
model is compiled with several buckets, divided variables and whole ones, and the
shortest step counts. For collectives in pieces, the rows of the perceptron's
first layer, whose gradient is ready last and whose parameters are needed first,
are variables of their own: a piece of the gradient is exchanged while the next
one is computed, and its parameters are multiplied while the next ones arrive.
"""

import itertools
import pathlib
import tempfile

from models import (
    MODELS,
    capture,
    compile_for,
    simulate,
    simulate_artifact,
    simulation_options,
)

TOPOLOGIES = ["ethernet-25g", "ethernet-100g", "dgx-h100", "torus-3d"]
STREAMS = [2, 4, 64]
SCHEDULES = [
    (f"--bucket={bucket}", f"--shard-update={divided}")
    for bucket, divided in itertools.product(
        ["optimal", "none", "bytes:65536", "bytes:1048576"], ["auto", "off"]
    )
]
PIECES = [2, 4, 8]


def print_streams(names, binaries, replicas):
    print("| model | topology | ms a step |", end="")
    print("".join(f" {count} streams |" for count in STREAMS))
    print("|---" * (3 + len(STREAMS)) + "|")
    for name in names:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            capture(name, folder, replicas)
            for topology in TOPOLOGIES:
                usual = simulate(binaries, folder, topology, replicas)
                shortest = dict.fromkeys(STREAMS, usual["seconds"])
                for schedule in SCHEDULES:
                    artifact = compile_for(
                        binaries, folder, topology, replicas, *schedule
                    )
                    for count in STREAMS:
                        step = simulate_artifact(
                            binaries, artifact, f"--streams={count}"
                        )
                        shortest[count] = min(shortest[count], step["seconds"])
                cells = " | ".join(
                    f"{seconds / usual['seconds']:.3f}"
                    for seconds in shortest.values()
                )
                print(
                    f"| {name} | {topology} | {usual['seconds'] * 1e3:.3f} | "
                    f"{cells} |",
                    flush=True,
                )


def print_pieces(binaries, replicas):
    print("\n| topology | ms a step |", end="")
    print("".join(f" {count} pieces |" for count in PIECES))
    print("|---" * (2 + len(PIECES)) + "|")
    path, variables = MODELS["mlp"]
    times = {topology: [] for topology in TOPOLOGIES}
    for count in [1, *PIECES]:
        MODELS["mlp in pieces"] = (path, variables | {"PIECES": str(count)})
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            capture("mlp in pieces", folder, replicas)
            for topology, own in times.items():
                step = simulate(binaries, folder, topology, replicas)
                own.append(step["seconds"])
    for topology, (whole, *others) in times.items():
        cells = " | ".join(f"{seconds / whole:.3f}" for seconds in others)
        print(f"| {topology} | {whole * 1e3:.3f} | {cells} |")


def main():
    options = simulation_options(__doc__)
    names = options.models or [name for name in MODELS if name != "resnet"]
    print_streams(names, options.binaries, options.replicas)
    print_pieces(options.binaries, options.replicas)


if __name__ == "__main__":
    main()
