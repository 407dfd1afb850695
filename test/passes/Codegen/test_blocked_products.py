"""Products of which blocks are packed: whole reductions, and parts of long ones
with partial sums; and loops of a product that become one.
"""

import numpy as np
import pytest

import kernels
from kernels import tensor

RANDOM = np.random.default_rng(0)
TARGETS = kernels.host_targets()


def contraction(name, sizes, left, right, out, added=None, causal=False):
    """The kernel `name`: the sum of products with these indices, like
    `np.einsum`, plus the tensor with the indices `added`, if any; reductions in
    the order of `sizes`. With `causal`, the result is minus one where the last
    of its indices is greater than the one before.
    """

    def kind(indices):
        return tensor(*(sizes[i] for i in indices))

    def maps(*operands):
        loops = ", ".join(sizes)
        return ", ".join(
            f"affine_map<({loops}) -> ({', '.join(operand)})>"
            for operand in operands
        )

    iterators = ", ".join(
        '"parallel"' if i in out else '"reduction"' for i in sizes
    )
    parallel = {i: sizes[i] for i in out}
    header = f"%a: {kind(left)}, %b: {kind(right)}"
    result, epilogue = "%p", ""
    if added is not None:
        header += f", %c: {kind(added)}"
        result = "%r"
        body = "linalg.yield %0 : f32"
        if causal:
            body = f"""%i = linalg.index {len(out) - 2} : index
    %j = linalg.index {len(out) - 1} : index
    %kept = arith.cmpi sge, %i, %j : index
    %other = arith.constant -1.0 : f32
    %1 = arith.select %kept, %0, %other : f32
    linalg.yield %1 : f32"""
        epilogue = f"""
  %r = linalg.generic {{indexing_maps = [{", ".join(f"affine_map<({', '.join(parallel)}) -> ({', '.join(o)})>" for o in (out, added, out))}],
      iterator_types = [{", ".join(['"parallel"'] * len(out))}]}}
      ins(%p, %c : {kind(out)}, {kind(added)}) outs(%e : {kind(out)}) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.addf %x, %y : f32
    {body}
  }} -> {kind(out)}"""
    return f"""device.kernel @{name}({header}) -> {kind(out)} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {kind(out)}
  %f = linalg.fill ins(%zero : f32) outs(%e : {kind(out)}) -> {kind(out)}
  %p = linalg.generic {{indexing_maps = [{maps(left, right, out)}], iterator_types = [{iterators}]}}
      ins(%a, %b : {kind(left)}, {kind(right)}) outs(%f : {kind(out)}) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }} -> {kind(out)}{epilogue}
  device.yield {result} : {kind(out)}
}}
"""


def assert_like_plain_loops(text, arguments):
    """The results of optimized code for all targets have the bits of plain
    loops, tiles in any order. Returns them by name."""
    plain = kernels.Module(text, targets=TARGETS[:1], level="O0")
    module = kernels.Module(text, targets=TARGETS)
    found = {}
    for name, values in arguments.items():
        expected = plain[TARGETS[0]][name](*values)
        for target in TARGETS:
            kernel = module[target][name]
            backwards = list(reversed(range(kernel.grid)))
            for tiles in (None, backwards):
                result = kernel(*values, tiles=tiles)
                np.testing.assert_array_equal(result, expected)
        found[name] = expected
    return found


def normal(sizes, indices):
    return RANDOM.standard_normal([sizes[i] for i in indices], dtype=np.float32)


ORDERS = [("mk", "kn"), ("km", "kn"), ("mk", "nk")]
# Whole reductions of one tile and of several; rows and columns that are no
# multiples of a block; partial sums of many rows and of few.
SHAPES = [
    (40, 72, 400),
    (270, 136, 450),
    (524, 300, 512),
    (300, 100, 2500),
    (130, 259, 1400),
    (17, 40, 4000),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_blocks_have_the_bits_of_plain_loops(shape, element):
    sizes = dict(zip("mnk", shape, strict=True))
    text, arguments = "", {}
    for left, right in ORDERS:
        name = f"p_{left}_{right}"
        text += contraction(name, sizes, left, right, "mn", added="n")
        arguments[name] = [normal(sizes, i) for i in (left, right, "n")]
    if element == "f64":
        text = text.replace("f32", "f64")
        arguments = {
            name: [value.astype(np.float64) for value in values]
            for name, values in arguments.items()
        }
    found = assert_like_plain_loops(text, arguments)
    for left, right in ORDERS:
        a, b, c = arguments[f"p_{left}_{right}"]
        exact = np.einsum(
            f"{left},{right}->mn", a.astype(np.float64), b.astype(np.float64)
        )
        np.testing.assert_allclose(
            found[f"p_{left}_{right}"],
            exact + c,
            atol=4e-5 * np.sqrt(sizes["k"]),
        )


# Rows of a batch, the gradient of weights, with terms of two loops, in which
# only one operand has another order, and epilogues that have both loops, one or
# none of them.
BATCHES = [
    ({"b": 3, "t": 50, "n": 40, "k": 70}, "btk", "kn", "btn", "n"),
    ({"b": 3, "t": 50, "n": 40, "k": 450}, "btk", "kn", "btn", "btn"),
    ({"b": 3, "t": 50, "n": 40, "k": 70}, "btk", "nk", "btn", "tn"),
    ({"b": 3, "t": 50, "n": 40, "k": 70}, "btk", "nk", "btn", "bn"),
    ({"m": 96, "n": 40, "b": 6, "t": 90}, "btm", "btn", "mn", "mn"),
    ({"m": 96, "n": 40, "b": 6, "t": 90}, "tbm", "btn", "mn", "n"),
    ({"m": 96, "n": 40, "t": 90, "b": 6}, "btm", "btn", "mn", "n"),
    ({"m": 30, "n": 40, "b": 2, "t": 9, "c": 5}, "mbtc", "btcn", "mn", "m"),
    ({"h": 4, "b": 2, "t": 33, "n": 20, "k": 16}, "hbtk", "hnk", "hbtn", None),
]


def test_merged_loops_have_the_bits_of_plain_loops():
    text, arguments = "", {}
    for i, (sizes, left, right, out, added) in enumerate(BATCHES):
        text += contraction(f"p{i}", sizes, left, right, out, added)
        arguments[f"p{i}"] = [
            normal(sizes, indices)
            for indices in (left, right, added)
            if indices is not None
        ]
    found = assert_like_plain_loops(text, arguments)
    for i, (sizes, left, right, out, added) in enumerate(BATCHES):
        a, b, *c = (x.astype(np.float64) for x in arguments[f"p{i}"])
        exact = np.einsum(f"{left},{right}->{out}", a, b)
        if c:
            shape = [sizes[j] if j in added else 1 for j in out]
            exact = exact + c[0].reshape(shape)
        np.testing.assert_allclose(found[f"p{i}"], exact, atol=1e-3)


# One vector with a mask, many rows, packed blocks and partial sums.
CAUSAL = [
    ({"m": 5, "n": 7, "k": 9}, "mk", "kn", "mn"),
    ({"m": 150, "n": 130, "k": 40}, "mk", "nk", "mn"),
    ({"m": 270, "n": 136, "k": 450}, "mk", "kn", "mn"),
    ({"m": 17, "n": 40, "k": 4000}, "km", "kn", "mn"),
    ({"b": 2, "h": 3, "t": 50, "s": 45, "d": 16}, "bthd", "bshd", "bhts"),
]


def test_epilogues_know_the_numbers_of_iterations():
    """Such as the mask of a causal attention, which is part of the product."""
    text, arguments = "", {}
    for i, (sizes, left, right, out) in enumerate(CAUSAL):
        text += contraction(f"p{i}", sizes, left, right, out, out, causal=True)
        arguments[f"p{i}"] = [normal(sizes, x) for x in (left, right, out)]
    found = assert_like_plain_loops(text, arguments)
    for i, (_, left, right, out) in enumerate(CAUSAL):
        a, b, c = (x.astype(np.float64) for x in arguments[f"p{i}"])
        exact = np.einsum(f"{left},{right}->{out}", a, b) + c
        kept = np.tri(*exact.shape[-2:], dtype=bool)
        exact = np.where(kept, exact, -1)
        np.testing.assert_allclose(found[f"p{i}"], exact, atol=1e-3)
    grids = kernels.Module(text, targets=TARGETS[:1])[TARGETS[0]]
    assert grids["p2"].grid > 1
