"""Simulated step times with the fixed thresholds of other systems.

    build/venv/bin/python bench/schedule/thresholds.py
    [--binaries=build/release/bin] [--replicas=8] [MODEL ...]

Each model is compiled for each topology with default options; with whole
variables, which are not divided among the replicas, and optimal buckets; and
with whole variables and buckets that are filled in the order in which gradients
are ready: up to the threshold of XLA (30 MiB), of PyTorch's DDP (25 MiB; its
first bucket of 1 MiB is not modelled) or of Horovod (128 MiB), with one bucket,
and with none. A ratio is the simulated step time divided by that with default
options.
"""

import pathlib
import tempfile

from models import MODELS, capture, simulate, simulation_options

TOPOLOGIES = ["ethernet-25g", "ethernet-100g", "dgx-h100", "torus-3d"]
MIB = 2**20
BUCKETS = {
    "optimal": "optimal",
    "XLA": f"bytes:{30 * MIB}",
    "DDP": f"bytes:{25 * MIB}",
    "Horovod": f"bytes:{128 * MIB}",
    "4 MiB": f"bytes:{4 * MIB}",
    "1 MiB": f"bytes:{MIB}",
    "none": "none",
}


def main():
    options = simulation_options(__doc__)
    binaries = options.binaries
    print(
        "| model | topology | buckets | ms a step | hidden | "
        + " | ".join(BUCKETS)
        + " |"
    )
    print("|---" * (5 + len(BUCKETS)) + "|")
    for name in options.models or MODELS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            capture(name, folder, options.replicas)
            for topology in TOPOLOGIES:
                best = simulate(binaries, folder, topology, options.replicas)
                ratios = [
                    simulate(
                        binaries,
                        folder,
                        topology,
                        options.replicas,
                        "--shard-update=off",
                        f"--bucket={bucket}",
                    )["seconds"]
                    / best["seconds"]
                    for bucket in BUCKETS.values()
                ]
                hidden = best["hidden_seconds"] / best["communication_seconds"]
                cells = " | ".join(f"{ratio:.3f}" for ratio in ratios)
                print(
                    f"| {name} | {topology} | {best['collectives']} | "
                    f"{best['seconds'] * 1e3:.3f} | {hidden:.0%} | {cells} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
