"""Steps in several processes of mpirun, compared with those in one.

    build/venv/bin/python bench/processes/processes.py
    [--binaries=build/release/bin] [--processes=2] [--rounds=5] [EXAMPLE ...]

Each example is trained with one executor, with several executors in one
process, and with as many processes, in turn. The time of a step is the one that
lockstep-run reports, without its start. Medians are printed, and the time of
the processes divided by that of the executors, with the smallest and the
largest ratio of a round.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from measuring import spread_text  # noqa: E402
from training import ROOT, capture, compile_step  # noqa: E402

#: Examples, and the steps of a run.
EXAMPLES = {"digits-mlp": 20000, "digits-cnn": 400, "language-model": 20}
#: For root, and for more processes than cores.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def prepare(name, binaries, folder):
    """Returns the arguments of lockstep-run."""
    model = ROOT / "examples" / name / "model.py"
    subprocess.run(
        [sys.executable, model.parent / "data.py", "-o", folder],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    capture(model, folder, 4)
    artifact = compile_step(
        binaries, folder, folder / "step.lockstep", "--replicas=4"
    )
    return [
        artifact,
        *("--init", folder / "init.safetensors"),
        *("--data", folder / "train.npz", "--seed=0"),
    ]


def microseconds(command):
    """The time of a step of a run."""
    done = subprocess.run(
        list(map(str, command)), env=os.environ | ENVIRONMENT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    steps, seconds = re.search(
        r"trained (\d+) steps .*?in ([\d.]+) s", done.stdout
    ).groups()
    return float(seconds) / int(steps) * 1e6


def measure(name, options):
    with tempfile.TemporaryDirectory() as temporary:
        run = [
            options.binaries / "lockstep-run",
            *prepare(name, options.binaries, pathlib.Path(temporary)),
            f"--steps={EXAMPLES[name]}",
        ]
        count = options.processes
        commands = {
            "one executor": run,
            f"{count} executors": [*run, f"--executors={count}"],
            f"{count} processes": ["mpirun", "-q", "-n", count, *run],
        }
        times = {what: [] for what in commands}
        for _ in range(options.rounds):
            for what, command in commands.items():
                times[what].append(microseconds(command))
    one, executors, processes = times.values()
    ratios = [p / e for p, e in zip(processes, executors, strict=True)]
    print(
        f"{name}: {statistics.median(one):.0f} us a step with one executor, "
        f"{statistics.median(executors):.0f} with {count}, "
        f"{statistics.median(processes):.0f} in {count} processes; "
        f"processes to executors {spread_text(ratios)}"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--binaries",
        type=lambda text: pathlib.Path(text).resolve(),
        default=ROOT / "build" / "release" / "bin",
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("examples", nargs="*", default=list(EXAMPLES))
    options = parser.parse_args()
    for name in options.examples:
        measure(name, options)


if __name__ == "__main__":
    main()
