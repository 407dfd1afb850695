"""Control flow that the compiler lowers to other forms: switches and blocks.
Compiled programs equal the interpreter bitwise, and have NumPy's values."""

import numpy as np
import pytest

from steps_by_hand import (
    RANK,
    T,
    X,
    combine,
    rows,
    step,
    values,
    variable,
    variables,
)

REPLICAS = [1, 2, 3, 4]


@pytest.mark.parametrize("replicas", REPLICAS)
@pytest.mark.parametrize("decided", ["by the rank", "by data"])
def test_a_switch_whose_sides_issue_the_same_collectives(
    interpreted, replicas, decided
):
    """The sides contribute different operands, and use the sum differently. One
    of them has a nested switch.
    """
    own = """%at = arith.constant 0 : index
  %from = tensor.extract %which[%at] : tensor<1xi32>
  %own = arith.index_cast %from : i32 to index"""
    body = f"""
  {RANK if decided == "by the rank" else own}
  %r:2 = scf.index_switch %own -> {T}, {T}
  case 0 {{
    {combine("d", "x", "add", "x")}
    %s = replica.all_reduce sum %d : {T}
    {combine("e", "d", "add", "s")}
    scf.yield %e, %x : {T}, {T}
  }}
  case 2 {{
    %i = scf.index_switch %own -> {T}
    case 2 {{
      %s = replica.all_reduce sum %x : {T}
      scf.yield %s : {T}
    }}
    default {{
      {combine("d", "x", "add", "x")}
      %s = replica.all_reduce sum %d : {T}
      scf.yield %s : {T}
    }}
    {combine("q", "i", "mul", "i")}
    scf.yield %q, %i : {T}, {T}
  }}
  default {{
    %s = replica.all_reduce sum %x : {T}
    scf.yield %s, %x : {T}, {T}
  }}
  {combine("both", "r#0", "add", "r#1")}
  %t = replica.all_reduce sum %both : {T}
  replica.assign @w, %t : {T}
"""
    text = step(variables("w"), body, given={"which": "tensor<1xi32>"})
    data = {"x": rows(replicas), "which": np.arange(replicas, dtype=np.int32)}
    found = interpreted(text, replicas, data)
    total = (replicas + 1) * X
    sides = [2 * X + total + X, total + X, total * total + total, total + X]
    np.testing.assert_allclose(
        values(found, "w"), sum(sides[:replicas]), rtol=1e-6
    )


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("exchange", [False, True], ids=["kernel", "step"])
def test_a_switch_on_a_uniform_number(interpreted, exchange, replicas):
    """The number is equal on all replicas. One side has a collective, or no
    side has one.
    """
    one = (
        f"%y = replica.all_reduce sum %x : {T}"
        if exchange
        else combine("y", "x", "mul", "x")
    )
    body = f"""
  %n = replica.read @n : tensor<i32>
  %number = tensor.extract %n[] : tensor<i32>
  %own = arith.index_cast %number : i32 to index
  %r = scf.index_switch %own -> {T}
  case 0 {{
    scf.yield %x : {T}
  }}
  case 1 {{
    {one}
    scf.yield %y : {T}
  }}
  default {{
    {combine("y", "x", "add", "x")}
    scf.yield %y : {T}
  }}
  %s = replica.all_reduce mean %r : {T}
  %w = replica.read @w : {T}
  {combine("sum", "w", "add", "s")}
  replica.assign @w, %sum : {T}
  %one = arith.constant 1 : i32
  %next = arith.addi %number, %one : i32
  %stored = tensor.from_elements %next : tensor<i32>
  replica.assign @n, %stored : tensor<i32>
"""
    text = step(
        variables("w") + variable("n", "tensor<i32>", initial="0"), body
    )
    found = interpreted(text, replicas, {"x": rows(3 * replicas)}, steps=3)
    np.testing.assert_array_equal(
        values(found, "w"), X + (replicas * X if exchange else X * X) + 2 * X
    )


@pytest.mark.parametrize("replicas", REPLICAS)
@pytest.mark.parametrize("limit", [10.0, 1000.0])
def test_a_step_that_is_left_early(interpreted, replicas, limit):
    """All replicas return early if the sum is too large; else they execute a
    loop of blocks with a collective.
    """
    body = f"""
  %limit = arith.constant {limit} : f32
  %three = arith.constant 3 : i32
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %index = arith.constant 0 : index
  %s = replica.all_reduce sum %x : {T}
  replica.assign @w, %s : {T}
  %e = tensor.extract %s[%index, %index] : {T}
  %scaled = arith.mulf %e, %limit : f32
  %thousand = arith.constant 500.0 : f32
  %fine = arith.cmpf olt, %scaled, %thousand : f32
  cf.cond_br %fine, ^loop(%zero, %s : i32, {T}), ^stop
^loop(%i: i32, %carried: {T}):
  {combine("sum", "carried", "add", "x")}
  %m = replica.all_reduce mean %sum : {T}
  %next = arith.addi %i, %one : i32
  %more = arith.cmpi slt, %next, %three : i32
  cf.cond_br %more, ^loop(%next, %m : i32, {T}), ^done
^done:
  replica.assign @w, %m : {T}
  cf.br ^stop
^stop:
"""
    text = step(variables("w"), body)
    found = interpreted(text, replicas, {"x": rows(replicas)})
    np.testing.assert_allclose(
        values(found, "w"),
        replicas * X + (3 * X if limit < 100 else 0),
        rtol=1e-6,
    )


@pytest.mark.parametrize("replicas", REPLICAS)
def test_blocks_where_replicas_take_different_paths(interpreted, replicas):
    """A branch on per-replica data; both paths issue the same collective."""
    body = f"""
  %at = arith.constant 0 : index
  %c = tensor.extract %which[%at] : tensor<1xi1>
  cf.cond_br %c, ^a, ^b
^a:
  {combine("d", "x", "add", "x")}
  %s = replica.all_reduce sum %d : {T}
  cf.br ^join(%s : {T})
^b:
  %t = replica.all_reduce sum %x : {T}
  {combine("u", "t", "add", "t")}
  cf.br ^join(%u : {T})
^join(%r: {T}):
  %all = replica.all_reduce sum %r : {T}
  replica.assign @w, %all : {T}
"""
    text = step(variables("w"), body, given={"which": "tensor<1xi1>"})
    which = np.arange(replicas) % 2 == 0
    found = interpreted(text, replicas, {"x": rows(replicas), "which": which})
    total = (replicas + which.sum()) * X
    np.testing.assert_array_equal(
        values(found, "w"), total * (which.sum() + 2 * (~which).sum())
    )


@pytest.mark.parametrize("replicas", REPLICAS)
def test_a_branch_with_a_uniform_and_a_per_replica_result(
    interpreted, replicas
):
    """Loss scaling: of the results of a branch without collectives, the scale
    is uniform. It is assigned, and a branch with a collective depends on it.
    """
    body = f"""
  %limit = arith.constant 5.0 : f32
  %half = arith.constant 0.5 : f32
  %zeros = arith.constant dense<0.0> : {T}
  %scale = replica.read @scale : tensor<f32>
  %sum = replica.all_reduce sum %loss : tensor<1xf32>
  %c0 = arith.constant 0 : index
  %total = tensor.extract %sum[%c0] : tensor<1xf32>
  %overflows = arith.cmpf ogt, %total, %limit : f32
  %s, %g = scf.if %overflows -> (tensor<f32>, {T}) {{
    %old = tensor.extract %scale[] : tensor<f32>
    %new = arith.mulf %old, %half : f32
    %t = tensor.from_elements %new : tensor<f32>
    scf.yield %t, %zeros : tensor<f32>, {T}
  }} else {{
    {combine("d", "x", "add", "x")}
    scf.yield %scale, %d : tensor<f32>, {T}
  }}
  replica.assign @scale, %s : tensor<f32>
  %now = tensor.extract %s[] : tensor<f32>
  %isLarge = arith.cmpf ogt, %now, %limit : f32
  scf.if %isLarge {{
    %r = replica.all_reduce sum %g : {T}
    replica.assign @w, %r : {T}
  }}
"""
    text = step(
        variables("w") + variable("scale", "tensor<f32>", initial="8.0"),
        body,
        given={"loss": "tensor<1xf32>"},
    )
    for loss in (1.0, 3.0):
        data = {
            "x": rows(replicas),
            "loss": np.full(replicas, loss, np.float32),
        }
        found = interpreted(text, replicas, data)
        overflows = loss * replicas > 5
        assert np.frombuffer(found["scale"][2], np.float32) == (
            4 if overflows else 8
        )
        np.testing.assert_array_equal(
            values(found, "w"), 0 * X if overflows else 2 * replicas * X
        )


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_loop_with_a_uniform_count_and_a_varying_sum(interpreted, replicas):
    """A branch with a collective after the loop depends on the count, which is
    equal on all replicas.
    """
    body = f"""
  %c0 = arith.constant 0 : index
  %i1 = arith.constant 1 : i32
  %i9 = arith.constant 9 : i32
  %sum = replica.all_reduce sum %n : tensor<1xi32>
  %from = tensor.extract %sum[%c0] : tensor<1xi32>
  %r:2 = scf.while (%u = %from, %v = %x) : (i32, {T}) -> (i32, {T}) {{
    %more = arith.cmpi slt, %u, %i9 : i32
    scf.condition(%more) %u, %v : i32, {T}
  }} do {{
  ^bb0(%u: i32, %v: {T}):
    {combine("d", "v", "add", "x")}
    %next = arith.addi %u, %i1 : i32
    scf.yield %next, %d : i32, {T}
  }}
  %isNine = arith.cmpi eq, %r#0, %i9 : i32
  scf.if %isNine {{
    %s = replica.all_reduce sum %r#1 : {T}
    replica.assign @w, %s : {T}
  }}
"""
    text = step(variables("w"), body, given={"n": "tensor<1xi32>"})
    for n in (2, 12):
        found = interpreted(
            text,
            replicas,
            {"x": rows(replicas), "n": np.full(replicas, n, np.int32)},
        )
        trips = max(0, 9 - n * replicas)
        np.testing.assert_array_equal(
            values(found, "w"),
            (replicas * (1 + trips) * X if n * replicas <= 9 else 0 * X),
        )


@pytest.mark.parametrize("replicas", REPLICAS)
def test_loops_and_branches_on_both_sides_of_a_varying_branch(
    interpreted, replicas
):
    """Both sides have the same loop with a branch in it, with collectives of
    different operands, and assign to one variable.
    """
    body = f"""
  {RANK}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i1 = arith.constant 1 : i32
  %total = replica.all_reduce sum %n : tensor<1xi32>
  %number = tensor.extract %total[%c0] : tensor<1xi32>
  %trips = arith.index_cast %number : i32 to index
  %isMany = arith.cmpi sgt, %number, %i1 : i32
  %isFirst = arith.cmpi eq, %own, %c0 : index
  %r = scf.if %isFirst -> {T} {{
    {combine("d", "x", "add", "x")}
    %s = scf.for %i = %c0 to %trips step %c1 iter_args(%a = %d) -> {T} {{
      %t = scf.if %isMany -> {T} {{
        %q = replica.all_reduce sum %a : {T}
        scf.yield %q : {T}
      }} else {{
        scf.yield %a : {T}
      }}
      replica.assign @v, %t : {T}
      {combine("e", "t", "add", "x")}
      scf.yield %e : {T}
    }}
    scf.yield %s : {T}
  }} else {{
    %s = scf.for %i = %c0 to %trips step %c1 iter_args(%a = %x) -> {T} {{
      scf.if %isMany {{
        %q = replica.all_reduce sum %x : {T}
      }}
      replica.assign @v, %a : {T}
      {combine("e", "a", "mul", "x")}
      scf.yield %e : {T}
    }}
    scf.yield %s : {T}
  }}
  %both = replica.all_reduce sum %r : {T}
  replica.assign @w, %both : {T}
"""
    text = step(
        variables("w") + variable("v", aggregation="sum"),
        body,
        given={"n": "tensor<1xi32>"},
    )
    for trips in (0, 1, 3):
        data = {
            "x": rows(replicas),
            "n": np.array([trips] + [0] * (replicas - 1), np.int32),
        }
        found = interpreted(text, replicas, data)
        first, others, v = 2 * X, X, 0 * X
        for _ in range(trips):
            if trips > 1:
                first = first + (replicas - 1) * X
            v = first + (replicas - 1) * others
            first, others = first + X, others * X
        np.testing.assert_array_equal(values(found, "v"), v)
        np.testing.assert_array_equal(
            values(found, "w"), first + (replicas - 1) * others
        )


@pytest.mark.parametrize("replicas", [1, 3])
def test_functions_that_hold_collectives(interpreted, replicas):
    """Called from the step, from another function, and inside of merge_call."""
    functions = f"""
func.func private @of_all(%each: !replica.per_replica<{T}>) -> {T} {{
  %s = replica.reduce sum %each : !replica.per_replica<{T}> -> {T}
  return %s : {T}
}}
func.func private @of_one(%x: {T}) -> {T} {{
  %a = replica.all_reduce sum %x : {T}
  %b = replica.merge_call (%x : {T}) -> {T} {{
  ^bb0(%each: !replica.per_replica<{T}>):
    %s = func.call @of_all(%each) : (!replica.per_replica<{T}>) -> {T}
    replica.yield %s : {T}
  }}
  {combine("c", "a", "mul", "b")}
  return %c : {T}
}}
"""
    body = f"""
  %y = func.call @of_one(%x) : ({T}) -> {T}
  replica.assign @w, %y : {T}
"""
    text = step(variables("w") + functions, body)
    found = interpreted(text, replicas, {"x": rows(replicas)})
    np.testing.assert_array_equal(values(found, "w"), (replicas * X) ** 2)


@pytest.mark.parametrize("replicas", [1, 3])
def test_blocks_inside_of_an_operation(interpreted, replicas):
    """A switch between the blocks of a region, on a number that all replicas
    have, with a collective on one of its paths.
    """
    body = f"""
  %one = arith.constant dense<1> : tensor<i32>
  %n = replica.read @n : tensor<i32>
  %number = tensor.extract %n[] : tensor<i32>
  %r = scf.execute_region -> {T} {{
    cf.switch %number : i32, [default: ^other, 0: ^first, 1: ^second]
  ^first:
    %s = replica.all_reduce sum %x : {T}
    cf.br ^join(%s : {T})
  ^second:
    {combine("d", "x", "add", "x")}
    cf.br ^join(%d : {T})
  ^other:
    cf.br ^join(%x : {T})
  ^join(%y: {T}):
    scf.yield %y : {T}
  }}
  %all = replica.all_reduce sum %r : {T}
  replica.assign_add @w, %all : {T}
  replica.assign_add @n, %one : tensor<i32>
"""
    text = step(
        variables("w") + variable("n", "tensor<i32>", initial="0"), body
    )
    found = interpreted(text, replicas, {"x": rows(3 * replicas)}, steps=3)
    np.testing.assert_array_equal(
        values(found, "w"), replicas * (replicas + 2 + 1) * X
    )
