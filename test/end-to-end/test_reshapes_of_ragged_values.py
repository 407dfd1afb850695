"""Reshapes of values of dynamic size. Compiled programs print the interpreter's
results, for replicas with few rows and none.
"""

import json

import numpy as np
import pytest

ROWS = [2, 0, 3]


@pytest.fixture
def results(tools, tmp_path):
    """`results(body, type)` executes a step of the batch %x, up to three rows
    of two, in every configuration; returns the batches and each replica's %y.
    """

    def run(body, kind, replicas):
        source = tmp_path / "step.mlir"
        source.write_text(f"""
replica.step @step(%x: tensor<?x2xf32> {{replica.batch = "x", replica.bounds = array<i64: 3>}}) -> ({kind} {{replica.result = "y"}}) {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?x2xf32>
  %m = arith.muli %n, %c2 : index
  {body}
  replica.return %y : {kind}
}}
""")
        arrays = {
            f"x@{r}": np.arange(2 * ROWS[r], dtype=np.float32).reshape(-1, 2)
            + 10 * r
            for r in range(replicas)
        }
        np.savez(tmp_path / "x.npz", **arrays)
        inputs = f"--inputs={tmp_path / 'x.npz'}"
        expected = tools.run(
            "lockstep-interpret", source, f"--replicas={replicas}", inputs
        ).stdout
        for level in ("-O0", "-O2"):
            artifact = tools.compile(
                source,
                tmp_path / "step.lockstep",
                f"--replicas={replicas}",
                level,
            )
            assert (
                tools.run(
                    "lockstep-run", artifact, inputs, "--check-races"
                ).stdout
                == expected
            ), level
        lines = [json.loads(line) for line in expected.splitlines()]
        return arrays, [
            np.array(line["values"], np.float32).reshape(line["shape"])
            for line in lines
        ]

    return run


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_one_dimension_more(results, replicas):
    arrays, found = results(
        """%y = tensor.expand_shape %x [[0, 1], [2]] output_shape [%n, 1, 2] : tensor<?x2xf32> into tensor<?x1x2xf32>""",
        "tensor<?x1x2xf32>",
        replicas,
    )
    for replica, value in enumerate(found):
        np.testing.assert_array_equal(value, arrays[f"x@{replica}"][:, None, :])


@pytest.mark.parametrize("replicas", [1, 3])
def test_two_dimensions_to_one_and_back(results, replicas):
    """The product of the sizes has a bound too, by which it is gathered."""
    arrays, found = results(
        """%flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %all = replica.all_gather %flat axis 0 : tensor<?xf32> -> tensor<?xf32>
  %k = tensor.dim %all, %c0 : tensor<?xf32>
  %y = tensor.expand_shape %all [[0, 1]] output_shape [%k, 1] : tensor<?xf32> into tensor<?x1xf32>""",
        "tensor<?x1xf32>",
        replicas,
    )
    expected = np.concatenate(
        [arrays[f"x@{r}"].ravel() for r in range(replicas)]
    )[:, None]
    for value in found:
        np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("replicas", [1, 3])
def test_only_the_size_of_a_batch_is_needed(results, replicas):
    """As in the gradient of a sum, which does not read the elements."""
    arrays, found = results(
        """%one = arith.constant 1.0 : f32
  %place = tensor.empty(%n) : tensor<?x2xf32>
  %y = linalg.fill ins(%one : f32) outs(%place : tensor<?x2xf32>) -> tensor<?x2xf32>""",
        "tensor<?x2xf32>",
        replicas,
    )
    for replica, value in enumerate(found):
        np.testing.assert_array_equal(
            value, np.ones_like(arrays[f"x@{replica}"])
        )
