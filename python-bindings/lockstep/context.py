"""The mode in which a step is traced: under plain JAX, or by the capture.

The mode is a JAX *user context*, so it is part of the key of JAX's tracing
caches: a jitted helper that was traced in one mode is traced again in the
other, and one process can run a model and capture it.
"""

import dataclasses

import jax

#: Name of the mesh axis whose devices are the replicas under plain JAX.
AXIS = "replica"


@dataclasses.dataclass(frozen=True)
class Mode:
    """The mode in which the current code is traced.

    Attributes:
      captured: whether this is a capture, not plain JAX.
      replicas: in a capture, the replica count, or None: the captured program
        is then open in it.
      merging: whether this is the function of a `merge_call`, the
        cross-replica context.
    """

    captured: bool = False
    replicas: int | None = None
    merging: bool = False


_mode = jax.make_user_context(Mode())


def mode() -> Mode:
    """Returns the mode of the current code."""
    return _mode.value


def capturing(replicas: int | None):
    """Returns a context manager under which traces are captures."""
    return _mode(Mode(captured=True, replicas=replicas))


def merging():
    """Returns a context manager for the function of a `merge_call`."""
    return _mode(dataclasses.replace(mode(), merging=True))


def lowering(function: str) -> dict:
    """Returns the parameters that select the lowering of a primitive.

    These are `captured`, and `size`, the replica count (None where it is open).

    Raises:
      RuntimeError: if `function` was called neither in a capture nor inside
        `shard_map` over the axis `replica`.
    """
    if mode().captured:
        return {"captured": True, "size": mode().replicas}
    return {"captured": False, "size": axis_size(function)}


def require_replica_context(function: str):
    """Raises RuntimeError inside the function of a `merge_call`."""
    if mode().merging:
        raise RuntimeError(
            f"{function}: expected to be called in replica context, found to be"
            " called in the function of a merge_call; use the operations of its"
            " first argument there [E_CONTEXT]"
        )


def axis_size(function: str) -> int:
    """Returns the replica count under plain JAX.

    Raises:
      RuntimeError: if `function` was called outside `shard_map` over the axis
        `replica`.
    """
    try:
        return jax.lax.axis_size(AXIS)
    except NameError:
        raise RuntimeError(
            f"{function}: expected to be called inside jax.shard_map over a mesh"
            f" with the axis '{AXIS}' (or while a step is captured), found no"
            " such axis"
        ) from None
