"""Runs compiled kernels and compares them with NumPy, on every target of this
machine.
"""

import numpy as np
import pytest

import kernels
from kernels import LEVELS, tensor

TARGETS = kernels.all_targets()
RANDOM = np.random.default_rng(0)


def normal(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def product(name, m, n, k, left="mk", right="kn", epilogue=True, element="f32"):
    """A matrix product with any order of its operands' indices; relu(product +
    bias) and where it is positive, or the product alone. Factors of other types
    than f32 are extended.
    """
    size = {"m": m, "n": n, "k": k}
    a, b, c = (
        tensor(*(size[i] for i in left), element=element),
        tensor(*(size[i] for i in right), element=element),
        tensor(m, n),
    )
    extend = (
        ""
        if element == "f32"
        else f"""
    %xf = arith.extf %x : {element} to f32
    %yf = arith.extf %y : {element} to f32"""
    )
    factors = "%xf, %yf" if extend else "%x, %y"
    maps = ", ".join(
        f"affine_map<(m, n, k) -> ({', '.join(i)})>"
        for i in (left, right, "mn")
    )
    body = f"""
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {c}
  %f = linalg.fill ins(%zero : f32) outs(%e : {c}) -> {c}
  %p = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {a}, {b}) outs(%f : {c}) {{
  ^bb0(%x: {element}, %y: {element}, %z: f32):{extend}
    %0 = arith.mulf {factors} : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }} -> {c}"""
    if not epilogue:
        return f"device.kernel @{name}(%a: {a}, %b: {b}) -> {c} {{{body}\n  device.yield %p : {c}\n}}\n"
    positive = tensor(m, n, element="i1")
    return f"""device.kernel @{name}(%a: {a}, %b: {b}, %bias: {tensor(n)}) -> ({c}, {positive}) {{{body}
  %g = tensor.empty() : {positive}
  %r:2 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%p, %bias : {c}, {tensor(n)}) outs(%e, %g : {c}, {positive}) {{
  ^bb0(%x: f32, %y: f32, %u: f32, %v: i1):
    %0 = arith.addf %x, %y : f32
    %1 = arith.cmpf ogt, %0, %zero : f32
    %2 = arith.maximumf %0, %zero : f32
    linalg.yield %2, %1 : f32, i1
  }} -> ({c}, {positive})
  device.yield %r#0, %r#1 : {c}, {positive}
}}
"""


SHAPES = [
    (1, 50, 100),
    (37, 10, 65),
    (64, 128, 10),
    (65, 33, 500),
    (130, 257, 391),
    (64, 784, 1030),
    (256, 48, 640),
]
ORDERS = [("mk", "kn"), ("km", "kn"), ("mk", "nk")]


@pytest.fixture(scope="module", params=LEVELS)
def products(request):
    text = "".join(
        product(f"p{i}_{left}_{right}", *shape, left, right)
        for i, shape in enumerate(SHAPES)
        for left, right in ORDERS
    )
    return kernels.Module(text, level=request.param)


@pytest.mark.parametrize("order", ORDERS, ids="_".join)
@pytest.mark.parametrize(
    "shape", range(len(SHAPES)), ids=lambda i: "x".join(map(str, SHAPES[i]))
)
def test_products_agree_with_numpy_and_with_each_other(products, shape, order):
    left, right = order
    m, n, k = SHAPES[shape]
    size = {"m": m, "n": n, "k": k}
    a, b, bias = (
        normal(*(size[i] for i in left)),
        normal(*(size[i] for i in right)),
        normal(n),
    )
    exact = (a if left == "mk" else a.T).astype(np.float64) @ (
        b if right == "kn" else b.T
    ) + bias
    first = None
    for target in TARGETS:
        kernel = products[target][f"p{shape}_{left}_{right}"]
        result, positive = kernel(a, b, bias)
        np.testing.assert_allclose(
            result, np.maximum(exact, 0), atol=1e-5 * np.sqrt(k) * 4
        )
        np.testing.assert_array_equal(positive, result > 0)
        # Tiles may run in any order, and processors do the same multiply-adds.
        again, _ = kernel(a, b, bias, tiles=list(reversed(range(kernel.grid))))
        np.testing.assert_array_equal(again, result)
        first = result if first is None else first
        if target in kernels.host_targets():
            np.testing.assert_array_equal(result, first)


def rounded(x, element):
    """The elements of a factor as an array of this type, and their values."""
    if element == "f16":
        half = x.astype(np.float16)
        return half, half.astype(np.float64)
    if element == "bf16":
        upper = (x.view(np.uint32) >> 16).astype(np.uint16)
        return upper, (upper.astype(np.uint32) << 16).view(np.float32).astype(
            np.float64
        )
    bits = (x.view(np.uint32) + 0x1000) & 0xFFFFE000
    return x, bits.view(np.float32).astype(np.float64)


@pytest.mark.skipif(not kernels.gpu.DRIVER, reason="needs a driver for GPUs")
@pytest.mark.parametrize("order", ORDERS, ids="_".join)
@pytest.mark.parametrize("element", ["f16", "bf16", "tf32"])
def test_products_by_tensor_cores(element, order):
    """Sizes of one tile and of several, whole and not; the exact products of
    factors that are rounded."""
    stored = "f32" if element == "tf32" else element
    options = "tf32" if element == "tf32" else ""
    shapes = [(32, 16, 8), (37, 65, 30), (130, 257, 391), (1500, 1408, 64)]
    text = "".join(
        product(f"p{i}", *shape, *order, element=stored)
        for i, shape in enumerate(shapes)
    )
    code = kernels.Module(text, targets=["sm_90"], options=options)["sm_90"]
    for i, (m, n, k) in enumerate(shapes):
        size = {"m": m, "n": n, "k": k}
        (a, a_value), (b, b_value) = (
            rounded(normal(*(size[j] for j in indices)), element)
            for indices in order
        )
        bias = normal(n)
        exact = (a_value if order[0] == "mk" else a_value.T) @ (
            b_value if order[1] == "kn" else b_value.T
        ) + bias
        result, positive = code[f"p{i}"](a, b, bias)
        np.testing.assert_allclose(
            result, np.maximum(exact, 0), atol=1e-5 * np.sqrt(k)
        )
        np.testing.assert_array_equal(positive, result > 0)


def test_levels_do_the_same_multiply_adds():
    text = product("p", 70, 90, 600, epilogue=False)
    a, b = normal(70, 600), normal(600, 90)
    results = [
        kernels.Module(text, level=level)[TARGETS[0]]["p"](a, b)
        for level in LEVELS
    ]
    np.testing.assert_array_equal(*results)


SOFTMAX = """#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
device.kernel @softmax(%x: tensor<ROWSxCOLUMNSxf32>) -> tensor<ROWSxCOLUMNSxf32> attributes {in_place = array<i64: 0>} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<ROWSxf32>
  %all = tensor.empty() : tensor<ROWSxCOLUMNSxf32>
  %f0 = linalg.fill ins(%low : f32) outs(%rows : tensor<ROWSxf32>) -> tensor<ROWSxf32>
  %max = linalg.reduce { arith.maximumf } ins(%x : tensor<ROWSxCOLUMNSxf32>) outs(%f0 : tensor<ROWSxf32>) dimensions = [1]
  %exp = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<ROWSxCOLUMNSxf32>, tensor<ROWSxf32>) outs(%all : tensor<ROWSxCOLUMNSxf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<ROWSxCOLUMNSxf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%rows : tensor<ROWSxf32>) -> tensor<ROWSxf32>
  %sum = linalg.reduce { arith.addf } ins(%exp : tensor<ROWSxCOLUMNSxf32>) outs(%f1 : tensor<ROWSxf32>) dimensions = [1]
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<ROWSxCOLUMNSxf32>, tensor<ROWSxf32>) outs(%all : tensor<ROWSxCOLUMNSxf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<ROWSxCOLUMNSxf32>
  device.yield %r : tensor<ROWSxCOLUMNSxf32>
}
"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(64, 10), (300, 1000)])
def test_softmax_runs_row_by_row(level, shape):
    module = kernels.Module(
        SOFTMAX.replace("ROWS", str(shape[0])).replace(
            "COLUMNS", str(shape[1])
        ),
        level=level,
    )
    x = normal(*shape)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    for target in TARGETS:
        kernel = module[target]["softmax"]
        for in_place in (False, True):
            np.testing.assert_allclose(
                kernel(x, in_place=in_place),
                e / e.sum(1, keepdims=True),
                rtol=3e-6,
            )
        # The code for GPUs has working memory, for all targets.
        if level == "O2" and TARGETS == kernels.host_targets():
            assert kernel.scratch == 0, "intermediate values are one row each"


@pytest.mark.parametrize("level", LEVELS)
def test_scatter_updates_a_copy_or_the_argument(level):
    text = """device.kernel @scatter(%p: tensor<50x16xf32>, %i: tensor<20xi32>, %v: tensor<20x16xf32>) -> tensor<50x16xf32>
    attributes {in_place = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %r = scf.for %n = %c0 to %c20 step %c1 iter_args(%t = %p) -> tensor<50x16xf32> {
    %i32 = tensor.extract %i[%n] : tensor<20xi32>
    %row = arith.index_cast %i32 : i32 to index
    %u = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %t) -> tensor<50x16xf32> {
      %old = tensor.extract %s[%row, %j] : tensor<50x16xf32>
      %add = tensor.extract %v[%n, %j] : tensor<20x16xf32>
      %new = arith.addf %old, %add : f32
      %w = tensor.insert %new into %s[%row, %j] : tensor<50x16xf32>
      scf.yield %w : tensor<50x16xf32>
    }
    scf.yield %u : tensor<50x16xf32>
  }
  device.yield %r : tensor<50x16xf32>
}
"""
    module = kernels.Module(text, level=level)
    p, i, v = (
        normal(50, 16),
        RANDOM.integers(0, 50, 20).astype(np.int32),
        normal(20, 16),
    )
    expected = p.copy()
    np.add.at(expected, i, v)
    for target in TARGETS:
        kernel = module[target]["scatter"]
        assert kernel.in_place == [0]
        for in_place in (False, True):
            np.testing.assert_array_equal(
                kernel(p, i, v, in_place=in_place), expected
            )


def nest(name, result, arguments, body):
    """A kernel that updates a copy of its argument `%p` in loops."""
    return f"""device.kernel @{name}(%p: {result}{arguments}) -> {result} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %c20 = arith.constant 20 : index
  %c40 = arith.constant 40 : index
  %c50 = arith.constant 50 : index
{body}
  device.yield %r : {result}
}}
"""


#: Each loop has a lower bound and a step.
NESTS = {
    # Rows depend on each other, columns do not.
    "running": (
        tensor(50, 40),
        "",
        """  %r = scf.for %i = %c1 to %c50 step %c1 iter_args(%t = %p) -> tensor<50x40xf32> {
    %before = arith.subi %i, %c1 : index
    %u = scf.for %j = %c7 to %c40 step %c3 iter_args(%s = %t) -> tensor<50x40xf32> {
      %a = tensor.extract %s[%before, %j] : tensor<50x40xf32>
      %b = tensor.extract %s[%i, %j] : tensor<50x40xf32>
      %new = arith.addf %a, %b : f32
      %w = tensor.insert %new into %s[%i, %j] : tensor<50x40xf32>
      scf.yield %w : tensor<50x40xf32>
    }
    scf.yield %u : tensor<50x40xf32>
  }""",
    ),
    # Each element depends on the one before.
    "chained": (
        tensor(50),
        "",
        """  %r = scf.for %i = %c1 to %c50 step %c1 iter_args(%t = %p) -> tensor<50xf32> {
    %before = arith.subi %i, %c1 : index
    %a = tensor.extract %t[%before] : tensor<50xf32>
    %b = tensor.extract %t[%i] : tensor<50xf32>
    %new = arith.addf %a, %b : f32
    %w = tensor.insert %new into %t[%i] : tensor<50xf32>
    scf.yield %w : tensor<50xf32>
  }""",
    ),
    # Elements that are loaded, some of them out of bounds, every third one.
    "dropped": (
        tensor(50),
        ", %i: tensor<20xi32>",
        """  %one = arith.constant 1.0 : f32
  %r = scf.for %n = %c2 to %c20 step %c3 iter_args(%t = %p) -> tensor<50xf32> {
    %i32 = tensor.extract %i[%n] : tensor<20xi32>
    %at = arith.index_cast %i32 : i32 to index
    %fits = arith.cmpi ult, %at, %c50 : index
    %u = scf.if %fits -> tensor<50xf32> {
      %old = tensor.extract %t[%at] : tensor<50xf32>
      %new = arith.addf %old, %one : f32
      %w = tensor.insert %new into %t[%at] : tensor<50xf32>
      scf.yield %w : tensor<50xf32>
    } else {
      scf.yield %t : tensor<50xf32>
    }
    scf.yield %u : tensor<50xf32>
  }""",
    ),
}


def updated(name, p, indices):
    """What a nest makes of `p`."""
    p = p.copy()
    if name == "running":
        for i in range(1, 50):
            p[i, 7::3] += p[i - 1, 7::3]
    elif name == "chained":
        for i in range(1, 50):
            p[i] += p[i - 1]
    else:
        for at in indices[2::3]:
            if at in range(50):
                p[at] += 1
    return p


@pytest.mark.parametrize("name", NESTS)
def test_nests_of_updates(name):
    result, arguments, body = NESTS[name]
    module = kernels.Module(nest(name, result, arguments, body))
    p = normal(*((50, 40) if name == "running" else (50,)))
    indices = RANDOM.integers(-5, 55, 20).astype(np.int32)
    given = [p, indices] if arguments else [p]
    for target in TARGETS:
        np.testing.assert_array_equal(
            module[target][name](*given), updated(name, p, indices)
        )


def test_two_results_that_begin_with_the_same_fill():
    """Sums of two slices: neither is computed in the memory that the other is
    stored to.
    """
    text = f"""device.kernel @f(%x: {tensor(4, 6)}) -> ({tensor(4)}, {tensor(4)}) {{
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : {tensor(6, 4)}
  %y = linalg.transpose ins(%x : {tensor(4, 6)}) outs(%t : {tensor(6, 4)}) permutation = [1, 0]
  %e = tensor.empty() : {tensor(4)}
  %f = linalg.fill ins(%zero : f32) outs(%e : {tensor(4)}) -> {tensor(4)}
  %s0 = tensor.extract_slice %y[0, 0] [1, 4] [1, 1] : {tensor(6, 4)} to {tensor(1, 4)}
  %r0 = linalg.reduce {{ arith.addf }} ins(%s0 : {tensor(1, 4)}) outs(%f : {tensor(4)}) dimensions = [0]
  %s1 = tensor.extract_slice %y[1, 0] [1, 4] [1, 1] : {tensor(6, 4)} to {tensor(1, 4)}
  %r1 = linalg.reduce {{ arith.addf }} ins(%s1 : {tensor(1, 4)}) outs(%f : {tensor(4)}) dimensions = [0]
  device.yield %r0, %r1 : {tensor(4)}, {tensor(4)}
}}
"""
    x = normal(4, 6)
    for level in LEVELS:
        module = kernels.Module(text, level=level)
        for target in TARGETS:
            first, second = module[target]["f"](x)
            np.testing.assert_array_equal(first, x[:, 0])
            np.testing.assert_array_equal(second, x[:, 1])


def test_a_body_with_a_tensor_of_its_own():
    """Iterations share its memory: they are executed one after the other."""
    text = f"""#id = affine_map<(i) -> (i)>
device.kernel @f(%x: {tensor(256)}, %j: {tensor(256, element="i32")}) -> {tensor(256)} {{
  %e = tensor.empty() : {tensor(256)}
  %r = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}}
      ins(%x, %j : {tensor(256)}, {tensor(256, element="i32")}) outs(%e : {tensor(256)}) {{
  ^bb0(%a: f32, %n: i32, %o: f32):
    %s = arith.mulf %a, %a : f32
    %t = tensor.from_elements %a, %s : {tensor(2)}
    %i = arith.index_cast %n : i32 to index
    %v = tensor.extract %t[%i] : {tensor(2)}
    linalg.yield %v : f32
  }} -> {tensor(256)}
  device.yield %r : {tensor(256)}
}}
"""
    x, j = np.arange(256, dtype=np.float32), np.arange(256, dtype=np.int32) % 2
    for level in LEVELS:
        module = kernels.Module(text, level=level)
        for target in TARGETS:
            np.testing.assert_array_equal(
                module[target]["f"](x, j), np.where(j == 0, x, x * x)
            )


def convolution(name, stride):
    """A convolution of 9x9 images with 3x3 filters, 5 to 19 channels."""
    size = (9 - 3) // stride + 1
    out = tensor(2, size, size, 19)
    return (
        size,
        f"""device.kernel @{name}(%x: tensor<2x9x9x5xf32>, %w: tensor<3x3x5x19xf32>) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {out}
  %f = linalg.fill ins(%zero : f32) outs(%e : {out}) -> {out}
  %r = linalg.conv_2d_nhwc_hwcf {{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}
      ins(%x, %w : tensor<2x9x9x5xf32>, tensor<3x3x5x19xf32>) outs(%f : {out}) -> {out}
  device.yield %r : {out}
}}
""",
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions(level, stride):
    size, text = convolution("conv", stride)
    x, w = normal(2, 9, 9, 5), normal(3, 3, 5, 19)
    windows = np.lib.stride_tricks.sliding_window_view(
        x.astype(np.float64), (3, 3), axis=(1, 2)
    )[:, ::stride, ::stride]
    expected = np.einsum("nhwcij,ijco->nhwo", windows, w)
    assert expected.shape[1] == size
    module = kernels.Module(text, level=level)
    for target in TARGETS:
        np.testing.assert_allclose(
            module[target]["conv"](x, w), expected, atol=1e-4
        )
