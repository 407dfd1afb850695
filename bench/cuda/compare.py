"""Compares the time of a step of large models with JAX's on the same GPU.

    python3 bench/cuda/compare.py FOLDER [NAME ...]

FOLDER is what bench/cuda/prepare.py has packed; this needs JAX, NumPy and
safetensors on the machine with the GPU. Both execute the same function of the
model's file, with products in the same precision, and get their batch from the
host's memory in each step. Lockstep's products are computed by generated code, and by cuBLASLt. Its time is
the median of the steps of a run of lockstep-run, whose first steps are left out;
JAX's that of rounds of steps after three others. The losses of the first step are compared, too.
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
import packages

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, PartitionSpec  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

from lockstep.model import named_leaves  # noqa: E402

STEPS = 24
ROUNDS, ROUND = 3, 6


def random_batch(model):
    """A batch with random numbers; integers are below 4,096."""
    random = np.random.default_rng(0)
    return {
        name: random.standard_normal(spec.shape, np.float32)
        if np.issubdtype(spec.dtype, np.floating)
        else random.integers(0, 4096, spec.shape).astype(spec.dtype)
        for name, spec in model.batch.items()
    }


def lockstep(folder, name, variant, files):
    """(milliseconds of a step, loss of the first step)"""
    environment = dict(os.environ)
    environment["LD_LIBRARY_PATH"] = packages.library_path(folder / "lib")
    done = subprocess.run(
        [
            folder / "bin" / "lockstep-run",
            folder / "large" / name / f"{variant}.lockstep",
            "--device=cuda",
            f"--init={files}/init.safetensors",
            f"--data={files}/train.npz",
            f"--steps={STEPS}",
            "--seed=0",
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    lines = re.findall(r"^step .* loss (\S+), (\S+) steps/s", done.stderr, re.M)
    rates = [float(rate) for _, rate in lines[len(lines) // 2 :]]
    return 1000 / statistics.median(rates), float(lines[0][0])


def compare(folder, name):
    model = large.load(name)
    state = model.init(0)
    leaves = named_leaves(state, "init")
    batch = random_batch(model)
    with tempfile.TemporaryDirectory() as files:
        save_file(
            {key: np.asarray(value) for key, value in leaves.items()},
            f"{files}/init.safetensors",
        )
        np.savez(f"{files}/train.npz", **batch)
        ours = {
            precision: {
                products: lockstep(
                    folder, name, f"{precision}-{products}", files
                )
                for products in large.PRODUCTS
            }
            for precision in large.precisions(name)
        }
    everywhere, own = PartitionSpec(), PartitionSpec("replica")
    scalars = model.default_scalars()
    for precision, by_products in ours.items():
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
        for products, (milliseconds, loss) in by_products.items():
            print(
                f"{name:14} {precision:5} {products:10} {milliseconds:9.2f} {theirs:9.2f} {milliseconds / theirs:7.2f}   losses {loss:.6g}, {first:.6g}",
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
        f"{'model':14} {'':5} {'products':10} {'Lockstep ms':>9} {'JAX ms':>9} {'ratio':>7}",
        flush=True,
    )
    for name in options.models or large.LARGE:
        compare(options.folder.resolve(), name)


if __name__ == "__main__":
    main()
