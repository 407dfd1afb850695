"""Counters of loops, and integer results of loops: of all integer types,
computed and constant. Compiled programs are bitwise equal to the interpreter,
and have NumPy's values."""

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


def multiples(exchanged=f"%s = replica.all_reduce sum %y : {T}"):
    """An iteration of a loop: multiplies x by `%number`, computes `%s` from the
    product `%y`, and adds it to `%total`.
    """
    return f"""
    %numbers = tensor.splat %number : {T}
    {combine("y", "x", "mul", "numbers")}
    {exchanged}
    {combine("next", "total", "add", "s")}
    scf.yield %next : {T}"""


@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 8])
def test_a_loop_over_numbers_of_the_rank(interpreted, replicas):
    """Each replica counts from its own number to three more, so all of them
    reach three collectives, whose operands depend on their own counters.
    """
    body = f"""
  {RANK}
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %end = arith.addi %own, %three : index
  %zeros = arith.constant dense<0.0> : {T}
  %r = scf.for %k = %own to %end step %one iter_args(%total = %zeros) -> {T} {{
    %integer = arith.index_cast %k : index to i32
    %number = arith.sitofp %integer : i32 to f32{multiples()}
  }}
  replica.assign @w, %r : {T}
"""
    text = step(variables("w"), body)
    found = interpreted(text, replicas, {"x": rows(replicas)})
    total = sum(rank + trip for rank in range(replicas) for trip in range(3))
    np.testing.assert_array_equal(values(found, "w"), total * X)


@pytest.mark.parametrize(
    "lower, upper", [(2**63 - 4, 2**63 - 1), (-(2**63), -(2**63) + 3)]
)
def test_a_loop_up_to_the_ends_of_the_integers(interpreted, lower, upper):
    """Loops whose bound is the greatest or the least index have three trips."""
    body = f"""
  %lower = arith.constant {lower} : index
  %upper = arith.constant {upper} : index
  %one = arith.constant 1 : index
  %r = scf.for %k = %lower to %upper step %one iter_args(%q = %x) -> ({T}) {{
    %s = replica.all_reduce sum %q : {T}
    scf.yield %s : {T}
  }}
  %t = replica.all_reduce sum %r : {T}
  replica.assign @w, %t : {T}
"""
    text = step(variables("w"), body)
    found = interpreted(text, 3, {"x": rows(3)})
    np.testing.assert_array_equal(values(found, "w"), 81 * X)


@pytest.mark.parametrize("kind", ["i8", "i32", "i64"])
@pytest.mark.parametrize("exchange", [False, True], ids=["kernel", "step"])
@pytest.mark.parametrize("bound", ["constant", "data"])
def test_counters_of_loops_that_are_no_indices(
    interpreted, bound, exchange, kind
):
    """As in fori_loop: the counter, from -2 to 4 by 2, is a factor of each
    summand.
    """
    end = f"%to = arith.constant 4 : {kind}"
    if bound == "data":
        end = f"%stored = replica.read @end : tensor<{kind}>\n  %to = tensor.extract %stored[] : tensor<{kind}>"
    rest = multiples() if exchange else multiples(combine("s", "y", "add", "x"))
    body = f"""
  %from = arith.constant -2 : {kind}
  {end}
  %by = arith.constant 2 : {kind}
  %zeros = arith.constant dense<0.0> : {T}
  %r = scf.for %k = %from to %to step %by iter_args(%total = %zeros) -> {T} : {kind} {{
    %number = arith.sitofp %k : {kind} to f32{rest}
  }}
  %all = replica.all_reduce mean %r : {T}
  replica.assign @w, %all : {T}
"""
    text = step(
        variables("w") + variable("end", f"tensor<{kind}>", initial="4"), body
    )
    found = interpreted(text, 2, {"x": rows(2)})
    np.testing.assert_array_equal(
        values(found, "w"), 0 * X if exchange else 3 * X
    )


def test_counters_that_are_unsigned(interpreted):
    """From 0 to 250 by 50, compared as unsigned: as a signed i8, 250 is less
    than 0.
    """
    body = f"""
  %from = arith.constant 0 : i8
  %to = arith.constant 250 : i8
  %by = arith.constant 50 : i8
  %zeros = arith.constant dense<0.0> : {T}
  %r = scf.for unsigned %k = %from to %to step %by iter_args(%total = %zeros) -> {T} : i8 {{
    %number = arith.uitofp %k : i8 to f32{multiples()}
  }}
  replica.assign @w, %r : {T}
"""
    text = step(variables("w"), body)
    found = interpreted(text, 2, {"x": rows(2)})
    np.testing.assert_array_equal(
        values(found, "w"), 2 * (50 + 100 + 150 + 200) * X
    )


@pytest.mark.parametrize("kind", ["f32", "i32", "index"])
def test_numbers_that_one_kernel_passes_to_another(interpreted, kind):
    """The result of a loop inside of a kernel is the trip count of another
    loop, which has a collective, and a factor in a third kernel.
    """
    number = {
        "f32": "%n = arith.fptosi %m : f32 to i32\n  %limit = arith.index_cast %n : i32 to index",
        "i32": "%limit = arith.index_cast %m : i32 to index",
        "index": "%limit = arith.addi %m, %zero : index",
    }[kind]
    factor = {
        "f32": "%factor = arith.addf %m, %m : f32",
        "i32": "%twice = arith.addi %m, %m : i32\n  %factor = arith.sitofp %twice : i32 to f32",
        "index": "%twice = arith.addi %m, %m : index\n  %cast = arith.index_cast %twice : index to i32\n"
        "  %factor = arith.sitofp %cast : i32 to f32",
    }[kind]
    one = "1.0" if kind == "f32" else "1"
    add = "arith.addf" if kind == "f32" else "arith.addi"
    body = f"""
  %zero = arith.constant 0 : index
  %by = arith.constant 1 : index
  %first = arith.constant {one} : {kind}
  %start = replica.all_reduce mean %x : {T}
  %stored = replica.read @count : tensor<i64>
  %count = tensor.extract %stored[] : tensor<i64>
  %to = arith.index_cast %count : i64 to index
  %m, %unused = scf.for %i = %zero to %to step %by iter_args(%a = %first, %t = %start) -> ({kind}, {T}) {{
    %next = {add} %a, %first : {kind}
    {combine("u", "t", "add", "start")}
    scf.yield %next, %u : {kind}, {T}
  }}
  {number}
  {factor}
  %r = scf.for %i = %zero to %limit step %by iter_args(%total = %unused) -> {T} {{
    %s = replica.all_reduce mean %total : {T}
    {combine("next", "s", "add", "x")}
    scf.yield %next : {T}
  }}
  %factors = tensor.splat %factor : {T}
  {combine("v", "r", "mul", "factors")}
  %all = replica.all_reduce mean %v : {T}
  %rs = replica.all_reduce mean %r : {T}
  replica.assign @w, %rs : {T}
  replica.assign @v, %all : {T}
"""
    text = step(
        variables("w", "v") + variable("count", "tensor<i64>", initial="3"),
        body,
    )
    found = interpreted(text, 2, {"x": rows(2)})
    # The first loop adds x three times to x, the second four times; the
    # factor is two times four.
    np.testing.assert_array_equal(values(found, "w"), 8 * X)
    np.testing.assert_array_equal(values(found, "v"), 64 * X)
