"""Simulated step times against the least possible ones.

    build/venv/bin/python bench/schedule/bounds.py
    [--binaries=build/release/bin] [--replicas=8] [MODEL ...]

Each model is compiled for each topology with default options and simulated.
The bound is the larger of the time of all kernels of a replica and the time
that the link needs for all bytes: no order is faster.
"""

import pathlib
import tempfile

from models import MODELS, capture, simulate, simulation_options

TOPOLOGIES = ["ethernet-25g", "ethernet-100g", "dgx-h100", "torus-3d"]


def main():
    options = simulation_options(__doc__)
    binaries = options.binaries
    print("| model | topology | ms a step | kernels | link | exposed | ratio |")
    print("|---" * 7 + "|")
    for name in options.models or MODELS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            capture(name, folder, options.replicas)
            for topology in TOPOLOGIES:
                step = simulate(binaries, folder, topology, options.replicas)
                times = " | ".join(
                    f"{step[key] * 1e3:.3f}"
                    for key in (
                        "seconds",
                        "compute_seconds",
                        "communication_seconds",
                        "exposed_seconds",
                    )
                )
                ratio = step["seconds"] / step["least_seconds"]
                print(
                    f"| {name} | {topology} | {times} | {ratio:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
