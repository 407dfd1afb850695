"""Executes many functions in one step: captured once, then compiled at both
levels, interpreted, and computed by JAX.
"""

import re
import types

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib.mlir import ir

import targets
from conftest import read_variables
from lockstep import capture
from lockstep import model as models
from operations.element_types import from_stored, result_to_stored, to_stored

#: Every level that the compiler has, and the target that it generates code for.
LEVELS = {"-O0": targets.EVERYWHERE, "-O2": targets.BEST}

#: JAX rounds each intermediate result to its type, and spends little time on
#: optimization.
_COMPILER_OPTIONS = {
    "xla_allow_excess_precision": False,
    "xla_backend_optimization_level": 0,
}

_DTYPES = {
    "BOOL": np.dtype(np.bool_),
    **{f"I{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"U{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(jnp.bfloat16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
}


class Refused(Exception):
    """JAX, the capture or the compiler rejected a step; the text is the
    message.
    """


class Failed(Exception):
    """A tool crashed, or rejected a step that the compiler had accepted; the
    text describes it.
    """


class Call:
    """A function with its arguments, both in types that variables can have.

    Attributes:
      name: of the function. Locations of its operations have it as the name of
        a file, and so do errors.
      arguments: arrays of such types.
      results: shapes and dtypes of what the function returns.
    """

    def __init__(self, name, function, inputs):
        dtypes = [array.dtype for array in inputs]
        self.name = name
        self.arguments = [to_stored(array) for array in inputs]

        def stored(*arguments):
            values = [
                from_stored(*pair)
                for pair in zip(arguments, dtypes, strict=True)
            ]
            return [
                result_to_stored(result)
                for result in jax.tree.leaves(function(*values))
            ]

        namespace = {"stored": stored}
        exec(
            compile(
                f"def {name}(*arguments):\n    return stored(*arguments)",
                name,
                "exec",
            ),
            namespace,
        )
        self.function = jax.jit(namespace[name], keep_unused=True)
        self.results = jax.eval_shape(self.function, *self.arguments)


class Step:
    """Calls that are executed together: on arguments from the step's state,
    where the results are kept too.
    """

    def __init__(self, calls):
        self.calls = calls
        self._traced = jax.jit(self._all, keep_unused=True).trace(
            {call.name: call.arguments for call in calls}
        )

    def _all(self, arguments):
        return {
            call.name: call.function(*arguments[call.name])
            for call in self.calls
        }

    def lowered(self):
        """The StableHLO that the functions are lowered to: {name of a call:
        text}, with the functions that it calls.

        Raises:
          Refused: if JAX has no lowering that the capture could use.
        """
        try:
            text = self._traced.lower(
                lowering_platforms=(capture.PLATFORM,)
            ).as_text()
        except (NotImplementedError, ValueError, ir.MLIRError) as error:
            raise Refused(str(error)) from error
        functions = dict(
            re.findall(
                r"^  func\.func \w+ @(\w+)(.*?^  \})$", text, re.M | re.S
            )
        )

        def with_callees(name):
            return functions[name] + "".join(
                with_callees(callee)
                for callee in re.findall(r" call @(\w+)", functions[name])
            )

        return {call.name: with_callees(call.name) for call in self.calls}

    def expected(self):
        """JAX's results on the CPU: {name of a call: list of arrays}."""
        found = self._traced.lower().compile(_COMPILER_OPTIONS)(
            {call.name: call.arguments for call in self.calls}
        )
        return {
            name: [np.asarray(result) for result in results]
            for name, results in found.items()
        }

    def executed(self, tools, folder):
        """Yields (name of the execution, {name of a call: list of arrays}) for
        each level and the interpreter.

        Raises:
          Refused: if the capture or the compiler rejects the step.
          Failed: if a tool ends in another manner.
        """
        source = self._captured(folder)
        np.savez(folder / "data.npz", x=np.zeros((1,), np.float32))
        run = [
            f"--init={folder / 'init.safetensors'}",
            f"--data={folder / 'data.npz'}",
            "--steps=1",
            f"--metrics={folder / 'metrics.jsonl'}",
        ]
        for level, target in LEVELS.items():
            artifact = folder / f"step{level}.lockstep"
            options = [
                "--replicas=1",
                level,
                f"--target={target}",
            ]
            _checked(
                tools,
                "lockstep-compile",
                source,
                *options,
                "-o",
                artifact,
                refusal=True,
            )
            _checked(
                tools,
                "lockstep-run",
                artifact,
                *run,
                f"--save={folder / level}",
            )
            yield (
                level,
                self._results(folder / level / "checkpoint-1.safetensors"),
            )
        saved = folder / "interpreted.safetensors"
        _checked(
            tools,
            "lockstep-interpret",
            source,
            "--replicas=1",
            *run,
            f"--save={saved}",
        )
        yield "interpreter", self._results(saved)

    def _captured(self, folder):
        """Captures the step into a folder, and returns the path of the module."""
        state = {
            "arguments": {
                call.name: list(call.arguments) for call in self.calls
            },
            "results": {
                call.name: [np.zeros(r.shape, r.dtype) for r in call.results]
                for call in self.calls
            },
        }

        def step(state, batch, scalars):
            return {**state, "results": self._all(state["arguments"])}, {}

        module = types.SimpleNamespace(
            init=lambda seed: state,
            step=step,
            batch_spec={"x": ((1,), "float32")},
        )
        try:
            capture.write(
                folder,
                *capture.capture(models.check(module, __file__), replicas=1),
            )
        except models.ModelError as error:
            raise Refused(str(error)) from error
        except (TypeError, ValueError, ir.MLIRError) as error:
            raise Failed(
                f"the capture raised {type(error).__name__}: {error}"
            ) from error
        return folder / "step.mlir"

    def _results(self, path):
        """The results of each call in a checkpoint."""
        found = read_variables(path)

        def array(name):
            dtype, shape, data = found[name]
            return np.frombuffer(data, _DTYPES[dtype]).reshape(shape)

        return {
            call.name: [
                array(f"results/{call.name}/{i}")
                for i in range(len(call.results))
            ]
            for call in self.calls
        }


def _checked(tools, tool, *arguments, refusal=False):
    """Runs a tool, and raises `Failed` if it fails; `Refused` if it has a
    message and `refusal` is set.
    """
    done = tools.run(tool, *arguments, check=False)
    if done.returncode == 0:
        return
    if refusal and done.returncode == 1 and "error: " in done.stderr:
        raise Refused(done.stderr)
    raise Failed(
        f"{tool} ended with status {done.returncode}: {done.stderr[:2000]}"
    )
