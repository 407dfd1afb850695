"""Operations in the wrong place: collectives that not all replicas reach, in
another context, or with another strategy.
"""

from __future__ import annotations

from building import const, op, py, run

from .draw import Draw
from .given import Given


def _collective(draw: Draw, value="x", out="y") -> dict:
    kind = draw.pick(("all_reduce", "all_gather", "merge_call"))
    if kind == "all_reduce":
        return op(kind, out, reduce_op=draw.pick(("SUM", "MEAN")), value=value)
    if kind == "all_gather":
        return op(kind, out, value=value, axis=0)
    return op(
        kind,
        out,
        args=[value],
        params=["a"],
        fn=[op("reduce", "t", reduce_op="SUM", value="a", axis=None)],
        returns="t",
    )


def diverging(draw: Draw, given: Given) -> list[dict]:
    """Replicas that rendezvous in different collectives, or not all of them."""
    one = _collective(draw)
    kind = draw.pick(("missing", "other", "order", "count"))
    if kind == "missing":
        sides = [[one], []]
    elif kind == "other":
        sides = [
            [op("all_reduce", "y", reduce_op="SUM", value="x")],
            [
                draw.pick(
                    (
                        op("all_reduce", "y", reduce_op="MEAN", value="x"),
                        op("all_gather", "y", value="x", axis=0),
                    )
                )
            ],
        ]
    elif kind == "order":
        first, second = (
            op("all_reduce", "y", reduce_op="SUM", value="x"),
            op("all_reduce", "z", reduce_op="SUM", value="k"),
        )
        sides = [[first, second], [second, first]]
    else:
        sides = [[one, one], [one]]
    if draw.chance(0.5):
        sides.reverse()
    ids = [draw.number(0, given.replicas - 1)]
    return [
        run(
            [op("static_if_replica", ids=ids, then=sides[0], else_=sides[1])],
            None,
            ["x", "k"],
            out=None,
        )
    ]


def in_varying_control_flow(draw: Draw, given: Given) -> list[dict]:
    collective = op("all_reduce", "t", reduce_op="SUM", value="x")
    if draw.chance(0.3):
        body = [
            op("replica_id", "n"),
            op(
                "while",
                "y",
                trip_count="n",
                init="x",
                carry="c",
                body=[collective],
                yield_="t",
            ),
        ]
    else:
        source = draw.pick(
            (
                [op("less", "p", a="z", b=const(draw.tensor("f32", [])))],
                [op("replica_id", "i"), op("less", "p", a="i", b=py(1))],
            )
        )
        sides = [
            {"body": [collective], "returns": "t"},
            {"body": [], "returns": "x"},
        ]
        if draw.chance(0.5):
            sides.reverse()
        body = [
            *source,
            op("cond", "y", pred="p", then=sides[0], else_=sides[1]),
        ]
    return [run(body, "y", ["x", "z"])]


def wrong_context(draw: Draw, given: Given) -> list[dict]:
    crossing = draw.pick(
        (
            op("reduce", "y", reduce_op="SUM", value="x", axis=None),
            op("gather", "y", value="x", axis=0),
            op("reduce_to", "y", reduce_op="SUM", value="x", destinations="x"),
            op("broadcast_to", "y", value="x", destinations="x"),
            op("run", "y", args=[], params=[], fn=[], returns=py(1)),
        )
    )
    if draw.chance(0.5):
        return [run([crossing], "y", ["x"])]
    inside = _collective(draw, "a")
    return [
        run(
            [
                op(
                    "merge_call",
                    "y",
                    args=["x"],
                    params=["a"],
                    fn=[inside],
                    returns=None,
                )
            ],
            "y",
            ["x"],
        )
    ]


def other_structure(draw: Draw, given: Given) -> list[dict]:
    sides = [
        op("set", "y", a="x"),
        op(
            "set",
            "y",
            a=draw.pick((["x"], {"dict": {"a": "x"}}, {"tuple": ["x", "x"]})),
        ),
    ]
    return [
        run(
            [
                op(
                    "static_if_replica",
                    ids=[0],
                    then=[sides[0]],
                    else_=[sides[1]],
                )
            ],
            "y",
            ["x"],
        )
    ]


def mixed_strategies(draw: Draw, given: Given) -> list[dict]:
    body = draw.pick(
        (
            [run([])],
            [op("reduce", "r", reduce_op="SUM", value="x", axis=None)],
            [op("assign", var="v", value="k")],
        )
    )
    return [
        op(
            "other_scope",
            strategy={"kind": "one_device", "replicas": 1},
            body=body,
        )
    ]
