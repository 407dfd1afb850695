"""Control flow, calls, and operations that order or group values."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from operations.element_types import ALL, FLOATS, INTEGERS, like
from operations.emitted import emit, emit_body
from operations.forms import Group, operation
from operations.special_values import distinct, of_shape

COUNTABLE = (*INTEGERS, *FLOATS)
ROW = of_shape((5,))


def _with_first(value):
    """A value such as an index, then a row."""
    return lambda dtype: [np.array(value), distinct(dtype, (5,))]


def _two_branches(index, x):
    return lax.cond(index, lambda v: lax.rev(v, (0,)), lambda v: v, x)


def _three_branches(index, x):
    return lax.switch(
        index,
        (
            lambda v: v,
            lambda v: lax.rev(v, (0,)),
            lambda v: v[2] + jnp.zeros_like(v),
        ),
        x,
    )


def _slices(*starts):
    """Regions that return the element of `%a1` at each of these positions."""
    region = (
        '{{%v = "stablehlo.slice"(%a1) <{{start_indices = array<i64: {0}>, limit_indices = array<i64: {1}>, strides = array<i64: 1>}}>'
        ' : (tensor<5x E>) -> tensor<1x E> "stablehlo.return"(%v) : (tensor<1x E>) -> ()}}'
    )
    return f"({', '.join(region.format(start, start + 1) for start in starts)})"


def _element(_, x):
    return like((1,), x.dtype)


def _counted(x):
    return lax.fori_loop(0, 5, lambda i, v: lax.rev(v, (0,)) + v[0], x)


def _data_dependent(count, x):
    """A loop whose trip count is an operand."""
    return lax.while_loop(
        lambda s: s[0] > 0,
        lambda s: (s[0] - 1, lax.rev(s[1], (0,)).at[0].set(s[1][2])),
        (count, x),
    )[1]


def _nested(x):
    return lax.fori_loop(
        0, 3, lambda i, v: lax.fori_loop(0, i, lambda j, w: w + w[j], v), x
    )


def _scan(reverse):
    """A value that is carried and two that are stacked."""
    return lambda x: lax.scan(
        lambda c, row: (c + row[0], (c, row[::-1])), x[0, 0], x, reverse=reverse
    )


def _custom_call(target):
    return lambda x: jax.ffi.ffi_call(
        target, jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


CONTROL_FLOW = Group(
    "Control flow",
    "An index of `case` that is out of range selects the last branch.",
    [
        *operation(
            "case",
            ALL,
            _with_first(True),
            ("lax.cond", _two_branches),
            (
                "lax.cond, the other branch",
                _two_branches,
                {"inputs": _with_first(False)},
            ),
            (
                "lax.switch",
                _three_branches,
                {"inputs": _with_first(np.int32(1)), "types": COUNTABLE},
            ),
            (
                "index out of range",
                emit("case", _element, "", _slices(0, 2, 4), operands=1),
                {"inputs": _with_first(np.int32(7))},
            ),
            (
                "negative index",
                emit("case", _element, "", _slices(0, 2, 4), operands=1),
                {"inputs": _with_first(np.int32(-1))},
            ),
        ),
        *operation(
            "composite",
            ALL,
            ROW,
            (
                "decomposition",
                lambda x: lax.composite(
                    lambda v: lax.rev(v, (0,)), "test.reversal"
                )(x),
            ),
        ),
        *operation(
            "custom_call",
            ("f32",),
            ROW,
            (
                "unknown target",
                _custom_call("somebody.elses"),
                {"error": "somebody.elses"},
            ),
        ),
        *operation(
            "if",
            ALL,
            _with_first(True),
            ("true", emit("if", _element, "", _slices(1, 3), operands=1)),
            (
                "false",
                emit("if", _element, "", _slices(1, 3), operands=1),
                {"inputs": _with_first(False)},
            ),
        ),
        *operation(
            "optimization_barrier",
            ALL,
            of_shape((5,), (3,)),
            ("two operands", lambda *xs: lax.optimization_barrier(xs)),
        ),
        *operation(
            "return", ALL, _with_first(True), ("of a branch", _two_branches)
        ),
        *operation(
            "while",
            ALL,
            ROW,
            (
                "trip count from an operand",
                _data_dependent,
                {"inputs": _with_first(np.int32(3))},
            ),
            ("constant trip count", _counted, {"types": COUNTABLE}),
            (
                "no iterations",
                _data_dependent,
                {"inputs": _with_first(np.int32(0))},
            ),
            ("nested", _nested, {"types": COUNTABLE}),
            (
                "lax.scan",
                _scan(False),
                {"types": COUNTABLE, "inputs": of_shape((4, 3))},
            ),
            (
                "lax.scan, reversed",
                _scan(True),
                {"types": COUNTABLE, "inputs": of_shape((4, 3))},
            ),
        ),
    ],
)

TOKEN = '%t = "stablehlo.create_token"() : () -> !stablehlo.token '
NEGATED = ' %r = "stablehlo.negate"(%a0) : (T) -> T'
AFTER_ALL = (
    '%u = "stablehlo.after_all"(%t) : (!stablehlo.token) -> !stablehlo.token'
)
TUPLE = '%t = "stablehlo.tuple"(%a0, %a0) : (T, T) -> tuple<T, T> %r = "stablehlo.get_tuple_element"(%t) <{index = 1 : i32}> : (tuple<T, T>) -> T'


def same_type(x, *_):
    return x


GROUPING = Group(
    "Tokens and tuples",
    "They order side effects and group values; JAX makes none of them in a step.",
    [
        *operation(
            "after_all",
            ("f32",),
            ROW,
            (
                "one token",
                emit_body("after_all", same_type, TOKEN + AFTER_ALL + NEGATED),
            ),
        ),
        *operation(
            "create_token",
            ("f32",),
            ROW,
            (
                "token without uses",
                emit_body("create_token", same_type, TOKEN + NEGATED),
            ),
        ),
        *operation(
            "get_tuple_element",
            ("f32",),
            ROW,
            (
                "of a pair",
                emit_body("get_tuple_element", same_type, TUPLE),
                {"error": "tuple"},
            ),
        ),
        *operation(
            "tuple",
            ("f32",),
            ROW,
            ("pair", emit_body("tuple", same_type, TUPLE)),
        ),
    ],
)
