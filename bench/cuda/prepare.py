"""Collects what `bench/cuda/check.sh` needs on a machine with a GPU, where
nothing is installed or built.

    build/venv/bin/python bench/cuda/prepare.py -o build/cuda-check

The folder gets `lockstep-run` and `lockstep-benchmark` with their plugins and
libraries, and the models of the end-to-end tests and the examples, compiled for
GPUs and processors, with their initial values and data, and the models of
`large.py` without these: less than 64 MiB.
"""

import argparse
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
from safetensors.numpy import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python-bindings"), str(ROOT / "test" / "oracle")]

import oracle  # noqa: E402

REPLICAS = 2
#: The code for 9.0 is also that for later GPUs, and not for earlier ones.
TARGETS = "sm_90,x86-64-v3"
#: So that the folder is easily copied.
MOST_MIB = 64

oracle.set_devices(REPLICAS)  # before JAX is imported

import large  # noqa: E402

import zoo  # noqa: E402
from lockstep import capture, model  # noqa: E402

#: The arguments of the examples' data.py, and how they are trained.
EXAMPLES = {
    "digits-mlp": ([], ["--epochs=30"]),
    "digits-cnn": ([], ["--epochs=15"]),
    "language-model": (["--text", ROOT / "LICENSE"], ["--steps=60"]),
}


def copy_programs(binaries, out):
    """Copies the runtime with its plugins, and the libraries that a bare machine
    may lack."""
    (out / "bin").mkdir()
    (out / "lib").mkdir()
    programs = [
        binaries / name for name in ("lockstep-run", "lockstep-benchmark")
    ]
    for program in programs:
        shutil.copy(program, out / "bin")
    for plugin in "cuda", "nccl":
        path = binaries.parent / "lib" / f"liblockstep_{plugin}.so"
        if not path.exists():
            sys.exit(f"prepare.py: expected a build with {path.name}")
        shutil.copy(path, out / "lib")
    listed = subprocess.run(
        ["ldd", *programs],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for path in re.findall(r"=> (/\S+)", listed):
        # The C library is that of the machine.
        if re.search(r"/lib(zip|fmt|crypto|bz2|lzma|zstd)\.", path):
            shutil.copy(path, out / "lib")


def last_gpu(options):
    """The last one of the targets that is a GPU, or nothing."""
    targets = options.target.split(",")
    gpus = [target for target in targets if target.startswith("sm_")]
    return gpus[-1] if gpus else None


def compile_step(binaries, text, artifact, *options):
    artifact.parent.mkdir(parents=True, exist_ok=True)
    source = artifact.parent / "step.mlir"
    source.write_text(text)
    subprocess.run(
        [binaries / "lockstep-compile", source, *options, "-o", artifact],
        check=True,
    )
    source.unlink()


def add_model(options, name, loaded, folder, variants=("generated",)):
    """Compiles a model; its data are the caller's."""
    text, state = capture.capture(loaded, REPLICAS, zoo.SEED)
    for which in variants:
        # Code for other targets differs little, and takes much of the space.
        targets = options.target if which == "generated" else last_gpu(options)
        compile_step(
            options.binaries,
            text,
            folder / f"{which}.lockstep",
            f"--replicas={REPLICAS}",
            f"--target={targets}",
            *large.COMPUTED_BY[which],
        )
    save_file(state, folder / "init.safetensors")
    print(name, flush=True)


def add_example(options, name):
    folder = options.output / "examples" / name
    source = ROOT / "examples" / name
    add_model(options, name, model.load(source / "model.py"), folder)
    subprocess.run(
        [sys.executable, source / "data.py", "-o", folder, *EXAMPLES[name][0]],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def add_large(options, name):
    text, _ = capture.capture(large.load(name), 1, zoo.SEED, shapes_only=True)
    for precision, which in itertools.product(
        large.precisions(name), large.COMPUTED_BY
    ):
        compile_step(
            options.binaries,
            text,
            options.output / "large" / name / f"{precision}-{which}.lockstep",
            "--replicas=1",
            f"--target={last_gpu(options)}",
            *large.COMPUTED_BY[which],
            *large.PRECISIONS[precision][0],
        )
    print(name, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument(
        "--binaries",
        type=pathlib.Path,
        default=ROOT / "build" / "release" / "bin",
        help="the folder of the built tools (default: build/release/bin)",
    )
    parser.add_argument(
        "--models",
        nargs="+",
        choices=zoo.names(),
        default=zoo.names(),
        metavar="NAME",
        help="models of test/end-to-end/models (default: all)",
    )
    for group, names in ("examples", EXAMPLES), ("large", large.LARGE):
        parser.add_argument(
            f"--{group}",
            nargs="*",
            choices=list(names),
            default=list(names),
            metavar="NAME",
            help=f"those of them to pack (default: {', '.join(names)})",
        )
    parser.add_argument(
        "--target",
        default=TARGETS,
        help=f"what the models are compiled for (default: {TARGETS})",
    )
    options = parser.parse_args()
    if not last_gpu(options):
        parser.error(f"expected a GPU in --target, found '{options.target}'")
    shutil.rmtree(options.output, ignore_errors=True)
    options.output.mkdir(parents=True)
    copy_programs(options.binaries, options.output)
    seeds = {}
    for name in options.models:
        entry = zoo.load(name)
        folder = options.output / "models" / name
        add_model(options, name, entry.model, folder, large.COMPUTED_BY)
        np.savez(folder / "train.npz", **entry.data)
        seeds[name] = zoo.SEED
    (options.output / "models.json").write_text(json.dumps(seeds))
    for name in options.examples:
        add_example(options, name)
    (options.output / "examples.json").write_text(
        json.dumps({name: EXAMPLES[name][1] for name in options.examples})
    )
    for name in options.large:
        add_large(options, name)
    size = sum(
        path.stat().st_size
        for path in options.output.rglob("*")
        if path.is_file()
    )
    print(f"{size / 2**20:.1f} MiB in {options.output}")
    if size > MOST_MIB * 2**20:
        sys.exit(f"prepare.py: expected at most {MOST_MIB} MiB")


if __name__ == "__main__":
    main()
