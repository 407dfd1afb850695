"""Pieces of steps on rows of four numbers, written as IR."""

import numpy as np

X = np.array([[1, 2, 3, 4]], np.float32)
T = "tensor<1x4xf32>"


def variables(*names):
    return "".join(f"replica.variable @{name} : {T} {{initial = dense<0.0> : {T}}}\n" for name in names)


def combine(result, left, operation, right):
    """Element-wise arithmetic of two tensors."""
    return f"""%{result}_empty = tensor.empty() : {T}
    %{result} = linalg.{operation} ins(%{left}, %{right} : {T}, {T}) outs(%{result}_empty : {T}) -> {T}"""


def values(variables, name):
    return np.frombuffer(variables[name][2], np.float32).reshape(1, 4)
