"""Sums of kernels, and their order, on every target of this machine."""

import numpy as np
import pytest

import kernels
from kernels import LEVELS, tensor

TARGETS = kernels.all_targets()
RANDOM = np.random.default_rng(0)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def reduction(name, rows, columns, dimension):
    kept = columns if dimension == 0 else rows
    return f"""device.kernel @{name}(%x: {tensor(rows, columns)}) -> {tensor(kept)} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {tensor(kept)}
  %f = linalg.fill ins(%zero : f32) outs(%e : {tensor(kept)}) -> {tensor(kept)}
  %r = linalg.reduce ins(%x : {tensor(rows, columns)}) outs(%f : {tensor(kept)}) dimensions = [{dimension}]
    (%a: f32, %b: f32) {{
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }}
  device.yield %r : {tensor(kept)}
}}
"""


@pytest.mark.parametrize("level", LEVELS)
def test_reductions(level):
    shapes = [(3, 5), (64, 10), (37, 100), (1000, 33), (512, 1024)]
    text = "".join(
        reduction(f"r{i}_{d}", *shape, d)
        for i, shape in enumerate(shapes)
        for d in (0, 1)
    )
    module = kernels.Module(text, level=level)
    for i, shape in enumerate(shapes):
        x = normal(*shape)
        for d in (0, 1):
            results = {
                target: module[target][f"r{i}_{d}"](x) for target in TARGETS
            }
            for target, result in results.items():
                np.testing.assert_allclose(
                    result, x.sum(d, dtype=np.float64), atol=1e-3
                )
                if target in kernels.host_targets():
                    np.testing.assert_array_equal(result, results[TARGETS[0]])


def broadcast_sum(name, rows, columns, is_fused):
    """The sum of a row plus a column, of the operands or of their stored sum."""
    column, row, all_ = (
        "affine_map<(i, j) -> (i)>",
        "affine_map<(i, j) -> (j)>",
        "affine_map<(i, j) -> (i, j)>",
    )
    given = (
        [(row, tensor(columns)), (column, tensor(rows))]
        if is_fused
        else [(all_, tensor(rows, columns))]
    )
    names = [f"%x{i}" for i in range(len(given))]
    types = [type_ for _, type_ in given]
    maps = ", ".join([*(map_ for map_, _ in given), "affine_map<(i, j) -> ()>"])
    element = (
        "%v = arith.addf %a0, %a1 : f32"
        if is_fused
        else "%v = arith.addf %a0, %zero : f32"
    )
    arguments = ", ".join(f"%a{i}: f32" for i in range(len(given)))
    return f"""device.kernel @{name}({", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))}) -> tensor<f32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["reduction", "reduction"]}}
      ins({", ".join(names)} : {", ".join(types)}) outs(%f : tensor<f32>) {{
  ^bb0({arguments}, %out: f32):
    {element}
    %s = arith.addf %out, %v : f32
    linalg.yield %s : f32
  }} -> tensor<f32>
  device.yield %r : tensor<f32>
}}
"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(4, 4), (5, 67), (67, 5), (130, 300)])
def test_the_order_of_a_sum_is_that_of_its_stored_operand(level, shape):
    """Whether a broadcast is fused depends on what else reads it."""
    text = broadcast_sum("fused", *shape, True) + broadcast_sum(
        "stored", *shape, False
    )
    module = kernels.Module(text, level=level)
    column, row = normal(shape[0]), normal(shape[1])
    for target in TARGETS:
        np.testing.assert_array_equal(
            module[target]["fused"](row, column),
            module[target]["stored"](row + column[:, None]),
        )
