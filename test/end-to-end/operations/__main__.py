"""Writes the reference page of StableHLO operations, from results of the built
tools.
"""

import os
import pathlib
import sys

# The folder of the end-to-end tests: of this package, and of what it shares
# with the other tests.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import conftest  # noqa: E402
from operations import outcomes, page, table  # noqa: E402


def main():
    """Returns the exit status: 1 if a result is wrong or an error unclear, and
    the page is not written then.
    """
    folder = os.environ.get("LOCKSTEP_BIN")
    if not folder:
        print(
            "error: expected LOCKSTEP_BIN to name the folder of the built tools",
            file=sys.stderr,
        )
        return 1
    tools = conftest.Tools(folder)
    found = {}
    for group in table.GROUPS:
        print(group.title, file=sys.stderr)
        found |= outcomes.outcomes(tools, group.cases())
    faults = outcomes.faults(found)
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    page.PATH.write_text(page.render(table.GROUPS, found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
