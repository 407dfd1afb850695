"""Random choices. One generator for each case, so that a case does not depend
on earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from building import slices, tensor

FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("i32", "i64")


class Draw:
    def __init__(self, *seed: int):
        self._random = np.random.default_rng(seed)

    def pick(self, options: Sequence, weights: Sequence[float] | None = None):
        """One of the options, by weight."""
        p = (
            None
            if weights is None
            else np.asarray(weights, float) / sum(weights)
        )
        return options[int(self._random.choice(len(options), p=p))]

    def number(self, low: int, high: int) -> int:
        """A number of low, ..., high."""
        return int(self._random.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self._random.random() < probability)

    def dtype(self) -> str:
        return self.pick(
            ("f32", "f64", "f16", "bf16", "i32", "i64"), (8, 4, 2, 2, 4, 3)
        )

    def float_dtype(self) -> str:
        return self.pick(FLOATS, (6, 3, 1, 1))

    def shape(self, rank: int | None = None) -> list[int]:
        """Mostly small, sometimes with nothing inside."""
        rank = self.pick((0, 1, 2, 3), (3, 5, 4, 1)) if rank is None else rank
        return [
            0 if self.chance(0.04) else self.number(1, 4) for _ in range(rank)
        ]

    def scalar(self, dtype: str):
        """Floats are quarters in [-2, 2]: sums of 8 of them, and their
        products, are exact in every element type (16 * 4 steps fit into the 8
        significant bits of bf16), whatever the order of additions."""
        if dtype == "bool":
            return self.chance(0.5)
        if dtype in INTEGERS:
            return self.number(-9, 9)
        return self.number(-8, 8) / 4

    def tensor(self, dtype: str, shape: Sequence[int]) -> dict:
        return tensor(
            dtype,
            [self.scalar(dtype) for _ in range(int(np.prod(shape, dtype=int)))],
            list(shape),
        )

    def per_replica(
        self, replicas: int, dtype: str, shape: Sequence[int]
    ) -> dict:
        return {
            "per_replica": [self.tensor(dtype, shape) for _ in range(replicas)]
        }

    def ragged(
        self, replicas: int, dtype: str, shape: Sequence[int], axis: int
    ) -> dict:
        """Tensors of one shape except for the size of one axis, which may be 0
        on a replica.
        """
        shapes = [
            [
                self.pick((0, 1, 2, 3, 4), (1, 3, 3, 2, 1)) if i == axis else n
                for i, n in enumerate(shape)
            ]
            for _ in range(replicas)
        ]
        return {"per_replica": [self.tensor(dtype, s) for s in shapes]}

    def sparse(
        self, replicas: int, dtype: str, shape: Sequence[int], most: int
    ) -> dict:
        """Slices of up to `most` rows of a tensor of that shape; a row may
        occur several times.
        """

        def part() -> dict:
            count = self.number(0, most)
            values = self.tensor(dtype, [count, *shape[1:]])
            return slices(
                values,
                [self.number(0, shape[0] - 1) for _ in range(count)],
                list(shape),
            )

        return {"per_replica": [part() for _ in range(replicas)]}

    def strategy(self, trivial: bool = True) -> dict:
        """Arguments of `building.case`."""
        weights = (55, 15, 15, 6 * trivial, 6 * trivial)
        kind = self.pick(
            (
                "mirrored",
                "central_storage",
                "multi_worker_mirrored",
                "one_device",
                "default",
            ),
            weights,
        )
        if kind in ("one_device", "default"):
            return {"kind": kind, "replicas": 1}
        if kind == "multi_worker_mirrored":
            replicas = self.pick((2, 3, 4), (6, 2, 2))
            return {
                "kind": kind,
                "replicas": replicas,
                "per_worker": 2 if replicas == 4 and self.chance(0.3) else 1,
            }
        return {
            "kind": kind,
            "replicas": self.pick((1, 2, 3, 4, 8), (1, 8, 3, 4, 2)),
        }

    def several(self) -> dict:
        """A strategy of more than one replica."""
        while True:
            spec = self.strategy(trivial=False)
            if spec["replicas"] > 1:
                return spec

    def reduce_op(self) -> str:
        return self.pick(("SUM", "MEAN", "sum", "Mean"), (6, 5, 1, 1))

    def write(self) -> str:
        """A statement that writes a whole variable."""
        return self.pick(("assign", "assign_add", "assign_sub"))

    def aggregation(self) -> str:
        """The aggregation that combines the values of several replicas."""
        return self.pick(("SUM", "MEAN", "ONLY_FIRST_REPLICA"))

    def nest(self, names: Sequence[str], depth: int = 2):
        """An operand that holds every one of the names once, in order."""
        parts: list = list(names)
        if depth and len(names) > 1:
            cut = self.number(1, len(names) - 1)
            parts = [
                self.nest(names[:cut], depth - 1),
                self.nest(names[cut:], depth - 1),
            ]
        elif len(names) == 1 and self.chance(0.7):
            return names[0]
        kind = self.pick(("list", "tuple", "dict"))
        if kind == "dict":
            return {
                "dict": {"abcdefgh"[i]: part for i, part in enumerate(parts)}
            }
        return parts if kind == "list" else {"tuple": parts}
