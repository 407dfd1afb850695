"""Runs a model under plain JAX, with one host device as each replica.

The oracle for Lockstep's results: the same `model.py`, data and order of the
data, under `jax.shard_map`.
"""

import hashlib
import itertools
import os

import numpy as np


def set_devices(replicas):
    """Configures JAX's host devices; must be called before it is imported.

    Operations on f16 and bf16 each round to their type, as in the program:
    fused ones would keep intermediate results unrounded.
    """
    os.environ["JAX_PLATFORMS"] = "cpu"
    flags = f"--xla_force_host_platform_device_count={replicas} --xla_allow_excess_precision=false"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}"


def digest(data):
    """SHA-256 of named arrays, to tell whether data are those of a recording."""
    state = hashlib.sha256()
    for name, array in sorted(data.items()):
        state.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


def batches(data, rows_per_step, seed):
    """Yields global batches forever, epoch by epoch; remainders are dropped.

    They are those that `lockstep-run` trains on: replica r's rows of a batch
    are [r * B, (r + 1) * B).
    """
    from lockstep import shuffle

    rows = len(next(iter(data.values())))
    if rows < rows_per_step:
        raise ValueError(f"expected {rows_per_step} rows or more, found {rows}")
    for epoch in itertools.count():
        for chosen in shuffle.global_batches(seed, epoch, rows, rows_per_step):
            yield {name: array[chosen] for name, array in data.items()}


class Oracle:
    """The functions of a model, on `replicas` host devices.

    Attributes:
      model: the result of `lockstep.model.load`.
      replicas: the replica count.
    """

    def __init__(self, model, replicas):
        import jax
        from jax.sharding import Mesh, PartitionSpec

        self.model, self.replicas = model, replicas
        mesh = Mesh(np.array(jax.devices("cpu")[:replicas]), ("replica",))
        all_, own = PartitionSpec(), PartitionSpec("replica")

        def mapped(function, inputs, outputs):
            return jax.jit(
                jax.shard_map(
                    function,
                    mesh=mesh,
                    in_specs=inputs,
                    out_specs=outputs,
                    check_vma=False,
                )
            )

        self._step = mapped(model.step, (all_, own, all_), all_)
        if model.evaluate is not None:
            self._evaluate = mapped(self._stacked, (all_, own), own)

    def _stacked(self, state, batch):
        import jax

        return jax.tree.map(
            lambda x: x[None], self.model.evaluate(state, batch)
        )

    @property
    def rows_per_step(self):
        """Rows of a global batch."""
        return self.model.rows * self.replicas

    def scalars(self, number, seed, overrides):
        """Makes the scalars of step `number`, counted from 0."""
        values = {
            **self.model.defaults,
            **overrides,
            "step": number,
            "seed": seed,
        }
        return {
            name: np.asarray(values[name], entry.dtype)
            for name, entry in self.model.scalars.items()
        }

    def step(self, state, batch, scalars):
        """Takes a step; returns (state, metrics)."""
        return self._step(state, batch, scalars)

    def evaluate(self, state, data):
        """Evaluates all rows, each once; returns name -> mean."""
        rows = len(next(iter(data.values())))
        totals = {}
        for start in range(0, rows, self.rows_per_step):
            part = {
                k: v[start : start + self.rows_per_step]
                for k, v in data.items()
            }
            missing = self.rows_per_step - len(next(iter(part.values())))
            batch = {
                k: np.pad(v, [(0, missing), *[(0, 0)] * (v.ndim - 1)])
                for k, v in part.items()
            }
            batch["mask"] = np.pad(
                np.ones(self.rows_per_step - missing, np.float32), (0, missing)
            )
            for name, pair in self._evaluate(state, batch).items():
                sums = [float(np.sum(np.asarray(p, np.float64))) for p in pair]
                totals[name] = np.add(totals.get(name, 0.0), sums)
        return {name: float(s / n) for name, (s, n) in totals.items()}
