"""What several streams, and collectives in pieces, could gain: simulated.

    build/venv/bin/python bench/schedule/limits.py
    [--binaries=build/release/bin] [--replicas=8] [MODEL ...]

A ratio is a simulated step time divided by that with default options, in which
each collective has the link alone. With several streams, on which latencies
overlap, the model is compiled for the topology with the key `streams`. For
collectives in pieces, the rows of the perceptron's first layer, whose gradient
is ready last and whose parameters are needed first, are variables of their own:
a piece of the gradient is exchanged while the next one is computed, and its
parameters are multiplied while the next ones arrive.
"""

import json
import pathlib
import tempfile

from models import MODELS, capture, simulate, simulation_options
from training import ROOT

TOPOLOGIES = ["ethernet-25g", "ethernet-100g", "dgx-h100", "torus-3d"]
STREAMS = [2, 4, 64]
PIECES = [2, 4, 8]


def with_streams(topology, count, folder):
    """Writes a preset with so many streams; returns the file."""
    preset = ROOT / f"runtime/model/topologies/{topology}.json"
    keys = json.loads(preset.read_text()) | {"streams": count}
    file = folder / "topology.json"
    file.write_text(json.dumps(keys))
    return file


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
                cells = []
                for count in STREAMS:
                    file = with_streams(topology, count, folder)
                    step = simulate(binaries, folder, file, replicas)
                    ratio = step["seconds"] / usual["seconds"]
                    cells.append(f"{ratio:.3f}")
                print(
                    f"| {name} | {topology} | {usual['seconds'] * 1e3:.3f} | "
                    f"{' | '.join(cells)} |",
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
    names = options.models or [
        name for name in MODELS if name not in ("narrow", "resnet")
    ]
    print_streams(names, options.binaries, options.replicas)
    print_pieces(options.binaries, options.replicas)


if __name__ == "__main__":
    main()
