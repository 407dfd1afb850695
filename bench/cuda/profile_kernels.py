"""Lists where the time of a step of a large model goes on a GPU, by kernel.

    python3 bench/cuda/profile_kernels.py FOLDER NAME [--variant=f32-libraries]
    [--seconds=120]

FOLDER is what bench/cuda/prepare.py has packed; this needs NVIDIA's Nsight
Compute (`ncu`), JAX, NumPy and safetensors on the machine with the GPU. One step
is executed, kernel by kernel, at the clock and with the caches that it usually
has. For each kernel: how often it is launched, the microseconds of all launches,
their part of the step, the gigabytes per second that it exchanges with memory,
executed instructions in millions, registers of a thread, and the blocks and
threads of the largest launch.
"""

import argparse
import collections
import csv
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import inputs
import large

#: What is measured, by the name of the metric.
METRICS = {
    "gpu__time_duration.sum": "seconds",
    "dram__bytes.sum": "bytes",
    "smsp__inst_executed.sum": "instructions",
    "launch__registers_per_thread": "registers",
    "launch__grid_size": "blocks",
    "launch__block_size": "threads",
}


def measure(folder, name, variant, files, seconds):
    """The lines that ncu prints. Ends it and what it runs after `seconds`."""
    command, environment = inputs.command(folder, name, variant, files, 1)
    process = subprocess.Popen(
        [
            "ncu",
            "--csv",
            "--print-units=base",
            "--clock-control=none",
            "--cache-control=none",
            f"--metrics={','.join(METRICS)}",
            *command,
            "--no-recording",
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise SystemExit(f"ncu did not end within {seconds} s") from None
    if process.returncode != 0:
        raise SystemExit((printed + errors)[-2000:])
    return printed.splitlines()


def read(lines):
    """For each launch: the kernel, and its metrics by the names of METRICS."""
    begin = next(
        (i for i, line in enumerate(lines) if line.startswith('"ID"')), None
    )
    if begin is None:
        raise SystemExit("expected a table of ncu, found none")
    launches = {}
    for row in csv.DictReader(lines[begin:]):
        metric = METRICS.get(row["Metric Name"])
        if not metric:
            continue
        _, values = launches.setdefault(row["ID"], (row["Kernel Name"], {}))
        value = float(row["Metric Value"].replace(",", ""))
        # The base unit of time is the nanosecond.
        values[metric] = value * 1e-9 if metric == "seconds" else value
    return launches.values()


def table(launches):
    """The lines of the table, the kernel that takes most time first."""
    kernels = collections.defaultdict(list)
    for kernel, values in launches:
        kernels[kernel.partition("(")[0]].append(values)
    step = sum(each["seconds"] for _, each in launches)

    def total(kernel, metric):
        return sum(each[metric] for each in kernels[kernel])

    yield f"{len(launches)} launches, {step * 1e3:.2f} ms"
    yield (
        f"{'launches':>8} {'us':>9} {'%':>5} {'GB/s':>6} {'M instr':>8} "
        f"{'regs':>4} {'blocks':>8} {'threads':>7}  kernel"
    )
    for kernel in sorted(kernels, key=lambda each: -total(each, "seconds")):
        seconds = total(kernel, "seconds")
        largest = max(kernels[kernel], key=lambda each: each["blocks"])
        yield (
            f"{len(kernels[kernel]):8} {seconds * 1e6:9.1f} "
            f"{seconds / step * 100:5.1f} "
            f"{total(kernel, 'bytes') / seconds * 1e-9:6.0f} "
            f"{total(kernel, 'instructions') * 1e-6:8.1f} "
            f"{largest['registers']:4.0f} {largest['blocks']:8.0f} "
            f"{largest['threads']:7.0f}  {kernel}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("model", metavar="NAME", choices=large.LARGE)
    parser.add_argument("--variant", default="f32-libraries")
    parser.add_argument("--seconds", type=int, default=120)
    options = parser.parse_args()
    if not shutil.which("ncu"):
        raise SystemExit("expected NVIDIA's Nsight Compute, found no 'ncu'")
    model = large.load(options.model)
    with tempfile.TemporaryDirectory() as files:
        inputs.write_files(model.init(0), inputs.random_batch(model), files)
        lines = measure(
            options.folder.resolve(),
            options.model,
            options.variant,
            files,
            options.seconds,
        )
    for line in table(list(read(lines))):
        print(line)


if __name__ == "__main__":
    main()
