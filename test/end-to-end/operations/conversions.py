"""Operations between element types."""

import functools

import numpy as np
from jax import lax

from operations.element_types import (
    ALL,
    ANY_FLOAT,
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    SMALL_FLOATS,
    SMALL_INTEGERS,
    STORABLE,
)
from operations.emitted import emit
from operations.forms import REPRESENTATIVE, Group, operation
from operations.special_values import distinct, one, special

#: For each width in bytes, types to convert the bits to: the second one where
#: the first is the source's.
_BY_WIDTH = {
    1: ("i8", "ui8"),
    2: ("i16", "f16"),
    4: ("i32", "f32"),
    8: ("i64", "f64"),
}

#: The error for types that no variable can have.
_REFUSED = {"i4": "i4", "f8": "f8E4M3FN", "complex": "complex"}


def _to(target):
    """The form of `convert` to an element type. JAX converts to bool by a
    comparison, and to complex numbers by their parts.
    """
    if target in ("i1", *COMPLEX):
        function = emit(
            "convert", lambda operand: operand.update(dtype=DTYPES[target])
        )
    else:
        function = functools.partial(
            lax.convert_element_type, new_dtype=DTYPES[target]
        )
    sources = (
        REPRESENTATIVE
        if target in _REFUSED
        else (*STORABLE, *SMALL_INTEGERS, *SMALL_FLOATS)
    )
    return (
        f"to {target}",
        function,
        {
            "types": tuple(type_ for type_ in sources if type_ != target),
            "error": _REFUSED.get(target),
        },
    )


_FROM_COMPLEX = (
    "from complex",
    emit("convert", lambda operand: operand.update(dtype=DTYPES["f32"])),
    {"types": COMPLEX},
)


def _bitcast_same_width(x):
    first, second = (DTYPES[name] for name in _BY_WIDTH[x.dtype.itemsize])
    return lax.bitcast_convert_type(x, second if x.dtype == first else first)


def _bitcast_narrower(x):
    return lax.bitcast_convert_type(
        x, DTYPES[_BY_WIDTH[x.dtype.itemsize // 2][0]]
    )


def _bitcast_wider(x):
    return lax.bitcast_convert_type(
        x, DTYPES[_BY_WIDTH[x.dtype.itemsize * 2][0]]
    )


def _of_width(*sizes):
    return tuple(
        name for name in (*INTEGERS, *FLOATS) if DTYPES[name].itemsize in sizes
    )


def _bits(dtype):
    return [special(dtype)]


def _pairs_of_elements(dtype):
    return [distinct(dtype, (5, 2))]


def _without_subnormals(dtype):
    """XLA's CPU backend replaces subnormal numbers by zero, so the rounding of
    small ones is not tested.
    """
    values = one(dtype)[0]
    return [
        values[
            (np.abs(values.astype(np.float64)) > 1e-5)
            | (values == 0)
            | np.isnan(values.astype(np.float64))
        ]
    ]


CONVERSIONS = Group(
    "Conversions",
    "From floats to integers, values out of range give the nearest integer of the type, and NaN gives 0.",
    [
        *operation("convert", ALL, one, *map(_to, ALL), _FROM_COMPLEX),
        *operation(
            "bitcast_convert",
            _of_width(1, 2, 4, 8),
            _bits,
            ("same width", _bitcast_same_width),
            (
                "to elements half as wide",
                _bitcast_narrower,
                {"types": _of_width(2, 4, 8)},
            ),
            (
                "to elements twice as wide",
                _bitcast_wider,
                {"types": _of_width(1, 2, 4), "inputs": _pairs_of_elements},
            ),
        ),
        *operation(
            "reduce_precision",
            ANY_FLOAT,
            _without_subnormals,
            ("e5m10", lambda x: lax.reduce_precision(x, 5, 10)),
            (
                "e8m7",
                lambda x: lax.reduce_precision(x, 8, 7),
                {"types": FLOATS},
            ),
            (
                "e4m3",
                lambda x: lax.reduce_precision(x, 4, 3),
                {"types": FLOATS},
            ),
            (
                "e8m23",
                lambda x: lax.reduce_precision(x, 8, 23),
                {"types": FLOATS},
            ),
        ),
    ],
)
