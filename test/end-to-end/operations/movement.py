"""Constants, and operations that move elements."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from operations.element_types import ALL, NUMBERS, STORABLE
from operations.emitted import emit
from operations.forms import Group, operation
from operations.special_values import distinct, of_shape, special

MATRIX = of_shape((3, 5))
CUBE = of_shape((2, 3, 4))


def _constant(values):
    """A function without operands whose result is a constant; the element type
    is that of its first argument, which is empty.
    """
    return lambda empty: jnp.asarray(values(empty.dtype))


def _iota(shape, dimension):
    return lambda empty: lax.broadcasted_iota(empty.dtype, shape, dimension)


def _empty(dtype):
    """An argument that only determines the element type."""
    return [np.zeros((0,), dtype)]


def _with_scalar(shape):
    return lambda dtype: [distinct(dtype, shape), np.array(1, dtype)]


def _starts(shape, *starts, start_type=np.int32):
    """An array and the indices where a slice of it starts."""
    return lambda dtype: [
        distinct(dtype, shape),
        *(np.array(start, start_type) for start in starts),
    ]


def _update(shape, update, *starts, start_type=np.int32):
    """An array, one of another shape that replaces a part of it, and the
    indices where that part starts.
    """
    return lambda dtype: [
        distinct(dtype, shape),
        distinct(dtype, update, 1),
        *(np.array(start, start_type) for start in starts),
    ]


def _padded_twice(x, p):
    """The inner padding lies between elements of the outer one."""
    return lax.pad(
        lax.pad(x, p, ((1, 1, 0), (1, 1, 0))), p, ((1, 1, 0), (1, 1, 1))
    )


def _part(x, i, j):
    return lax.dynamic_slice(x, (i, j), (2, 3))


def _clamped_part(x, i, j):
    """Unlike in `_part`, a negative start does not count from the end."""
    return lax.dynamic_slice(x, (i, j), (2, 3), allow_negative_indices=False)


def _replaced(x, update, i, j):
    return lax.dynamic_update_slice(x, update, (i, j))


def _clamped_replaced(x, update, i, j):
    """Unlike in `_replaced`, a negative start does not count from the end."""
    return lax.dynamic_update_slice(
        x, update, (i, j), allow_negative_indices=False
    )


CONSTANTS = Group(
    "Constants",
    "",
    [
        *operation(
            "constant",
            ALL,
            _empty,
            (
                "all elements equal",
                _constant(lambda dtype: np.full((4, 3), 1, dtype)),
            ),
            ("special values", _constant(special), {"types": STORABLE}),
            (
                "4,096 elements",
                _constant(lambda dtype: distinct(dtype, (64, 64))),
                {"types": STORABLE},
            ),
            (
                "scalar",
                _constant(lambda dtype: np.array(1, dtype)),
                {"types": STORABLE},
            ),
            (
                "no elements",
                _constant(lambda dtype: np.zeros((0, 3), dtype)),
                {"types": STORABLE},
            ),
        ),
        *operation(
            "iota",
            NUMBERS,
            _empty,
            ("first dimension", _iota((5, 3), 0)),
            ("last dimension", _iota((5, 7), 1)),
            ("one element", _iota((1,), 0)),
            ("no elements", _iota((0,), 0)),
        ),
    ],
)

SHAPES = Group(
    "Shapes and slices",
    "Start indices of `dynamic_slice` and `dynamic_update_slice` that are out of range are clamped.",
    [
        *operation(
            "broadcast",
            ALL,
            MATRIX,
            (
                "new first dimensions",
                emit(
                    "broadcast",
                    lambda x: x.update(shape=(2, *x.shape)),
                    "broadcast_sizes = array<i64: 2>",
                ),
            ),
        ),
        *operation(
            "broadcast_in_dim",
            ALL,
            MATRIX,
            (
                "new first dimension",
                lambda x: lax.broadcast_in_dim(x, (4, 3, 5), (1, 2)),
            ),
            (
                "new last dimension",
                lambda x: lax.broadcast_in_dim(x, (3, 5, 4), (0, 1)),
            ),
            (
                "dimension of size 1",
                lambda x: lax.broadcast_in_dim(x, (4, 5), (0, 1)),
                {"inputs": of_shape((1, 5))},
            ),
            (
                "scalar",
                lambda x: lax.broadcast_in_dim(x, (4, 3), ()),
                {"inputs": of_shape(())},
            ),
            (
                "no elements",
                lambda x: lax.broadcast_in_dim(x, (0, 3, 5), (1, 2)),
            ),
        ),
        *operation(
            "concatenate",
            ALL,
            of_shape((3, 5), (2, 5)),
            ("first dimension", lambda x, y: lax.concatenate([x, y], 0)),
            (
                "last dimension",
                lambda x, y: lax.concatenate([x, y], 1),
                {"inputs": of_shape((3, 5), (3, 2))},
            ),
            (
                "three, one of them empty",
                lambda *xs: lax.concatenate(xs, 0),
                {"inputs": of_shape((3, 5), (0, 5), (1, 5))},
            ),
            (
                "an operand twice",
                lambda x: lax.concatenate([x, x], 0),
                {"inputs": MATRIX},
            ),
        ),
        *operation(
            "dynamic_slice",
            ALL,
            _starts((5, 7), 1, 2),
            ("in range", _part),
            ("beyond the end", _part, {"inputs": _starts((5, 7), 4, 100)}),
            (
                "before the beginning",
                _clamped_part,
                {"inputs": _starts((5, 7), -3, 1)},
            ),
            (
                "start of type i8",
                _part,
                {
                    "inputs": _starts((5, 7), 3, 2, start_type=np.int8),
                    "types": ("f32",),
                },
            ),
            (
                "start of type i64",
                _part,
                {
                    "inputs": _starts((5, 7), 3, 2**40, start_type=np.int64),
                    "types": ("f32",),
                },
            ),
            (
                "start of type ui32",
                _part,
                {
                    "inputs": _starts(
                        (5, 7), 3, 2**32 - 1, start_type=np.uint32
                    ),
                    "types": ("f32",),
                },
            ),
            (
                "start of type ui64",
                _part,
                {
                    "inputs": _starts(
                        (5, 7), 3, 2**64 - 2, start_type=np.uint64
                    ),
                    "types": ("f32",),
                },
            ),
            (
                "no elements",
                lambda x, i, j: lax.dynamic_slice(x, (i, j), (0, 3)),
            ),
        ),
        *operation(
            "dynamic_update_slice",
            ALL,
            _update((5, 7), (2, 3), 1, 2),
            ("in range", _replaced),
            (
                "beyond the end",
                _replaced,
                {"inputs": _update((5, 7), (2, 3), 4, 100)},
            ),
            (
                "before the beginning",
                _clamped_replaced,
                {"inputs": _update((5, 7), (2, 3), -3, 1)},
            ),
            (
                "start of type ui64",
                _replaced,
                {
                    "inputs": _update(
                        (5, 7), (2, 3), 2**63, 2, start_type=np.uint64
                    ),
                    "types": ("f32",),
                },
            ),
            (
                "the whole operand",
                _replaced,
                {"inputs": _update((5, 7), (5, 7), 1, 1)},
            ),
            (
                "no elements",
                _replaced,
                {"inputs": _update((5, 7), (0, 3), 1, 1)},
            ),
        ),
        *operation(
            "pad",
            ALL,
            _with_scalar((3, 5)),
            ("edges", lambda x, p: lax.pad(x, p, ((1, 2, 0), (0, 3, 0)))),
            ("interior", lambda x, p: lax.pad(x, p, ((0, 0, 2), (1, 0, 1)))),
            (
                "negative edges",
                lambda x, p: lax.pad(x, p, ((-1, 0, 0), (0, -2, 0))),
            ),
            (
                "negative edges with interior",
                lambda x, p: lax.pad(x, p, ((-1, 2, 1), (3, -2, 2))),
            ),
            ("padding with interior", _padded_twice),
            (
                "no elements",
                lambda x, p: lax.pad(x, p, ((1, 1, 0), (0, 0, 0))),
                {"inputs": _with_scalar((0, 5))},
            ),
        ),
        *operation(
            "reshape",
            ALL,
            CUBE,
            ("merges dimensions", lambda x: lax.reshape(x, (6, 4))),
            ("splits a dimension", lambda x: lax.reshape(x, (2, 3, 2, 2))),
            ("across dimensions", lambda x: lax.reshape(x, (4, 6))),
            (
                "to a scalar",
                lambda x: lax.reshape(x, ()),
                {"inputs": of_shape((1, 1))},
            ),
            (
                "from a scalar",
                lambda x: lax.reshape(x, (1,)),
                {"inputs": of_shape(())},
            ),
            (
                "no elements",
                lambda x: lax.reshape(x, (0, 2)),
                {"inputs": of_shape((3, 0))},
            ),
        ),
        *operation(
            "reverse",
            ALL,
            MATRIX,
            ("first dimension", lambda x: lax.rev(x, (0,))),
            ("last dimension", lambda x: lax.rev(x, (1,))),
            ("all dimensions", lambda x: lax.rev(x, (0, 1))),
            (
                "no elements",
                lambda x: lax.rev(x, (0,)),
                {"inputs": of_shape((0, 3))},
            ),
        ),
        *operation(
            "slice",
            ALL,
            of_shape((6, 7)),
            ("offsets", lambda x: lax.slice(x, (1, 2), (4, 6))),
            ("strides", lambda x: lax.slice(x, (0, 1), (6, 7), (2, 3))),
            ("one element", lambda x: lax.slice(x, (5, 6), (6, 7))),
            ("no elements", lambda x: lax.slice(x, (6, 2), (6, 6))),
            (
                "two that overlap",
                lambda x: (
                    lax.slice(x, (0, 0), (3, 7)),
                    lax.slice(x, (2, 0), (5, 7)),
                ),
            ),
        ),
        *operation(
            "transpose",
            ALL,
            CUBE,
            ("matrix", lambda x: lax.transpose(x, (1, 0)), {"inputs": MATRIX}),
            ("last two dimensions", lambda x: lax.transpose(x, (0, 2, 1))),
            ("rotation", lambda x: lax.transpose(x, (2, 0, 1))),
            (
                "larger than a tile",
                lambda x: lax.transpose(x, (1, 0)),
                {"inputs": of_shape((67, 35))},
            ),
            (
                "no elements",
                lambda x: lax.transpose(x, (1, 0)),
                {"inputs": of_shape((0, 3))},
            ),
        ),
    ],
)
