"""Scopes, contexts, regrouping, and what is refused in them."""

import pytest

from building import (
    case,
    const,
    f32,
    i32,
    op,
    per_replica,
    py,
    run,
    shared,
    slices,
    tensor,
    variable,
)
from reference import evaluate
from reference.errors import Malformed
from results import outcome

X = {"x": per_replica(f32(1), f32(2))}
K = {"k": shared(f32(5))}
ADD = op("all_reduce", "y", reduce_op="SUM", value="x")


## Scopes


def test_a_scope_inside_of_its_own_scope_changes_nothing():
    program = [  # [1.1-reenter]
        op(
            "scope",
            body=[
                op("scope", body=[op("variable", "w", name="w", init=f32(7))]),
                op("in_cross_replica_context", "c"),
                op("reduce", "s", reduce_op="SUM", value="x", axis=None),
            ],
        ),
        op("variable_created_in_scope", "m", var="w"),
        run([op("read", "y", var="w")], "y", ["w"]),
    ]
    assert outcome(
        program, inputs=X, observe=["c", "s", "m", "r"], observe_vars=["w"]
    ) == {
        "c": ("py", True),
        "s": 3,
        "m": ("py", True),
        "r": ("per_replica", [7, 7]),
        "w": ("components", [7, 7]),
    }


## Regrouping


@pytest.mark.parametrize(
    "body, returns, result",
    [
        ([], "k", 5),
        ([op("identity", "y", a="k")], "y", ("per_replica", [5, 5])),
        ([op("set", "y", a="k")], "y", 5),
        ([op("cast", "y", a="k", dtype="f32")], "y", 5),
        ([op("cast", "y", a="k", dtype="i32")], "y", ("per_replica", [5, 5])),
        ([op("num_replicas", "y")], "y", ("py", 2)),
        ([op("range_py", "y", n=2)], "y", ("list", [("py", 0), ("py", 1)])),
        ([], const(f32(1)), ("per_replica", [1, 1])),
        ([], {"tuple": ["k", None]}, ("tuple", [5, ("none", True)])),
        ([op("in_cross_replica_context", "y")], "y", ("py", False)),
        ([op("require_replica_context", "y")], "y", ("py", True)),
        ([], "v", ("components", [7, 7])),
        ([op("read", "y", var="v")], "y", ("per_replica", [7, 7])),
        (
            [op("nested_function", "y", body=[], returns="k")],
            "y",
            ("per_replica", [5, 5]),
        ),
    ],
)
def test_one_object_on_all_replicas_is_unwrapped(body, returns, result):
    program = [run(body, returns, ["k", "v"])]  # [1.2-regroup]
    assert outcome(
        program, inputs=K, variables=[variable("v", f32(7))], observe=["r"]
    ) == {"r": result}


def test_replicas_that_return_other_structures():  # [1.2-structure]
    body = [
        op(
            "static_if_replica",
            ids=[0],
            then=[op("set", "y", a=["k"])],
            else_=[op("set", "y", a="k")],
        )
    ]
    assert (
        outcome([run(body, "y", ["k"])], inputs=K, observe=["r"])
        == "E_STRUCT_MISMATCH"
    )


def test_local_results():  # [1.2-local-results-nest]
    nest = {"dict": {"a": "x", "b": ["k"]}}
    program = [
        op("local_results", "l", value=nest),
        op("local_results", "m", value="k"),
        op("local_results", "n", value="x"),
    ]
    result = outcome(program, inputs=X | K, observe=["l", "m", "n"])
    assert result["l"] == (
        "tuple",
        [{"a": 1, "b": ("list", [5])}, {"a": 2, "b": ("list", [5])}],
    )
    assert result["m"] == ("tuple", [5]) and result["n"] == ("tuple", [1, 2])
    assert outcome(
        [op("local_results", "l", value="x")],
        "one_device",
        1,
        inputs={"x": per_replica(f32(1))},
        observe=["l"],
    ) == {"l": ("tuple", [1])}


def test_merge_call_sees_all_and_returns_each_its_part():  # [1.1-merge]
    merge = op(
        "merge_call",
        "y",
        args=["x", "k"],
        params=["a", "c"],
        fn=[
            op("reduce", "t", reduce_op="SUM", value="a", axis=None),
            op("in_cross_replica_context", "i"),
        ],
        returns={"dict": {"each": "a", "sum": "t", "same": "c", "cross": "i"}},
    )
    assert outcome(
        [run([merge], "y", ["x", "k"])], inputs=X | K, observe=["r"]
    ) == {
        "r": {
            "each": ("per_replica", [1, 2]),
            "sum": 3,
            "same": 5,
            "cross": ("py", True),
        }
    }


def test_run_inside_of_merge_call():  # [2.3-run-inside]
    inner = op(
        "run",
        "t",
        args=["a"],
        params=["b"],
        fn=[op("square", "s", a="b")],
        returns="s",
    )
    merge = op(
        "merge_call", "y", args=["x"], params=["a"], fn=[inner], returns="t"
    )
    assert outcome([run([merge], "y", ["x"])], inputs=X, observe=["r"]) == {
        "r": ("per_replica", [1, 4])
    }


@pytest.mark.parametrize(
    "group, returns, result",
    [
        (True, "u", ("mirrored", [12, 12])),
        (False, "u", ("tuple", [12, 12])),
        (True, None, ("none", True)),
        (True, py(3), ("py", 3)),
        (False, py(3), ("tuple", [("py", 3)])),
        (True, "c", 5),
        (False, ["u", "c"], ("list", [("tuple", [12, 12]), ("tuple", [5])])),
    ],
)
def test_what_an_update_returns(group, returns, result):  # [4-update-group]
    body = [op("assign_add", var="w", value="c"), op("value", "u", var="w")]
    update = op(
        "update",
        "r",
        var="v",
        args=["k"],
        params=["w", "c"],
        fn=body,
        returns=returns,
        group=group,
    )
    assert outcome(
        [update], inputs=K, variables=[variable("v", f32(7))], observe=["r"]
    ) == {"r": result}


def test_the_container_inside_of_an_update_is_the_current_copy():
    body = [
        op("assign_add", var="v", value=py(1)),  # [4-update-container]
        op("value_container_is", "c", value="w", var="v"),
    ]
    update = op(
        "update", "r", var="v", args=[], params=["w"], fn=body, returns="c"
    )
    assert outcome(
        [update],
        replicas=3,  # [4-value-container]
        variables=[variable("v", f32(7))],
        observe=["r"],
        observe_vars=["v"],
    ) == {
        "r": ("py", True),
        "v": ("components", [8, 8, 8]),
    }


def test_variables_made_by_a_program():  # [1.1-owner, 2.3-variables]
    made = op(
        "variable",
        "w",
        init=f32(1),
        synchronization="ON_READ",
        aggregation="SUM",
    )
    program = [
        op(
            "scope",
            body=[
                op(
                    "colocate_vars_with",
                    var="v",
                    body=[op("variable", "u", init="k")],
                )
            ],
        ),
        run(
            [
                made,
                op("assign_add", var="w", value="x"),
                op("read", "y", var="w"),
            ],
            "y",
            ["x"],
        ),
        op("variable_created_in_scope", "c", var="u"),
        op("component", "first", var="u", index=0),
    ]
    result = outcome(
        program,
        inputs=X | K,
        variables=[variable("v", f32(0))],
        observe=["r", "c", "first"],
        observe_vars=["u"],
    )
    assert result == {
        "r": ("per_replica", [2, 3]),
        "c": ("py", True),
        "first": 5,
        "u": ("components", [5, 5]),
    }


## Refused


@pytest.mark.parametrize(
    "program, code",
    [
        ([op("all_reduce", reduce_op="SUM", value="x")], "E_CONTEXT"),
        ([op("scope", body=[op("replica_id", "i")])], "E_CONTEXT"),
        ([run([run([])])], "E_CONTEXT"),  # [2.3-wrong-nesting]
        ([run([op("gather", "y", value="x", axis=0)])], "E_CONTEXT"),
        (
            [
                run(
                    [
                        op(
                            "reduce_to",
                            "y",
                            reduce_op="SUM",
                            value="x",
                            destinations="x",
                        )
                    ]
                )
            ],
            "E_CONTEXT",  # [1.1-wrong-context]
        ),
        (
            [run([op("update_non_slot", args=[], params=[], fn=[])])],
            "E_CONTEXT",
        ),
        (
            [
                run([op("save_ctx")]),
                run(
                    [
                        op(
                            "all_reduce",
                            reduce_op="SUM",
                            value="x",
                            use_saved_ctx=True,  # [2-stale, 10-lifetime]
                        )
                    ]
                ),
            ],
            "E_CONTEXT",
        ),
        ([op("update", var="v", args=[], params=["w"], fn=[ADD])], "E_CONTEXT"),
        ([op("handle", "h", var="v")], "E_CONTEXT"),  # [5.2-handle]
        ([op("add", "r", a="x", b="x")], "E_CONTEXT"),  # [1.2-per-replica]
        (
            [
                op(
                    "other_scope",
                    strategy={"kind": "one_device", "replicas": 1},
                    body=[op("scope", body=[])],
                )
            ],
            "E_MIXED_STRATEGY",  # [1.1-mixed]
        ),
        (
            [
                op(
                    "scope",
                    body=[
                        op(
                            "other_scope",
                            strategy={"kind": "one_device", "replicas": 1},
                            body=[],
                        )
                    ],
                )
            ],
            "E_MIXED_STRATEGY",
        ),
        ([op("run", args=py(1), fn=[])], "E_ARG_TYPE"),  # [3-run-arguments]
        ([op("update", var="k", args=[], params=["w"], fn=[])], "E_ARG_TYPE"),
        ([op("assign", var="v", value=f32([1, 2]))], "E_SHAPE_MISMATCH"),
        ([op("assign", var="v", value=i32(1))], "E_DTYPE_MISMATCH"),
        ([op("add", "r", a="k", b=const(i32(1)))], "E_DTYPE_MISMATCH"),
        (
            [op("add", "r", a=const(f32([1, 2])), b=const(f32([1, 2, 3])))],
            "E_SHAPE_MISMATCH",
        ),
        ([op("matmul", "r", a="k", b="k")], "E_RANK_MISMATCH"),
        ([op("reduce_sum", "r", a="k", axis=0)], "E_AXIS_RANGE"),
        ([op("tanh", "r", a=const(i32(1)))], "E_DTYPE_UNSUPPORTED"),
        ([op("assign", var="v", value="x")], "E_PER_REPLICA_IN_UPDATE"),
        (
            [op("update_non_slot", args=["x"], params=["a"], fn=[])],
            "E_PER_REPLICA_IN_UPDATE",  # [4-update-non-slot]
        ),
        (
            [
                run(
                    [
                        op(
                            "update",
                            var="v",
                            args=["x"],
                            params=["w", "a"],
                            fn=[],
                        )
                    ],
                    args=["x"],
                )
            ],
            "E_PER_REPLICA_IN_UPDATE",
        ),
        (
            [
                run(
                    [
                        op(
                            "all_gather",
                            value=const(f32([1])),
                            axis=0,
                            options={"timeout_seconds": -1},  # [2.5-timeout]
                        )
                    ]
                )
            ],
            "E_OPTION_VALUE",
        ),
        (
            [run([op("all_gather", value=slices(f32([1]), [0], [2]), axis=0)])],
            "E_SPARSE_GATHER",  # [2.2-sparse]
        ),
        (
            [run([op("all_reduce", value=py(2), reduce_op="SUM")])],
            "E_NON_DISTRIBUTED_SUM",
        ),
        ([run([op("python_raise")])], "E_USER"),  # [2.3-exceptions]
    ],
)
def test_refused(program, code):  # [4-update-not-a-variable]
    assert (
        outcome(program, inputs=X | K, variables=[variable("v", f32(0))])
        == code
    )


def test_a_case_that_is_not_of_the_language():
    for program in ([op("transmogrify")], [op("identity", "r", a="nobody")]):
        with pytest.raises(Malformed):
            evaluate(case(program))


## Workers, and the default strategy


def test_workers_that_write_what_only_one_of_them_knows():
    program = [
        op("local_results", "l", value="x"),
        op("python_sum", "t", a="l"),
        op("assign", var="v", value="t"),
    ]
    spec = [variable("v", f32(0))]
    assert outcome(program, inputs=X, variables=spec, observe_vars=["v"]) == {
        "v": ("components", [3, 3])
    }
    assert (
        outcome(program, "multi_worker_mirrored", inputs=X, variables=spec)
        == ["E_PER_REPLICA_IN_UPDATE"] * 2
    )


def test_the_default_strategy_stands_in_its_replica_context():
    program = [
        op("replica_id", "i"),  # [1.1-outside]
        op("all_reduce", "s", reduce_op="SUM", value="x"),
        op("scope", body=[op("in_cross_replica_context", "c")]),
    ]
    inputs = {"x": per_replica(tensor("i64", [4]))}
    assert outcome(
        program, "default", 1, inputs=inputs, observe=["i", "s", "c"]
    ) == {"i": ("py", 0), "s": [4], "c": ("py", False)}
