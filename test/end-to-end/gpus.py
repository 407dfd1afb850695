"""What tests of the device `cuda` share."""

import json

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
