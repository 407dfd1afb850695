"""Values of the language: tensors, indexed slices and values that have one
component for each replica.

Host scalars are Python's int, float, bool and str; absent values are None.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import ml_dtypes
import numpy as np

from .errors import Malformed, Rejected

DTYPES = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
    "c64": np.dtype(np.complex64),
    "str": np.dtype(object),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
NARROW = frozenset({"f16", "bf16"})
FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
INTEGERS = frozenset({"i32", "i64"})
NUMBERS = FLOATS | INTEGERS


@dataclass(eq=False)
class Tensor:
    """An array and two facts that the array does not show.

    `varying`: replicas may hold different values here. It depends on how a
    value is computed, not on its actual elements, because a compiler
    only knows the former.
    `identity`: equal for two tensors exactly if they are one and the same
    tensor. Regrouping unwraps a value that is one and the same on all replicas,
    and keeps apart those that are only equal.
    """

    array: np.ndarray
    varying: bool = False
    identity: object = field(default_factory=object)

    @property
    def dtype(self) -> str:
        return NAMES[self.array.dtype]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def alias(self, **changes) -> Tensor:
        """A tensor that regrouping treats as this one, but a tape does not."""
        return replace(self, **changes)

    def copy(self, **changes) -> Tensor:
        return replace(self, identity=object(), **changes)


@dataclass(eq=False)
class IndexedSlices:
    values: Tensor
    indices: Tensor
    dense_shape: tuple[int, ...] | None
    identity: object = field(default_factory=object)

    @property
    def varying(self) -> bool:
        return self.values.varying or self.indices.varying

    def alias(self, varying: bool) -> IndexedSlices:
        return replace(
            self,
            values=self.values.alias(varying=varying),
            indices=self.indices.alias(varying=varying),
        )

    def dense(self) -> Tensor:
        if self.dense_shape is None:
            raise Rejected(
                "E_ARG_TYPE",
                "indexed slices without a dense shape have no dense value",
            )
        array = np.zeros(self.dense_shape, self.values.array.dtype)
        np.add.at(array, self.indices.array, self.values.array)
        return Tensor(array, self.varying)


@dataclass(eq=False)
class Distributed:
    """One component for each replica of this worker."""

    components: tuple


class PerReplica(Distributed):
    pass


class Mirrored(Distributed):
    pass


class Operation:
    """The result of updates whose functions return no tensors, and a variable's
    handle.
    """


def is_host(value) -> bool:
    return isinstance(value, (bool, int, float, str))


def varies(value) -> bool:
    """Whether a leaf may differ between replicas."""
    if isinstance(value, Distributed):
        return any(varies(c) for c in value.components)
    return isinstance(value, (Tensor, IndexedSlices)) and value.varying


def host_dtype(value) -> str:
    """The element type of a host scalar in an operation without tensors."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "i32"
    return "f32" if isinstance(value, float) else "str"


def from_host(value, dtype: str | None = None) -> Tensor:
    """A host scalar as a tensor, of the element type of the other operand."""
    own = host_dtype(value)
    dtype = dtype or own
    fits = (
        own == dtype
        or (own == "i32" and dtype in NUMBERS)
        or (own == "f32" and dtype in FLOATS)
    )
    if not fits:
        raise Rejected(
            "E_DTYPE_MISMATCH",
            f"expected a value of {dtype}, found the host value {value!r}",
        )
    return Tensor(np.asarray(value, DTYPES[dtype]))


## Literals


def parse_tensor(literal: dict) -> Tensor:
    try:
        dtype = DTYPES[literal["dtype"]]
        data = literal["data"]
        if literal["dtype"] == "c64":
            data = [
                complex(*x) if isinstance(x, list) else complex(x) for x in data
            ]
        elif literal["dtype"] in FLOATS:
            data = [float(x) for x in data]
        return Tensor(np.array(data, dtype).reshape(literal["shape"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"not a tensor: {literal}: {error}") from error


def parse_value(literal) -> Tensor | IndexedSlices:
    if not isinstance(literal, dict):
        raise Malformed(f"not a value: {literal}")
    if "py" in literal:
        return literal["py"]
    if "indexed_slices" not in literal:
        return parse_tensor(literal)
    parts = literal["indexed_slices"]
    shape = parts.get("dense_shape")
    if isinstance(shape, dict):
        shape = shape["data"]
    return IndexedSlices(
        parse_tensor(parts["values"]),
        parse_tensor(parts["indices"]),
        None if shape is None else tuple(shape),
    )


def _number(x):
    if isinstance(x, complex):
        return [x.real, x.imag]
    if isinstance(x, float) and not np.isfinite(x):
        return "nan" if np.isnan(x) else "inf" if x > 0 else "-inf"
    return x


def write_tensor(tensor: Tensor) -> dict:
    array = (
        tensor.array.astype(np.float64)
        if tensor.dtype in NARROW
        else tensor.array
    )
    return {
        "dtype": tensor.dtype,
        "shape": list(array.shape),
        "data": [_number(x) for x in array.ravel().tolist()],
    }
