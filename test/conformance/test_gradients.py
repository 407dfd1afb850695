"""Reverse mode, by hand and by differences, and the two collectives that have a
derivative.
"""

import numpy as np
import pytest

from building import (
    const,
    f32,
    i32,
    op,
    per_replica,
    run,
    shared,
    tensor,
    variable,
)
from reference.arithmetic import apply
from reference.tape import Tape
from reference.values import Tensor
from results import outcome


def gradient(
    wrt: list[str],
    body: list[dict],
    inputs: dict,
    of="l",
    kind="mirrored",
    replicas=2,
    **more,
):
    program = [
        run(
            [op("gradient", "y", wrt=wrt, body=body, of=of)],
            "y",
            [*inputs, *more.pop("args", [])],
        )
    ]
    return outcome(
        program, kind, replicas, inputs=inputs, observe=["r"], **more
    )


def each(*values):
    return {
        "r": (
            "list",
            [
                ("per_replica", list(v)) if isinstance(v, list) else v
                for v in values
            ],
        )
    }


XC = {"x": per_replica(f32(2), f32(5)), "c": per_replica(f32(1), f32(3))}


@pytest.mark.parametrize(
    "reduce_op, result", [("SUM", [4, 4]), ("MEAN", [2, 2])]
)
def test_the_gradient_of_an_all_reduce_is_that_all_reduce(reduce_op, result):
    body = [  # [2.4-all-reduce]
        op("all_reduce", "s", reduce_op=reduce_op, value="x"),
        op("mul", "l", a="s", b="c"),
    ]
    assert gradient(["x"], body, XC) == each(result)


def test_a_chain_of_collectives():  # [2.4-sum-of-losses]
    """s = sum x = 7 is multiplied by c and averaged: dl/ds is mean(c) / 2 on
    each replica, summed over both.
    """
    body = [
        op("all_reduce", "s", reduce_op="SUM", value="x"),
        op("mul", "t", a="s", b="c"),
        op("all_reduce", "m", reduce_op="MEAN", value="t"),
        op("square", "l", a="m"),
    ]
    # m = 7 * (1 + 3) / 2 = 14; dl/dm = 28, its mean over replicas 28; dl/ds =
    # 28 c; summed over replicas 28 * 4.
    assert gradient(["x"], body, XC) == each([112, 112])


def test_the_gradient_of_a_gather_is_the_sum_of_ones_own_rows():
    inputs = {  # [2.4-all-gather]
        "x": per_replica(f32([1, 2], [1, 2]), f32([3], [1, 1])),
        "c": per_replica(f32([1, 2, 3], [1, 3]), f32([10, 20, 30], [1, 3])),
    }
    body = [
        op("all_gather", "g", value="x", axis=1),
        op("mul", "l", a="g", b="c"),
    ]
    assert gradient(["x"], body, inputs) == each([[[11, 22]], [[33]]])


def test_an_unused_leaf_of_a_nest_has_a_gradient_of_zero():
    body = [
        op("all_reduce", ["s", "t"], reduce_op="SUM", value=["x", "c"]),
        op("square", "l", a="s"),
    ]
    assert gradient(["x", "c"], body, XC) == each([28, 28], [0, 0])


def test_what_has_no_gradient():
    merge = op("merge_call", "s", args=["x"], params=["a"], fn=[], returns="a")
    assert gradient(["x"], [merge, op("mul", "l", a="s", b="s")], XC) == each(
        ("none", True)
    )
    assert gradient(["c"], [op("square", "l", a="x")], XC) == each(
        ("none", True)
    )
    ints = {"x": per_replica(i32(1), i32(2))}
    assert gradient(["x"], [op("square", "l", a="x")], ints) == each(
        ("none", True)
    )


@pytest.mark.parametrize(
    "value, result", [("x", [[0, 2], [0, 2]]), ("s", ("none", True))]
)
def test_slices_of_an_all_reduce_have_no_gradient(value, result):
    """Of the same all_reduce, a tensor has one."""
    inputs = {
        "x": per_replica(f32([1, 2]), f32([3, 4])),
        "c": shared(f32([0, 1])),
    }
    body = [  # [2.4-slices]
        op(
            "indexed_slices",
            "s",
            values="x",
            indices=const(tensor("i64", [1, 0])),
            dense_shape=const(tensor("i64", [2])),
        ),
        op("all_reduce", "t", reduce_op="SUM", value=value),
        op("mul", "l", a="t", b="c"),
    ]
    assert gradient(["x"], body, inputs) == each(result)


def test_variables_have_gradients_too():
    body = [op("read", "w", var="v"), op("mul", "l", a="w", b="c")]
    spec = [variable("v", f32(3), None, "SUM")]
    assert gradient(["v", "c"], body, XC, variables=spec, args=["v"]) == each(
        [1, 3], [3, 3]
    )


def test_what_happened_before_is_a_constant():
    program = [
        run(
            [
                op("square", "z", a="x"),
                op(
                    "gradient",
                    "y",
                    wrt=["x", "z"],
                    body=[op("square", "l", a="z")],
                    of="l",
                ),
            ],
            "y",
            ["x"],
        )
    ]
    assert outcome(program, inputs={"x": XC["x"]}, observe=["r"]) == each(
        ("none", True), [8, 50]
    )


def test_a_gradient_of_a_gradient():
    inner = op(
        "gradient",
        "g",
        wrt=["x"],
        body=[op("square", "q", a="x"), op("mul", "l", a="q", b="x")],
        of="l",
    )
    body = [inner, op("python_sum", "h", a="g")]
    # (x^3)'' = 6 x
    assert gradient(["x"], body, XC, of="h") == each([12, 30])


def test_control_flow():
    loop = op(
        "while",
        "l",
        trip_count=3,
        init="x",
        carry="k",
        body=[op("mul", "t", a="k", b="x")],
        yield_="t",
    )
    assert gradient(["x"], [loop], XC) == each([4 * 2**3, 4 * 5**3])
    choice = op(
        "cond",
        "l",
        pred="p",
        then={"body": [op("square", "a", a="x")], "returns": "a"},
        else_={"body": [], "returns": "x"},
    )
    assert gradient(
        ["x"], [op("less", "p", a="x", b=const(f32(3))), choice], XC
    ) == each([4, 1])


@pytest.mark.parametrize(
    "kind", ["default", "one_device", "mirrored", "central_storage"]
)
def test_one_replica(kind):
    body = [
        op("all_reduce", "s", reduce_op="MEAN", value="x"),
        op("all_gather", "g", value="s", axis=0),
        op("square", "l", a="g"),
    ]
    assert gradient(
        ["x"], body, {"x": per_replica(f32([3]))}, kind=kind, replicas=1
    ) == {"r": ("list", [[6]])}


def test_workers():
    body = [
        op("all_reduce", "s", reduce_op="SUM", value="x"),
        op("mul", "l", a="s", b="c"),
    ]
    assert (
        gradient(["x"], body, XC, kind="multi_worker_mirrored")
        == [{"r": ("list", [4])}] * 2
    )


def test_gradient_of_a_collective_that_one_replica_does_not_use():
    """Only replica 0 uses the sum, so only it reduces the gradient."""
    body = [
        op("all_reduce", "s", reduce_op="SUM", value="x"),
        op(
            "static_if_replica",
            ids=[0],
            then=[op("set", "l", a="s")],
            else_=[op("square", "l", a="x")],
        ),
    ]
    assert gradient(["x"], body, XC) == "E_COLLECTIVE_DIVERGENCE"


SAMPLES = {
    "add": [(2, 3), (3,)],
    "sub": [(2, 1), (2, 3)],
    "mul": [(2, 3), (1, 3)],
    "neg": [(2, 2)],
    "tanh": [(3,)],
    "square": [(3,)],
    "matmul": [(2, 3), (3, 4)],
    "identity": [(2,)],
    "expand_dims": [(2,)],
    "reduce_sum": [(2, 3)],
    "reduce_mean": [(2, 3)],
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_derivatives_are_differences(name, axis):
    """Central differences in f64 with a step of 1e-6: 1e-8 of error is
    expected, 1e-6 allowed.
    """
    random = np.random.default_rng(7)
    inputs = [Tensor(random.normal(size=shape)) for shape in SAMPLES[name]]
    has_axis = name in ("expand_dims", "reduce_sum", "reduce_mean")
    attributes = (
        {"axis": 0 if name == "expand_dims" and axis is None else axis}
        if has_axis
        else {}
    )
    weights = Tensor(
        random.normal(size=apply([], name, *inputs, **attributes).shape)
    )

    def loss(tapes, values):
        return apply(
            tapes, "mul", apply(tapes, name, *values, **attributes), weights
        )

    tape = Tape()
    for tensor_in in inputs:
        tape.watch(tensor_in)
    of = loss([tape], inputs)

    def filled(number):
        return lambda t: Tensor(np.full(t.shape, float(number)))

    steps = tape.gradients(
        lambda op_, *a, **k: apply([], op_, *a, **k),
        [of],
        inputs,
        filled(1),
        filled(0),
    )
    with pytest.raises(StopIteration) as stop:
        next(steps)
    for position, found in enumerate(stop.value.value):
        for index in np.ndindex(inputs[position].shape):
            moved = []
            for sign in (1, -1):
                values = [Tensor(t.array.copy()) for t in inputs]
                values[position].array[index] += sign * 1e-6
                moved.append(loss([], values).array.sum())
            assert abs((moved[0] - moved[1]) / 2e-6 - found.array[index]) < 1e-6


def test_a_shared_tensor():  # [2.1-same-object]
    inputs = {"k": shared(tensor("f64", 3.0))}
    body = [
        op("all_reduce", "s", reduce_op="SUM", value="k"),
        op("square", "l", a="s"),
    ]
    # s = 6 on both; dl/ds = 12 on both; summed 24.
    assert gradient(["k"], body, inputs) == each([24, 24])
