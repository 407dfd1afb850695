"""The math of the language: element types, shapes, and for every operation its
derivative.

Narrow floats (f16, bf16) are widened to f32, and the result is rounded once;
integers wrap. A derivative is written in the same operations, so that it can be
differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .errors import Rejected
from .tape import Tape
from .values import DTYPES, FLOATS, NARROW, NUMBERS, Tensor


@dataclass(frozen=True)
class Operator:
    """`forward(*arrays, **attributes)`; `backward(apply, inputs, output,
    gradient, attributes)` yields one gradient an input.
    """

    forward: Callable
    dtypes: frozenset[str]
    backward: Callable | None = None
    wide: bool = True


OPERATORS: dict[str, Operator] = {}


def operator(name: str, dtypes=NUMBERS, backward=None, wide=True):
    def define(forward):
        OPERATORS[name] = Operator(forward, frozenset(dtypes), backward, wide)
        return forward

    return define


def apply(
    tapes: list[Tape], name: str, *inputs: Tensor, **attributes
) -> Tensor:
    """One operation on tensors of one element type, recorded on every tape that
    watches an input.
    """
    op = OPERATORS[name]
    dtype = inputs[0].dtype
    for other in inputs[1:]:
        if other.dtype != dtype:
            raise Rejected(
                "E_DTYPE_MISMATCH",
                f"`{name}` expected {dtype}, found {other.dtype}",
            )
    if dtype not in op.dtypes:
        raise Rejected(
            "E_DTYPE_UNSUPPORTED", f"`{name}` is not defined on {dtype}"
        )
    arrays = [t.array for t in inputs]
    narrow = dtype in NARROW and op.wide
    if narrow:
        arrays = [a.astype(np.float32) for a in arrays]
    array = np.asarray(op.forward(*arrays, **attributes))
    output = Tensor(
        array.astype(DTYPES[dtype])
        if narrow and array.dtype == np.float32
        else array,
        any(t.varying for t in inputs),
    )
    if op.backward and output.dtype in FLOATS and dtype in FLOATS:
        for tape in tapes:
            tape.record(
                inputs,
                (output,),
                lambda use, dy: op.backward(
                    use, inputs, output, dy[0], attributes
                ),
            )
    return output


def axes_of(axis, rank: int) -> tuple[int, ...]:
    """The dimensions that an axis, a list of them or none at all names, counted
    from the front.
    """
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, (list, tuple)) else [axis]
    for a in axes:
        if not isinstance(a, int) or isinstance(a, bool):
            raise Rejected("E_ARG_TYPE", f"expected an axis, found {axis!r}")
        if not -rank <= a < rank:
            raise Rejected(
                "E_AXIS_RANGE",
                f"expected an axis of {rank} dimensions, found {a}",
            )
    return tuple(a % rank for a in axes)


def _same_shape(x, y) -> None:
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError as error:
        raise Rejected(
            "E_SHAPE_MISMATCH",
            f"expected shapes that broadcast, found {x.shape} and {y.shape}",
        ) from error


def _fit(use, gradient: Tensor, like: Tensor) -> Tensor:
    """The gradient of a broadcast operand: summed to the operand's own shape."""
    return (
        gradient
        if gradient.shape == like.shape
        else use("sum_to", gradient, shape=like.shape)
    )


## Elementwise


@operator(
    "add",
    backward=lambda use, x, y, dy, _: (
        _fit(use, dy, x[0]),
        _fit(use, dy, x[1]),
    ),
)
def _add(a, b):
    _same_shape(a, b)
    return np.add(a, b)


@operator(
    "sub",
    backward=lambda use, x, y, dy, _: (
        _fit(use, dy, x[0]),
        _fit(use, use("neg", dy), x[1]),
    ),
)
def _sub(a, b):
    _same_shape(a, b)
    return np.subtract(a, b)


@operator(
    "mul",
    backward=lambda use, x, y, dy, _: (
        _fit(use, use("mul", dy, x[1]), x[0]),
        _fit(use, use("mul", dy, x[0]), x[1]),
    ),
)
def _mul(a, b):
    _same_shape(a, b)
    return np.multiply(a, b)


@operator("neg", backward=lambda use, x, y, dy, _: (use("neg", dy),))
def _neg(a):
    return np.negative(a)


def _tanh_backward(use, x, y, dy, _):
    return (use("sub", dy, use("mul", dy, use("square", y))),)


@operator("tanh", FLOATS, _tanh_backward)
def _tanh(a):
    return np.tanh(a)


def _square_backward(use, x, y, dy, _):
    half = use("mul", dy, x[0])
    return (use("add", half, half),)


@operator("square", backward=_square_backward)
def _square(a):
    return np.square(a)


@operator("less")
def _less(a, b):
    _same_shape(a, b)
    return np.less(a, b)


@operator("equal", NUMBERS | {"bool", "c64", "str"})
def _equal(a, b):
    _same_shape(a, b)
    return np.equal(a, b).astype(np.bool_)


@operator("identity", DTYPES, lambda use, x, y, dy, _: (dy,), wide=False)
def _identity(a):
    return a.copy()


@operator(
    "cast",
    DTYPES.keys() - {"str"},
    lambda use, x, y, dy, _: (use("cast", dy, dtype=x[0].dtype),),
    wide=False,
)
def _cast(a, dtype):
    if dtype not in DTYPES or dtype == "str":
        raise Rejected("E_DTYPE_UNSUPPORTED", f"no cast to {dtype}")
    return (
        a.real.astype(DTYPES[dtype])
        if a.dtype.kind == "c" and dtype != "c64"
        else a.astype(DTYPES[dtype])
    )


## Shapes


@operator(
    "reshape",
    DTYPES,
    lambda use, x, y, dy, _: (use("reshape", dy, shape=x[0].shape),),
    wide=False,
)
def _reshape(a, shape):
    return a.reshape(shape)


@operator(
    "expand_dims",
    DTYPES,
    lambda use, x, y, dy, _: (use("reshape", dy, shape=x[0].shape),),
    wide=False,
)
def _expand_dims(a, axis):
    if not -a.ndim - 1 <= axis <= a.ndim:
        raise Rejected(
            "E_AXIS_RANGE",
            f"expected an axis of {a.ndim + 1} dimensions, found {axis}",
        )
    return np.expand_dims(a, axis)


@operator(
    "transpose",
    DTYPES,
    lambda use, x, y, dy, _: (use("transpose", dy),),
    wide=False,
)
def _transpose(a):
    return np.swapaxes(a, -1, -2)


@operator(
    "spread",
    DTYPES,
    lambda use, x, y, dy, _: (_fit(use, dy, x[0]),),
    wide=False,
)
def _spread(a, shape):
    return np.broadcast_to(a, shape).copy()


@operator(
    "sum_to",
    backward=lambda use, x, y, dy, _: (use("spread", dy, shape=x[0].shape),),
)
def _sum_to(a, shape):
    lead = a.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + i
        for i, size in enumerate(shape)
        if size == 1 and a.shape[lead + i] != 1
    )
    return np.sum(a, axis=axes, dtype=a.dtype, keepdims=True).reshape(shape)


def _rows(a, axis, start, size):
    return a[(slice(None),) * axis + (slice(start, start + size),)]


def _rows_backward(use, x, y, dy, attributes):
    return (
        use(
            "pad_rows",
            dy,
            axis=attributes["axis"],
            start=attributes["start"],
            total=x[0].shape[attributes["axis"]],
        ),
    )


def _pad_backward(use, x, y, dy, attributes):
    return (
        use(
            "rows",
            dy,
            axis=attributes["axis"],
            start=attributes["start"],
            size=x[0].shape[attributes["axis"]],
        ),
    )


operator("rows", DTYPES, _rows_backward, wide=False)(_rows)


@operator("pad_rows", NUMBERS, _pad_backward, wide=False)
def _pad_rows(a, axis, start, total):
    out = np.zeros(a.shape[:axis] + (total,) + a.shape[axis + 1 :], a.dtype)
    _rows(out, axis, start, a.shape[axis])[...] = a
    return out


## Sums and products


def _sum_backward(use, x, y, dy, attributes):
    kept = list(x[0].shape)
    for axis in axes_of(attributes["axis"], len(kept)):
        kept[axis] = 1
    return (
        use("spread", use("reshape", dy, shape=tuple(kept)), shape=x[0].shape),
    )


@operator("reduce_sum", backward=_sum_backward)
def _reduce_sum(a, axis=None):
    axes = axes_of(axis, a.ndim)
    if len(set(axes)) != len(axes):
        raise Rejected("E_AXIS_RANGE", f"expected each axis once, found {axis}")
    return np.sum(a, axis=axes, dtype=a.dtype)


def _mean_backward(use, x, y, dy, attributes):
    (spread,) = _sum_backward(use, x, y, dy, attributes)
    share = y.array.size / x[0].array.size if x[0].array.size else 0.0
    return (use("mul", spread, Tensor(np.asarray(share, spread.array.dtype))),)


@operator("reduce_mean", backward=_mean_backward)
def _reduce_mean(a, axis=None):
    """The mean in the operand's own element type: of integers, the quotient
    towards zero.
    """
    total = _reduce_sum(a, axis)
    count = int(
        np.prod([a.shape[i] for i in axes_of(axis, a.ndim)], dtype=np.int64)
    )
    if a.dtype.kind == "i":
        if count == 0:
            raise Rejected("E_SHAPE_MISMATCH", "no mean of no integers")
        return (np.sign(total) * (np.abs(total) // count)).astype(a.dtype)
    return np.true_divide(total, np.asarray(count, a.dtype)).astype(a.dtype)


def _matmul_backward(use, x, y, dy, _):
    a, b = x
    return (
        _fit(use, use("matmul", dy, use("transpose", b)), a),
        _fit(use, use("matmul", use("transpose", a), dy), b),
    )


@operator("matmul", backward=_matmul_backward)
def _matmul(a, b):
    if a.ndim < 2 or b.ndim < 2:
        raise Rejected(
            "E_RANK_MISMATCH",
            f"`matmul` expected matrices, found shapes {a.shape} and {b.shape}",
        )
    if a.shape[-1] != b.shape[-2]:
        raise Rejected(
            "E_SHAPE_MISMATCH",
            f"`matmul` expected {a.shape[-1]} rows, found {b.shape[-2]}",
        )
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError as error:
        raise Rejected(
            "E_SHAPE_MISMATCH",
            f"expected batches that broadcast, found {a.shape} and {b.shape}",
        ) from error
    return np.matmul(a, b)
