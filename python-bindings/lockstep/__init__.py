"""Lockstep: ahead-of-time compilation of synchronous data-parallel training.

A model file uses the functions of this module inside its `step`. Under plain
JAX they are collectives on the axis `replica` of `jax.shard_map` (with
`check_vma=False` and automatic axis types); `python -m lockstep.capture` turns
the same file into a program for `lockstep-compile`.
"""

import os

from jax.extend import source_info_util

# A location in this package is never what a user looks for: with it excluded,
# JAX attributes our operations to the line that called them.
source_info_util.register_exclusion(os.path.dirname(__file__))

from lockstep.embedding import embedding_lookup  # noqa: E402
from lockstep.merge import merge_call  # noqa: E402
from lockstep.operations import (  # noqa: E402
    all_gather,
    all_reduce,
    num_replicas_in_sync,
    replica_id,
)

__all__ = [
    "all_gather",
    "all_reduce",
    "embedding_lookup",
    "merge_call",
    "num_replicas_in_sync",
    "replica_id",
]
