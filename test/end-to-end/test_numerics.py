"""Tests of docs/numerics.md: its examples, and the rule for half precision on
chains of operations.

Everything is executed at -O0, at -O2 and by the interpreter.
"""

import doctest
import functools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from documentation import ROOT, blocks
from operations.execution import Call, Step

PAGE = ROOT / "docs" / "numerics.md"
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype(np.float16), BFLOAT16]


def examples():
    """The examples of the page, in order."""
    texts = [block.text for block in blocks(PAGE) if block.kind == "python"]
    return [
        example
        for text in texts
        for example in doctest.DocTestParser().get_examples(text)
    ]


def constructors():
    """The constructors of arrays in examples: `int32([1, 2])`."""
    names = ("int8", "int32", "uint8", "float16", "float32", "float64")
    made = {name: functools.partial(np.array, dtype=name) for name in names}
    return {
        **made,
        "bfloat16": functools.partial(np.array, dtype=BFLOAT16),
        "nan": np.nan,
        "inf": np.inf,
    }


def executed(tools, folder, calls):
    """The results of calls, a dict by name, each a list of arrays: {name of the
    execution: results}.
    """
    with jax.enable_x64(True):
        step = Step(
            [
                Call(name, function, arguments)
                for name, (function, *arguments) in calls.items()
            ]
        )
        return dict(step.executed(tools, folder))


def test_examples_of_the_page(tools, tmp_path):
    calls = {}

    def step(function, *arguments):
        calls[f"example_{len(calls)}"] = (function, *arguments)

    names = {"step": step, "jnp": jnp, "lax": lax, **constructors()}
    wanted = []
    for example in examples():
        exec(example.source, names)
        wanted.append(example.want.strip())
    assert len(wanted) == len(calls) > 0
    for execution, results in executed(tools, tmp_path, calls).items():
        found = [repr(results[name][0].tolist()) for name in calls]
        assert found == wanted, execution


def chain(x, y):
    """Elementwise operations that round once each, NumPy's and JAX's alike:
    fused into one kernel, each rounding shows in the result.
    """
    a = x * y + x
    b = a / (y * y + y) - x
    c = abs(b) * a - (b + y) * x
    return (c + a) * (c - b) + (a * a - b * b) / (abs(c) + y)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_each_elementwise_operation_rounds(tools, tmp_path, dtype):
    x, y = np.random.default_rng(0).uniform(0.5, 2, (2, 1000)).astype(dtype)
    with np.errstate(all="raise"):
        expected = chain(x, y)
    assert expected.dtype == dtype
    # Kept in f32 until the end, most results are others.
    assert (
        np.mean(
            chain(x.astype(np.float32), y.astype(np.float32)).astype(dtype)
            != expected
        )
        > 0.5
    )
    for execution, results in executed(
        tools, tmp_path, {"chain": (chain, x, y)}
    ).items():
        np.testing.assert_array_equal(
            results["chain"][0].view(np.uint16),
            expected.view(np.uint16),
            execution,
        )


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_roundings_stay_across_kernels(tools, tmp_path, dtype):
    """A value that a reduction, a product and a chain of operations use is the
    same rounded one for all of them.
    """

    def function(x, y):
        a = x * y + x
        largest = lax.reduce_max(a, (0, 1))
        return (
            a,
            largest,
            (a - largest) * y,
            a.T.astype(jnp.float32),
            lax.cumsum(a.astype(jnp.float32), axis=1),
        )

    x, y = np.random.default_rng(1).uniform(0.5, 2, (2, 8, 16)).astype(dtype)
    a = x * y + x
    expected = [
        a,
        a.max(),
        (a - a.max()) * y,
        a.T.astype(np.float32),
        np.cumsum(a.astype(np.float32), axis=1),
    ]
    for execution, results in executed(
        tools, tmp_path, {"function": (function, x, y)}
    ).items():
        for found, right in zip(results["function"], expected, strict=True):
            np.testing.assert_array_equal(
                found.astype(np.float64),
                np.asarray(right).astype(np.float64),
                execution,
            )


def accumulations(dtype):
    """Functions with arguments and exact results: integers whose sums are exact
    in f32, in any order, and have to be rounded once.
    """
    rng = np.random.default_rng(2)
    wide = [
        rng.integers(-9, 10, shape).astype(np.float64)
        for shape in ((5, 700), (700, 6))
    ]
    x, y = (array.astype(dtype) for array in wide)
    image, kernel = (
        rng.integers(-9, 10, shape).astype(np.float64)
        for shape in ((2, 12, 7), (5, 7, 6))
    )
    convolved = np.stack(
        [
            np.einsum("nwi,wio->no", image[:, start : start + 5], kernel)
            for start in range(8)
        ],
        axis=1,
    )

    def convolution(v, w):
        return lax.conv_general_dilated(
            v, w, (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWC")
        )

    def window(v):
        return lax.reduce_window(
            v, np.zeros((), dtype), lax.add, (1, 100), (1, 50), "VALID"
        )

    return {
        "rows": (lambda v: lax.reduce_sum(v, (1,)), [x], wide[0].sum(axis=1)),
        "columns": (
            lambda v: lax.reduce_sum(v, (0,)),
            [y],
            wide[1].sum(axis=0),
        ),
        "everything": (lambda v: lax.reduce_sum(v, (0, 1)), [x], wide[0].sum()),
        "product": (lambda v, w: v @ w, [x, y], wide[0] @ wide[1]),
        "batched": (
            lambda v, w: jnp.einsum("bi,bi->b", v, w),
            [x[:, :6], y[:5, :]],
            (wide[0][:, :6] * wide[1][:5, :]).sum(axis=1),
        ),
        "convolution": (
            convolution,
            [image.astype(dtype), kernel.astype(dtype)],
            convolved,
        ),
        "window": (
            window,
            [x],
            np.stack(
                [
                    wide[0][:, start : start + 100].sum(axis=1)
                    for start in range(0, 601, 50)
                ],
                axis=1,
            ),
        ),
        "cumulative": (
            lambda v: lax.cumsum(v, axis=1),
            [x],
            np.cumsum(wide[0], axis=1),
        ),
        "reversed": (
            lambda v: lax.cumsum(v, axis=1, reverse=True),
            [x],
            np.cumsum(wide[0][:, ::-1], axis=1)[:, ::-1],
        ),
    }


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_accumulations_round_once(tools, tmp_path, dtype):
    cases = accumulations(dtype)
    found = executed(
        tools,
        tmp_path,
        {
            name: (function, *arguments)
            for name, (function, arguments, _) in cases.items()
        },
    )
    for name, (_, _, exact) in cases.items():
        expected = exact.astype(np.float32).astype(dtype)
        for execution, results in found.items():
            np.testing.assert_array_equal(
                results[name][0].astype(np.float64),
                expected.astype(np.float64),
                f"{name}, {execution}",
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, BFLOAT16], ids=str)
def test_subnormal_operands_are_kept(tools, tmp_path, dtype):
    info = ml_dtypes.finfo(dtype)
    smallest, normal = float(info.smallest_subnormal), float(info.tiny)
    x = np.array(
        [smallest, 3 * smallest, normal / 3, normal - smallest, normal, 0, -0.0]
    ).astype(dtype)
    functions = {
        "log": (jnp.log, np.log),
        "log2": (jnp.log2, np.log2),
        "log10": (jnp.log10, np.log10),
        "cbrt": (jnp.cbrt, np.cbrt),
        "sqrt": (jnp.sqrt, np.sqrt),
    }
    found = executed(
        tools,
        tmp_path,
        {name: (ours, x) for name, (ours, _) in functions.items()},
    )
    for execution, results in found.items():
        for name, (_, exact) in functions.items():
            with np.errstate(divide="ignore"):
                expected = exact(x.astype(np.longdouble)).astype(np.float64)
            np.testing.assert_allclose(
                results[name][0].astype(np.float64),
                expected,
                rtol=4 * float(info.eps),
                atol=0,
                err_msg=f"{name}, {execution}",
            )


def test_index_out_of_range_in_a_module_by_hand(tools, tmp_path):
    (module,) = (
        block.text
        for block in blocks(PAGE)
        if block.names.get("file") == "read.mlir"
    )
    message = "expected an index in [0, 4) for dimension 0 of tensor<4xf32>, found 7 [E_OUT_OF_RANGE]"
    source, artifact = tmp_path / "step.mlir", tmp_path / "step.lockstep"
    source.write_text(module)
    for level in ("-O0", "-O2"):
        tools.compile(source, artifact, "--replicas=1", level, "--check-bounds")
        for index in (2, 7):
            inputs = tmp_path / "inputs.npz"
            np.savez(
                inputs, x=np.arange(4, dtype=np.float32), i=np.array(index)
            )
            done = tools.run(
                "lockstep-run", artifact, "--inputs", inputs, check=False
            )
            assert (done.returncode, message in done.stderr) == (
                (0, False) if index == 2 else (1, True)
            ), done.stderr
    assert (
        "expected an index in [0, 4) for dimension 0"
        in tools.run(
            "lockstep-interpret",
            source,
            "--replicas=1",
            "--inputs",
            inputs,
            check=False,
        ).stderr
    )
