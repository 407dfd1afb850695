"""Kernels whose threads access several elements at once on a GPU."""

import numpy as np
import pytest

import gpu
import kernels
from kernels import tensor

HOST = kernels.host_targets()[0]

pytestmark = pytest.mark.skipif(
    not gpu.DRIVER, reason="needs LOCKSTEP_CUDA_DRIVER"
)

MAPS = """#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
"""

#: How a number of a type becomes f32, and back.
CONVERSIONS = {
    "f32": ("arith.addf {0}, %zero : f32", "arith.addf {0}, %zero : f32"),
    "f64": ("arith.truncf {0} : f64 to f32", "arith.extf {0} : f32 to f64"),
    "f16": ("arith.extf {0} : f16 to f32", "arith.truncf {0} : f32 to f16"),
    "bf16": ("arith.extf {0} : bf16 to f32", "arith.truncf {0} : f32 to bf16"),
    "i8": ("arith.sitofp {0} : i8 to f32", "arith.fptosi {0} : f32 to i8"),
    "i32": ("arith.sitofp {0} : i32 to f32", "arith.fptosi {0} : f32 to i32"),
}


def affine(rows, columns, element, order="i, j"):
    """`x * scale + bias` with a scale of each row and a bias of each column,
    and where it is positive; `order` is that of the dimensions of x."""
    load, store = CONVERSIONS[element]
    shape = [rows, columns] if order == "i, j" else [columns, rows]
    x, y = (
        tensor(*shape, element=element),
        tensor(rows, columns, element=element),
    )
    where = tensor(rows, columns, element="i1")
    return f"""{MAPS}#x = affine_map<(i, j) -> ({order})>
device.kernel @f(%x: {x}, %scale: {tensor(rows)}, %bias: {tensor(columns)}) -> ({y}, {where}) {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {y}
  %w = tensor.empty() : {where}
  %r, %p = linalg.generic {{indexing_maps = [#x, #row, #column, #id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %scale, %bias : {x}, {tensor(rows)}, {tensor(columns)}) outs(%e, %w : {y}, {where}) {{
  ^bb0(%a: {element}, %b: f32, %c: f32, %o: {element}, %q: i1):
    %0 = {load.format("%a")}
    %1 = arith.mulf %0, %b : f32
    %2 = arith.addf %1, %c : f32
    %3 = {store.format("%2")}
    %4 = arith.cmpf ogt, %2, %zero : f32
    linalg.yield %3, %4 : {element}, i1
  }} -> ({y}, {where})
  device.yield %r, %p : {y}, {where}
}}
"""


def bits_of(values, element):
    """The numbers as a NumPy array of the type that stands for `element`."""
    if element == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(
            np.uint16
        )
    return values.astype(kernels.TYPES[element])


def has_vectors(kernel):
    """Whether the code for a GPU loads several elements at once."""
    return "ld.global.v" in kernel.library.text


@pytest.mark.parametrize("element", CONVERSIONS)
@pytest.mark.parametrize("offset", [0, 8])
def test_element_wise(element, offset):
    """With buffers that are aligned and that are not. The rows of the second
    shape have a number of elements that no vector divides."""
    random = np.random.default_rng(0)
    for rows, columns, expects_vectors in [
        (1100, 1024, True),
        (1100, 999, False),
    ]:
        x = bits_of(random.normal(0, 20, (rows, columns)), element)
        scale, bias = (
            random.normal(0, 1, n).astype(np.float32) for n in (rows, columns)
        )
        module = kernels.Module(affine(rows, columns, element), [HOST, "sm_90"])
        kernel = module["sm_90"]["f"]
        assert has_vectors(kernel) == expects_vectors
        expected = module[HOST]["f"](x, scale, bias)
        found = kernel(x, scale, bias, offset=offset)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_array_equal(a, b)


def test_transposed():
    """Neighboring iterations read distant elements: no vectors."""
    random = np.random.default_rng(0)
    rows, columns = 1100, 1024
    x = random.normal(0, 1, (columns, rows)).astype(np.float32)
    scale, bias = (
        random.normal(0, 1, n).astype(np.float32) for n in (rows, columns)
    )
    module = kernels.Module(
        affine(rows, columns, "f32", "j, i"), [HOST, "sm_90"]
    )
    assert not has_vectors(module["sm_90"]["f"])
    for a, b in zip(
        module[HOST]["f"](x, scale, bias),
        module["sm_90"]["f"](x, scale, bias),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def centered(rows, columns, element, behind=0):
    """Each row without its mean, times a factor of each column, the sums of the
    rows, and their means as columns of one element. In memory, rows have more
    elements behind them, in the result zeros."""
    load, store = CONVERSIONS[element]
    x, sums = tensor(rows, columns, element=element), tensor(rows)
    whole = tensor(rows, columns + behind, element=element)
    rest = tensor(rows, behind, element=element)
    zeros = (
        f"""%zeros = linalg.fill ins(%none : {element}) outs(%rest : {rest}) -> {rest}
  %begun = tensor.insert_slice %zeros into %w[0, {columns}] [{rows}, {behind}] [1, 1] : {rest} into {whole}
"""
        if behind
        else ""
    )
    means = tensor(rows, 1)
    return f"""{MAPS}
device.kernel @f(%all: {whole}, %g: {tensor(columns)}) -> ({whole}, {sums}, {means}) {{
  %none = arith.constant 0.0 : {element}
  %w = tensor.empty() : {whole}
  {f"%rest = tensor.extract_slice %w[0, {columns}] [{rows}, {behind}] [1, 1] : {whole} to {rest}" if behind else ""}
  {zeros}
  %x = tensor.extract_slice %all[0, 0] [{rows}, {columns}] [1, 1] : {whole} to {x}
  %zero = arith.constant 0.0 : f32
  %n = arith.constant {columns}.0 : f32
  %s = tensor.empty() : {sums}
  %z = linalg.fill ins(%zero : f32) outs(%s : {sums}) -> {sums}
  %sum = linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}} ins(%x : {x}) outs(%z : {sums}) {{
  ^bb0(%a: {element}, %b: f32):
    %0 = {load.format("%a")}
    %1 = arith.addf %b, %0 : f32
    linalg.yield %1 : f32
  }} -> {sums}
  %k = tensor.empty() : {means}
  %mean = linalg.generic {{indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}} ins(%sum : {sums}) outs(%k : {means}) {{
  ^bb0(%a: f32, %o: f32):
    %0 = arith.divf %a, %n : f32
    linalg.yield %0 : f32
  }} -> {means}
  %e = tensor.empty() : {x}
  %r = linalg.generic {{indexing_maps = [#id, #row, #column, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %sum, %g : {x}, {sums}, {tensor(columns)}) outs(%e : {x}) {{
  ^bb0(%a: {element}, %b: f32, %c: f32, %o: {element}):
    %0 = {load.format("%a")}
    %1 = arith.divf %b, %n : f32
    %2 = arith.subf %0, %1 : f32
    %3 = arith.mulf %2, %c : f32
    %4 = {store.format("%3")}
    linalg.yield %4 : {element}
  }} -> {x}
  %y = tensor.insert_slice %r into {"%begun" if behind else "%w"}[0, 0] [{rows}, {columns}] [1, 1] : {x} into {whole}
  device.yield %y, %sum, %mean : {whole}, {sums}, {means}
}}
"""


@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("offset", [0, 4])
@pytest.mark.parametrize(
    "rows, columns, behind, threads, vectors",
    [
        # Rows in the registers of a block.
        (1100, 768, 0, 64, True),
        (1100, 2048, 0, 256, True),
        (40, 1024, 0, 256, False),
        # Rows in memory, with a rest behind the last vector, or without.
        (3, 20003, 5, 256, True),
        (3, 20003, 0, 256, False),
        (2, 20480, 8, 256, True),
    ],
)
def test_rows(rows, columns, behind, threads, vectors, element, offset):
    random = np.random.default_rng(0)
    numbers = random.normal(1, 1, (rows, columns + behind)).astype(np.float32)
    x = bits_of(numbers, element)
    values = (
        (x.astype(np.uint32) << 16).view(np.float32) if element == "bf16" else x
    ).astype(np.float64)[:, :columns]
    g = random.normal(0, 1, columns).astype(np.float32)
    module = kernels.Module(centered(rows, columns, element, behind), ["sm_90"])
    kernel = module["sm_90"]["f"]
    assert [rows, threads] in kernel.library.launches("f")
    assert has_vectors(kernel) == vectors
    result, sums, means = kernel(x, g, offset=offset)
    np.testing.assert_array_equal(means[:, 0], sums / np.float32(columns))
    np.testing.assert_allclose(sums, values.sum(1), rtol=1e-5)
    expected = (values - values.mean(1, keepdims=True)) * g
    if element == "bf16":
        result = (result.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(result[:, columns:], 0)
    np.testing.assert_allclose(
        result[:, :columns],
        expected,
        atol=1e-5,
        rtol=2**-8 if element == "bf16" else 1e-5,
    )
