"""Runs commands whose cost is measured, and writes measurements as text."""

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


def spread_text(values, form=".2f"):
    """The median, the smallest and the largest: "1.02 (0.97 to 1.10)"."""
    return (
        f"{statistics.median(values):{form}} "
        f"({min(values):{form}} to {max(values):{form}})"
    )
