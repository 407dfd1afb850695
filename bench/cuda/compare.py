"""Compares the time of a step of large models with JAX's on the same GPU.

    python3 bench/cuda/compare.py FOLDER [NAME ...]

FOLDER is what bench/cuda/prepare.py has packed; this needs JAX, NumPy and
safetensors on the machine with the GPU. Both execute the same function of the
model's file, with products in the same precision, and get their batch from the
host's memory in each step. Lockstep's products and convolutions are computed by
generated code, and by cuBLASLt and cuDNN. Where a model's attention is
Lockstep's, JAX computes its own, by cuDNN. The time of Lockstep is the median of the steps
of a run of lockstep-run, whose first steps are left out; JAX's that of rounds
of steps after three others. The losses of the first step are compared, too.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import large

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import inputs  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, PartitionSpec  # noqa: E402

STEPS = 24
ROUNDS, ROUND = 3, 6


def lockstep(folder, name, variant, files):
    """(milliseconds of a step, loss of the first step)"""
    command, environment = inputs.command(folder, name, variant, files, STEPS)
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    lines = re.findall(r"^step .* loss (\S+), (\S+) steps/s", done.stderr, re.M)
    rates = [float(rate) for _, rate in lines[len(lines) // 2 :]]
    return 1000 / statistics.median(rates), float(lines[0][0])


def compare(folder, name):
    model = large.load(name, of_jax=True)
    state = model.init(0)
    batch = inputs.random_batch(model)
    with tempfile.TemporaryDirectory() as files:
        inputs.write_files(state, batch, files)
        ours = {
            precision: {
                which: lockstep(folder, name, f"{precision}-{which}", files)
                for which in large.COMPUTED_BY
            }
            for precision in large.precisions(name)
        }
    everywhere, own = PartitionSpec(), PartitionSpec("replica")
    scalars = model.default_scalars()
    for precision, by_library in ours.items():
        with jax.default_matmul_precision(large.PRECISIONS[precision][1]):
            step = jax.jit(
                jax.shard_map(
                    model.step,
                    mesh=Mesh(np.array(jax.devices()[:1]), ("replica",)),
                    in_specs=(everywhere, own, everywhere),
                    out_specs=everywhere,
                    check_vma=False,
                )
            )
            current, metrics = step(state, batch, scalars)
            first = float(metrics["loss"])
            for _ in range(2):
                current, metrics = step(current, batch, scalars)
            jax.block_until_ready(current)
            times = []
            for _ in range(ROUNDS):
                begin = time.perf_counter()
                for _ in range(ROUND):
                    current, metrics = step(current, batch, scalars)
                jax.block_until_ready(current)
                times.append((time.perf_counter() - begin) / ROUND * 1000)
        theirs = statistics.median(times)
        for which, (milliseconds, loss) in by_library.items():
            print(
                f"{name:14} {precision:5} {which:10} {milliseconds:9.2f} {theirs:9.2f} {milliseconds / theirs:7.2f}   losses {loss:.6g}, {first:.6g}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument(
        "models",
        nargs="*",
        metavar="NAME",
        help=f"some of {', '.join(large.LARGE)} (default: all)",
    )
    options = parser.parse_args()
    for name in options.models:
        if name not in large.LARGE:
            parser.error(
                f"expected one of {', '.join(large.LARGE)}, found '{name}'"
            )
    print(jax.devices()[0].device_kind)
    print(
        f"{'model':14} {'':5} {'computed by':10} {'Lockstep ms':>9} {'JAX ms':>9} {'ratio':>7}",
        flush=True,
    )
    for name in options.models or large.LARGE:
        compare(options.folder.resolve(), name)


if __name__ == "__main__":
    main()
