"""Branches and loops that replicas execute alike, or not, and the order of
their rendezvous.
"""

import pytest

from building import (
    const,
    f32,
    i32,
    op,
    per_replica,
    py,
    run,
    shared,
    variable,
)
from results import outcome

X = {"x": per_replica(f32(1), f32(2))}
K = {"k": shared(f32(5))}
ADD = op("all_reduce", "y", reduce_op="SUM", value="x")
MERGE = op("merge_call", "y", args=[], params=[], fn=[], returns=py(1))
MEAN = op("all_reduce", "y", reduce_op="MEAN", value="x")
OTHER = op("all_reduce", "z", reduce_op="SUM", value="k")


@pytest.mark.parametrize(
    "then, otherwise, same",
    [
        ([ADD], [], False),
        ([ADD], [MEAN], False),  # [10-reduction]
        ([ADD], [MERGE], False),  # [10-kind]
        ([ADD, OTHER], [OTHER, ADD], False),  # [10-order]
        ([ADD, OTHER], [ADD], False),
        ([op("neg", "x", a="x"), ADD], [ADD], True),
        ([MERGE], [MERGE], True),
        ([op("assign_add", var="v", value=py(1))], [], False),
        ([op("assign_add", var="w", value=py(1))], [], True),
        ([op("variable", "u", init=f32(0))], [], False),  # [10-creation]
    ],
)
def test_branches_on_the_replica_id(then, otherwise, same):
    body = [op("static_if_replica", ids=[0], then=then, else_=otherwise)]
    spec = [
        variable("v", f32(0), None, "MEAN"),
        variable("w", f32(0), "ON_READ", "SUM"),
    ]
    result = outcome(
        [run(body, None, ["x", "k", "v", "w"])],
        inputs=X | K,
        variables=spec,
        observe=["r"],
    )
    assert result == (
        {"r": ("none", True)} if same else "E_COLLECTIVE_DIVERGENCE"
    )


def test_a_branch_that_all_replicas_take():
    body = [op("static_if_replica", ids=[0, 1], then=[ADD], else_=[])]
    assert outcome([run(body, "y", ["x"])], inputs=X, observe=["r"]) == {
        "r": ("per_replica", [3, 3])
    }


def conditional(pred, *, then=ADD, otherwise="x", before=()):
    body = [
        *before,
        op(
            "cond",
            "y",
            pred=pred,
            then={"body": [then], "returns": "y"},
            else_={"body": [], "returns": otherwise},
        ),
    ]
    spec = [
        variable("v", f32(0), None, "SUM"),
        variable("w", f32(0), "ON_READ", "SUM"),
    ]
    return outcome(
        [run(body, "y", ["x", "k", "v", "w"])],
        inputs=X | K,
        variables=spec,
        observe=["r"],
    )


def test_conditions():  # [2.3-control-flow]
    """Values from a replica's own data are varying, for any value; others are
    uniform.
    """
    less = op("less", "p", a="x", b=const(f32(10)))
    uniform = op("less", "p", a="k", b=const(f32(10)))
    refused = "E_COLLECTIVE_IN_CONTROL_FLOW"
    assert conditional("p", before=[less]) == refused
    assert (
        conditional(
            "p",
            before=[op("read", "a", var="w"), op("less", "p", a="a", b="k")],
        )
        == refused
    )
    assert (
        conditional(
            "p", before=[less], then=op("assign_add", "y", var="v", value=py(1))
        )
        == refused
    )
    assert conditional("p", before=[less], then=op("neg", "y", a="x")) == {
        "r": ("per_replica", [-1, -2])
    }
    assert conditional("p", before=[uniform]) == {"r": ("per_replica", [3, 3])}
    summed = [
        op("all_reduce", "s", reduce_op="SUM", value="x"),
        op("less", "p", a="s", b="k"),
    ]
    assert conditional("p", before=summed) == {"r": ("per_replica", [3, 3])}
    assert conditional(py(False)) == {"r": ("per_replica", [1, 2])}


def test_a_branch_that_is_not_taken_makes_a_value_varying_too():
    """The condition is uniform and false; but the value of the other branch
    would be per-replica.
    """
    choose = op(
        "cond",
        "c",
        pred="p",
        then={"body": [], "returns": "x"},
        else_={"body": [], "returns": "k"},
    )
    before = [
        op("less", "p", a="k", b=const(f32(0))),
        choose,
        op("less", "q", a="c", b=const(f32(10))),
    ]
    assert conditional("q", before=before) == "E_COLLECTIVE_IN_CONTROL_FLOW"


@pytest.mark.parametrize(
    "count, result",
    [(0, [1, 2]), (1, [3, 3]), (3, [12, 12]), (const(i32(2)), [6, 6])],
)
def test_loops(count, result):
    loop = op(
        "while",
        "y",
        trip_count=count,
        init="x",
        carry="c",
        body=[op("all_reduce", "t", reduce_op="SUM", value="c")],
        yield_="t",
    )
    assert outcome([run([loop], "y", ["x"])], inputs=X, observe=["r"]) == {
        "r": ("per_replica", result)
    }


def test_loops_that_replicas_run_differently_often():
    def loop(body):
        return [
            op("replica_id", "n"),
            op(
                "while",
                "y",
                trip_count="n",
                init="x",
                carry="c",
                body=body,
                yield_="t",
            ),
        ]

    collective = [op("all_reduce", "t", reduce_op="SUM", value="c")]
    assert (
        outcome([run(loop(collective), "y", ["x"])], inputs=X, observe=["r"])
        == "E_COLLECTIVE_IN_CONTROL_FLOW"
    )
    assert outcome(
        [run(loop([op("neg", "t", a="c")]), "y", ["x"])],
        inputs=X,
        observe=["r"],
    ) == {"r": ("per_replica", [1, -2])}
