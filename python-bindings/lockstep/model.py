"""A user's model file: loading it, and checking it against the contract.

The contract: `init(seed) -> state`, `step(state, batch, scalars) -> (state,
metrics)`, optionally `evaluate(state, batch) -> {name: (sum, count)}`,
`batch_spec` (name -> shape and dtype of one replica's batch) and optionally
`scalar_spec` (name -> default value).
"""

import dataclasses
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


class ModelError(Exception):
    """The model file breaks the contract; the text has place and reason."""


#: Dtypes of state, batches, scalars and metrics.
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "float16", "bfloat16", "float32", "float64",
)  # fmt: skip

#: Scalars that the runtime supplies, with their dtypes.
SUPPLIED = {"step": np.dtype(np.int32), "seed": np.dtype(np.uint32)}

MASK = "mask"

#: Keys of the lines of a metrics file that are not the user's.
LINE_KEYS = ("step", "epoch", "evaluate")


@dataclasses.dataclass(frozen=True)
class Model:
    """A checked model.

    Attributes:
      path: absolute path of the file.
      init, step, evaluate: the user's functions; `evaluate` may be None.
      batch: name -> shape and dtype of one replica's batch, sorted by name;
        empty for a step without a batch.
      defaults: name -> default of a scalar, a NumPy scalar; sorted by name.
      scalars: name -> shape and dtype of all scalars, `step` and `seed`
        included; sorted by name.
    """

    path: str
    init: Callable[[int], Any]
    step: Callable[..., Any]
    evaluate: Callable[..., Any] | None
    batch: dict[str, jax.ShapeDtypeStruct]
    defaults: dict[str, np.generic]
    scalars: dict[str, jax.ShapeDtypeStruct]

    @property
    def name(self):
        """Name of the module: the folder's for `model.py`, else the file's."""
        stem = os.path.splitext(os.path.basename(self.path))[0]
        if stem == "model":
            stem = os.path.basename(os.path.dirname(self.path)) or stem
        return "".join(c if c.isalnum() else "_" for c in stem)

    def evaluation_batch(self):
        """Returns the batch that `evaluate` takes: with `mask`, f32 [rows]."""
        return dict(sorted({
            **self.batch,
            MASK: jax.ShapeDtypeStruct((self.rows,), jnp.float32),
        }.items()))  # fmt: skip

    def default_scalars(self):
        """Returns the host scalars' defaults, arrays by name; without one, 0."""
        return {
            name: np.asarray(self.defaults.get(name, 0), spec.dtype)
            for name, spec in self.scalars.items()
        }

    @property
    def rows(self):
        """Rows of one replica's batch."""
        return next(iter(self.batch.values())).shape[0]


def load(path):
    """Imports the file at `path` and checks what it defines.

    The file's folder is put first on the import path, so it can import files
    beside it.

    Raises:
      ModelError: if the file is not there or breaks the contract.
    """
    path = os.path.abspath(path)
    if not os.path.isfile(path):
        raise ModelError(f"expected a Python file, found none at '{path}'")
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("lockstep_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return check(module, path)


def check(module, path):
    """Makes a `Model` of a module, or of anything with the same attributes."""
    functions = {}
    for name, form in (
        ("init", "init(seed) -> state"),
        ("step", "step(state, batch, scalars) -> (state, metrics)"),
    ):
        functions[name] = getattr(module, name, None)
        if not callable(functions[name]):
            raise ModelError(
                f"expected a function '{form}', found {'none' if functions[name] is None else 'no function'}"
            )
    evaluate = getattr(module, "evaluate", None)
    if evaluate is not None and not callable(evaluate):
        raise ModelError("expected 'evaluate' to be a function")
    batch = _batch(getattr(module, "batch_spec", None))
    if evaluate is not None and not batch:
        raise ModelError(
            "evaluate: expected a 'batch_spec' with entries, whose rows it evaluates, found an empty one"
        )
    defaults = _defaults(getattr(module, "scalar_spec", {}))
    scalars = {**{k: v.dtype for k, v in defaults.items()}}
    for name, dtype in SUPPLIED.items():
        scalars[name] = defaults.pop(name).dtype if name in defaults else dtype
    if scalars["step"] != np.int32:
        raise ModelError(
            f"scalar_spec: expected 'step' to be int32, found {scalars['step']}"
        )
    for name in sorted(scalars.keys() & batch.keys()):
        raise ModelError(
            f"the name '{name}' is used by batch_spec and scalar_spec"
        )
    return Model(
        path=path,
        evaluate=evaluate,
        batch=batch,
        defaults=defaults,
        scalars={
            k: jax.ShapeDtypeStruct((), d) for k, d in sorted(scalars.items())
        },
        **functions,
    )


def _batch(spec):
    """Normalizes `batch_spec`; empty for a step without a batch."""
    if not isinstance(spec, dict):
        raise ModelError(
            f"expected 'batch_spec', a dict of name -> jax.ShapeDtypeStruct or (shape, dtype), found {_kind(spec)}"
        )
    result = {}
    for name, entry in sorted(spec.items()):
        if name == MASK:
            raise ModelError(
                "batch_spec: the name 'mask' is taken: evaluate gets it, for the rows that are real"
            )
        try:
            shape, dtype = (
                getattr(entry, "shape", None),
                getattr(entry, "dtype", None),
            )
            if shape is None or dtype is None:
                shape, dtype = entry
            entry = jax.ShapeDtypeStruct(tuple(shape), np.dtype(dtype))
        except (TypeError, ValueError):
            raise ModelError(
                f"batch_spec['{name}']: expected jax.ShapeDtypeStruct or (shape, dtype), found {entry!r}"
            ) from None
        check_dtype(f"batch_spec['{name}']", entry.dtype)
        if not entry.shape or 0 in entry.shape:
            raise ModelError(
                f"batch_spec['{name}']: expected a shape with rows, found {entry.shape}"
            )
        result[name] = entry
    rows = {name: entry.shape[0] for name, entry in result.items()}
    if len(set(rows.values())) > 1:
        raise ModelError(
            f"batch_spec: expected the same number of rows in all entries, found {', '.join(f'{k}: {v}' for k, v in rows.items())}"
        )
    return result


def _defaults(spec):
    """Normalizes `scalar_spec` to NumPy scalars of 32-bit types by default."""
    if not isinstance(spec, dict):
        raise ModelError(
            f"expected 'scalar_spec' to be a dict of name -> default, found {_kind(spec)}"
        )
    result = {}
    for name, default in sorted(spec.items()):
        try:
            value = np.asarray(jnp.asarray(default))
        except (TypeError, OverflowError):
            value = np.empty(0, object)
        if value.dtype == object or value.ndim:
            raise ModelError(
                f"scalar_spec['{name}']: expected a number, found {default!r}"
            )
        check_dtype(f"scalar_spec['{name}']", value.dtype)
        result[name] = value[()]
    return result


def check_dtype(where, dtype):
    """Raises ModelError if values of `dtype` cannot be kept."""
    name = getattr(dtype, "name", str(dtype))
    if name not in DTYPES:
        raise ModelError(f"{where}: dtype {name} is not supported")


def _kind(value):
    return "none" if value is None else f"a {type(value).__name__}"


def path_name(path):
    """Writes a pytree path as in `params/layers/0/w`."""
    parts = []
    for key in path:
        for attribute in ("key", "idx", "name"):
            if hasattr(key, attribute):
                parts.append(str(getattr(key, attribute)))
                break
        else:
            parts.append(str(key))
    return "/".join(parts)


def named_leaves(tree, what):
    """Flattens a pytree to a dict of path name -> leaf.

    Raises:
      ModelError: if two leaves get the same name, or one gets none.
    """
    result = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        name = path_name(path)
        if not name:
            raise ModelError(
                f"{what}: expected a pytree with names (a dict, say), found a {type(leaf).__name__}"
            )
        if name in result:
            raise ModelError(f"{what}: the name '{name}' is used twice")
        result[name] = leaf
    return result
