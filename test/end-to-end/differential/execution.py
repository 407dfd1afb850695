"""Executes a model once: by JAX, by the interpreter, and compiled."""

import contextlib
import dataclasses
import pathlib
import resource
import signal
import subprocess
import types

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
from jax import lax
from jax.interpreters import mlir
from jax.sharding import Mesh, PartitionSpec

from differential.errors import CrashedError, RefusedError
from differential.sessions import Sessions
from lockstep import capture
from lockstep import model as models

#: XLA's options for code that is executed once. 16-bit floats are rounded after
#: every operation, as in compiled programs.
XLA_OPTIONS = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_allow_excess_precision": False,
}

#: Added where no float has 16 bits. The fusion emitters take most of the time
#: of a compilation; without them, XLA lowers fusions to LLVM IR directly. Then
#: 16-bit floats have other roundings than in compiled programs, and negative
#: padding, which the algebraic simplification removes, is not compiled.
WITHOUT_EMITTERS = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}

#: Seconds of a processor that a tool may take.
CPU_SECONDS = 30

Arrays = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A model file that has been executed.

    Attributes:
      text: the file.
      model: the input of the capture.
      state: the initial state.
      data: the batch of a number of replicas.
      x64: whether the model enables 64-bit types.
    """

    text: str
    model: models.Model
    state: Arrays
    data: object
    x64: bool


def load(text: str) -> Loaded:
    """Executes the text of a model file; JAX's configuration is afterwards as
    it was before.
    """
    module = types.ModuleType("random_model")
    before = jax.config.jax_enable_x64
    try:
        exec(compile(text, "model.py", "exec"), module.__dict__)
        x64 = jax.config.jax_enable_x64
        model = models.check(module, "model.py")
        return Loaded(text, model, module.init(0), module.data, x64)
    finally:
        jax.config.update("jax_enable_x64", before)


@contextlib.contextmanager
def sums_in_32_bits():
    """What is lowered inside of it sums 16-bit floats in 32 bits and rounds
    once.

    `jnp.sum` says so itself; the gradient of a broadcast and `jnp.einsum` say
    nothing, and XLA then rounds after each addition.
    """

    def wide(x, **attributes):
        found = lax.reduce_sum_p.bind(x.astype(jnp.float32), **attributes)
        return found.astype(x.dtype)

    wide_rule = mlir.lower_fun(wide, multiple_results=False)
    rule = mlir._lowerings[lax.reduce_sum_p]

    def choose(context, x, **attributes):
        is_narrow = context.avals_in[0].dtype in (jnp.float16, jnp.bfloat16)
        chosen = wide_rule if is_narrow else rule.rule
        return chosen(context, x, **attributes)

    mlir.register_lowering(lax.reduce_sum_p, choose)
    try:
        yield
    finally:
        mlir._lowerings[lax.reduce_sum_p] = rule


def execute_by_jax(
    loaded: Loaded, replicas: int, shared: bool = True, as_written: bool = False
) -> Arrays:
    """The state after a step under plain JAX, with one device for each replica.

    If it is not `shared`, that of each replica, along a dimension before the
    others. If it is executed `as_written`, XLA does not simplify algebraically
    (it combines constants, among other things, whose product may be infinite
    where all operands are finite), and sums of 16-bit floats are computed in
    32 bits; also if XLA's simplifications fail.
    """
    mesh = Mesh(np.array(jax.devices("cpu")[:replicas]), ("replica",))
    everywhere, own = PartitionSpec(), PartitionSpec("replica")

    def step(state, batch):
        new = loaded.model.step(state, batch, {})[0]
        return new if shared else jax.tree.map(lambda x: x[None], new)

    mapped = jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(everywhere, own),
        out_specs=everywhere if shared else own,
        check_vma=False,
    )
    arguments = (loaded.state, loaded.data(replicas))
    options, sums = dict(XLA_OPTIONS), contextlib.nullcontext()
    if as_written:
        options["xla_disable_hlo_passes"] = "algsimp"
        sums = sums_in_32_bits()
    elif "float16" not in loaded.text:  # nor "bfloat16"
        options.update(WITHOUT_EMITTERS)
    with jax.enable_x64(loaded.x64):
        with sums:
            lowered = jax.jit(mapped).lower(*arguments)
        try:
            compiled = lowered.compile(compiler_options=options)
        except jax.errors.JaxRuntimeError as error:
            # Some simplifications of XLA leave a program that is not valid.
            if as_written or "Failed after simplification" not in str(error):
                raise
            return execute_by_jax(loaded, replicas, shared, as_written=True)
        return {
            name: np.asarray(value)
            for name, value in compiled(*arguments).items()
        }


class Executor:
    """Executes captured models with the built tools.

    Attributes:
      tools: folder of the tools; the library is in `lib` beside it.
      folder: an existing folder for files, which each model overwrites.
    """

    def __init__(self, tools: pathlib.Path, folder: pathlib.Path):
        self.tools, self.folder = pathlib.Path(tools), pathlib.Path(folder)
        self.sessions = Sessions(self.tools.parent / "lib" / "liblockstep.so")
        self.source, self.init = (
            self.folder / "step.mlir",
            self.folder / "init.safetensors",
        )

    def close(self):
        """Ends the process that executes artifacts."""
        self.sessions.close()

    def capture(self, loaded: Loaded, replicas: int | None):
        """Captures a model, for a number of replicas or any.

        Raises:
          RefusedError: if the capture rejects it.
        """
        try:
            with jax.enable_x64(loaded.x64):
                # JAX compiles a program for each shape of a NumPy array that it
                # converts, and none where arrays are on a device already.
                model = dataclasses.replace(
                    loaded.model, init=lambda seed: jax.device_put(loaded.state)
                )
                text, state = capture.capture(model, replicas)
        except (
            models.ModelError,
            ValueError,
            TypeError,
            NotImplementedError,
        ) as error:
            raise RefusedError(f"capture: {error}") from error
        capture.write(self.folder, text, state)

    def interpret(
        self, loaded: Loaded, replicas: int, module: pathlib.Path | None = None
    ) -> Arrays:
        """The state after a step of the captured model, or of another module,
        by the reference interpreter.
        """
        inputs, saved = (
            self.folder / "inputs.npz",
            self.folder / "interpreted.safetensors",
        )
        batch = loaded.data(replicas)
        np.savez(
            inputs,
            **{
                f"{name}@{r}": part
                for name, array in batch.items()
                for r, part in enumerate(np.split(array, replicas))
            },
        )
        self.run_tool(
            "lockstep-interpret",
            module or self.source,
            f"--replicas={replicas}",
            f"--init={self.init}",
            f"--inputs={inputs}",
            f"--save={saved}",
        )
        return read_safetensors(saved)

    def compile(self, replicas: int, *options: str) -> pathlib.Path:
        """Compiles the captured model; returns the artifact."""
        artifact = self.folder / "step.lockstep"
        self.run_tool(
            "lockstep-compile",
            self.source,
            f"--replicas={replicas}",
            "-o",
            artifact,
            *options,
        )
        return artifact

    def execute(
        self,
        artifact: pathlib.Path,
        loaded: Loaded,
        replicas: int,
        threads: int,
    ) -> Arrays:
        """The state after a step of an artifact."""
        return self.sessions.run(
            artifact, loaded.state, loaded.data(replicas), threads
        )

    def run_tool(
        self, tool: str, *arguments: object, check: bool = True
    ) -> str:
        """Runs a built tool and returns all that it prints.

        Raises:
          RefusedError: if it ends with an error, unless `check` is false.
          CrashedError: if a signal ends it, SIGKILL or SIGXCPU where it takes
            too long.
        """
        command = [str(self.tools / tool), *map(str, arguments)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            resource.prlimit(
                process.pid, resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)
            )
            output, errors = process.communicate()
        if process.returncode < 0:
            name = signal.Signals(-process.returncode).name
            raise CrashedError(
                f"{tool} ends with {name}{': ' if errors else ''}{first_error(errors)}"
            )
        if check and process.returncode:
            raise RefusedError(f"{tool}: {first_error(errors)}")
        return output + errors


def first_error(text: str) -> str:
    """The first line of a tool's messages that is an error, or their beginning."""
    lines = [
        line
        for line in text.splitlines()
        if "error:" in line or "Assertion" in line
    ]
    return lines[0] if lines else text[:300]


def read_safetensors(path: pathlib.Path) -> Arrays:
    """The tensors of a file; the dtypes that NumPy lacks are those of
    `ml_dtypes`.
    """
    names = {"BOOL": "bool", "BF16": "bfloat16"}
    arrays = {}
    for name, entry in safetensors.deserialize(path.read_bytes()):
        code = entry["dtype"]
        dtype = (
            names.get(code)
            or {"F": "float", "I": "int", "U": "uint"}[code[0]] + code[1:]
        )
        arrays[name] = np.frombuffer(entry["data"], dtype).reshape(
            entry["shape"]
        )
    return arrays
