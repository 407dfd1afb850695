"""Pieces of steps on rows of four numbers, written as IR."""

import numpy as np

X = np.array([[1, 2, 3, 4]], np.float32)
T = "tensor<1x4xf32>"

# The number of the replica, as an i32 and as an index.
RANK = """%id = replica.id : tensor<i32>
  %rank = tensor.extract %id[] : tensor<i32>
  %own = arith.index_cast %rank : i32 to index"""


def rows(count):
    """X repeated for `count` replicas or steps."""
    return np.repeat(X, count, axis=0)


def variable(name, type=T, initial="0.0", aggregation=None):
    aggregates = (
        f", aggregation = #replica.aggregation<{aggregation}>"
        if aggregation
        else ""
    )
    return f"replica.variable @{name} : {type} {{initial = dense<{initial}> : {type}{aggregates}}}\n"


def variables(*names):
    return "".join(map(variable, names))


def step(declarations, body, given=None):
    """A step of the module of `declarations`: a function of each replica's `%x`
    and of the `given` inputs, types by name.
    """
    arguments = ", ".join(
        f'%{name}: {type} {{replica.batch = "{name}"}}'
        for name, type in {"x": T, **(given or {})}.items()
    )
    return f"""{declarations}
replica.step @step({arguments}) {{{body}
  replica.return
}}
"""


def combine(result, left, operation, right):
    """Element-wise arithmetic of two tensors."""
    return f"""%{result}_empty = tensor.empty() : {T}
    %{result} = linalg.{operation} ins(%{left}, %{right} : {T}, {T}) outs(%{result}_empty : {T}) -> {T}"""


def values(variables, name):
    return np.frombuffer(variables[name][2], np.float32).reshape(1, 4)
