"""What the strategies differ in, as data."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import Malformed

KINDS = (
    "default",
    "one_device",
    "mirrored",
    "central_storage",
    "multi_worker_mirrored",
)


@dataclass(frozen=True)
class Strategy:
    kind: str
    replicas: int
    workers: int
    replicas_per_worker: int

    @property
    def trivial(self) -> bool:
        """One replica, no distribution: values, reductions and variables are
        plain.
        """
        return self.kind in ("default", "one_device")

    @property
    def mirrors(self) -> bool:
        """A variable has one copy for each replica."""
        return self.kind in ("mirrored", "multi_worker_mirrored")

    @property
    def central(self) -> bool:
        """A variable has one copy, at which the writes of replicas are
        aggregated.
        """
        return self.kind == "central_storage" and self.replicas > 1

    @property
    def replicas_differ(self) -> bool:
        return self.replicas > 1

    def ids(self, worker: int) -> range:
        """The replicas of a worker, numbered among all."""
        return range(
            worker * self.replicas_per_worker,
            (worker + 1) * self.replicas_per_worker,
        )


def parse_strategy(spec: dict) -> Strategy:
    kind, replicas = spec["kind"], spec["replicas"]
    if kind not in KINDS:
        raise Malformed(f"unknown strategy {kind!r}")
    workers = (
        spec.get("workers", replicas) if kind == "multi_worker_mirrored" else 1
    )
    per_worker = spec.get("replicas_per_worker", replicas // workers)
    if workers * per_worker != replicas or (
        kind in ("default", "one_device") and replicas != 1
    ):
        raise Malformed(f"not a number of replicas for {spec}")
    return Strategy(kind, replicas, workers, per_worker)
