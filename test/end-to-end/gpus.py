"""What tests of the device `cuda` share."""

import json
import re
import shutil

import numpy as np
import safetensors.numpy

from conftest import capture

#: One for GPUs, one for the processor.
TARGETS = "--target=sm_90,x86-64-v3"


def standin(tools):
    """The folder of the libraries of the stand-in."""
    return tools.folder.parent / "lib" / "cuda-standin"


def without_library(tools, folder, name):
    """A folder for LD_LIBRARY_PATH in which there is a driver, and what has the
    name of a library is none."""
    folder.mkdir()
    (folder / "libcuda.so.1").symlink_to(standin(tools) / "libcuda.so.1")
    (folder / name).write_text("no library")
    return str(folder)


def count(file, function):
    """How often a function of the stand-in has been called, of which a file
    (LOCKSTEP_CUDA_CALLS) has the numbers of calls."""
    text = file.read_text() if file.exists() else ""
    counts = dict(reversed(line.split()) for line in text.splitlines())
    return int(counts.get(function, 0))


class OperationRun:
    """Compiles a model of operations that a library may compute, takes steps,
    and returns the variables with the number of calls of the library.

    The model's batch is `unused`, one number.

    Attributes:
      note: what the last run says that the library does not support.
      replaced: what is executed instead of an artifact.
    """

    def __init__(self, tools, gpu, folder, function):
        self.tools, self.gpu, self.folder = tools, gpu, folder
        self.function = function
        self.source, self.data = folder / "model", folder / "data.npz"
        self.note = ""
        self.replaced = lambda artifact: artifact
        np.savez(self.data, unused=np.zeros(1, "float32"))

    def capture(self, text):
        model = self.folder / "model.py"
        model.write_text(text)
        capture(model, self.source)

    def __call__(
        self, *options, device="cuda", steps=1, check=True, **variables
    ):
        """Without `check`, returns the messages of a run that ends with an
        error."""
        target = "sm_90" if device == "cuda" else "x86-64-v3"
        artifact = self.tools.compile(
            self.source / "step.mlir",
            self.folder / "operations.lockstep",
            "--replicas=1",
            f"--target={target}",
            *options,
        )
        calls, saved = self.folder / "calls", self.folder / "saved"
        calls.unlink(missing_ok=True)
        shutil.rmtree(saved, ignore_errors=True)
        done = self.gpu(
            self.replaced(artifact),
            f"--device={device}",
            f"--init={self.source / 'init.safetensors'}",
            f"--data={self.data}",
            f"--steps={steps}",
            f"--save={saved}",
            check=check,
            LOCKSTEP_CUDA_CALLS=str(calls),
            **variables,
        )
        if not check:
            assert done.returncode != 0
            return done.stderr
        note = re.search(r"\w+ does not support .*", done.stderr)
        self.note = note[0] if note else ""
        found = safetensors.numpy.load_file(
            saved / f"checkpoint-{steps}.safetensors"
        )
        return found, count(calls, self.function)


def check_variables(found, expected, forms, variables, tolerance):
    """Compares variables of each form, whose names end with its number; the
    tolerance is relative to the largest element."""
    for i, name in enumerate(forms):
        for variable in variables:
            values = expected[f"{variable}{i}"].astype("float64")
            np.testing.assert_allclose(
                found[f"{variable}{i}"].astype("float64"),
                values,
                rtol=tolerance,
                atol=tolerance * np.abs(values).max(),
                err_msg=f"{name}, {variable}",
            )


def failure(gpu, example, artifact, tmp_path, *options, **variables):
    """The messages of a run that ends with an error."""
    done = gpu(
        artifact,
        *example.arguments(20, tmp_path / "metrics.jsonl"),
        *options,
        check=False,
        **variables,
    )
    assert done.returncode != 0
    return done.stderr


def report(gpu, example, artifact, folder, *options, **variables):
    """The report of a run of two GPUs that exchange by NCCL and hang, and what
    the run has printed."""
    file = folder / "report.json"
    done = gpu(
        artifact,
        *example.arguments(20, folder / "metrics"),
        "--device=cuda",
        "--executors=2",
        "--transport=nccl",
        "--deadline=1",
        f"--report={file}",
        *options,
        check=False,
        LOCKSTEP_CUDA_DEVICES="2",
        **variables,
    )
    assert done.returncode == 3, done.stderr
    return json.loads(file.read_text()), done.stderr
