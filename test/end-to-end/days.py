"""What changes with the day: which random programs are tried, and which share
of the tests that are many.

A day is the date of the last commit, so that one commit has the same tests on
every machine.
"""

import datetime
import functools
import pathlib
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent

#: Seeds of one day.
SEEDS = 1000


@functools.cache
def today():
    """The date of the last commit; the first of January 2000 without a
    repository.
    """
    try:
        done = subprocess.run(
            ["git", "log", "-1", "--format=%cs"],
            cwd=FOLDER,
            capture_output=True,
            text=True,
            check=True,
        )
        return datetime.date.fromisoformat(done.stdout.strip())
    except (OSError, subprocess.CalledProcessError, ValueError):
        return datetime.date(2000, 1, 1)


def first_seed():
    """The first of the day's `SEEDS` seeds."""
    return int(today().strftime("%Y%m%d")) * SEEDS


def share(items, count):
    """One in `count` of a list, another on each of `count` successive days."""
    return items[today().toordinal() % count :: count]
