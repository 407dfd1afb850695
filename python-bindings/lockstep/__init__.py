"""Lockstep: ahead-of-time compilation of synchronous data-parallel training.

A model file uses the functions of this module inside its `step`. Under plain
JAX they are collectives on the axis `replica` of `jax.shard_map` (with
`check_vma=False` and automatic axis types); `python -m lockstep.capture`
converts the same file to a program for `lockstep-compile`.
"""

import os

from jax.extend import source_info_util

# Exclude locations in this package, so that JAX attributes its operations to
# the user's line that calls them.
source_info_util.register_exclusion(os.path.dirname(__file__))

from lockstep.attention import dot_product_attention  # noqa: E402
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
    "dot_product_attention",
    "embedding_lookup",
    "merge_call",
    "num_replicas_in_sync",
    "replica_id",
]
