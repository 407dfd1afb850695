"""Kernels of many operations, of which a GPU executes some by one launch."""

import numpy as np
import pytest

import kernels
from kernels import LEVELS, tensor

TARGETS = kernels.all_targets()


def phases(sizes):
    """Square roots of tensors of these sizes, and sums of exponentials of the
    reversed results, a pair for each tensor.
    """
    inputs = ", ".join(f"%x{i}: {tensor(n)}" for i, n in enumerate(sizes))
    results = [tensor(n) for n in sizes] + [tensor() for _ in sizes]
    body = ""
    for i, n in enumerate(sizes):
        body += f"""
  %e{i} = tensor.empty() : {tensor(n)}
  %r{i} = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}} ins(%x{i} : {tensor(n)}) outs(%e{i} : {tensor(n)}) {{
  ^bb0(%a: f32, %b: f32):
    %0 = math.sqrt %a : f32
    linalg.yield %0 : f32
  }} -> {tensor(n)}
  %t{i} = linalg.generic {{indexing_maps = [affine_map<(i) -> ({n - 1} - i)>, #id], iterator_types = ["parallel"]}} ins(%r{i} : {tensor(n)}) outs(%e{i} : {tensor(n)}) {{
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }} -> {tensor(n)}
  %s{i} = tensor.empty() : {tensor()}
  %z{i} = linalg.fill ins(%zero : f32) outs(%s{i} : {tensor()}) -> {tensor()}
  %u{i} = linalg.generic {{indexing_maps = [#id, #none], iterator_types = ["reduction"]}} ins(%t{i} : {tensor(n)}) outs(%z{i} : {tensor()}) {{
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }} -> {tensor()}"""
    yielded = ", ".join(f"%{r}{i}" for r in "ru" for i in range(len(sizes)))
    return f"""#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
device.kernel @f({inputs}) -> ({", ".join(results)}) {{
  %zero = arith.constant 0.0 : f32{body}
  device.yield {yielded} : {", ".join(results)}
}}
"""


@pytest.mark.parametrize("level", LEVELS)
def test_phases_that_share_launches(level):
    """Many small operations, of which a GPU executes those side by side that do
    not need each other. One is too large for that; shared memory for all sums
    is more than a block has.
    """
    random = np.random.default_rng(0)
    sizes = [1, 7, 64, 100, 255, 256, 257, 1000, 40000, *range(300, 340)]
    inputs = [random.random(n, np.float32) for n in sizes]
    module = kernels.Module(phases(sizes), level=level)
    for target in TARGETS:
        results = module[target]["f"](*inputs)
        for x, root, total in zip(
            inputs, results[: len(sizes)], results[len(sizes) :], strict=True
        ):
            np.testing.assert_array_equal(root, np.sqrt(x))
            exact = np.exp(np.sqrt(x.astype(np.float64))).sum()
            np.testing.assert_allclose(total, exact, rtol=1e-5)
