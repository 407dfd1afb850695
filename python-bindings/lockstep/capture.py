"""Captures a model: `python -m lockstep.capture MODEL.py -o DIR`.

Writes `DIR/step.mlir`, a module with the functions `@step` and, if the model
has one, `@evaluate`; and `DIR/init.safetensors`, the initial state. Both are
deterministic, independent of place and time.
"""

import argparse
import os
import re
import sys
import traceback

import jax
import numpy as np
from jax.extend import core
from safetensors.numpy import save

from lockstep import context, contract, cumulative, legalize
from lockstep import model as models
from lockstep.locations import Locations

#: No platform that JAX knows, so that lowering takes its portable rules.
PLATFORM = "lockstep"

cumulative.register()


def capture(
    model: models.Model,
    replicas: int | None = None,
    seed: int = 0,
    shapes_only: bool = False,
):
    """Captures `step` and `evaluate` of a model.

    Args:
      model: what `models.load` returns.
      replicas: replica count, or None to leave it open.
      seed: argument of the model's `init`.
      shapes_only: do not make the initial state, which may be larger than the
        memory of this machine.

    Returns:
      (text, state): the module in MLIR's generic form with locations, and the
      initial state as a dict of variable name -> NumPy array, or None with
      `shapes_only`.

    Raises:
      ModelError: if the model breaks the contract.
    """
    if replicas is not None and replicas < 1:
        raise models.ModelError(
            f"expected a replica count of 1 or more, found {replicas}"
        )
    initial = contract.initial_shapes if shapes_only else contract.initial_state
    state = initial(model, seed)
    locations = Locations(os.path.dirname(model.path))
    with context.capturing(replicas):
        functions = [contract.step_function(model, state)]
        if model.evaluate is not None:
            functions.append(contract.evaluate_function(model, state))
        lowered = [_lower(f, model.path) for f in functions]
    text = legalize.legalize(
        model.name, functions, lowered, locations, replicas
    )
    if shapes_only:
        return text, None
    names = models.named_leaves(contract.stored(state), "init")
    return text, {
        name: np.array(leaf, order="C") for name, leaf in names.items()
    }


def write(folder, text, state):
    """Writes what `capture` returned to `folder`, which is made if needed.
    Without a state, only the module.
    """
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "step.mlir"), "w", encoding="utf-8") as file:
        file.write(text)
    if state is None:
        return
    # `save_file` would make the file readable only by its owner.
    with open(os.path.join(folder, "init.safetensors"), "wb") as file:
        file.write(save(state))


def _lower(function, path):
    """Lowers a function of the model file `path` to StableHLO, as text in
    generic form.
    """
    traced = jax.jit(function.call, keep_unused=True).trace(*function.arguments)
    try:
        lowered = traced.lower(lowering_platforms=(PLATFORM,))
    except (NotImplementedError, ValueError) as error:
        place = _place(error, path) or _unlowered(traced.jaxpr.jaxpr, path)
        raise models.ModelError(
            f"{place}{function.name}: {_reason(str(error))}"
        ) from error
    module = lowered.compiler_ir("stablehlo")
    return module.operation.get_asm(
        enable_debug_info=True, print_generic_op_form=True
    )


def _reason(message):
    """Why JAX cannot lower an operation, from the message of its error."""
    if "Callback" in message:
        return f"a step cannot call back to Python: {message}"
    missing = re.search(r"rule for primitive '(.+?)' not found", message)
    if missing:
        return (
            f"'{missing[1]}' is not supported: JAX lowers it only for the "
            "platforms that it knows; express it by other operations, or "
            "compute it outside of the step"
        )
    return f"an operation cannot be lowered: {message}"


def _place(error, path):
    """The location in the model of the operation that JAX cannot lower, as
    `model.py:15: `; empty if the error does not have it.
    """
    trace = (
        traceback.extract_tb(error.__cause__.__traceback__)
        if error.__cause__
        else []
    )
    return _last_line([(f.filename, f.lineno) for f in trace], path)


def _unlowered(jaxpr, path):
    """The same of the first equation that cannot be lowered on its own: JAX
    lowers `svd`, say, by operations of its own, whose errors do not have it.
    """
    for equation in jaxpr.eqns:
        operands = [variable.aval for variable in equation.invars]

        def execute(*values, equation=equation):
            return equation.primitive.bind(*values, **equation.params)

        try:
            traced = jax.jit(execute).trace(*operands)
            traced.lower(lowering_platforms=(PLATFORM,))
            continue
        except Exception as error:
            # Others than this one may be of what it needs around it.
            is_unlowered = isinstance(error, NotImplementedError)
            inner = [
                place
                for part in core.jaxprs_in_params(equation.params)
                if (place := _unlowered(part, path))
            ]
        if inner:
            return inner[0]
        known = equation.source_info.traceback if is_unlowered else None
        frames = reversed(known.frames) if known else []
        if place := _last_line(
            [(f.file_name, f.line_num) for f in frames], path
        ):
            return place
    return ""


def _last_line(frames, path):
    """`model.py:15: ` for the last of the frames that is in the model."""
    lines = [
        line
        for file, line in frames
        if os.path.realpath(file) == os.path.realpath(path)
    ]
    return f"{os.path.basename(path)}:{lines[-1]}: " if lines else ""


def main(arguments=None):
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m lockstep.capture",
        description="Captures a JAX model for lockstep-compile.",
    )
    parser.add_argument(
        "model", metavar="MODEL.py", help="file with init and step"
    )
    parser.add_argument(
        "-o", dest="folder", metavar="DIR", required=True,
        help="folder for step.mlir and init.safetensors",
    )  # fmt: skip
    parser.add_argument(
        "--replicas", type=int, metavar="N",
        help="fix the replica count, which is left open otherwise",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=0, help="argument of init (default: 0)"
    )
    parser.add_argument(
        "--shapes-only", action="store_true",
        help="do not make the initial state: for models that are larger than this machine's memory, to compile and simulate them",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    try:
        model = models.load(options.model)
        text, state = capture(
            model, options.replicas, options.seed, options.shapes_only
        )
        write(options.folder, text, state)
    except (models.ModelError, OSError) as error:
        # Some errors begin with the line.
        has_place = str(error).startswith(os.path.basename(options.model) + ":")
        place = "" if has_place else f"{options.model}: "
        print(f"error: {place}{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
