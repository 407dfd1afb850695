"""Reductions and gathers: element types, shapes, structure."""

import pytest

from building import (
    case,
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
from results import dtypes, outcome


def all_reduce(reduce_op: str, *values, kind="mirrored"):
    program = [
        run([op("all_reduce", "y", reduce_op=reduce_op, value="x")], "y", ["x"])
    ]
    return case(
        program,
        kind,
        len(values),
        inputs={"x": per_replica(*values)},
        observe=["r"],
    )


def reduced(reduce_op: str, *values, kind="mirrored"):
    result = evaluate(all_reduce(reduce_op, *values, kind=kind))
    return (
        result["error"] if "error" in result else result["ok"]["outputs"]["r"]
    )


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "i32", "i64"])
def test_element_types_of_sums_and_means(dtype):  # [2.1-dtypes, 2.1-mean-int]
    values = [tensor(dtype, [1, 2]), tensor(dtype, [4, 6])]
    total, mean = reduced("SUM", *values), reduced("MEAN", *values)
    assert total == {"per_replica": [tensor(dtype, [5, 8])] * 2}
    assert mean == {
        "per_replica": [
            tensor("f64" if dtype in ("i32", "i64") else dtype, [2.5, 4])
        ]
        * 2
    }


def test_narrow_sums_are_rounded_once():  # [2.1-narrow]
    """In bf16, 256 + 1 is 256; eight ones and 256 are 264 all the same."""
    ones = [tensor("bf16", 1)] * 7
    assert reduced("SUM", tensor("bf16", 256), *ones) == {
        "per_replica": [tensor("bf16", 264)] * 8
    }
    assert reduced("SUM", tensor("bf16", 256), tensor("bf16", 1)) == {
        "per_replica": [tensor("bf16", 256)] * 2
    }


def test_integers_wrap():  # [2.1-int-wrap]
    big = 2**63 - 1
    assert reduced("SUM", tensor("i64", big), tensor("i64", 1)) == {
        "per_replica": [tensor("i64", -(2**63))] * 2
    }
    assert reduced("MEAN", i32(2**31 - 1), i32(1)) == {
        "per_replica": [tensor("f64", -(2.0**30))] * 2
    }


def test_overflow_is_infinite():  # [2.1-overflow]
    assert reduced("SUM", tensor("f16", 60000), tensor("f16", 60000)) == {
        "per_replica": [tensor("f16", "inf")] * 2
    }


@pytest.mark.parametrize("dtype", ["bool", "c64", "str"])
def test_what_cannot_be_added(dtype):  # [2.1-dtypes]
    assert (
        reduced("SUM", tensor(dtype, [1]), tensor(dtype, [1]))
        == "E_DTYPE_UNSUPPORTED"
    )


@pytest.mark.parametrize(
    "kind", ["default", "one_device", "mirrored", "central_storage"]
)
def test_one_replica_changes_nothing(kind):  # [2.1-one-replica]
    assert reduced("MEAN", i32([3]), kind=kind) == i32([3])
    assert reduced("SUM", tensor("bool", [True]), kind=kind) == tensor(
        "bool", [True]
    )


def test_mismatches_between_replicas():  # [2.1-shape]
    assert reduced("SUM", f32([1]), f32([1, 2])) == "E_SHAPE_MISMATCH"
    assert reduced("SUM", f32([1]), f32([1], [1, 1])) == "E_SHAPE_MISMATCH"
    assert reduced("SUM", f32([1]), i32([1])) == "E_DTYPE_MISMATCH"


def test_indexed_slices_and_dense_values_in_one_call():  # [2.1-slices-mixed]
    body = [
        op("all_reduce", "y", reduce_op="MEAN", value={"tuple": ["s", "d"]})
    ]
    inputs = {
        "s": per_replica(
            slices(f32([2], [1, 1]), [1], [4, 1]),
            slices(f32([], [0, 1]), [], [4, 1]),
        ),
        "d": per_replica(f32(1), f32(4)),
    }
    sparse = ("indexed_slices", [[1]], [1])
    assert outcome(
        [run(body, "y", ["s", "d"])], inputs=inputs, observe=["r"]
    ) == {
        "r": (
            "tuple",
            [("per_replica", [sparse, sparse]), ("per_replica", [2.5, 2.5])],
        )
    }


## Gathers


def gathered(axis, *values):
    program = [op("gather", "r", value="x", axis=axis)]
    return outcome(
        program,
        replicas=len(values),
        inputs={"x": per_replica(*values)},
        observe=["r"],
    )


@pytest.mark.parametrize(
    "axis, values, result",
    [
        (0, [f32([1]), f32([]), f32([2, 3])], {"r": [1, 2, 3]}),
        (1, [i32([1, 2], [2, 1]), i32([], [2, 0])], {"r": [[1], [2]]}),
        (0, [f32(1), f32(2)], "E_SCALAR_GATHER"),
        (0, [f32(1), f32([2])], "E_RANK_MISMATCH"),
        (1, [f32([1]), f32([2])], "E_AXIS_RANGE"),
        (-1, [f32([1]), f32([2])], "E_AXIS_RANGE"),
        (0, [f32([1, 2], [1, 2]), f32([1], [1, 1])], "E_SHAPE_MISMATCH"),
        (0, [f32([1]), i32([1])], "E_DTYPE_MISMATCH"),
        (
            0,
            [slices(f32([1]), [0], [2]), slices(f32([1]), [1], [2])],
            "E_SPARSE_GATHER",  # [2.2-sparse]
        ),
        (7, [f32([1])], {"r": [1]}),
    ],
)
def test_gather(axis, values, result):
    assert gathered(axis, *values) == result


## Reductions in cross-replica context


def over_axis(reduce_op: str, axis, *values, kind="mirrored"):
    program = [op("reduce", "r", reduce_op=reduce_op, value="x", axis=axis)]
    return evaluate(
        case(
            program,
            kind,
            len(values),
            inputs={"x": per_replica(*values)},
            observe=["r"],
        )
    )


@pytest.mark.parametrize(
    "reduce_op, axis, values, result",
    [
        ("MEAN", 0, [i32([1, 2]), i32([4])], tensor("f64", 7 / 3)),
        (
            "MEAN",
            [0, 1],  # [3.1-axis-list]
            [f32([1, 2, 3], [1, 3]), f32([4, 5, 6, 7, 8, 9], [2, 3])],
            f32(5),
        ),
        ("MEAN", -1, [f32([1, 3], [1, 2]), f32([5], [1, 1])], f32([3])),
        ("SUM", 1, [f32([1, 2], [1, 2]), f32([3], [1, 1])], f32([6])),
        ("SUM", None, [f32([1, 2]), f32([3, 4])], f32([4, 6])),
        ("MEAN", None, [i32([1]), i32([2])], tensor("f64", [1.5])),
    ],
)
def test_reduce(reduce_op, axis, values, result):
    assert over_axis(reduce_op, axis, *values) == {
        "ok": {"outputs": {"r": result}}
    }


@pytest.mark.parametrize(
    "axis, values, code",
    [
        (1, [f32([1]), f32([2])], "E_AXIS_RANGE"),
        ("0", [f32([1]), f32([2])], "E_ARG_TYPE"),  # [3.1-axis-type]
        (1, [f32([1, 2], [2, 1]), f32([1], [1, 1])], "E_SHAPE_MISMATCH"),
        (
            0,
            [tensor("bool", [True]), tensor("bool", [True])],
            "E_DTYPE_UNSUPPORTED",
        ),
    ],
)
def test_reduce_refuses(axis, values, code):  # [3.1-axis-ragged]
    assert over_axis("SUM", axis, *values) == {"error": code}


def test_one_replica_keeps_integers_but_for_the_mean_over_an_axis():
    for kind in ("mirrored", "one_device", "central_storage"):  # [3.1-axis-int]
        assert dtypes(over_axis("MEAN", None, i32([3]), kind=kind)) == {"i32"}
        assert dtypes(over_axis("MEAN", 0, i32([3]), kind=kind)) == {"f64"}


def test_what_is_not_distributed():  # [3.1-none-plain-mean]
    inputs, spec = {"k": shared(f32(3))}, [variable("v", f32(3))]

    def result(reduce_op: str, value, kind="mirrored"):
        program = [
            op("reduce", "r", reduce_op=reduce_op, value=value, axis=None)
        ]
        return outcome(
            program, kind, inputs=inputs, variables=spec, observe=["r"]
        )

    for value in ("k", "v", py(3)):  # [3.1-none-plain-sum]
        assert result("SUM", value) == "E_NON_DISTRIBUTED_SUM"
    assert result("SUM", py(0)) == {"r": ("py", 0)}
    assert result("MEAN", "k") == result("MEAN", "v") == {"r": 3}
    assert result("SUM", "k", "multi_worker_mirrored") == [{"r": 6}] * 2


def test_destinations():
    inputs, spec = {"x": per_replica(f32(1), f32(2))}, [variable("v", f32(0))]

    def result(target, kind="mirrored"):
        program = [
            op(
                "reduce_to",
                "r",
                reduce_op="SUM",
                value="x",
                destinations=target,
            )
        ]
        return outcome(
            program, kind, inputs=inputs, variables=spec, observe=["r"]
        )

    assert result("v") == result("x") == {"r": ("mirrored", [3, 3])}
    assert (
        result(py("/device:CPU:0"))
        == result("v", "central_storage")
        == {"r": 3}
    )
    assert result("x", "central_storage") == {"r": ("mirrored", [3, 3])}
    assert result(["v"]) == "E_DEST_LIST"  # [4-destinations]
    assert result(None) == "E_DEST_NONE"
    assert result(py(3)) == "E_ARG_TYPE"


def test_two_replicas_on_each_of_two_workers():
    inputs = {"x": per_replica(*(f32(10**i) for i in range(4)))}
    program = [
        run(
            [
                op("all_reduce", "y", reduce_op="SUM", value="x"),
                op("replica_id", "i"),
            ],
            ["y", "i", "x"],
            ["x"],
        ),
        op("local_results", "l", value="x"),
    ]
    both = outcome(
        program,
        "multi_worker_mirrored",
        4,
        inputs=inputs,
        observe=["r", "l"],
        per_worker=2,
    )
    total = ("per_replica", [1111, 1111])
    assert both == [
        {
            "r": (
                "list",
                [total, ("per_replica", [0, 1]), ("per_replica", [1, 10])],
            ),
            "l": ("tuple", [1, 10]),
        },
        {
            "r": (
                "list",
                [total, ("per_replica", [2, 3]), ("per_replica", [100, 1000])],
            ),
            "l": ("tuple", [100, 1000]),
        },
    ]
