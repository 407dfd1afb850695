"""Variables, row by row: v0 = 10, replica i supplies i + 1, on two replicas
unless said.
"""

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
from results import dtypes, outcome

SUPPLY = [
    op("replica_id", "i"),
    op("cast", "c", a="i", dtype="f32"),
    op("add", "x", a="c", b=const(f32(1))),
]


def from_replicas(
    write: str,
    aggregation,
    kind="mirrored",
    replicas=2,
    synchronization=None,
    value="x",
):
    program = [
        run([*SUPPLY, op(write, var="v", value=value)], args=["v"], out=None)
    ]
    return outcome(
        program,
        kind,
        replicas,
        variables=[variable("v", f32(10), synchronization, aggregation)],
        observe_vars=["v"],
    )


@pytest.mark.parametrize(
    "write, aggregation, value",
    [
        ("assign", "SUM", 3),
        ("assign_add", "SUM", 13),
        ("assign_sub", "SUM", 7),
        ("assign", "MEAN", 1.5),
        ("assign_add", "MEAN", 11.5),
        ("assign", "ONLY_FIRST_REPLICA", 1),
        ("assign_add", "ONLY_FIRST_REPLICA", 11),
    ],
)
def test_writes_of_replicas_are_aggregated(write, aggregation, value):
    assert from_replicas(write, aggregation) == {
        "v": ("components", [value, value])
    }
    assert from_replicas(write, aggregation, "central_storage") == {
        "v": ("components", [value])
    }


@pytest.mark.parametrize(
    "kind", ["mirrored", "central_storage", "multi_worker_mirrored"]
)
def test_without_aggregation_replicas_cannot_write(kind):  # [5.2-none]
    result = from_replicas("assign_add", "NONE", kind)
    assert result == (
        ["E_AGG_NONE"] * 2 if kind == "multi_worker_mirrored" else "E_AGG_NONE"
    )


def test_one_replica_writes_as_it_likes():
    assert from_replicas("assign_add", "NONE", replicas=1) == {
        "v": ("components", [11])
    }
    assert from_replicas("assign", None, "one_device", 1) == {
        "v": ("components", [1])
    }


@pytest.mark.parametrize(
    "aggregation, result",
    [
        ("SUM", "E_NON_DISTRIBUTED_SUM"),  # [5.2-sum-literal]
        ("MEAN", {"v": ("components", [15, 15])}),
        ("ONLY_FIRST_REPLICA", {"v": ("components", [15, 15])}),
    ],
)
def test_a_host_literal_from_every_replica(aggregation, result):
    assert from_replicas("assign_add", aggregation, value=py(5.0)) == result


def test_one_tensor_on_all_replicas_is_summed_so_many_times():
    program = [  # [5.2-sum-tensor]
        run([op("assign_add", var="v", value="k")], args=["v", "k"], out=None)
    ]
    inputs, spec = {"k": shared(f32(4))}, [variable("v", f32(1), None, "SUM")]
    assert outcome(
        program, replicas=3, inputs=inputs, variables=spec, observe_vars=["v"]
    ) == {"v": ("components", [13] * 3)}


@pytest.mark.parametrize(
    "aggregation", ["NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"]
)
def test_a_cross_replica_write_goes_to_all_copies(aggregation):  # [5.2-cross]
    program = [
        op("assign", var="v", value="k"),
        op("assign_sub", var="v", value=py(1)),
    ]
    spec = [variable("v", f32(10), None, aggregation)]
    assert outcome(
        program,
        replicas=3,
        inputs={"k": shared(f32(4))},
        variables=spec,
        observe_vars=["v"],
    ) == {"v": ("components", [3, 3, 3])}


def test_what_all_reduce_made_equal_may_be_assigned_across_replicas():
    program = [
        run(
            [op("all_reduce", "y", reduce_op="SUM", value="x")],
            "y",
            ["x"],
            out="y",
        ),
        op("assign", var="v", value="y"),
    ]
    inputs, spec = {"x": per_replica(f32(1), f32(2))}, [variable("v", f32(0))]
    assert outcome(
        program, inputs=inputs, variables=spec, observe_vars=["v"]
    ) == {"v": ("components", [3, 3])}


## on_read


@pytest.mark.parametrize(
    "aggregation, total",
    [("SUM", 20 + 3), ("MEAN", 11.5), ("ONLY_FIRST_REPLICA", 11)],
)
def test_on_read_is_written_alone_and_read_together(aggregation, total):
    program = [
        run(
            [
                *SUPPLY,
                op("assign_add", var="v", value="x"),
                op("read", "y", var="v"),
            ],
            "y",
            ["v"],
        ),
        op("read", "t", var="v"),
        op("read_var", "u", var="v"),
    ]
    spec = [variable("v", f32(10), "ON_READ", aggregation)]
    assert outcome(
        program, variables=spec, observe=["r", "t", "u"], observe_vars=["v"]
    ) == {
        "r": ("per_replica", [11, 12]),
        "t": total,
        "u": total,
        "v": ("components", [11, 12]),
    }


@pytest.mark.parametrize(
    "write, aggregation, copies",
    [
        ("assign", "SUM", [3.5, 3.5]),
        ("assign", "MEAN", [7, 7]),
        ("assign", "ONLY_FIRST_REPLICA", [7, 7]),
        ("assign", "NONE", [7, 7]),
        ("assign_add", "MEAN", [17, 17]),
        ("assign_sub", "ONLY_FIRST_REPLICA", [3, 3]),
        ("assign_add", "NONE", [17, 17]),
    ],
)
def test_cross_replica_writes_of_on_read(write, aggregation, copies):
    program = [op(write, var="v", value=py(7), read_value=False)]
    spec = [variable("v", f32(10), "ON_READ", aggregation)]
    assert outcome(program, variables=spec, observe_vars=["v"]) == {
        "v": ("components", copies)
    }


def test_reading_on_read_without_aggregation():
    spec = [variable("v", f32(10), "ON_READ", "NONE")]
    assert (
        outcome([op("read", "r", var="v")], variables=spec, observe=["r"])
        == "E_AGG_NONE"
    )
    assert (
        outcome(  # [5.3-assign-none-value]
            [op("assign", var="v", value=py(7), read_value=True)],
            variables=spec,
        )
        == "E_AGG_NONE"
    )
    assert (
        outcome([op("add", "r", a="v", b=py(1))], variables=spec, observe=["r"])
        == "E_AGG_NONE"
    )


def test_a_negative_integer_is_shared_towards_zero():  # [5.3-assign-sum]
    program = [
        op("assign", var="v", value=py(-7), read_value=False),
        op("read", "r", var="v"),
    ]
    spec = [variable("v", i32(0), "ON_READ", "SUM")]
    assert outcome(
        program, variables=spec, observe=["r"], observe_vars=["v"]
    ) == {"r": -6, "v": ("components", [-3, -3])}


@pytest.mark.parametrize("kind", ["one_device", "default"])
def test_rules_of_copies_do_not_concern_one_device(kind):  # [5.1-none]
    spec = [
        variable("v", i32(1), "NONE", "MEAN"),
        variable("w", f32(1), "ON_READ", "SUM"),
    ]
    program = [
        op("assign_add", var="v", value=py(2)),
        op("assign_add", var="w", value=py(2)),
        op("read", "r", var="w"),
    ]
    assert outcome(
        program, kind, 1, variables=spec, observe=["r"], observe_vars=["v"]
    ) == {"r": 3, "v": ("components", [3])}


@pytest.mark.parametrize(
    "synchronization, aggregation", [("ON_DEMAND", "SUM"), (None, "MEDIAN")]
)
def test_unknown_names_of_declarations(synchronization, aggregation):
    spec = [variable("v", f32(1), synchronization, aggregation)]
    program = [op("read", "r", var="v")]  # [5.1-unknown]
    assert outcome(program, variables=spec, observe=["r"]) == "E_OPTION_VALUE"


## Scatters


def scattered(write: str, aggregation, kind="mirrored", synchronization=None):
    program = [run([op(write, var="v", slices="s")], args=["s", "v"], out=None)]
    inputs = {
        "s": per_replica(
            slices(f32([2, 4]), [0, 0], [3]), slices(f32([10]), [2], [3])
        )
    }
    spec = [variable("v", f32([1, 1, 1]), synchronization, aggregation)]
    return outcome(
        program, kind, inputs=inputs, variables=spec, observe_vars=["v"]
    )


@pytest.mark.parametrize(
    "write, aggregation, value",
    [
        ("scatter_add", "SUM", [7, 1, 11]),
        ("scatter_sub", "SUM", [-5, 1, -9]),
        ("scatter_add", "MEAN", [4, 1, 6]),
        ("scatter_add", "ONLY_FIRST_REPLICA", [7, 1, 1]),
        ("scatter_max", "ONLY_FIRST_REPLICA", [4, 1, 1]),
        ("scatter_update", "ONLY_FIRST_REPLICA", [4, 1, 1]),
        ("scatter_mul", "ONLY_FIRST_REPLICA", [8, 1, 1]),
    ],
)
def test_scatters_of_replicas(write, aggregation, value):
    assert scattered(write, aggregation) == {
        "v": ("components", [value, value])
    }


@pytest.mark.parametrize(
    "write", ["scatter_min", "scatter_max", "scatter_update"]
)
@pytest.mark.parametrize("aggregation", ["SUM", "MEAN"])
def test_scatters_that_do_not_add_up(write, aggregation):  # [5.2-scatter-other]
    assert scattered(write, aggregation) == "E_SCATTER_AGG"


def test_scatters_that_are_refused():  # [5.3-scatter]
    assert scattered("scatter_add", "NONE") == "E_AGG_NONE"
    assert (
        scattered("scatter_add", "SUM", synchronization="ON_READ")
        == "E_SCATTER_ONREAD"
    )


def test_across_workers_the_first_replica_of_all_counts():
    assert (
        from_replicas(
            "assign_add", "ONLY_FIRST_REPLICA", "multi_worker_mirrored"
        )
        == [{"v": ("components", [11])}] * 2
    )


def test_a_variable_has_its_own_element_type():
    spec = [variable("v", tensor("bf16", 1))]
    result = evaluate(
        case(
            [op("assign_add", var="v", value=py(0.5))],
            variables=spec,
            observe_vars=["v"],
        )
    )
    assert dtypes(result) == {"bf16"}
