"""Checks the simulation in an inspection of simulation.mlir: `simulation.py
FILE.json`.
"""

import json
import pathlib
import sys

inspection = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
(program,) = inspection["programs"]
simulation = program["simulation"]
first, second = program["collectives"]
events = simulation["events"]


def close(found, expected):
    return abs(found - expected) < 1e-12


def total(kind, commands=None):
    return sum(
        event["end"] - event["begin"]
        for event in events
        if event["kind"] == kind
        and (commands is None or event["pc"] in commands)
    )


# Sums are those of the events.
assert simulation["topology"] == "pair" and simulation["refused"] is None
assert close(simulation["seconds"], max(event["end"] for event in events))
assert close(simulation["compute_seconds"], total("kernel"))
assert close(simulation["communication_seconds"], total("collective"))
assert close(simulation["exposed_seconds"], total("wait"))
for collective, times in zip(
    (first, second), simulation["collectives"], strict=True
):
    assert times["channel"] == collective["channel"]
    assert close(times["exposed_seconds"], total("wait", collective["waits"]))
    assert close(
        times["transfer_seconds"], total("collective", [collective["start"]])
    )
critical = sum(e["end"] - e["begin"] for e in events if e["critical"])
assert close(critical, simulation["seconds"])

# The second is ready while the first is on the link.
assert [times["behind"] for times in simulation["collectives"]] == [None, 0]
assert close(simulation["collectives"][1]["queued_seconds"], 1e-6)
assert close(simulation["collectives"][1]["needed"], 31e-6)

# Gradients are known by their variables, and remarks by their collectives.
assert first["operands"][0]["updates"] == ["w1"]
assert second["operands"][0]["updates"] == ["w2"]
remarks = [remark["message"] for remark in inspection["remarks"]]
assert first["begin_remark"] is None
assert "begins a new bucket" in remarks[second["begin_remark"]]
assert [remarks[i].split(" (")[0] for i in first["remarks"]] == [
    "all_reduce sum of 250xf32"
]
assert [remarks[i].split(" (")[0] for i in second["remarks"]] == [
    "all_reduce sum of 500xf32",
    "its bucket waits for the last member",
]
