"""Collectives that the compiler merges, moves or replaces have NumPy's results."""

import numpy as np
import pytest

from collectives_by_hand import (
    CollectiveRunner,
    collective,
    drawn,
    named,
    step,
    tensor,
)

REPLICAS = [1, 2, 3, 4]


@pytest.fixture
def run(tools, tmp_path):
    return CollectiveRunner(tools, tmp_path)


@pytest.mark.daily(2)
@pytest.mark.parametrize("replicas", REPLICAS)
@pytest.mark.parametrize(
    ("kind", "reduction", "attributes", "given", "combine"),
    [
        ("all_reduce", "sum", "", ((3,), (2, 2)), None),
        ("reduce_scatter", "sum", "axis 0", ((2,), (4, 3)), "parts"),
        ("all_gather", "none", "axis 0", ((3,), (2, 2)), "rows"),
        ("all_gather", "none", "axis 1", ((3, 1), (2, 2)), "columns"),
    ],
)
def test_several_in_one_bucket(
    run, replicas, kind, reduction, attributes, given, combine
):
    """The compiler merges two collectives of one kind into one with the operands of both."""
    body, results, expected = "", [], {}
    inputs, declared = {}, []
    for name, (rows, *columns) in zip("xy", given, strict=True):
        operand = (rows * replicas if combine == "parts" else rows, *columns)
        arrays = drawn(replicas, operand)
        if combine is None:
            values = [np.add.reduce(arrays)] * replicas
        elif combine == "parts":
            values = np.split(np.add.reduce(arrays), replicas)
        else:
            axis = 0 if combine == "rows" else 1
            values = [np.concatenate(arrays, axis)] * replicas
        got = tensor(values[0].shape)
        body += collective(
            f"r{name}", kind, [(f"%{name}", tensor(operand))], [got],
            reduction=reduction, attributes=attributes,
        )  # fmt: skip
        results.append((name, f"r{name}", got))
        declared.append((name, tensor(operand), ""))
        inputs |= named(arrays, name)
        expected[name] = values
    run.check(step(body, declared, results), replicas, inputs, expected)


@pytest.mark.daily(2)
@pytest.mark.parametrize("replicas", REPLICAS)
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("divided", [False, True])
def test_own_rows_of_a_sum(run, replicas, shifted, divided):
    """Each replica uses two rows of a sum or of a quotient of it: its own, or those that begin at its number."""
    given, got = tensor((2 * replicas, 3)), tensor((2, 3))
    body = collective(
        "s", "all_reduce", [("%x", given)], [given], reduction="sum"
    )
    body += "  %id = replica.id : tensor<i32>\n  %number = tensor.extract %id[] : tensor<i32>\n"
    body += "  %rank = arith.index_cast %number : i32 to index\n  %two = arith.constant 2 : index\n"
    body += "  %row = arith.muli %rank, %two : index\n"
    if divided:
        body += f"  %four = arith.constant dense<4.0> : {given}\n  %d = arith.divf %s, %four : {given}\n"
    body += f"  %y = tensor.extract_slice %{'d' if divided else 's'}[%{'rank' if shifted else 'row'}, 0] [2, 3] [1, 1] : {given} to {got}\n"
    text = step(body, [("x", given, "")], [("y", "y", got)])
    x = drawn(replicas, (2 * replicas, 3))
    total = np.add.reduce(x) / (4 if divided else 1)
    rows = [replica if shifted else 2 * replica for replica in range(replicas)]
    run.check(
        text, replicas, named(x), {"y": [total[row : row + 2] for row in rows]}
    )


@pytest.mark.parametrize("replicas", REPLICAS)
def test_gathered_parts_of_own_rows(run, replicas):
    """Each replica takes one row of its own rows of a sum; the rows are gathered."""
    rows = replicas * replicas
    given, own, part = tensor((rows,)), tensor((replicas,)), tensor((1,))
    body = collective(
        "s", "all_reduce", [("%x", given)], [given], reduction="sum"
    )
    body += "  %id = replica.id : tensor<i32>\n  %number = tensor.extract %id[] : tensor<i32>\n"
    body += f"  %rank = arith.index_cast %number : i32 to index\n  %count = arith.constant {replicas} : index\n"
    body += "  %row = arith.muli %rank, %count : index\n"
    body += f"  %o = tensor.extract_slice %s[%row] [{replicas}] [1] : {given} to {own}\n"
    body += f"  %p = tensor.extract_slice %o[%rank] [1] [1] : {own} to {part}\n"
    body += collective(
        "y", "all_gather", [("%p", part)], [own], attributes="axis 0"
    )
    text = step(body, [("x", given, "")], [("y", "y", own)])
    x = drawn(replicas, (rows,))
    diagonal = np.add.reduce(x).reshape(replicas, replicas).diagonal()
    run.check(text, replicas, named(x), {"y": [diagonal] * replicas})


@pytest.mark.parametrize("replicas", REPLICAS)
def test_an_exchange_in_a_loop_that_is_always_the_same(run, replicas):
    shape = tensor((3,))
    body = "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %c3 = arith.constant 3 : index\n"
    body += f"  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> {shape} {{\n"
    body += collective(
        "s", "all_reduce", [("%x", shape)], [shape], reduction="sum"
    )
    body += f"    %b = arith.addf %a, %s : {shape}\n    scf.yield %b : {shape}\n  }}\n"
    text = step(body, [("x", shape, "")], [("y", "y", shape)])
    x = drawn(replicas, (3,))
    total = np.add.reduce(x)
    run.check(text, replicas, named(x), {"y": [own + 3 * total for own in x]})
