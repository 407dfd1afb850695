"""Each kind of collective, written by hand in the `collective` dialect:
compiled and interpreted, it has NumPy's results."""

import numpy as np
import pytest

from collectives_by_hand import (
    CollectiveRunner,
    collective,
    drawn,
    groups,
    named,
    step,
    tensor,
)

REPLICAS = [1, 2, 3, 4]
#: Ranks of the group `some`, for each number of replicas that has a part that is not all of them.
SOME = {2: [1], 3: [0, 2], 4: [0, 1, 3]}


@pytest.fixture
def run(tools, tmp_path):
    return CollectiveRunner(tools, tmp_path)


class One:
    """A step with one collective of `x`, of shape `given`, whose result of shape `got` is `y`."""

    def __init__(self, run, replicas, ranks, given, got, low=-9):
        self.run, self.replicas, self.given, self.got = (
            run,
            replicas,
            given,
            got,
        )
        self.ranks = list(range(replicas)) if ranks is None else ranks
        self.group, self.declared = (
            ("all", groups()) if ranks is None else ("some", groups(some=ranks))
        )
        self.x = drawn(replicas, given, low)

    def check(
        self, kind, results, reduction="none", attributes="", sources=None
    ):
        """`results` has the arrays of the members, None where unspecified."""
        body = collective(
            "y", kind, [("%x", tensor(self.given))], [tensor(self.got)],
            group=self.group, reduction=reduction, attributes=attributes, sources=sources,
        )  # fmt: skip
        text = step(
            body,
            [("x", tensor(self.given), "")],
            [("y", "y", tensor(self.got))],
            self.declared,
        )
        expected = [None] * self.replicas
        for rank, result in zip(self.ranks, results, strict=True):
            expected[rank] = result
        self.run.check(text, self.replicas, named(self.x), {"y": expected})

    def members(self):
        return [self.x[rank] for rank in self.ranks]

    def root(self):
        """The last member, since the first one is the default."""
        return self.ranks[-1]

    def at_root(self, result):
        return [result if rank == self.root() else None for rank in self.ranks]


#: (replicas, ranks of the group or None for all)
PARTIES = [(replicas, None) for replicas in REPLICAS] + [
    (replicas, ranks) for replicas, ranks in SOME.items()
]
parties = pytest.mark.parametrize(("replicas", "ranks"), PARTIES)


@parties
@pytest.mark.parametrize(
    ("reduction", "combine"),
    [
        ("sum", np.add),
        ("product", np.multiply),
        ("min", np.minimum),
        ("max", np.maximum),
    ],
)
def test_all_reduce(run, replicas, ranks, reduction, combine):
    one = One(run, replicas, ranks, (4, 3), (4, 3))
    one.check(
        "all_reduce",
        [combine.reduce(one.members())] * len(one.ranks),
        reduction,
    )


@parties
def test_reduce_scatter(run, replicas, ranks):
    members = len(ranks or range(replicas))
    one = One(run, replicas, ranks, (2 * members, 3), (2, 3))
    one.check(
        "reduce_scatter",
        np.split(np.add.reduce(one.members()), members),
        "sum",
        "axis 0",
    )


@parties
@pytest.mark.parametrize("axis", [0, 1])
def test_all_gather(run, replicas, ranks, axis):
    members = len(ranks or range(replicas))
    got = (2 * members, 3) if axis == 0 else (2, 3 * members)
    one = One(run, replicas, ranks, (2, 3), got)
    one.check(
        "all_gather",
        [np.concatenate(one.members(), axis)] * members,
        attributes=f"axis {axis}",
    )


@parties
def test_reduce(run, replicas, ranks):
    one = One(run, replicas, ranks, (5,), (5,))
    one.check(
        "reduce",
        one.at_root(np.maximum.reduce(one.members())),
        "max",
        f"root {one.root()}",
    )


@parties
def test_broadcast(run, replicas, ranks):
    one = One(run, replicas, ranks, (5, 2), (5, 2))
    one.check(
        "broadcast",
        [one.x[one.root()]] * len(one.ranks),
        attributes=f"root {one.root()}",
    )


@parties
@pytest.mark.parametrize("axis", [0, 1])
def test_gather(run, replicas, ranks, axis):
    members = len(ranks or range(replicas))
    got = (2 * members, 3) if axis == 0 else (2, 3 * members)
    one = One(run, replicas, ranks, (2, 3), got)
    one.check(
        "gather",
        one.at_root(np.concatenate(one.members(), axis)),
        attributes=f"root {one.root()} axis {axis}",
    )


@parties
def test_a_root_is_the_first_by_default(run, replicas, ranks):
    one = One(run, replicas, ranks, (3,), (3,))
    one.check("broadcast", [one.members()[0]] * len(one.ranks))


@parties
def test_scatter(run, replicas, ranks):
    ranks_of_all = ranks or list(range(replicas))
    others = len(ranks_of_all) - 1
    rows, counts = tensor((6, 2)), tensor((others,), "i64")
    body = (
        f"  %counts = arith.constant dense<2> : {counts}\n"
        if others
        else f"  %counts = tensor.empty() : {counts}\n"
    )
    body += collective(
        "y", "scatter", [("%x", rows), ("%counts", counts)], [tensor((2, 2))],
        group="some" if ranks else "all", attributes=f"root {ranks_of_all[-1]} axis 0",
    )  # fmt: skip
    declared = groups(some=ranks) if ranks else groups()
    text = step(body, [("x", rows, "")], [("y", "y", tensor((2, 2)))], declared)
    x = drawn(replicas, (6, 2))
    expected = [None] * replicas
    for position, rank in enumerate(ranks_of_all[:-1]):
        expected[rank] = x[ranks_of_all[-1]][2 * position : 2 * position + 2]
    run.check(text, replicas, named(x), {"y": expected})


@parties
@pytest.mark.parametrize("axis", [0, 1])
def test_all_to_all(run, replicas, ranks, axis):
    members = len(ranks or range(replicas))
    shape = (2 * members, 3 * members)
    one = One(run, replicas, ranks, shape, shape)
    parts = [np.split(array, members, axis) for array in one.members()]
    results = [
        np.concatenate([mine[position] for mine in parts], axis)
        for position in range(members)
    ]
    one.check("all_to_all", results, attributes=f"axis {axis}")


@parties
def test_permute(run, replicas, ranks):
    one = One(run, replicas, ranks, (3, 2), (3, 2))
    sources = one.ranks[-1:] + one.ranks[:-1]
    one.check("permute", [one.x[source] for source in sources], sources=sources)


@parties
def test_permute_without_sources_gives_zeros(run, replicas, ranks):
    one = One(run, replicas, ranks, (4,), (4,))
    sources = [-1, *one.ranks[:-1]]
    one.check(
        "permute",
        [np.zeros(4)] + [one.x[source] for source in sources[1:]],
        sources=sources,
    )


@pytest.mark.parametrize(
    ("replicas", "ranks"), [(2, None), (3, [0, 2]), (4, [1, 2])]
)
def test_send_and_recv(run, replicas, ranks):
    one = One(run, replicas, ranks, (7,), (7,))
    one.check(
        "send", [one.x[one.ranks[1]], None], attributes=f"root {one.ranks[1]}"
    )
    one.check(
        "recv", [None, one.x[one.ranks[0]]], attributes=f"root {one.ranks[1]}"
    )


@parties
def test_barrier(run, replicas, ranks):
    body = f"  collective.barrier @{'some' if ranks else 'all'}\n  %y = arith.addf %x, %x : tensor<3xf32>\n"
    declared = groups(some=ranks) if ranks else groups()
    text = step(
        body,
        [("x", "tensor<3xf32>", "")],
        [("y", "y", "tensor<3xf32>")],
        declared,
    )
    x = drawn(replicas, (3,))
    run.check(text, replicas, named(x), {"y": [2 * mine for mine in x]})


@pytest.mark.parametrize("replicas", REPLICAS)
def test_ragged_all_gather(run, replicas):
    """Each rank sends its number of rows; the total is reduced before."""
    body = "  %zero = arith.constant 0 : index\n  %mine = tensor.dim %x, %zero : tensor<?x2xf32>\n"
    body += "  %number = arith.index_cast %mine : index to i64\n  %rows = tensor.from_elements %number : tensor<i64>\n"
    body += collective(
        "sum",
        "all_reduce",
        [("%rows", "tensor<i64>")],
        ["tensor<i64>"],
        reduction="sum",
    )
    body += "  %all = tensor.extract %sum[] : tensor<i64>\n  %total = arith.index_cast %all : i64 to index\n"
    body += collective(
        "y", "all_gather", [("%x", "tensor<?x2xf32>")], ["tensor<?x2xf32>"],
        attributes="axis 0", sizes=f" sizes(%total) {{bounds = array<i64: {5 * replicas}>}}",
    )  # fmt: skip
    text = step(
        body,
        [("x", "tensor<?x2xf32>", ", replica.bounds = array<i64: 5>")],
        [("y", "y", "tensor<?x2xf32>")],
    )
    random = np.random.default_rng(replicas)
    x = [
        random.integers(-9, 10, (random.integers(0, 6), 2)).astype(np.float32)
        for _ in range(replicas)
    ]
    run.check(text, replicas, named(x), {"y": [np.concatenate(x)] * replicas})


#: Computes `%isLow`, which is true on replicas 0 and 1.
BY_RANK = """  %r = replica.id : tensor<i32>
  %i = tensor.extract %r[] : tensor<i32>
  %two = arith.constant 2 : i32
  %isLow = arith.cmpi slt, %i, %two : i32
"""


def branch(condition, kind, taken, other):
    """A branch between two sides, (body, yielded value); its result is `y`."""
    sides = "  } else {\n".join(
        f"{body}    scf.yield %{value} : {kind}\n"
        for body, value in (taken, other)
    )
    return f"  %y = scf.if %{condition} -> {kind} {{\n{sides}  }}\n"


def pair(kind, group, shape=(4,), got=None, reduction="none", **options):
    return collective(
        "z",
        kind,
        [("%x", tensor(shape))],
        [tensor(got or shape)],
        group=group,
        reduction=reduction,
        **options,
    ), "z"


#: What ranks 2 and 3 execute while ranks 0 and 1 reduce, and the results.
BESIDES = {
    "all_reduce": (
        pair("all_reduce", "high", reduction="max"),
        lambda x: [np.maximum.reduce(x)] * len(x),
    ),
    "reduce": (
        pair("reduce", "high", reduction="sum", attributes="root 2"),
        lambda x: [sum(x)] + [None] * (len(x) - 1),
    ),
    "broadcast": (
        pair("broadcast", "high", attributes="root 3"),
        lambda x: [x[1]] * len(x),
    ),
    "permute": (
        pair("permute", "high", sources=[3, 2]),
        lambda x: [x[1], x[0]],
    ),
    "send": (pair("send", "high", attributes="root 2"), lambda x: [None, x[0]]),
    "recv": (pair("recv", "high", attributes="root 2"), lambda x: [x[1], None]),
    "all_to_all": (
        pair("all_to_all", "high", attributes="axis 0"),
        lambda x: [np.r_[x[0][:2], x[1][:2]], np.r_[x[0][2:], x[1][2:]]],
    ),
}


@pytest.mark.parametrize("kind", BESIDES)
def test_the_rank_decides_who_takes_part(run, kind):
    """Ranks 0 and 1 issue another collective than ranks 2 and 3."""
    besides, expected = BESIDES[kind]
    body = BY_RANK + branch(
        "isLow",
        "tensor<4xf32>",
        pair("all_reduce", "low", reduction="sum"),
        besides,
    )
    declared = groups(low=[0, 1], high=[2, 3])
    text = step(
        body,
        [("x", "tensor<4xf32>", "")],
        [("y", "y", "tensor<4xf32>")],
        declared,
    )
    x = drawn(4, (4,))
    run.check(text, 4, named(x), {"y": [x[0] + x[1]] * 2 + expected(x[2:])})


def test_the_rank_decides_with_results_of_other_shapes(run):
    """Each side has another number of collectives, of other shapes."""
    gathered = collective(
        "w",
        "all_gather",
        [("%x", "tensor<4xf32>")],
        ["tensor<8xf32>"],
        group="low",
        attributes="axis 0",
    )
    gathered += "    %z = tensor.extract_slice %w[2] [4] [1] : tensor<8xf32> to tensor<4xf32>\n"
    scattered = collective(
        "v",
        "reduce_scatter",
        [("%x", "tensor<4xf32>")],
        ["tensor<2xf32>"],
        group="high",
        reduction="sum",
        attributes="axis 0",
    )
    scattered += "  collective.barrier @high\n"
    scattered += collective(
        "z",
        "all_gather",
        [("%v", "tensor<2xf32>")],
        ["tensor<4xf32>"],
        group="high",
        attributes="axis 0",
    )
    body = BY_RANK + branch(
        "isLow", "tensor<4xf32>", (gathered, "z"), (scattered, "z")
    )
    text = step(
        body,
        [("x", "tensor<4xf32>", "")],
        [("y", "y", "tensor<4xf32>")],
        groups(low=[0, 1], high=[2, 3]),
    )
    x = drawn(4, (4,))
    run.check(
        text,
        4,
        named(x),
        {"y": [np.r_[x[0][2:], x[1][:2]]] * 2 + [x[2] + x[3]] * 2},
    )


def test_the_rank_decides_about_one_side(run):
    """Only ranks 0 and 1 scatter rows; the others continue."""
    scatter = "    %counts = arith.constant dense<1> : tensor<1xi64>\n" + collective(
        "rows", "scatter", [("%x", "tensor<4xf32>"), ("%counts", "tensor<1xi64>")], ["tensor<1xf32>"], group="low", attributes="root 1 axis 0",
    )  # fmt: skip
    scatter += "    %z = tensor.insert_slice %rows into %x[3] [1] [1] : tensor<1xf32> into tensor<4xf32>\n"
    body = BY_RANK + branch("isLow", "tensor<4xf32>", (scatter, "z"), ("", "x"))
    text = step(
        body,
        [("x", "tensor<4xf32>", "")],
        [("y", "y", "tensor<4xf32>")],
        groups(low=[0, 1]),
    )
    x = drawn(3, (4,))
    run.check(text, 3, named(x), {"y": [np.r_[x[0][:3], x[1][:1]], None, x[2]]})


def test_members_decide_together(run):
    """Ranks 0 and 1 branch on a reduced number; the other ranks skip the
    branch."""
    body = collective(
        "s",
        "all_reduce",
        [("%x", "tensor<4xf32>")],
        ["tensor<4xf32>"],
        group="low",
        reduction="sum",
    )
    body += "  %c0 = arith.constant 0 : index\n  %first = tensor.extract %s[%c0] : tensor<4xf32>\n"
    body += "  %limit = arith.constant 0.0 : f32\n  %isBig = arith.cmpf ogt, %first, %limit : f32\n"
    body += branch(
        "isBig",
        "tensor<4xf32>",
        pair("permute", "low", sources=[1, 0]),
        ("", "x"),
    )
    text = step(
        body,
        [("x", "tensor<4xf32>", "")],
        [("y", "y", "tensor<4xf32>")],
        groups(low=[0, 1]),
    )
    for sign in (1, -1):
        x = [sign * np.float32([i + 1, 2, 3, 4]) for i in range(3)]
        run.check(
            text,
            3,
            named(x),
            {"y": [x[1], x[0], None] if sign > 0 else [x[0], x[1], None]},
        )


def test_what_does_not_fit_the_ranks_is_refused(run):
    def refuse(kind, given, got, replicas=4, **options):
        text = step(
            collective(
                "y", kind, [("%x", tensor(given))], [tensor(got)], **options
            ),
            [("x", tensor(given), "")],
            [("y", "y", tensor(got))],
        )
        return run.refusal(text, replicas)

    assert (
        "expected an operand with as many rows for each of 4 ranks, found 'tensor<6xf32>'"
        in refuse("all_to_all", (6,), (6,))
    )
    assert "expected an operand with 8 rows, 2 for each of 4 ranks" in refuse(
        "reduce_scatter", (4,), (2,), reduction="sum"
    )
    assert "expected 16 rows from 4 ranks" in refuse(
        "all_gather", (4,), (8,), attributes="axis 0"
    )
    assert "expected a source for each of 4 ranks, found 2" in refuse(
        "permute", (4,), (4,), sources=[1, 0]
    )
    assert "expected sources among the ranks of group @all, found 4" in refuse(
        "permute", (4,), (4,), sources=[1, 0, 4, -1]
    )
    assert "expected a group of 2 ranks for kind 'send', found 4" in refuse(
        "send", (4,), (4,)
    )
