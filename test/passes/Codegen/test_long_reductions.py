"""Reductions of many elements to few results, which GPUs divide among blocks
(split-reductions.mlir has which).
"""

import numpy as np
import pytest

import kernels
from kernels import tensor

TARGETS = kernels.all_targets()
RANDOM = np.random.default_rng(0)

#: The shapes of operands, and the dimensions that results have.
SHAPES = {
    "all": ((130, 1000), ()),
    "one dimension": ((1 << 18,), ()),
    "few columns": ((16384, 24), (1,)),
    "images": ((16, 48, 32, 24), (3,)),
    # As many results as parts: their loops are not the same.
    "as many columns": ((16, 2048, 16), (2,)),
    "few rows": ((3, 96, 1000), (0,)),
    "columns between": ((64, 12, 1024), (1,)),
    "few elements": ((512, 24), (1,)),
    "many columns": ((512, 1056), (1,)),
    "a prime number of elements": ((131101,), ()),
}

#: For each operation: the type, the initial value, and NumPy's function.
COMBINERS = {
    "arith.addf": ("f32", "0.5", np.sum),
    "arith.maximumf": ("f32", "-3.0", np.max),
    "arith.addi": ("i32", "7", np.sum),
    "arith.xori": ("i32", "0", np.bitwise_xor.reduce),
}


def kernel(name, shape, kept, combiner):
    type_, initial, _ = COMBINERS[combiner]
    letters = [f"d{i}" for i in range(len(shape))]
    operand, result = (
        tensor(*sizes, element=type_)
        for sizes in (shape, [shape[i] for i in kept])
    )
    maps = ", ".join(
        f"affine_map<({', '.join(letters)}) -> ({', '.join(indices)})>"
        for indices in (letters, [letters[i] for i in kept])
    )
    iterators = ", ".join(
        '"parallel"' if i in kept else '"reduction"' for i in range(len(shape))
    )
    return f"""device.kernel @{name}(%x: {operand}) -> {result} {{
  %initial = arith.constant {initial} : {type_}
  %e = tensor.empty() : {result}
  %f = linalg.fill ins(%initial : {type_}) outs(%e : {result}) -> {result}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}} ins(%x : {operand}) outs(%f : {result}) {{
  ^bb0(%a: {type_}, %b: {type_}):
    %v = {"arith.addi" if type_ == "i32" else "arith.mulf"} %a, %a : {type_}
    %s = {combiner} %b, %v : {type_}
    linalg.yield %s : {type_}
  }} -> {result}
  device.yield %r : {result}
}}
"""


@pytest.mark.parametrize("combiner", COMBINERS)
def test_results(combiner):
    type_, initial, function = COMBINERS[combiner]
    names = {f"k{i}": shape for i, shape in enumerate(SHAPES.values())}
    module = kernels.Module(
        "".join(
            kernel(name, shape, kept, combiner)
            for name, (shape, kept) in names.items()
        )
    )
    for name, (shape, kept) in names.items():
        others = tuple(i for i in range(len(shape)) if i not in kept)
        if type_ == "i32":
            x = RANDOM.integers(-1000, 1000, shape).astype(np.int32)
            values = (2 * x).astype(np.int64)
        else:
            x = RANDOM.standard_normal(shape).astype(np.float32)
            values = np.square(x.astype(np.float64))
        start = float(initial) if type_ == "f32" else int(initial)
        expected = function(values, axis=others)
        expected = function(
            np.stack([np.full_like(expected, start), expected]), axis=0
        )
        for target in TARGETS:
            result = module[target][name](x)
            if type_ == "i32" or function is np.max:
                np.testing.assert_allclose(result, expected, rtol=1e-7)
            else:
                np.testing.assert_allclose(result, expected, rtol=1e-5)
