"""Loops inside of kernels that carry tensors: permuted, chosen by a condition,
and with more or fewer results than carried tensors. Compiled programs are
bitwise equal to the interpreter, and have NumPy's values."""

import numpy as np
import pytest

from steps_by_hand import T, X, combine, rows, step, values, variable, variables

TRIPS = 5


def loops(loop, results):
    """A step whose loops have the trip count `TRIPS`, which is in the data, and
    that assigns their results, summed over the replicas.
    """
    sums = "\n  ".join(
        f"%s{i} = replica.all_reduce sum %{result} : {T}\n  replica.assign @w{i}, %s{i} : {T}"
        for i, result in enumerate(results)
    )
    body = f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i1 = arith.constant 1 : i32
  %i0 = arith.constant 0 : i32
  %one = arith.constant dense<1.0> : {T}
  %two = arith.constant dense<2.0> : {T}
  %number = tensor.extract %n[%c0] : tensor<1xi32>
  %trips = arith.index_cast %number : i32 to index
  {combine("y", "x", "mul", "x")}
  {loop}
  {sums}
"""
    return step(
        variables(*[f"w{i}" for i in range(len(results))]),
        body,
        given={"n": "tensor<1xi32>"},
    )


def expect(interpreted, text, replicas, *expected):
    data = {"x": rows(replicas), "n": np.full(replicas, TRIPS, np.int32)}
    found = interpreted(text, replicas, data)
    for i, value in enumerate(expected):
        np.testing.assert_array_equal(values(found, f"w{i}"), replicas * value)


@pytest.mark.parametrize("replicas", [1, 3])
def test_two_carried_tensors_are_swapped(interpreted, replicas):
    loop = f"""%a, %b = scf.for %i = %c0 to %trips step %c1 iter_args(%p = %x, %q = %y) -> ({T}, {T}) {{
    scf.yield %q, %p : {T}, {T}
  }}"""
    expect(interpreted, loops(loop, ["a", "b"]), replicas, X * X, X)


@pytest.mark.parametrize("replicas", [1, 2])
def test_each_is_the_sum_of_two_earlier_ones(interpreted, replicas):
    """Like Fibonacci numbers, but with three carried tensors."""
    loop = f"""%a, %b, %c = scf.for %i = %c0 to %trips step %c1 iter_args(%p = %x, %q = %y, %r = %one) -> ({T}, {T}, {T}) {{
    {combine("t", "p", "add", "q")}
    scf.yield %q, %r, %t : {T}, {T}, {T}
  }}"""
    p, q, r = X, X * X, 0 * X + 1
    for _ in range(TRIPS):
        p, q, r = q, r, p + q
    expect(interpreted, loops(loop, ["a", "b", "c"]), replicas, p, q, r)


def test_a_selected_carried_tensor(interpreted):
    """Selected by `arith.select`, and by a branch with one side that yields a
    value from outside of the loop, which is also used after the loop.
    """
    loop = f"""%a, %b = scf.for %i = %c0 to %trips step %c1 iter_args(%p = %x, %q = %y) -> ({T}, {T}) {{
    %first = arith.cmpi eq, %i, %c0 : index
    %s = arith.select %first, %p, %y : {T}
    %t = scf.if %first -> {T} {{
      scf.yield %x : {T}
    }} else {{
      {combine("u", "p", "add", "q")}
      scf.yield %u : {T}
    }}
    scf.yield %t, %s : {T}, {T}
  }}
  {combine("c", "x", "add", "y")}"""
    p, q = X, X * X
    for i in range(TRIPS):
        p, q = X if i == 0 else p + q, p if i == 0 else X * X
    expect(interpreted, loops(loop, ["a", "b", "c"]), 2, p, q, X + X * X)


def test_a_while_loop_whose_condition_passes_other_values(interpreted):
    """In another order; `%d`, computed before the condition, replaces `%p`."""
    loop = f"""%b, %k, %a = scf.while (%i = %i0, %p = %x, %q = %y) : (i32, {T}, {T}) -> ({T}, i32, {T}) {{
    %more = arith.cmpi slt, %i, %number : i32
    {combine("d", "p", "add", "one")}
    scf.condition(%more) %q, %i, %d : {T}, i32, {T}
  }} do {{
  ^bb0(%q: {T}, %i: i32, %d: {T}):
    %next = arith.addi %i, %i1 : i32
    {combine("e", "q", "add", "d")}
    scf.yield %next, %q, %e : i32, {T}, {T}
  }}"""
    p, q = X, X * X
    for _ in range(TRIPS):
        p, q = q, q + (p + 1)
    expect(interpreted, loops(loop, ["a", "b"]), 2, p + 1, q)


def test_a_loop_inside_of_a_loop(interpreted):
    loop = f"""%a, %b = scf.for %i = %c0 to %trips step %c1 iter_args(%p = %x, %q = %y) -> ({T}, {T}) {{
    %c, %d = scf.for %j = %c0 to %i step %c1 iter_args(%r = %q, %s = %p) -> ({T}, {T}) {{
      {combine("t", "r", "add", "one")}
      scf.yield %s, %t : {T}, {T}
    }}
    scf.yield %d, %c : {T}, {T}
  }}"""
    p, q = X, X * X
    for i in range(TRIPS):
        r, s = q, p
        for _ in range(i):
            r, s = s, r + 1
        p, q = s, r
    expect(interpreted, loops(loop, ["a", "b"]), 2, p, q)


@pytest.mark.parametrize("replicas", [1, 3])
def test_tensors_of_indices(interpreted, replicas):
    """Indices that kernels exchange have 64 bits: computed from elements, from
    `linalg.index`, and constants.
    """
    body = """
  %zero = arith.constant 0 : index
  %empty = tensor.empty() : tensor<4xindex>
  %count = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%empty : tensor<4xindex>) {
  ^bb0(%o: index):
    %z = linalg.index 0 : index
    linalg.yield %z : index
  } -> tensor<4xindex>
  %element = tensor.extract %x[%zero, %zero] : tensor<1x4xf32>
  %integer = arith.fptosi %element : f32 to i32
  %number = arith.index_cast %integer : i32 to index
  %same = tensor.from_elements %number, %number, %number, %number : tensor<4xindex>
  %offset = arith.constant dense<[5, 6, 7, 1152921504606846976]> : tensor<4xindex>
  %sum = arith.addi %count, %same : tensor<4xindex>
  %total = arith.addi %sum, %offset : tensor<4xindex>
  %integers = arith.index_cast %total : tensor<4xindex> to tensor<4xi64>
  %all = replica.all_reduce sum %integers : tensor<4xi64>
  replica.assign @w, %all : tensor<4xi64>
"""
    text = step(variable("w", "tensor<4xi64>", initial="0"), body)
    found = interpreted(
        text,
        replicas,
        {"x": np.repeat(np.full((1, 4), 9, np.float32), replicas, axis=0)},
    )
    expected = replicas * np.array([14, 16, 18, 2**60 + 12])
    np.testing.assert_array_equal(
        np.frombuffer(found["w"][2], np.int64), expected
    )


def test_an_inner_loop_reads_the_outer_carried_tensor(interpreted):
    """The inner loop starts from the tensor that the outer loop carries, and
    reads it in each iteration.
    """
    loop = f"""%k, %a = scf.while (%i = %i0, %p = %x) : (i32, {T}) -> (i32, {T}) {{
    %more = arith.cmpi slt, %i, %number : i32
    scf.condition(%more) %i, %p : i32, {T}
  }} do {{
  ^bb0(%i: i32, %p: {T}):
    %next = arith.addi %i, %i1 : i32
    %c = scf.for %j = %c0 to %trips step %c1 iter_args(%q = %p) -> {T} {{
      {combine("t", "q", "add", "p")}
      scf.yield %t : {T}
    }}
    scf.yield %next, %c : i32, {T}
  }}"""
    expect(interpreted, loops(loop, ["a"]), 2, X * (1 + TRIPS) ** TRIPS)
