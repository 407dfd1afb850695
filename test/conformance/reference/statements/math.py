"""Math and the building of values: the same in every context, on tensors and on
host scalars.
"""

from __future__ import annotations

import operator

from ..arithmetic import apply
from ..contexts import statement
from ..errors import Malformed, Rejected
from ..values import IndexedSlices, Tensor, from_host, is_host

ON_HOST = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "less": operator.lt,
    "equal": operator.eq,
    "neg": operator.neg,
    "square": lambda x: x * x,
}


def combine(context, op: str, *values, **attributes):
    """Host scalars alone stay on the host; beside a tensor they take its
    element type.
    """
    if op in ON_HOST and all(is_host(v) for v in values):
        return ON_HOST[op](*values)
    dtype = next((v.dtype for v in values if isinstance(v, Tensor)), None)
    return apply(
        context.tapes,
        op,
        *(from_host(v, dtype) if is_host(v) else v for v in values),
        **attributes,
    )


@statement("add", "sub", "mul", "matmul", "less", "equal")
def binary(worker, s, context, scope):
    a = yield from worker.tensor(
        worker.resolve(s["a"], context, scope), context
    )
    b = yield from worker.tensor(
        worker.resolve(s["b"], context, scope), context
    )
    return combine(context, s["op"], a, b)


@statement("neg", "tanh", "square", "identity")
def unary(worker, s, context, scope):
    value = worker.resolve(s["a"], context, scope)
    if s["op"] == "identity" and isinstance(value, IndexedSlices):
        return IndexedSlices(
            value.values.copy(), value.indices.copy(), value.dense_shape
        )
    return combine(context, s["op"], (yield from worker.tensor(value, context)))


@statement("reduce_sum", "reduce_mean")
def reduce_axis(worker, s, context, scope):
    value = yield from worker.as_tensor(
        worker.resolve(s["a"], context, scope), context
    )
    return apply(context.tapes, s["op"], value, axis=s.get("axis"))


@statement("expand_dims")
def expand_dims(worker, s, context, scope):
    value = yield from worker.as_tensor(
        worker.resolve(s["a"], context, scope), context
    )
    return apply(context.tapes, "expand_dims", value, axis=s["axis"])


@statement("cast")
def cast(worker, s, context, scope):
    """To its own element type a tensor is not cast: it stays the same tensor."""
    value = yield from worker.as_tensor(
        worker.resolve(s["a"], context, scope), context
    )
    return (
        value
        if value.dtype == s["dtype"]
        else apply(context.tapes, "cast", value, dtype=s["dtype"])
    )


@statement("indexed_slices")
def indexed_slices(worker, s, context, scope):
    values = yield from worker.as_tensor(
        worker.resolve(s["values"], context, scope), context
    )
    indices = yield from worker.as_tensor(
        worker.resolve(s["indices"], context, scope), context
    )
    shape = worker.resolve(s.get("dense_shape"), context, scope)
    if isinstance(shape, Tensor):
        shape = shape.array.tolist()
    return IndexedSlices(
        values, indices, None if shape is None else tuple(shape)
    )


@statement("set")
def bind(worker, s, context, scope):
    return worker.resolve(s["a"], context, scope)


@statement("python_sum")
def python_sum(worker, s, context, scope):
    """The host's `sum`: it starts from the host's 0 and adds item by item."""
    items = worker.resolve(s["a"], context, scope)
    if not isinstance(items, (list, tuple)):
        raise Rejected("E_ARG_TYPE", f"expected a list, found {items!r}")
    total = 0
    for item in items:
        total = combine(
            context, "add", total, (yield from worker.tensor(item, context))
        )
    return total


@statement("range_py")
def range_py(worker, s, context, scope):
    count = worker.resolve(s["n"], context, scope)
    if not isinstance(count, int):
        raise Malformed(f"expected a static count, found {count!r}")
    return list(range(count))
