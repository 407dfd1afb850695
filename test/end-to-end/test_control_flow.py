"""Loops and branches: compiled programs are bitwise equal to the interpreter,
and have NumPy's values.
"""

import numpy as np
import pytest

from steps_by_hand import T, X, combine, rows, step, values, variable, variables

REPLICAS = [1, 2, 3, 4, 8]

FIRST = """%id = replica.id : tensor<i32>
  %rank = tensor.extract %id[] : tensor<i32>
  %zero = arith.constant 0 : i32
  %first = arith.cmpi eq, %rank, %zero : i32"""


@pytest.mark.parametrize("replicas", REPLICAS)
def test_a_varying_branch_whose_sides_issue_the_same_collectives(
    interpreted, replicas
):
    """Replica 0 contributes 2x where the others contribute x, and continues
    with other work; both add to one variable.
    """
    body = f"""
  {FIRST}
  %r = scf.if %first -> {T} {{
    {combine("d", "x", "add", "x")}
    %s = replica.all_reduce sum %d : {T}
    {combine("e", "d", "add", "s")}
    replica.assign_add @count, %d : {T}
    %m = replica.all_reduce mean %e : {T}
    {combine("f", "e", "sub", "m")}
    scf.yield %f : {T}
  }} else {{
    %s = replica.all_reduce sum %x : {T}
    replica.assign_add @count, %x : {T}
    {combine("q", "s", "mul", "s")}
    %m = replica.all_reduce mean %q : {T}
    scf.yield %m : {T}
  }}
  %t = replica.all_reduce sum %r : {T}
  replica.assign @w, %t : {T}
"""
    text = step(variables("w") + variable("count", aggregation="sum"), body)
    found = interpreted(text, replicas, {"x": rows(replicas)})
    total = (replicas + 1) * X
    e, q = 2 * X + total, total * total
    mean = (e + (replicas - 1) * q) / replicas
    np.testing.assert_allclose(
        values(found, "w"), e - mean + (replicas - 1) * mean, rtol=1e-6
    )
    np.testing.assert_array_equal(values(found, "count"), total)


@pytest.mark.parametrize("replicas", REPLICAS)
def test_branches_inside_of_a_varying_branch(interpreted, replicas):
    """One side has the collective in a nested branch, both sides of which issue
    the same collective.
    """
    body = f"""
  {FIRST}
  %one = arith.constant 1 : i32
  %second = arith.cmpi eq, %rank, %one : i32
  %r = scf.if %first -> {T} {{
    %s = replica.all_reduce sum %x : {T}
    scf.yield %s : {T}
  }} else {{
    %i = scf.if %second -> {T} {{
      {combine("d", "x", "add", "x")}
      %s = replica.all_reduce sum %d : {T}
      scf.yield %s : {T}
    }} else {{
      %s = replica.all_reduce sum %x : {T}
      {combine("d", "s", "add", "s")}
      scf.yield %d : {T}
    }}
    scf.yield %i : {T}
  }}
  %t = replica.all_reduce sum %r : {T}
  replica.assign @w, %t : {T}
"""
    text = step(variables("w"), body)
    found = interpreted(text, replicas, {"x": rows(replicas)})
    total = (replicas + (replicas > 1)) * X
    np.testing.assert_allclose(
        values(found, "w"),
        total * (min(replicas, 2) + 2 * max(replicas - 2, 0)),
        rtol=1e-6,
    )


@pytest.mark.parametrize("replicas", REPLICAS)
def test_assignments_inside_of_a_while(interpreted, replicas):  # [10-loops]
    """Both regions assign: the condition region once more than the body."""
    body = f"""
  %s = replica.all_reduce sum %x : {T}
  %limit = arith.constant 3 : i32
  %one = arith.constant dense<1> : tensor<i32>
  %last = scf.while (%kept = %s) : ({T}) -> {T} {{
    replica.assign_add @before, %kept : {T}
    %n = replica.read @n : tensor<i32>
    %i = tensor.extract %n[] : tensor<i32>
    %more = arith.cmpi slt, %i, %limit : i32
    scf.condition(%more) %kept : {T}
  }} do {{
  ^bb0(%kept: {T}):
    replica.assign_add @n, %one : tensor<i32>
    %b = replica.read @before : {T}
    replica.assign @after, %b : {T}
    {combine("next", "kept", "add", "b")}
    %r = replica.all_reduce mean %next : {T}
    scf.yield %r : {T}
  }}
  replica.assign @sum, %last : {T}
"""
    text = step(
        variables("before", "after", "sum")
        + variable("n", "tensor<i32>", initial="0"),
        body,
    )
    found = interpreted(text, replicas, {"x": rows(2 * replicas)}, steps=2)
    before, after, last, n = 0 * X, 0 * X, None, 0
    for _ in range(2):
        last = replicas * X
        while True:
            before = before + last
            if n >= 3:
                break
            n, after, last = n + 1, before, last + before
    for name, expected in (("before", before), ("after", after), ("sum", last)):
        np.testing.assert_allclose(values(found, name), expected, rtol=1e-6)


INITS = {
    "fill": f"%h = arith.constant 0.5 : f32\n  %e = tensor.empty() : {T}\n  %init = linalg.fill ins(%h : f32) outs(%e : {T}) -> {T}",
    "constant": f"%init = arith.constant dense<0.5> : {T}",
    "variable": f"%init = replica.read @start : {T}",
    "computed": f"%h = arith.constant dense<0.5> : {T}\n  %z = replica.read @w : {T}\n  {combine('init', 'h', 'add', 'z')}",
}


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("exchange", [False, True], ids=["kernel", "step"])
@pytest.mark.parametrize("init", INITS)
def test_carried_values_that_start_from_one_value(
    interpreted, init, exchange, replicas
):
    """Three carried values have the same initial value and are rotated: each
    needs its own memory. With a collective in it the loop is control flow of
    the step, else part of a kernel."""
    body = f"""
  {INITS[init]}
  %s = replica.all_reduce mean %x : {T}
  %from = arith.constant 0 : index
  %to = arith.constant 4 : index
  %by = arith.constant 1 : index
  %r:3 = scf.for %i = %from to %to step %by iter_args(%a = %init, %b = %init, %c = %init) -> ({T}, {T}, {T}) {{
    {combine("d", "a", "add", "s")}
    {"%n = replica.all_reduce mean %d : " + T if exchange else combine("n", "d", "mul", "s")}
    scf.yield %b, %c, %n : {T}, {T}, {T}
  }}
  %u:2 = scf.for %i = %from to %to step %by iter_args(%a = %r#0, %b = %r#1) -> ({T}, {T}) {{
    {combine("p", "a", "add", "b")}
    {"%q = replica.all_reduce mean %p : " + T if exchange else combine("q", "p", "mul", "s")}
    scf.yield %b, %q : {T}, {T}
  }}
  replica.assign @a, %u#0 : {T}
  replica.assign @b, %u#1 : {T}
  replica.assign @c, %r#2 : {T}
"""
    text = step(
        variables("w", "a", "b", "c") + variable("start", initial="0.5"), body
    )
    found = interpreted(text, replicas, {"x": rows(2 * replicas)}, steps=2)
    a = b = c = np.full_like(X, 0.5)
    for _ in range(4):
        a, b, c = b, c, (a + X) * (1 if exchange else X)
    last = c
    for _ in range(4):
        a, b = b, (a + b) * (1 if exchange else X)
    for name, expected in (("a", a), ("b", b), ("c", last)):
        np.testing.assert_allclose(values(found, name), expected, rtol=1e-6)


@pytest.mark.parametrize("exchange", [False, True], ids=["kernel", "step"])
def test_carried_values_without_a_start(interpreted, exchange):
    """The loop carries two uninitialized tensors, which it writes before it
    reads them; CSE merges the two `tensor.empty` operations.
    """
    exchanged = (
        f"%m = replica.all_reduce mean %f : {T}"
        if exchange
        else combine("m", "f", "add", "g")
    )
    body = f"""
  %s = replica.all_reduce mean %x : {T}
  %from = arith.constant 0 : index
  %to = arith.constant 3 : index
  %by = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %p = tensor.empty() : {T}
  %q = tensor.empty() : {T}
  %r:2 = scf.for %i = %from to %to step %by iter_args(%a = %p, %b = %q) -> ({T}, {T}) {{
    %f = linalg.fill ins(%two : f32) outs(%a : {T}) -> {T}
    %g = linalg.fill ins(%three : f32) outs(%b : {T}) -> {T}
    {exchanged}
    {combine("o", "m", "add", "s")}
    scf.yield %g, %o : {T}, {T}
  }}
  replica.assign @a, %r#0 : {T}
  replica.assign @b, %r#1 : {T}
"""
    text = step(variables("a", "b"), body)
    found = interpreted(text, 2, {"x": rows(2)})
    np.testing.assert_allclose(values(found, "a"), np.full_like(X, 3))
    np.testing.assert_allclose(values(found, "b"), X + (2 if exchange else 5))


@pytest.mark.parametrize("replicas", REPLICAS)
def test_a_branch_on_the_rank_that_all_replicas_take(interpreted, replicas):
    """The condition depends on the number of the replica, but is true on all
    replicas. [2.3-control-flow]
    """
    body = f"""
  {FIRST}
  %many = arith.constant 8 : i32
  %below = arith.cmpi slt, %rank, %many : i32
  %r = scf.if %below -> {T} {{
    %s = replica.all_reduce sum %x : {T}
    scf.yield %s : {T}
  }} else {{
    scf.yield %x : {T}
  }}
  replica.assign @w, %r : {T}
"""
    text = step(variables("w"), body)
    found = interpreted(text, replicas, {"x": rows(replicas)})
    np.testing.assert_array_equal(values(found, "w"), replicas * X)


@pytest.mark.parametrize("replicas", REPLICAS)
def test_updates_by_some_steps(interpreted, tools, tmp_path, replicas):
    """Three variables change in the second step alone. Both sides of the first
    branch are computed; the other divides by zero in the first step, where it
    is not taken, and stays.
    """
    large = "tensor<1x1280xf32>"
    whole = "tensor<1x1280xi32>"
    body = f"""
  %step = replica.read @taken : tensor<i32>
  %n = tensor.extract %step[] : tensor<i32>
  %one = arith.constant 1 : i32
  %second = arith.cmpi eq, %n, %one : i32
  %next = arith.constant dense<1> : tensor<i32>
  replica.assign_add @taken, %next : tensor<i32>
  %s = replica.all_reduce sum %y : {large}
  %w = replica.read @w : {large}
  %v = replica.read @v : {large}
  %r:2 = scf.if %second -> ({large}, {large}) {{
    %m = arith.addf %v, %s : {large}
    %d = arith.mulf %m, %s : {large}
    %p = arith.subf %w, %d : {large}
    scf.yield %p, %m : {large}, {large}
  }} else {{
    scf.yield %w, %v : {large}, {large}
  }}
  replica.assign @w, %r#0 : {large}
  replica.assign @v, %r#1 : {large}
  %k = replica.read @k : {whole}
  %q = scf.if %second -> {whole} {{
    %e = tensor.empty() : {whole}
    %f = linalg.fill ins(%n : i32) outs(%e : {whole}) -> {whole}
    %g = arith.divsi %k, %f : {whole}
    %h = arith.subi %g, %f : {whole}
    scf.yield %h : {whole}
  }} else {{
    scf.yield %k : {whole}
  }}
  replica.assign @k, %q : {whole}
"""
    declarations = (
        variable("w", large, "1.0")
        + variable("v", large, "0.5")
        + variable("taken", "tensor<i32>", "0")
        + variable("k", whole, "7")
    )
    text = step(declarations, body, {"y": large})
    y = np.random.default_rng(0).standard_normal((1, 1280), np.float32)
    found = interpreted(
        text,
        replicas,
        {"x": rows(3 * replicas), "y": np.repeat(y, 3 * replicas, axis=0)},
        3,
    )
    total = replicas * y[0].astype(np.float64)

    def get(name, type):
        return np.frombuffer(found[name][2], type)

    np.testing.assert_allclose(
        get("v", np.float32), 0.5 + total, rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(
        get("w", np.float32), 1 - (0.5 + total) * total, rtol=1e-4, atol=1e-4
    )
    np.testing.assert_array_equal(get("k", np.int32), 6)
    lowered = tools.run(
        "lockstep-compile", tmp_path / "step.mlir", f"--replicas={replicas}",
        "--stop-after=simplify",
    ).stdout  # fmt: skip
    assert lowered.count("scf.if") == 1
    assert "arith.select" in lowered
