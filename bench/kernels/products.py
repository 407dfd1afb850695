"""Measures generated matrix products on one core, beside NumPy's (OpenBLAS) in
the same run.

    OPENBLAS_NUM_THREADS=1 LOCKSTEP_OPT=build/bin/lockstep-opt taskset -c 0
    python bench/kernels/products.py

For each M x N x K of a layer: the product itself (NN), the gradient of its
weights (TN) and of its input (NT), each in GFLOP/s of CPU time, the best of
many runs. The generated kernels add a bias and apply relu.
"""

import functools
import pathlib
import sys
import time

import numpy as np

sys.path.insert(
    0, str(pathlib.Path(__file__).parents[2] / "test" / "passes" / "Codegen")
)

import kernels  # noqa: E402
from test_kernels import product  # noqa: E402

LAYERS = [
    (64, 128, 64),
    (64, 10, 128),
    (64, 1024, 784),
    (64, 1024, 1024),
    (256, 256, 256),
    (512, 512, 512),
    (1024, 1024, 1024),
    (512, 256, 1024),
    (512, 1024, 256),
    (512, 768, 3072),
    (512, 3072, 768),
]
ORDERS = {"NN": ("mk", "kn"), "TN": ("km", "kn"), "NT": ("mk", "nk")}


def variants(layer):
    m, n, k = layer
    return {"NN": (m, n, k), "TN": (k, n, m), "NT": (m, k, n)}


def best_time(run, seconds=0.7):
    """CPU time of one run, the best of those that fit into the given time."""
    start = time.thread_time()
    run()
    count = max(1, int(1e-3 / max(time.thread_time() - start, 1e-6)))
    best, end = float("inf"), time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.thread_time()
        for _ in range(count):
            run()
        best = min(best, (time.thread_time() - start) / count)
    return best


def main():
    shapes = [
        (kind, shape)
        for layer in LAYERS
        for kind, shape in variants(layer).items()
    ]
    text = "".join(
        product(f"p{i}", *shape, *ORDERS[kind])
        for i, (kind, shape) in enumerate(shapes)
    )
    start = time.monotonic()
    module = kernels.Module(text)
    print(
        f"{len(shapes)} kernels compiled for {len(module.targets)} targets in {time.monotonic() - start:.1f} s"
    )
    random = np.random.default_rng(0)
    for i, (kind, (m, n, k)) in enumerate(shapes):
        size = {"m": m, "n": n, "k": k}
        a, b = (
            random.standard_normal([size[d] for d in order], np.float32)
            for order in ORDERS[kind]
        )
        out = np.empty((m, n), np.float32)
        left, right = (a.T if kind == "TN" else a), (b.T if kind == "NT" else b)
        reference = best_time(
            functools.partial(np.matmul, left, right, out=out)
        )
        line = f"{kind} {m:5}x{n:5}x{k:5}  numpy {2 * m * n * k / reference / 1e9:6.1f}"
        for target in module.targets:
            run, _ = module[target][f"p{i}"].bind(
                a, b, random.standard_normal(n, np.float32)
            )
            line += f"  {target} {2 * m * n * k / best_time(run) / 1e9:6.1f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
