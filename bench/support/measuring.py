"""Runs commands whose cost is measured, and writes measurements as text."""

import json
import os
import statistics
import subprocess
import sys


def cost(command):
    """Runs a command. Returns its seconds of CPU time, of all threads, user and
    system, and its peak memory in MiB. If it fails, ends the program with what
    it has written to stderr.
    """
    command = list(map(str, command))
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(
            f"'{' '.join(command)}' ended with {process.returncode}\n{said}"
        )
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def add_rounds(parser, rounds, seconds=0.3):
    """Adds the options of measurements in rounds."""
    parser.add_argument(
        "--seconds", type=float, default=seconds, help="of one round"
    )
    parser.add_argument("--rounds", type=int, default=rounds)


def add_alone(parser):
    """Adds the option of the processes of `measure_alone`."""
    parser.add_argument(
        "--one",
        action="store_true",
        help="measure one in this process and print JSON",
    )


def measure_alone(file, arguments, options, **environment):
    """Executes the script `file` in a process of its own with `--one`, the
    arguments, the rounds of `options`, and variables of the environment, which
    are fixed when JAX or a model is loaded. Returns the JSON that it prints. If
    it fails, ends the program with what it has written to stderr.
    """
    command = [
        *(sys.executable, file, "--one", *arguments),
        *("--seconds", str(options.seconds)),
        *("--rounds", str(options.rounds)),
    ]
    done = subprocess.run(
        command,
        env=dict(os.environ, JAX_PLATFORMS="cpu", **environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def spread_text(values, form=".2f"):
    """The median, the smallest and the largest: "1.02 (0.97 to 1.10)"."""
    return (
        f"{statistics.median(values):{form}} "
        f"({min(values):{form}} to {max(values):{form}})"
    )
