"""Executes programs: by the interpreter, and compiled in several variants."""

import json
import pathlib
import re
import signal
import subprocess
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import module, pipeline
from .inputs import safetensors
from .types import DTYPES

#: Seconds until a tool is taken to hang.
TIMEOUT = 300


class ToolFailure(Exception):
    """A tool has rejected a program, crashed, or hung, by `kind`; `text` is its
    output.
    """

    def __init__(self, tool, kind, text):
        super().__init__(f"{tool}: {kind}\n{text}")
        self.tool, self.kind, self.text = tool, kind, text

    @property
    def reason(self):
        """The first error; of a crash, the functions that it happened in."""
        errors = [
            line.split("error:")[-1].strip()
            for line in self.text.splitlines()
            if "error:" in line
        ]
        frames = re.findall(r"((?:mlir|lockstep)::[\w:~]+)", self.text)
        return f"{self.tool} {self.kind}: " + (
            errors[0] if errors else ", ".join(frames[:2]) or self.text[-200:]
        )


@dataclass(frozen=True)
class Variant:
    """Options of lockstep-compile and of lockstep-run.

    `left_out`: optional passes that lockstep-compile has no option for.
    `rounds_alike`: the results have the same bits as those of all other such
    variants.
    """

    name: str
    options: tuple[str, ...] = ()
    run_options: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    rounds_alike: bool = True


#: One target alone takes less time to compile for; the results do not depend on
#: it.
TARGET = "x86-64-v3"
ONE_TARGET = f"--target={TARGET}"

PLAIN = Variant("-O0", ("-O0", ONE_TARGET), rounds_alike=False)
BASELINE = Variant("-O2", ("-O2", ONE_TARGET))
#: -O2 without something that is optional, with checks, and for all targets.
OTHER_VARIANTS = [
    Variant("-O2 --simplify=false", ("-O2", "--simplify=false", ONE_TARGET)),
    Variant("-O2 --bucket=none", ("-O2", "--bucket=none", ONE_TARGET)),
    Variant("-O2 --overlap=false", ("-O2", "--overlap=false", ONE_TARGET)),
    Variant("-O2 --shard-update=on", ("-O2", "--shard-update=on", ONE_TARGET)),
    Variant("-O2 --bucket=bytes:64", ("-O2", "--bucket=bytes:64", ONE_TARGET)),
    Variant(
        "-O2 --reassociate",
        ("-O2", "--reassociate", ONE_TARGET),
        rounds_alike=False,
    ),
    Variant("-O2 without plan-memory{reuse}", left_out=("plan-memory{reuse}",)),
    Variant(
        "-O2 without fuse-operations",
        left_out=("fuse-operations",),
        rounds_alike=False,
    ),
    Variant(
        "-O2 without form-kernels{fuse}",
        left_out=("form-kernels{fuse}",),
        rounds_alike=False,
    ),
    Variant(
        "-O2 without generate-code{level=O2}",
        left_out=("generate-code{level=O2}",),
        rounds_alike=False,
    ),
    Variant("-O2 --check-bounds", ("-O2", "--check-bounds", ONE_TARGET)),
    Variant(
        "-O2, run --check-races --fill-memory",
        ("-O2", ONE_TARGET),
        ("--check-races", "--fill-memory"),
    ),
    Variant("-O2 for all targets", ("-O2",)),
]
VARIANTS = [PLAIN, BASELINE, *OTHER_VARIANTS]


def parse_outputs(text):
    """The lines of a run: (what, name, replica) -> array. Numbers of bf16 are
    f32s.
    """
    outputs = {}
    for line in text.splitlines():
        # Integers stay exact, and a zero that is a float keeps its sign.
        is_integer = '"type":"i' in line
        entry = json.loads(line, parse_int=int if is_integer else float)
        what = "result" if "result" in entry else "variable"
        numbers = (
            entry["values"]
            if is_integer
            else [float(number) for number in entry["values"]]
        )
        shape = [int(size) for size in entry["shape"]]
        outputs[what, entry[what], int(entry["replica"])] = np.array(
            numbers, DTYPES[entry["type"]]
        ).reshape(shape)
    return outputs


class Executor:
    """Runs the built tools of a folder on files in another one, in which it
    leaves the last program.
    """

    def __init__(self, tools, folder):
        self.tools = pathlib.Path(tools)
        self.folder = pathlib.Path(folder)
        self.source = self.folder / "program.mlir"
        self.inputs = self.folder / "inputs.npz"
        self.initial = self.folder / "initial.safetensors"
        self.artifact = self.folder / "program.lockstep"
        self.device_ir = self.folder / "device.mlir"
        self.data = []

    def start(self, tool, *arguments):
        """Runs a tool to its end. ToolFailure: it has crashed, or hangs."""
        command = [str(self.tools / tool), *map(str, arguments)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ToolFailure(tool, "hangs", "") from None
        if done.returncode < 0:
            raise ToolFailure(
                tool,
                f"crashes ({signal.Signals(-done.returncode).name})",
                done.stderr,
            )
        return done

    def run(self, tool, *arguments):
        """The output of a tool. ToolFailure: it failed."""
        done = self.start(tool, *arguments)
        if done.returncode != 0:
            raise ToolFailure(tool, "fails", done.stderr)
        return done.stdout

    def write(self, program):
        self.source.write_text(module.render(program), encoding="utf-8")
        np.savez(self.inputs, **module.input_arrays(program))
        self.data = [f"--inputs={self.inputs}"]
        if tensors := list(module.initial_values(program)):
            self.initial.write_bytes(safetensors(tensors))
            self.data.append(f"--init={self.initial}")

    def interpret(self, program):
        """The outputs of a program that `write` has written, by the
        interpreter.
        """
        return parse_outputs(
            self.run(
                "lockstep-interpret",
                self.source,
                f"--replicas={program.replicas}",
                *self.data,
            )
        )

    def run_artifact(self, *options):
        return parse_outputs(
            self.run("lockstep-run", self.artifact, *self.data, *options)
        )

    def execute(self, program, variant):
        """The same, compiled in a variant."""
        if variant.left_out:
            return self.execute_without(program, variant.left_out)
        self.run(
            "lockstep-compile",
            self.source,
            f"--replicas={program.replicas}",
            "-o",
            self.artifact,
            *variant.options,
        )
        return self.run_artifact(*variant.run_options)

    def pipeline(self, program, left_out):
        """The pipeline of -O2 for a program, without some passes."""
        return pipeline.without(
            pipeline.parse(self.printed_pipeline, program.replicas, TARGET),
            left_out,
        )

    @cached_property
    def printed_pipeline(self):
        # That the number of replicas is not known is an error only after the
        # pipeline has been printed.
        return self.start(
            "lockstep-opt",
            "--lockstep-compile",
            "--dump-pass-pipeline",
            self.source,
            "-o",
            self.device_ir,
        ).stderr

    def execute_without(self, program, left_out):
        """The outputs of a program that is compiled without some of
        `pipeline.OPTIONAL_PASSES`.
        """
        self.run(
            "lockstep-opt",
            self.source,
            f"--pass-pipeline={self.pipeline(program, left_out)}",
            "-o",
            self.device_ir,
        )
        self.run(
            "lockstep-translate",
            "--emit-artifact",
            self.device_ir,
            "-o",
            self.artifact,
        )
        return self.run_artifact()
