"""Measures the compiler on steps with many variables: time and memory over their number.

    LOCKSTEP_BIN=build/release/bin python bench/variables/compile.py

Each variable is read, scaled by the batch, and updated by the mean over the replicas. The time is the CPU time of `lockstep-compile`, all its
threads together; of `lockstep-run`, of loading the artifact and one step, with the printing of all variables.
"""

import argparse
import os
import pathlib
import struct
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from measuring import cost  # noqa: E402

SIZES = [1_000, 2_000, 5_000, 10_000, 20_000]
TENSOR = "tensor<8xf32>"


def generate(variables):
    """The text of a step."""
    lines = [
        f"replica.variable @v{i} : {TENSOR} {{initial = dense<{i}.5> : {TENSOR}}}"
        for i in range(variables)
    ]
    lines.append(f'replica.step @step(%x: {TENSOR} {{replica.batch = "x"}}) {{')
    for i in range(variables):
        lines += [
            f"  %a{i} = replica.read @v{i} : {TENSOR}",
            f"  %m{i} = arith.mulf %a{i}, %x : {TENSOR}",
            f"  %g{i} = replica.all_reduce mean %m{i} : {TENSOR}",
            f"  replica.assign_sub @v{i}, %g{i} : {TENSOR}",
        ]
    return "\n".join([*lines, "  replica.return", "}", ""])


def write_inputs(path):
    """An .npz file with zeros for `x`, without NumPy."""
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "x.npy",
            b"\x93NUMPY\x01\x00"
            + struct.pack("<H", len(header))
            + header.encode()
            + bytes(32),
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", type=int, default=2)
    options = parser.parse_args()
    binaries = pathlib.Path(os.environ.get("LOCKSTEP_BIN", "build/release/bin"))
    print(
        "| variables | level | compiled in, s | MiB | artifact, KiB | loaded and run in, s | MiB |\n|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_inputs(folder / "inputs.npz")
        for size in SIZES:
            (folder / "step.mlir").write_text(generate(size))
            for level in ("-O0", "-O2"):
                artifact = folder / "step.lockstep"
                compiled = cost(
                    [
                        binaries / "lockstep-compile",
                        folder / "step.mlir",
                        f"--replicas={options.replicas}",
                        level,
                        "-o",
                        artifact,
                    ]
                )
                ran = cost(
                    [
                        binaries / "lockstep-run",
                        artifact,
                        "--inputs",
                        folder / "inputs.npz",
                    ]
                )
                kilobytes = artifact.stat().st_size // 1024
                print(
                    f"| {size:,} | {level} | {compiled[0]:.1f} | {compiled[1]:.0f} | {kilobytes:,} | {ran[0]:.2f} | {ran[1]:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
