"""Converts `step` and `evaluate` to flat functions with named values.

The flat functions are lowered: their arguments are the leaves of the state, the
batch's entries and the scalars; their results the leaves of the new state and
the metrics, in the order of their names' pytree. A typed random key of the
state is stored as its integers.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.model import (
    LINE_KEYS,
    Model,
    ModelError,
    check_dtype,
    named_leaves,
)


@dataclasses.dataclass(frozen=True)
class Value:
    """An argument or result of a captured function.

    Attributes:
      role: "variable", "batch", "scalar", "metric", "sum" or "count".
      name: pytree path, or key.
      default: of a scalar that has one.
    """

    role: str
    name: str
    default: np.generic | None = None


@dataclasses.dataclass(frozen=True)
class Function:
    """A function with flat arguments and results.

    Attributes:
      name: "step" or "evaluate".
      source: the user's function.
      call: the flat function.
      arguments: shapes and dtypes to trace it with.
      inputs, outputs: what its arguments and results are.
    """

    name: str
    source: Callable[..., Any]
    call: Callable[..., Any]
    arguments: list[jax.ShapeDtypeStruct]
    inputs: list[Value]
    outputs: list[Value]


def initial_state(model: Model, seed: int):
    """Calls `init` and returns its state with arrays as leaves.

    Raises:
      ModelError: if a leaf is no array of a supported dtype, or two leaves
        have the same name.
    """
    state = model.init(seed)
    arrays = []
    for name, leaf in named_leaves(state, "init").items():
        where = f"init: variable '{name}'"
        try:
            array = jnp.asarray(leaf)
        except (TypeError, ValueError):
            raise ModelError(
                f"{where}: expected an array, found a {type(leaf).__name__}"
            ) from None
        if not _is_key(array):
            check_dtype(where, array.dtype)
            # Python numbers have weak types, which a step would not return.
            if array.weak_type:
                array = jnp.asarray(array, array.dtype)
        arrays.append(array)
    return jax.tree.unflatten(jax.tree.structure(state), arrays)


def initial_shapes(model: Model, seed: int):
    """Shapes and dtypes of the state that `init` would return; its arrays are
    never made, except for random keys.

    Raises:
      ModelError: as `initial_state`, or if `init` computes outside of JAX with
        what it has made in JAX.
    """
    implementations = []

    def call():
        state = initial_state(model, seed)
        implementations.extend(
            jax.random.key_impl(leaf) if _is_key(leaf) else None
            for leaf in jax.tree.leaves(state)
        )
        return state, stored(state)

    try:
        shapes, data = jax.eval_shape(call)
    except jax.errors.TracerArrayConversionError as error:
        raise ModelError(
            f"init: expected that it computes in JAX alone, since only shapes are captured: {error}"
        ) from None
    # The shape of a key does not name its implementation: these are zeros.
    leaves, structure = jax.tree.flatten(shapes)
    leaves = [
        shape
        if implementation is None
        else jax.random.wrap_key_data(
            jnp.zeros(integers.shape, integers.dtype), impl=implementation
        )
        for shape, integers, implementation in zip(
            leaves, jax.tree.leaves(data), implementations, strict=True
        )
    ]
    return jax.tree.unflatten(structure, leaves)


def _is_key(value):
    """Whether a value, or its shape and dtype, is of typed random keys."""
    return jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


def stored(state):
    """Replaces typed random keys by the arrays of uint32 that store them."""
    return jax.tree.map(
        lambda x: jax.random.key_data(x) if _is_key(x) else x, state
    )


def _with_keys(kept, state):
    """Undoes `stored`: converts the arrays to typed random keys where `state`
    has such keys.
    """

    def restore(value, original):
        return (
            jax.random.wrap_key_data(value, impl=jax.random.key_impl(original))
            if _is_key(original)
            else value
        )

    return jax.tree.map(restore, kept, state)


def step_function(model: Model, state) -> Function:
    """Flattens `step` for states like `state`.

    Raises:
      ModelError: if `step` does not return (state, metrics), or returns a
        state of another structure, shape or dtype, or metrics that are not a
        dict of arrays.
    """
    shapes = _shapes(state)
    result = jax.eval_shape(model.step, shapes, model.batch, model.scalars)
    if not isinstance(result, tuple) or len(result) != 2:
        raise ModelError(
            f"step: expected (state, metrics), found {_describe(result)}"
        )
    _check_state(shapes, result[0])
    metrics = _check_values(result[1], "step: metrics")
    for name in metrics:
        if name in LINE_KEYS:
            raise ModelError(
                "step: metrics: expected a name other than "
                f"{', '.join(LINE_KEYS)}, found '{name}'"
            )

    def call(*leaves):
        kept, batch, scalars = unflatten(leaves)
        new_state, new_metrics = model.step(
            _with_keys(kept, state), batch, scalars
        )
        return [
            *jax.tree.leaves(stored(new_state)),
            *_in_order(new_metrics, metrics),
        ]

    arguments, unflatten = _flatten(
        _stored_shapes(shapes), model.batch, model.scalars
    )
    variables = [
        Value("variable", name) for name in named_leaves(state, "state")
    ]
    return Function(
        "step",
        model.step,
        call,
        arguments,
        inputs=[
            *variables,
            *(Value("batch", name) for name in model.batch),
            *(Value("scalar", n, model.defaults.get(n)) for n in model.scalars),
        ],
        outputs=[*variables, *(Value("metric", name) for name in metrics)],
    )


def evaluate_function(model: Model, state) -> Function:
    """Flattens `evaluate` for states like `state`.

    Raises:
      ModelError: if `evaluate` does not return a dict of (sum, count), both
        scalars.
    """
    shapes, batch = _shapes(state), model.evaluation_batch()
    result = jax.eval_shape(model.evaluate, shapes, batch)
    if not isinstance(result, dict):
        raise ModelError(
            f"evaluate: expected a dict of name -> (sum, count), found {_describe(result)}"
        )
    names = sorted(result)
    for name in names:
        pair = result[name]
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ModelError(
                f"evaluate: '{name}': expected (sum, count), found {_describe(pair)}"
            )
        _check_values(
            dict(zip(("sum", "count"), pair, strict=True)),
            f"evaluate: '{name}'",
            scalars=True,
        )

    def call(*leaves):
        kept, rows = unflatten(leaves)
        pairs = model.evaluate(_with_keys(kept, state), rows)
        return [jnp.asarray(part) for name in names for part in pairs[name]]

    arguments, unflatten = _flatten(_stored_shapes(shapes), batch)
    return Function(
        "evaluate",
        model.evaluate,
        call,
        arguments,
        inputs=[
            *(Value("variable", name) for name in named_leaves(state, "state")),
            *(Value("batch", name) for name in batch),
        ],
        outputs=[Value(r, name) for name in names for r in ("sum", "count")],
    )


def _shapes(tree):
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), tree)


def _stored_shapes(shapes):
    return jax.eval_shape(stored, shapes)


def _flatten(*trees):
    """Returns the leaves of `trees`, and the inverse function."""
    leaves, structure = jax.tree.flatten(trees)
    return leaves, lambda values: jax.tree.unflatten(structure, values)


def _in_order(values, names):
    return [jnp.asarray(values[name]) for name in names]


def _check_state(before, after):
    """Checks that `step` returns a state of the same type as its argument."""
    old, new = named_leaves(before, "init"), named_leaves(after, "step: state")
    for name in old.keys() - new.keys():
        raise ModelError(
            f"step: expected the state to have '{name}', found none"
        )
    for name in new.keys() - old.keys():
        raise ModelError(
            f"step: the state that it returns has '{name}', which init's has not"
        )
    for name, leaf in new.items():
        expected = old[name]
        if (leaf.shape, leaf.dtype) != (expected.shape, expected.dtype):
            raise ModelError(
                f"step: state '{name}': expected {_describe(expected)} as from init, found {_describe(leaf)}"
            )
    if jax.tree.structure(before) != jax.tree.structure(after):
        raise ModelError(
            f"step: expected a state of the same structure as init's, found {jax.tree.structure(after)}"
        )


def _check_values(values, where, scalars=False):
    """Checks a dict of arrays, or of scalars only; returns its names, sorted."""
    kind = "a scalar" if scalars else "an array"
    if not isinstance(values, dict):
        raise ModelError(
            f"{where}: expected a dict of name -> {kind.split()[1]}, found {_describe(values)}"
        )
    for name, value in values.items():
        if not isinstance(name, str):
            raise ModelError(
                f"{where}: expected names to be strings, found {name!r}"
            )
        shape = getattr(value, "shape", None)
        if shape is None or (scalars and shape != ()):
            raise ModelError(
                f"{where}: '{name}': expected {kind}, found {_describe(value)}"
            )
        check_dtype(f"{where}: '{name}'", value.dtype)
    return sorted(values)


def _describe(value):
    """Describes a value by shape and dtype, or by its type."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of length {len(value)}"
    return f"a {type(value).__name__}"
