"""Variables whose synchronization or aggregation does not allow what is done
with them.
"""

from __future__ import annotations

from building import op, py, run, slices, variable

from .draw import Draw
from .given import Given


def per_replica_write(draw: Draw, given: Given) -> list[dict]:
    write = draw.write()
    crossing = op(
        "update",
        var="v",
        args=["z"],
        params=["w", "g"],
        fn=[op(write, var="w", value="g")],
    )
    return [draw.pick((op(write, var="v", value="z"), crossing))]


def no_aggregation(draw: Draw, given: Given) -> list[dict]:
    write = op(draw.write(), var="v", value="z")
    return [run([write], None, ["z", "v"], out=None)]


def wrong_element_type(draw: Draw, given: Given) -> list[dict]:
    given.inputs["k"] = {
        "shared": draw.tensor(draw.pick(("f64", "i32", "f16")), [])
    }
    return [
        draw.pick(
            (
                op("assign", var="v", value="k"),
                op("assign_add", var="total", value="k"),
                op("add", "r", a="v", b="k"),
            )
        )
    ]


def on_read_sum(draw: Draw, given: Given) -> list[dict]:
    return [
        op(
            draw.pick(("assign_add", "assign_sub")),
            var="o",
            value=py(1.0),
            read_value=False,
        )
    ]


def _one_row(draw: Draw, given: Given) -> dict:
    return {
        "per_replica": [
            slices(draw.tensor("f32", [1]), [0], [2])
            for _ in range(given.replicas)
        ]
    }


def on_read_scatter(draw: Draw, given: Given) -> list[dict]:
    given.inputs["s"] = _one_row(draw, given)
    return [
        run(
            [
                op(
                    draw.pick(("scatter_add", "scatter_sub", "scatter_max")),
                    var="q",
                    slices="s",
                )
            ],
            None,
            ["s", "q"],
            out=None,
        )
    ]


def unsummable_scatter(draw: Draw, given: Given) -> list[dict]:
    given.inputs["s"] = _one_row(draw, given)
    return [
        run(
            [
                op(
                    draw.pick(("scatter_min", "scatter_max", "scatter_update")),
                    var="m",
                    slices="s",
                )
            ],
            None,
            ["s", "m"],
            out=None,
        )
    ]


def no_synchronization(draw: Draw, given: Given) -> list[dict]:
    given.variables.append(
        variable(
            "n",
            draw.tensor("f32", draw.shape()),
            "NONE",
            draw.pick(("NONE", "SUM", "MEAN")),
        )
    )
    return []


def mean_of_integers(draw: Draw, given: Given) -> list[dict]:
    init = draw.tensor(draw.pick(("i32", "i64")), draw.shape())
    given.variables.append(
        variable("n", init, draw.pick(("AUTO", "ON_WRITE", "ON_READ")), "MEAN")
    )
    return []
