"""The JSON of digits-mlp on two servers: shards cover the variables, and
exchanges are those of its collectives.
"""

import itertools
import json
import math
import sys

found = json.load(open(sys.argv[1]))
roles = {role["name"]: role for role in found["roles"]}
assert [
    (role["name"], role["first_rank"], role["ranks"]) for role in found["roles"]
] == [
    ("worker", 0, 4),
    ("server0", 4, 1),
    ("server1", 5, 1),
]

shards = {}
for variable in found["variables"]:
    if variable["shard"]:
        shards.setdefault(variable["shard"]["of"], []).append(
            (
                variable["shard"]["first_row"],
                variable["shard"]["rows"],
                variable["role"],
            )
        )
assert sorted(shards["params/w1"]) == [(0, 32, "server0"), (32, 32, "server1")]
for name, parts in shards.items():
    parts.sort()
    assert parts[0][0] == 0 and all(
        a[0] + a[1] == b[0] for a, b in itertools.pairwise(parts)
    ), name


def size(program, buffers):
    return sum(program["buffers"][buffer]["size"] for buffer in buffers)


def header(program, collective, buffers):
    """The dimensions before the operands in a message; sums have none."""
    return (
        0
        if collective["kind"] == "reduce"
        else 8
        * sum(
            program["buffers"][buffer]["type"].count("x") for buffer in buffers
        )
    )


def with_header(program, collective, buffers):
    return size(program, buffers) + header(program, collective, buffers)


for program in found["programs"]:
    if program["role"] != "worker":
        assert program["exchanges"] == []
        continue
    assert not program["loops"]
    for exchange in program["exchanges"]:
        rank = roles[exchange["role"]]["first_rank"]
        mine = [
            collective
            for collective in program["collectives"]
            if collective["root"] == rank
        ]
        operands = [
            [operand["buffer"] for operand in collective["operands"]]
            for collective in mine
        ]
        assert exchange["to"] == 4 * sum(
            with_header(program, collective, buffers)
            for collective, buffers in zip(mine, operands, strict=True)
        )
        assert exchange["from"] == 4 * sum(
            with_header(program, collective, collective["results"])
            for collective in mine
        )

# A step sends every gradient to the servers, and receives the parameters and
# their velocities from them.
step = next(
    program
    for program in found["programs"]
    if program["name"] == "step" and program["role"] == "worker"
)
parameters = 4 * (math.prod((64, 128)) + 128 + math.prod((128, 10)) + 10)
assert sum(exchange["to"] for exchange in step["exchanges"]) >= 4 * parameters
assert sum(exchange["from"] for exchange in step["exchanges"]) >= 4 * parameters

# The proofs about the programs of each name, of all roles together.
proofs = {proof["program"]: proof for proof in found["proofs"]}
assert sorted(proofs) == sorted(
    {program["name"] for program in found["programs"]}
)
assert (
    proofs["step"]["verdict"] == "proven"
    and proofs["step"]["method"] == "projections"
)
