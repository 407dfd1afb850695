"""Set-up shared by the Python tests: four host devices, the import paths."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python-bindings"), str(ROOT / "test" / "oracle")]

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "")
    + " --xla_force_host_platform_device_count=4"
)

import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from jax.sharding import Mesh, PartitionSpec  # noqa: E402


@pytest.fixture(params=[1, 2, 4])
def replicas(request):
    """The replica counts that uncaptured semantics are tested on."""
    return request.param


@pytest.fixture
def run(replicas):
    """Runs a function on every replica, without and with jit around it.

    `run(f, x)` calls `f` on replica r with `x[r]`, and returns each replica's
    result stacked along a new first dimension.
    """
    mesh = Mesh(np.array(jax.devices()[:replicas]), ("replica",))
    own = PartitionSpec("replica")

    def runner(function, *values, jit=True):
        def one(*mine):
            result = function(*jax.tree.map(lambda v: v[0], mine))
            return jax.tree.map(lambda v: jax.numpy.asarray(v)[None], result)

        mapped = jax.shard_map(
            one, mesh=mesh, in_specs=own, out_specs=own, check_vma=False
        )
        result = (jax.jit(mapped) if jit else mapped)(*values)
        return jax.tree.map(np.asarray, result)

    return runner
