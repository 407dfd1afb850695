"""Forms of values that only IR by hand has, or that types alone do not show:
compiled steps have the interpreter's results, or the values of the model.
"""

import json

import numpy as np
import pytest

from conftest import capture

#: The results of a step on the batch `%x`, which is added to the variable `@y`.
STEP = """
replica.variable @y : {type} {{initial = dense<0.0> : {type}}}
collective.group @all
replica.step @step(%x: tensor<4xf32> {{replica.batch = "x"}}{arguments}) {{
{body}
  replica.assign @y, %y : {type}
  replica.return
}}
"""

REDUCED_SLICES = """
  %i = arith.constant dense<[0, 1, 1, 2]> : tensor<4xi64>
  %d = replica.slices_to_dense %x at %i : tensor<4xf32>, tensor<4xi64> -> tensor<3xf32>
  %y = replica.all_reduce {reduction} %d : tensor<3xf32>"""

GATHERED = """
  %g = replica.all_gather %x axis 0 : tensor<4xf32> -> tensor<?xf32>
  %s = arith.addf %g, %g : tensor<?xf32>
  %y = tensor.cast %s : tensor<?xf32> to tensor<{rows}xf32>"""

ACCUMULATED = """
  %h = arith.truncf %x : tensor<4xf32> to tensor<4xbf16>
  %p = collective.start all_reduce sum @all (%h : tensor<4xbf16>) -> !collective.pending<tensor<4xf32>>
  %y = collective.wait %p (%h : tensor<4xbf16>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>"""

#: Values whose sums bf16 does not have.
X = np.float32([256, 2, 3, 4, 258, 12, 13, 14, 1, -5, 0.5, 300, 7, 7, 7, 7])


def run(interpreted, body, replicas, type="tensor<4xf32>", arguments=""):
    text = STEP.format(type=type, body=body, arguments=arguments)
    return interpreted(text, replicas, {"x": X[: 4 * replicas]})


# The slices of replicas are gathered only for their sum and their mean, whose
# rows are divided before they are added: exact for powers of two.
@pytest.mark.parametrize("reduction", ["sum", "mean", "max", "min", "product"])
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_reductions_of_slices(interpreted, replicas, reduction):
    if (reduction, replicas) == ("mean", 3):
        replicas = 4
    body = REDUCED_SLICES.format(reduction=reduction)
    run(interpreted, body, replicas, "tensor<3xf32>")


# A static size behind a dynamic type.
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_arithmetic_on_sizes_that_types_forget(interpreted, replicas):
    rows = 4 * replicas
    body = GATHERED.format(rows=rows)
    run(interpreted, body, replicas, f"tensor<{rows}xf32>")


# 16-bit floats whose sum is not rounded.
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_sums_of_more_bits(interpreted, replicas):
    run(interpreted, ACCUMULATED, replicas)


# With one replica, the axis of a gather does not matter.
@pytest.mark.parametrize("axis", [-1, 1])
def test_axes_of_one_replica(interpreted, axis):
    body = f"  %y = replica.all_gather %x axis {axis} : tensor<4xf32> -> tensor<4xf32>"
    run(interpreted, body, 1)


# A constant may be assigned, returned and sent as it is.
@pytest.mark.parametrize("replicas", [1, 2])
def test_constants_in_resources(interpreted, replicas):
    blob = "0x04000000" + np.float32([1, -1, 2, 1.5]).tobytes().hex().upper()
    resources = (
        f'{{-# dialect_resources: {{ builtin: {{ blob: "{blob}" }} }} #-}}'
    )
    body = "  %y = arith.constant dense_resource<blob> : tensor<4xf32>"
    text = STEP.format(type="tensor<4xf32>", body=body, arguments="")
    interpreted(text + resources, replicas, {"x": X[: 4 * replicas]})


# The default of a scalar with a shape is a value of the shape, or a number.
@pytest.mark.parametrize(
    "default", ["dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>", "0.5 : f32"]
)
def test_defaults_of_scalars_with_a_shape(interpreted, default):
    arguments = f', %k: tensor<4xf32> {{replica.scalar = "k", replica.default = {default}}}'
    body = "  %y = arith.addf %k, %k : tensor<4xf32>"
    run(interpreted, body, 2, arguments=arguments)


UNSIGNED = """
import jax.numpy as jnp
batch_spec = {}
def init(seed):
    return {"n": jnp.uint32(3_000_000_000), "b": jnp.full(3, 250, jnp.uint8)}
def step(state, batch, scalars):
    n, b = state["n"] + 1, state["b"] + 1
    return {"n": n, "b": b}, {"n": n, "b": b.max(), "product": (b.astype(jnp.uint16) * 200).max()}
"""


# The types of the compiled module have no signs.
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("replicas", [1, 2])
def test_unsigned_metrics(tools, tmp_path, replicas, level):
    model, metrics = tmp_path / "model.py", tmp_path / "metrics.jsonl"
    model.write_text(UNSIGNED)
    captured = capture(model, tmp_path / "captured")
    artifact = tools.compile(
        captured / "step.mlir", tmp_path / "step.lockstep",
        f"--replicas={replicas}", level,
    )  # fmt: skip
    arguments = [
        f"--init={captured / 'init.safetensors'}",
        "--steps=2",
        f"--metrics={metrics}",
    ]

    def check():
        lines = map(json.loads, metrics.read_text().splitlines())
        assert [(m["n"], m["b"], m["product"]) for m in lines] == [
            (3_000_000_001, 251, 50_200),
            (3_000_000_002, 252, 50_400),
        ]

    tools.run("lockstep-run", artifact, *arguments)
    check()
    tools.run(
        "lockstep-interpret", captured / "step.mlir", f"--replicas={replicas}", *arguments,
    )  # fmt: skip
    check()
