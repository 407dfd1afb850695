"""Checks that an inspection in JSON agrees with itself: `check.py FILE.json
PROGRAM COLLECTIVES`.

Derived values of the tool (collectives in flight, totals, live ranges,
contiguity) are recomputed from the list of commands.
"""

import itertools
import json
import sys

ALIGNMENT = 64


def aligned(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


def times(program, pc):
    """How often the command runs in one run of the program."""
    count = 1
    for loop in program["loops"]:
        if loop["commands"]["first"] <= pc <= loop["commands"]["last"]:
            count *= loop["trips"] or 1
    return count


def check_collective(program, collective):
    commands, buffers = program["commands"], program["buffers"]
    start = commands[collective["start"]]
    assert start["op"] == "start" and start["channel"] == collective["channel"]
    assert start["line"] == collective["line"] != ""
    assert [operand["buffer"] for operand in collective["operands"]] == start[
        "reads"
    ]
    assert collective["bytes"] == sum(
        buffers[b]["size"] for b in start["reads"]
    )
    (wait,) = collective["waits"]
    assert (
        commands[wait]["op"] == "wait"
        and commands[wait]["channel"] == collective["channel"]
    )
    between = [
        c
        for c in commands[collective["start"] + 1 : wait]
        if c["op"] == "launch"
    ]
    assert collective["between"]["launches"] == [c["pc"] for c in between]
    assert collective["between"]["flops"] == sum(c["flops"] for c in between)
    for command in commands:
        flies = collective["start"] < command["pc"] < wait
        assert (collective["channel"] in command["in_flight"]) == flies
    for operand in collective["operands"]:
        writers = [
            c
            for c in commands[: collective["start"]]
            if operand["buffer"] in c.get("writes", [])
        ]
        assert operand["ready"] == (writers[-1]["pc"] if writers else None)
        assert operand["copied"] == bool(
            writers and writers[-1]["op"] == "copy"
        )
        live = buffers[operand["buffer"]]["live"]
        assert live["first"] <= collective["start"] and live["last"] >= wait
    members = [buffers[b] for b in start["reads"]]
    offsets = all(
        b["offset"] == a["offset"] + aligned(a["size"])
        for a, b in itertools.pairwise(members)
    )
    assert collective["contiguous"] == offsets


def check_program(program, kernels):
    commands, buffers = program["commands"], program["buffers"]
    for name in ("replica", "shared"):
        memory = program["memory"][name]
        used = [b for b in buffers if b["space"] == name and b["live"]]
        assert all(b["offset"] + b["size"] <= memory["size"] for b in used)
        at = memory["peak_command"]
        live = {
            byte
            for b in used
            if b["live"]["first"] <= at <= b["live"]["last"]
            for byte in range(b["offset"], b["offset"] + b["size"])
        }
        assert memory["peak"] == len(live) <= memory["size"]
    for command in commands:
        for buffer in (
            command.get("reads", [])
            + command.get("writes", [])
            + command.get("scratch", [])
        ):
            live = buffers[buffer]["live"]
            assert live["first"] <= command["pc"] <= live["last"]
    launches = [c for c in commands if c["op"] == "launch"]
    assert all(c["line"] and c["kernel"] in kernels for c in launches)
    totals = program["totals"]
    assert totals["launches"] == sum(times(program, c["pc"]) for c in launches)
    assert totals["flops"] == sum(
        times(program, c["pc"]) * c["flops"] for c in launches
    )
    assert totals["communicated_bytes"] == sum(
        times(program, c["start"]) * c["bytes"] for c in program["collectives"]
    )
    for collective in program["collectives"]:
        check_collective(program, collective)


def main(file, name, collectives):
    with open(file, encoding="utf-8") as stream:
        inspection = json.load(stream)
    assert inspection["schema"] == "lockstep-inspect/1"
    assert inspection["variables"] and inspection["kernels"]
    kernels = {kernel["symbol"] for kernel in inspection["kernels"]}
    for program in inspection["programs"]:
        check_program(program, kernels)
    (program,) = [p for p in inspection["programs"] if p["name"] == name]
    assert len(program["collectives"]) >= int(collectives)


main(*sys.argv[1:])
