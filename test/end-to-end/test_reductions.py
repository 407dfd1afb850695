"""Sums and means over replicas, bitwise equal compiled and interpreted."""

import numpy as np
import pytest

from conftest import read_variables

REPLICAS = [1, 2, 3, 4, 8]


def step(element, given, x):
    """A step that keeps sums and means of its batch, which `x` converts to
    `element`; each replica has one row of the data.
    """
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
@pytest.mark.parametrize("element", ["f16", "bf16"])  # [2.1-narrow]
def test_means_of_sixteen_bits_round_once(interpreted, element, replicas):
    # Large enough that sums of f16 overflow where their means do not.
    rows = (
        np.random.default_rng(0)
        .uniform(1, 40000, (replicas, 64))
        .astype(np.float32)
    )
    variables = interpreted(
        step(element, "f32", truncated(element)), replicas, {"x": rows}
    )
    assert variables["mean"] == variables["merged"]
    if element == "f16":
        mean = np.frombuffer(variables["mean"][2], np.float16)
        exact = rows.astype(np.float16).astype(np.float64).mean(axis=0)
        np.testing.assert_allclose(mean, exact, rtol=2**-11 * 1.001)


@pytest.mark.parametrize("replicas", REPLICAS)  # [2.1-int-wrap]
@pytest.mark.parametrize("dtype", [np.int32, np.int64])  # [2.1-mean-int]
def test_sums_of_integers_wrap_and_means_are_f64(interpreted, dtype, replicas):
    limits = np.iinfo(dtype)
    rows = np.random.default_rng(0).integers(
        limits.min, limits.max, (replicas, 64), dtype, endpoint=True
    )
    element = f"i{limits.bits}"
    copied = f"%x = tensor.cast %data : tensor<1x64x{element}> to tensor<1x64x{element}>"
    variables = interpreted(
        step(element, element, copied), replicas, {"x": rows}
    )
    total = rows.sum(axis=0, dtype=dtype)
    np.testing.assert_array_equal(
        np.frombuffer(variables["sum"][2], dtype), total
    )
    np.testing.assert_array_equal(
        np.frombuffer(variables["mean"][2], np.float64),
        total.astype(np.float64) / replicas,
    )
    np.testing.assert_array_equal(
        np.frombuffer(variables["shared"][2], np.float64),
        total.astype(np.float64),
    )


OTHERS = {"product": np.multiply, "min": np.minimum, "max": np.maximum}


def other_reductions(element, kinds, initial):
    """A step that keeps other reductions of its batch, and of what is equal on
    all replicas.
    """
    tensor = f"tensor<1x64x{element}>"
    text = "".join(
        f"replica.variable @{name} : {tensor} {{initial = dense<{initial}> : {tensor}}}\n"
        for kind in kinds
        for name in (kind, f"{kind}_of_equal")
    )
    body = "".join(
        f"""
  %{kind} = replica.all_reduce {kind} %x : {tensor}
  %{kind}_of_equal = replica.all_reduce {kind} %{kind} : {tensor}
  replica.assign @{kind}, %{kind} : {tensor}
  replica.assign @{kind}_of_equal, %{kind}_of_equal : {tensor}"""
        for kind in kinds
    )
    return f'{text}replica.step @step(%x: {tensor} {{replica.batch = "x"}}) {{{body}\n  replica.return\n}}\n'


@pytest.mark.parametrize("replicas", REPLICAS)
@pytest.mark.parametrize(
    "dtype, element",
    [
        (np.float32, "f32"),
        (np.float64, "f64"),
        (np.int32, "i32"),
        (np.int8, "i8"),
    ],
)
def test_products_and_extremes(interpreted, dtype, element, replicas):
    rng = np.random.default_rng(0)
    is_float = np.issubdtype(dtype, np.floating)
    rows = (
        rng.standard_normal((replicas, 64)).astype(dtype)
        if is_float
        else rng.integers(-100, 100, (replicas, 64), dtype)
    )
    if is_float:
        rows[-1, :3] = np.nan, np.inf, -np.inf
    text = other_reductions(element, OTHERS, "0.0" if is_float else "0")
    variables = interpreted(
        text, replicas, {"x": rows}, options=[(), ("--simplify=false",)]
    )
    for kind, function in OTHERS.items():
        with np.errstate(all="ignore"):
            expected = function.reduce(rows, axis=0, dtype=dtype)
        found = np.frombuffer(variables[kind][2], dtype)
        np.testing.assert_allclose(
            found,
            expected,
            rtol=replicas * np.finfo(dtype).eps if is_float else 0,
        )
        if kind != "product":
            np.testing.assert_array_equal(
                np.frombuffer(variables[f"{kind}_of_equal"][2], dtype), found
            )


@pytest.mark.parametrize("replicas", REPLICAS)
def test_extremes_of_booleans_are_all_and_any(interpreted, replicas):
    rows = np.random.default_rng(0).integers(0, 2, (replicas, 64)).astype(bool)
    variables = interpreted(
        other_reductions("i1", ["min", "max"], "false"), replicas, {"x": rows}
    )
    np.testing.assert_array_equal(
        np.frombuffer(variables["min"][2], bool), rows.all(axis=0)
    )
    np.testing.assert_array_equal(
        np.frombuffer(variables["max"][2], bool), rows.any(axis=0)
    )


@pytest.mark.parametrize("replicas", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_leaving_out_exchanges_changes_no_bit(interpreted, element, replicas):
    """Sums of equal values, repeated and unused sums: with seven replicas the
    order of the additions affects the bits.
    """
    tensor = f"tensor<1x64x{element}>"
    names = ["again", "mean", "repeated"]
    convert = (
        truncated(element)
        if element != "f32"
        else f"%x = tensor.cast %data : {tensor} to {tensor}"
    )
    text = "".join(
        f"replica.variable @{name} : {tensor} {{initial = dense<0.0> : {tensor}}}\n"
        for name in names
    )
    text += f"""
replica.variable @first : {tensor} {{aggregation = #replica.aggregation<only_first_replica>, initial = dense<0.0> : {tensor}}}
replica.step @step(%data: tensor<1x64xf32> {{replica.batch = "x"}}) {{
  {convert}
  %sum = replica.all_reduce sum %x : {tensor}
  %again = replica.all_reduce sum %sum : {tensor}
  %mean = replica.all_reduce mean %again : {tensor}
  %repeated = replica.all_reduce sum %x : {tensor}
  %unused = replica.all_reduce mean %x : {tensor}
  replica.assign @again, %again : {tensor}
  replica.assign @mean, %mean : {tensor}
  replica.assign @repeated, %repeated : {tensor}
  replica.assign @first, %again : {tensor}
  replica.return
}}
"""
    rows = (
        np.random.default_rng(0)
        .standard_normal((replicas, 64))
        .astype(np.float32)
    )
    interpreted(
        text,
        replicas,
        {"x": rows},
        options=[(), ("--simplify=false",)],
        levels=["-O2"],
    )


@pytest.mark.parametrize("replicas", [1, 2, 3, 8])
@pytest.mark.parametrize("option", ["--reassociate=false", "--reassociate"])
def test_sums_of_sums(tools, tmp_path, option, replicas):
    """One collective if reassociation is allowed, else two; both results are
    close to the exact sum.
    """
    tensor = "tensor<1x64xf32>"
    source = tmp_path / "step.mlir"
    source.write_text(f"""
replica.variable @sum : {tensor} {{initial = dense<0.0> : {tensor}}}
replica.step @step(%x: {tensor} {{replica.batch = "x"}}, %y: {tensor} {{replica.batch = "y"}}) {{
  %a = replica.all_reduce sum %x : {tensor}
  %b = replica.all_reduce sum %y : {tensor}
  %e = tensor.empty() : {tensor}
  %s = linalg.add ins(%a, %b : {tensor}, {tensor}) outs(%e : {tensor}) -> {tensor}
  replica.assign @sum, %s : {tensor}
  replica.return
}}
""")
    x, y = (
        np.random.default_rng(0)
        .uniform(1, 2, (2, replicas, 64))
        .astype(np.float32)
    )
    np.savez(tmp_path / "data.npz", x=x, y=y)
    schedule = tools.run(
        "lockstep-compile",
        source,
        f"--replicas={replicas}",
        option,
        "--bucket=none",
        "--stop-after=simplify",
    ).stdout
    assert schedule.count("collective.start") == (
        0 if replicas == 1 else 1 if option == "--reassociate" else 2
    )
    artifact = tools.compile(
        source, tmp_path / "step.lockstep", f"--replicas={replicas}", option
    )
    tools.run(
        "lockstep-run",
        artifact,
        "--data",
        tmp_path / "data.npz",
        "--steps=1",
        "--save",
        tmp_path / "run",
    )
    found = np.frombuffer(
        read_variables(tmp_path / "run" / "checkpoint-1.safetensors")["sum"][2],
        np.float32,
    )
    exact = (x.astype(np.float64) + y).sum(axis=0)
    np.testing.assert_allclose(found, exact, rtol=2 * replicas * 2**-24)
