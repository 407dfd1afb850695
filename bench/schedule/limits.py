"""What several streams, and gradients in pieces, gain: simulated.

    build/venv/bin/python bench/schedule/limits.py
    [--binaries=build/release/bin] [--replicas=8] [MODEL ...]

A ratio is a simulated step time divided by that on a link which carries one
collective at a time, each gradient at once. With several streams, on which
latencies overlap, the model is compiled for the topology with the key
`streams`. The pieces of a gradient are those that the compiler chooses; for the
perceptron also fixed numbers of pieces of the first layer, whose gradient is
ready last.
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
                usual = simulate(
                    binaries, folder, topology, replicas, "--split=none"
                )
                cells = []
                for count in STREAMS:
                    file = with_streams(topology, count, folder)
                    step = simulate(
                        binaries, folder, file, replicas, "--split=none"
                    )
                    ratio = step["seconds"] / usual["seconds"]
                    cells.append(f"{ratio:.3f}")
                print(
                    f"| {name} | {topology} | {usual['seconds'] * 1e3:.3f} | "
                    f"{' | '.join(cells)} |",
                    flush=True,
                )


def print_pieces(names, binaries, replicas):
    print("\n| model | topology | ms a step | chosen |", end="")
    print("".join(f" {count} pieces |" for count in PIECES))
    print("|---" * (4 + len(PIECES)) + "|")
    for name in names:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            capture(name, folder, replicas)
            for topology in TOPOLOGIES:
                modes = [["--split=none"], ["--split=auto"]]
                if name == "mlp":
                    modes += [
                        ["--shard-update=on", f"--split=params/w0:{count}"]
                        for count in PIECES
                    ]
                whole, *others = (
                    simulate(binaries, folder, topology, replicas, *mode)[
                        "seconds"
                    ]
                    for mode in modes
                )
                cells = [f"{seconds / whole:.3f}" for seconds in others]
                cells += [""] * (1 + len(PIECES) - len(cells))
                print(
                    f"| {name} | {topology} | {whole * 1e3:.3f} | "
                    f"{' | '.join(cells)} |",
                    flush=True,
                )


def main():
    options = simulation_options(__doc__)
    names = options.models or [
        name for name in MODELS if name not in ("narrow", "resnet")
    ]
    print_streams(names, options.binaries, options.replicas)
    print_pieces(names, options.binaries, options.replicas)


if __name__ == "__main__":
    main()
