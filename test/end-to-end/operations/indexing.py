"""Operations that read or write elements at computed indices, and sorts."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from operations.element_types import (
    ALL,
    BOOL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    STORABLE,
)
from operations.emitted import emit
from operations.forms import Group, operation
from operations.special_values import distinct, numbers, of_shape, special

COUNTABLE = (*INTEGERS, *FLOATS)
TABLE = (7, 3)
IN_RANGE = np.array([2, 0, 6, 2], np.int32)
OUT_OF_RANGE = np.array([2, 7, -1, 100, -8, 6], np.int32)


def _with_indices(indices):
    return lambda dtype: [distinct(dtype, TABLE), np.asarray(indices)]


def _with_updates(indices):
    """A table, indices of rows, and an update for each of these."""
    return lambda dtype: [
        distinct(dtype, TABLE),
        np.asarray(indices),
        numbers(dtype, (*np.shape(indices), *TABLE[1:]), 1),
    ]


def _rows(mode):
    return lambda x, i: jnp.take(x, i, axis=0, mode=mode)


def _gather(dimensions, sizes, mode):
    return lambda x, i: lax.gather(
        x, i, lax.GatherDimensionNumbers(**dimensions), sizes, mode=mode
    )


def _scatter(function, dimensions, mode=None, **options):
    return lambda x, i, u: function(
        x,
        i[..., None],
        u,
        lax.ScatterDimensionNumbers(**dimensions),
        mode=mode,
        **options,
    )


ROWS = {
    "update_window_dims": (1,),
    "inserted_window_dims": (0,),
    "scatter_dims_to_operand_dims": (0,),
}
SLICES = {
    "offset_dims": (1, 2),
    "collapsed_slice_dims": (),
    "start_index_map": (0, 1),
}
BATCHED_ROWS = {
    "update_window_dims": (),
    "inserted_window_dims": (1,),
    "scatter_dims_to_operand_dims": (1,),
    "operand_batching_dims": (0,),
    "scatter_indices_batching_dims": (0,),
}


REPEATED = _with_updates([2, 0, 2, 9, 2])
UPDATES = {
    "add": lax.scatter_add,
    "multiply": lax.scatter_mul,
    "min": lax.scatter_min,
    "max": lax.scatter_max,
}


def _batched_updates(dtype):
    return [
        distinct(dtype, (3, 5)),
        np.array([[4, 0], [1, 7], [2, -1]], np.int32),
        numbers(dtype, (3, 2), 1),
    ]


def _apply(x, i, u):
    return x.at[i].apply(lambda value: value * value)


def _sort_operands(count):
    """Keys, many of them equal, then operands that differ at each position."""
    return lambda dtype: [
        np.random.default_rng(0).integers(0, 3, (4, 9)).astype(dtype),
        *(distinct(np.dtype(np.int32), (4, 9), k) for k in range(count - 1)),
    ]


def _special_keys(dtype):
    return [
        np.concatenate(
            [special(dtype), special(dtype)[::-1], numbers(dtype, (9,))]
        )
    ]


def _sort_descending(x):
    """A sort by a comparator that is given as text."""
    region = (
        '({^bb0(%a: tensor<E>, %b: tensor<E>): %c = "stablehlo.compare"(%a, %b) '
        "<{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<E>, tensor<E>) -> tensor<i1> "
        '"stablehlo.return"(%c) : (tensor<i1>) -> ()})'
    )
    return emit(
        "sort",
        lambda operand: operand,
        "dimension = 1 : i64, is_stable = true",
        region,
    )(x)


def _select_and_scatter(window, strides, padding):
    """The gradient of a max-pool of x; the updates are those of its result."""

    def function(x, y):
        _, pullback = jax.vjp(
            lambda v: lax.reduce_window(
                v, -jnp.inf, lax.max, window, strides, padding
            ),
            x,
        )
        return pullback(y)[0]

    return function


def _torch_index_select(dimension, batch, shape):
    attributes = f"dim = {dimension} : i64, batch_dims = {batch} : i64"
    return emit(
        "torch_index_select", lambda x, _: x.update(shape=shape), attributes
    )


INDEXING = Group(
    "Indices and sorts",
    "What an index out of range reads or writes is what JAX's mode says: `clip` takes the nearest row, `fill` gives NaN or the lowest number, "
    "`drop` writes nothing.",
    [
        *operation(
            "gather",
            ALL,
            _with_indices(IN_RANGE),
            ("rows", _rows("clip")),
            (
                "rows, clip",
                _rows("clip"),
                {"inputs": _with_indices(OUT_OF_RANGE)},
            ),
            (
                "rows, fill",
                _rows("fill"),
                {"inputs": _with_indices(OUT_OF_RANGE)},
            ),
            (
                "rows, wrap",
                _rows("wrap"),
                {"inputs": _with_indices(OUT_OF_RANGE)},
            ),
            (
                "columns",
                lambda x, i: jnp.take(x, i, axis=1, mode="clip"),
                {"inputs": _with_indices([2, 0, 0, 1])},
            ),
            (
                "slices",
                _gather(SLICES, (2, 2), "clip"),
                {"inputs": _with_indices([[0, 0], [5, 1], [6, 2], [-1, 9]])},
            ),
            (
                "slices, fill",
                _gather(SLICES, (2, 2), "fill"),
                {"inputs": _with_indices([[0, 0], [5, 1], [6, 2], [-1, 9]])},
            ),
            (
                "elements along a dimension",
                lambda x, i: jnp.take_along_axis(x, i, axis=1),
                {
                    "inputs": _with_indices(
                        np.arange(14, dtype=np.int32).reshape(7, 2) % 3
                    )
                },
            ),
            (
                "batch dimensions",
                jax.vmap(lambda row, i: jnp.take(row, i, mode="clip")),
                {
                    "inputs": _with_indices(
                        np.arange(14, dtype=np.int32).reshape(7, 2)
                    )
                },
            ),
            (
                "indices of type ui8",
                _rows("clip"),
                {
                    "inputs": _with_indices(IN_RANGE.astype(np.uint8)),
                    "types": ("f32",),
                },
            ),
            (
                "indices of type i64",
                _rows("clip"),
                {
                    "inputs": _with_indices(np.array([3, 2**40, -(2**40)])),
                    "types": ("f32",),
                },
            ),
        ),
        *operation(
            "scatter",
            STORABLE,
            _with_updates(IN_RANGE[:3]),
            ("set", _scatter(lax.scatter, ROWS, "clip"), {"types": ALL}),
            (
                "set, indices out of range dropped",
                _scatter(lax.scatter, ROWS, "drop"),
                {"inputs": _with_updates(OUT_OF_RANGE)},
            ),
            (
                "set, indices out of range clipped",
                _scatter(lax.scatter, ROWS, "clip"),
                {"inputs": _with_updates([100, 1, -5])},
            ),
            (
                "set, unique indices",
                _scatter(
                    lax.scatter,
                    ROWS,
                    unique_indices=True,
                    indices_are_sorted=False,
                ),
            ),
            *(
                (
                    f"{name}, indices that repeat",
                    _scatter(function, ROWS, "drop"),
                    {"inputs": REPEATED, "types": COUNTABLE},
                )
                for name, function in UPDATES.items()
            ),
            (
                "subtract",
                lambda x, i, u: x.at[i].subtract(u),
                {"types": COUNTABLE},
            ),
            ("function of the elements", _apply, {"types": COUNTABLE}),
            ("elements", lambda x, i, u: x.at[i, 1].set(u[:, 0])),
            (
                "batch dimensions",
                _scatter(lax.scatter, BATCHED_ROWS, "drop"),
                {"inputs": _batched_updates},
            ),
            (
                "indices of type ui8",
                _scatter(lax.scatter, ROWS, "clip"),
                {
                    "inputs": _with_updates(np.array([200, 1, 3], np.uint8)),
                    "types": ("f32",),
                },
            ),
            (
                "no indices",
                _scatter(lax.scatter, ROWS, "clip"),
                {"inputs": _with_updates(np.zeros((0,), np.int32))},
            ),
        ),
        *operation(
            "select_and_scatter",
            FLOATS,
            of_shape((1, 6, 6, 1), (1, 3, 3, 1)),
            (
                "windows side by side",
                _select_and_scatter((1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
            ),
            (
                "windows that overlap",
                _select_and_scatter((1, 3, 3, 1), (1, 2, 2, 1), "VALID"),
                {"inputs": of_shape((1, 7, 7, 1), (1, 3, 3, 1))},
            ),
            (
                "padding",
                _select_and_scatter((1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
                {"inputs": of_shape((1, 5, 6, 1), (1, 3, 3, 1))},
            ),
            (
                "a window at each element",
                _select_and_scatter((1, 3, 3, 1), (1, 1, 1, 1), "SAME"),
                {"inputs": of_shape((2, 4, 5, 3), (2, 4, 5, 3))},
            ),
            (
                "elements in no window",
                _select_and_scatter((1, 2, 1, 1), (1, 3, 2, 1), "VALID"),
                {"inputs": of_shape((1, 9, 6, 1), (1, 3, 3, 1))},
            ),
            (
                "windows in the padding",
                _select_and_scatter(
                    (1, 2, 2, 1),
                    (1, 2, 2, 1),
                    ((0, 0), (3, 3), (2, 0), (0, 0)),
                ),
                {"inputs": of_shape((1, 4, 4, 2), (1, 5, 3, 2))},
            ),
            (
                "large windows",
                _select_and_scatter((1, 9, 8, 1), (1, 1, 1, 1), "VALID"),
                {"inputs": of_shape((1, 10, 10, 1), (1, 2, 3, 1))},
            ),
        ),
        *operation(
            "sort",
            ALL,
            of_shape((4, 9)),
            ("last dimension", lambda x: lax.sort(x, dimension=1)),
            ("first dimension", lambda x: lax.sort(x, dimension=0)),
            (
                "special values",
                lambda x: lax.sort(x),
                {"inputs": _special_keys, "types": (*BOOL, *INTEGERS, *FLOATS)},
            ),
            (
                "a key and two operands, stable",
                lambda *xs: lax.sort(xs, num_keys=1, is_stable=True),
                {"inputs": _sort_operands(3)},
            ),
            (
                "two keys",
                lambda *xs: lax.sort(xs, num_keys=2),
                {"inputs": _sort_operands(2)},
            ),
            ("descending", _sort_descending),
            ("one element", lambda x: lax.sort(x), {"inputs": of_shape((1,))}),
            ("no elements", lambda x: lax.sort(x), {"inputs": of_shape((0,))}),
        ),
        *operation(
            "torch_index_select",
            NUMBERS,
            _with_indices(IN_RANGE),
            ("first dimension", _torch_index_select(0, 0, (4, 3))),
            (
                "last dimension",
                _torch_index_select(1, 0, (7, 2)),
                {"inputs": _with_indices(np.array([2, 0], np.int32))},
            ),
        ),
    ],
)
