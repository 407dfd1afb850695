"""Sums and means over replicas: compiled programs give the interpreter's bits."""

import numpy as np
import pytest

REPLICAS = [1, 2, 3, 4, 8]


def step(element, given, x):
    """A step that keeps sums and means of its batch, which `x` converts to `element`; each replica has one row of the data."""
    tensor = f"tensor<1x64x{element}>"
    mean = f"tensor<1x64x{'f64' if element.startswith('i') else element}>"
    zero = "0" if element.startswith("i") else "0.0"
    return f"""
replica.variable @sum : {tensor} {{initial = dense<{zero}> : {tensor}}}
replica.variable @mean : {mean} {{initial = dense<0.0> : {mean}}}
replica.variable @merged : {mean} {{initial = dense<0.0> : {mean}}}
replica.variable @shared : {mean} {{initial = dense<0.0> : {mean}}}
replica.step @step(%data: tensor<1x64x{given}> {{replica.batch = "x"}}) {{
  {x}
  %sum = replica.all_reduce sum %x : {tensor}
  replica.assign @sum, %sum : {tensor}
  %mean = replica.all_reduce mean %x : {tensor}
  replica.assign @mean, %mean : {mean}
  %merged, %shared = replica.merge_call (%x, %sum : {tensor}, {tensor}) -> {mean}, {mean} {{
  ^bb0(%each: !replica.per_replica<{tensor}>, %all: {tensor}):
    %m = replica.reduce_to mean %each : !replica.per_replica<{tensor}> -> !replica.mirrored<{mean}>
    // The mean of what is equal everywhere is the value itself.
    %s = replica.reduce_to mean %all : {tensor} -> !replica.mirrored<{mean}>
    replica.yield %m, %s : !replica.mirrored<{mean}>, !replica.mirrored<{mean}>
  }}
  replica.assign @merged, %merged : {mean}
  replica.assign @shared, %shared : {mean}
  replica.return
}}
"""


def truncated(element):
    tensor = f"tensor<1x64x{element}>"
    return f"""%empty = tensor.empty() : {tensor}
  %x = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%data : tensor<1x64xf32>) outs(%empty : {tensor}) {{
  ^bb0(%in: f32, %out: {element}):
    %0 = arith.truncf %in : f32 to {element}
    linalg.yield %0 : {element}
  }} -> {tensor}"""


@pytest.mark.parametrize("replicas", REPLICAS)
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_means_of_sixteen_bits_round_once(interpreted, element, replicas):
    # Large enough that sums of f16 overflow where their means do not.
    rows = np.random.default_rng(0).uniform(1, 40000, (replicas, 64)).astype(np.float32)
    variables = interpreted(step(element, "f32", truncated(element)), replicas, {"x": rows})
    assert variables["mean"] == variables["merged"]
    if element == "f16":
        mean = np.frombuffer(variables["mean"][2], np.float16)
        exact = rows.astype(np.float16).astype(np.float64).mean(axis=0)
        np.testing.assert_allclose(mean, exact, rtol=2**-11 * 1.001)


@pytest.mark.parametrize("replicas", REPLICAS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_sums_of_integers_wrap_and_means_are_f64(interpreted, dtype, replicas):
    limits = np.iinfo(dtype)
    rows = np.random.default_rng(0).integers(limits.min, limits.max, (replicas, 64), dtype, endpoint=True)
    element = f"i{limits.bits}"
    copied = f"%x = tensor.cast %data : tensor<1x64x{element}> to tensor<1x64x{element}>"
    variables = interpreted(step(element, element, copied), replicas, {"x": rows})
    total = rows.sum(axis=0, dtype=dtype)
    np.testing.assert_array_equal(np.frombuffer(variables["sum"][2], dtype), total)
    np.testing.assert_array_equal(np.frombuffer(variables["mean"][2], np.float64), total.astype(np.float64) / replicas)
    np.testing.assert_array_equal(np.frombuffer(variables["shared"][2], np.float64), total.astype(np.float64))
