"""JAX as the reference."""

import numpy as np
import pytest

from differential import execution
from differential.program import Function, Input, Program, Statement, Type
from differential.rendering import render

SINGLE, DOUBLE = (Type((4096,), dtype) for dtype in ("float32", "float64"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_as_written_have_32_bits(dtype):
    """A letter that one operand alone has is summed by `jnp.einsum` without a
    word about the type of the sum, and XLA rounds after each addition.
    """
    program = Program(
        seed=1,
        x64=False,
        rows=1,
        inputs=(Input("x1", Type((1, 331), dtype), "ones", "state"),),
        statements=(
            Statement(
                ("v2",),
                "jnp.einsum('ab,z->', jnp.tanh(x1), x1[0, :1])",
                (Type((), dtype),),
            ),
        ),
        results=("v2",),
    )
    loaded = execution.load(render(program))
    ones = np.ones(331, dtype)
    exact = np.tanh(ones).sum(dtype="float64").astype(dtype)
    rounded = execution.execute_by_jax(loaded, 1)["v2"]
    assert rounded != exact
    assert execution.execute_by_jax(loaded, 1, as_written=True)["v2"] == exact
    # Afterwards, sums are lowered as before.
    assert execution.execute_by_jax(loaded, 1)["v2"] == rounded


def test_what_xla_cannot_simplify_is_executed_as_written():
    """XLA makes one conversion of two, with a shape that it then refuses."""
    integers = Type((5,), "int32")
    program = Program(
        seed=1,
        x64=False,
        rows=1,
        inputs=(Input("x1", integers, "small", "state"),),
        statements=(
            Statement(
                ("v2",),
                "lax.bitcast_convert_type(lax.bitcast_convert_type(x1, 'int16'), 'uint8')",
                (Type((5, 2, 2), "uint8"),),
                exact=(True,),
            ),
        ),
        results=("v2",),
    )
    loaded = execution.load(render(program))
    found = execution.execute_by_jax(loaded, 1)["v2"]
    expected = np.asarray(loaded.state["x1"]).view(np.uint8)
    np.testing.assert_array_equal(found.ravel(), expected)


def test_results_depend_on_floats_of_32_bits():
    """By an input, a value, or an expression, in a function too."""
    inner = Statement(
        ("v8",), "a7.astype('float32').sum()", (Type((), "float32"),)
    )
    program = Program(
        seed=1,
        x64=True,
        rows=1,
        inputs=(
            Input("x1", SINGLE, "ones", "state"),
            Input("x2", DOUBLE, "ones", "state"),
        ),
        statements=(
            Statement(("v3",), "jnp.tanh(x1) + x2", (DOUBLE,)),
            Statement(("v4",), "v3 * 2", (DOUBLE,)),
            Statement(("v5",), "jnp.tanh(x2)", (DOUBLE,)),
            Statement(("v6",), "x2.astype('float32') + x2", (DOUBLE,)),
            Statement(
                ("v9",),
                "f7(x2) + x2",
                (DOUBLE,),
                (Function("f7", ("a7",), (inner,), "v8"),),
            ),
        ),
        results=("v4", "v5", "v6", "v9"),
    )
    assert program.single_precision == {"v4", "v6", "v9"}
