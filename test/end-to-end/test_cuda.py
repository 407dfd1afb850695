"""The device `cuda`, on a stand-in for the driver that executes PTX on this
machine (`test/support/cuda`).
"""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT
from gpus import TARGETS, failure
from test_random_functions import SEED


# The devices' reductions have other orders within a replica, and the same ones
# between replicas.
@pytest.mark.daily(2)
@pytest.mark.parametrize("replicas", [1, 4])
@pytest.mark.parametrize("name", ["digits-mlp", "digits-cnn"])
def test_losses_are_those_of_cpu(
    tools, gpu, losses, examples, compiled, name, replicas
):
    artifact = compiled(name, f"--replicas={replicas}", TARGETS)
    example = examples(name)

    def on_cpu(*arguments):
        return tools.run("lockstep-run", *arguments)

    expected = losses(on_cpu, artifact, example, 20, "--device=cpu")
    found = losses(gpu, artifact, example, 20, "--device=cuda")
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    again = losses(
        gpu, artifact, example, 20, "--device=cuda", LOCKSTEP_CUDA_SEED="7"
    )
    assert again == found, "another order of streams and blocks"


# A GPU for each executor, GPUs that executors share, and chosen ones. The
# stand-in refuses memory of another GPU.
@pytest.mark.parametrize(
    "gpus,device,executors",
    [(1, "cuda", 3), (2, "cuda", 3), (4, "cuda", 4), (4, "cuda:3,1", 2)],
)
def test_executors(gpu, losses, examples, compiled, gpus, device, executors):
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    example = examples("digits-mlp")
    one = losses(gpu, artifact, example, 6, "--device=cuda")
    several = losses(
        gpu,
        artifact,
        example,
        6,
        f"--device={device}",
        f"--executors={executors}",
        LOCKSTEP_CUDA_DEVICES=str(gpus),
    )
    assert one == several


@pytest.mark.parametrize(
    "capability,target",
    [("8.6", "sm_80"), ("9.0", "sm_90"), ("12.0", "sm_100")],
)
def test_steps_are_compiled_for_the_gpu(
    tools, gpu, losses, examples, compiled, tmp_path, capability, target
):
    example, cache = examples("digits-mlp"), tmp_path / "cache"
    options = {
        "LOCKSTEP_CACHE": str(cache),
        "LOCKSTEP_CUDA_CAPABILITY": capability,
    }
    run = [example, 2, "--device=cuda", "--replicas=2"]
    found = losses(gpu, example.folder / "step.mlir", *run, **options)
    [artifact] = cache.iterdir()
    printed = tools.run("lockstep-inspect", artifact, "--format=json").stdout
    binaries = json.loads(printed)["binaries"]
    assert [binary["target"] for binary in binaries] == [target]
    assert found == losses(gpu, artifact, *run, **options)


# Nothing is compiled for a device that cannot be used.
def test_steps_are_not_compiled_without_a_gpu(
    tools, examples, standin_variables, tmp_path
):
    example, cache = examples("digits-mlp"), tmp_path / "cache"
    step = example.folder / "step.mlir"
    status, printed = tools.shell(
        f"lockstep-run {step} --replicas=2 --steps=1 --device=cuda:77",
        tmp_path,
        **standin_variables,
    )
    assert (status, printed) == (
        1,
        f"lockstep-run: error: '{step}': device 'cuda:77': expected the "
        "ordinal of a GPU below 1, found 77",
    )
    assert not cache.exists()


# Processes share the code that the stand-in makes of kernels.
def test_code_is_cached(gpu, examples, compiled, tmp_path):
    artifact = compiled("digits-mlp", "--replicas=1", TARGETS)
    cache, metrics = tmp_path / "cache", tmp_path / "metrics.jsonl"
    run = [artifact, *examples("digits-mlp").arguments(2, metrics)]
    found = []
    for _ in range(2):
        gpu(*run, "--device=cuda", LOCKSTEP_CUDA_CACHE=str(cache))
        times = {file.name: file.stat().st_mtime_ns for file in cache.iterdir()}
        found.append((times, metrics.read_text()))
    assert found[0] == found[1] and len(found[0][0]) > 10
    # A damaged file is removed, and made again by the next process. The only
    # replica needs each kernel once before it fails.
    damaged = min(cache.iterdir())
    damaged.write_text("no object")
    done = gpu(
        *run, "--device=cuda", check=False, LOCKSTEP_CUDA_CACHE=str(cache)
    )
    assert done.returncode != 0 and not damaged.exists(), done.stderr
    gpu(*run, "--device=cuda", LOCKSTEP_CUDA_CACHE=str(cache))
    assert damaged.exists() and metrics.read_text() == found[0][1]


# What is to be run on a GPU, on the stand-in: one model has several losses.
def test_check(tools, gpu, tmp_path):
    prepared = tmp_path / "check"
    # The stand-in has only the driver's library.
    lister = tmp_path / "nvidia-smi"
    lister.write_text("#!/bin/sh\nprintf 'GPU 0: one\\nGPU 1: two\\n'\n")
    lister.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "TMPDIR": str(tmp_path),
        "LD_LIBRARY_PATH": str(tools.folder.parent / "lib" / "cuda-standin"),
        "LOCKSTEP_CUDA_DEVICES": "2",
    }
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "bench" / "cuda" / "prepare.py",
            f"--binaries={tools.folder}",
            "--models",
            "optimizers",
            "vae",
            "translator",
            "--examples",
            "digits-mlp",
            "--large",
            "-o",
            prepared,
        ],
        env=environment | {"JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (prepared / "examples.json").write_text('{"digits-mlp": ["--steps=30"]}')
    done = subprocess.run(
        [ROOT / "bench" / "cuda" / "check.sh", prepared, "300"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    text = (prepared / "report.txt").read_text()
    for variant in "generated", "libraries":
        assert re.search(
            rf"^optimizers +\S+e-\d\d .*\d  {variant}$", text, re.M
        ), text
    assert "digits-mlp, steps=30: accuracy 0." in text
    assert "two executors, nccl, 2 GPUs: the metrics of one" in text
    assert "two executors, nccl:reduce, 2 GPUs: the metrics of one" in text
    assert text.endswith("wrong: nothing\n")


#: Smaller models in the place of the large ones.
SMALL = """
import sys
sys.path.insert(0, {folder!r})
import large
large.LARGE = {{
    "mlp": ("bench/jax/mlp.py", {{"LAYERS": "4096-8-4096", "BATCH": "16"}}),
    "mlp-bf16": (
        "bench/jax/mlp.py",
        {{"LAYERS": "64-4096", "BATCH": "16", "FACTORS": "bfloat16"}},
    ),
}}
import {module}
sys.argv[0] = {module!r}
{module}.main()
"""


#: Prints tables like those of Nsight Compute.
PROFILER = """#!/bin/sh
for argument; do
  case $argument in */lockstep-run) started=1 ;; esac
  [ -n "$started" ] && set -- "$@" "$argument"
  shift
done
"$@" > /dev/null 2>&1 || exit 1
echo '==PROF== Connected to process'
echo '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
for launch in '0 update 20,000' '1 product 10,000' '2 update 20,000'; do
  set -- $launch
  for metric in "gpu__time_duration.sum ns $3" 'dram__bytes.sum byte 4,000,000' \
      'smsp__inst_executed.sum inst 1,000,000' 'launch__grid_size - 64' \
      'launch__block_size - 256' 'launch__registers_per_thread - 32'; do
    set -- $1 $2 $3 $metric
    echo "\\"$1\\",\\"$2(void *)\\",\\"$4\\",\\"$5\\",\\"$6\\""
  done
done
"""


def test_comparison_with_jax(tools, gpu, tmp_path):
    packed = tmp_path / "packed"

    def run(module, *arguments):
        program = SMALL.format(
            folder=str(ROOT / "bench" / "cuda"), module=module
        )
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)],
            env=os.environ | {
                "JAX_PLATFORMS": "cpu",
                "LD_LIBRARY_PATH": str(tools.folder.parent / "lib" / "cuda-standin"),
                "PATH": f"{tmp_path}:{os.environ['PATH']}",
                "TMPDIR": str(tmp_path),
            },
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    binaries = f"--binaries={tools.folder}"
    few = ["--models", "recommender", "--examples"]
    run("prepare", binaries, *few, "--target=sm_90", "-o", packed)
    lines = run("compare", packed).splitlines()[2:]
    found = [
        re.fullmatch(
            r"(\S+) +(\S+) +(\S+) +[\d.]+ +[\d.]+ +[\d.]+   losses (\S+), (\S+)",
            line,
        ).groups()
        for line in lines
    ]
    assert [line[:3] for line in found] == [
        (*model, variant)
        for model in (("mlp", "f32"), ("mlp", "tf32"), ("mlp-bf16", "f32"))
        for variant in ("generated", "libraries")
    ]
    for *_, ours, theirs in found:
        assert float(ours) == pytest.approx(float(theirs), rel=1e-3)

    # A profiler that measures the same of two launches of a kernel, and executes
    # the step.
    profiler = tmp_path / "ncu"
    profiler.write_text(PROFILER)
    profiler.chmod(0o755)
    lines = run("profile_kernels", packed, "mlp").splitlines()
    assert lines[0] == "3 launches, 0.05 ms"
    assert [line.split() for line in lines[2:]] == [
        ["2", "40.0", "80.0", "200", "2.0", "32", "64", "256", "update"],
        ["1", "10.0", "20.0", "400", "1.0", "32", "64", "256", "product"],
    ]


def test_random_functions(gpu, tools, tmp_path):
    """Random JAX functions on the stand-in; docs/testing.md says how to try
    more of them."""
    done = subprocess.run(
        [sys.executable, ROOT / "test" / "end-to-end" / "differential", "--count=8", f"--seed={SEED}", "--jobs=2"],
        env=os.environ | {
            "LD_LIBRARY_PATH": str(tools.folder.parent / "lib" / "cuda-standin"),
            "LOCKSTEP_DEVICE": "cuda",
            "TMPDIR": str(tmp_path),
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_errors(gpu, examples, compiled, tmp_path):
    example = examples("digits-mlp")
    artifact = compiled("digits-mlp", "--replicas=2", TARGETS)

    def message(*options, used=artifact, **variables):
        return failure(gpu, example, used, tmp_path, *options, **variables)

    assert (
        "no kernels for GPUs: expected some for device 'cuda', the artifact has those for 'cpu' ('x86-64-v3')"
        in message(
            "--device=cuda",
            used=compiled("digits-mlp", "--replicas=2", "--target=x86-64-v3"),
        )
    )
    assert (
        "no kernels for processors: expected some for device 'cpu', the artifact has those for 'cuda' ('sm_90')"
        in message(
            "--device=cpu",
            used=compiled("digits-mlp", "--replicas=2", "--target=sm_90"),
        )
    )
    assert (
        "no kernels for this GPU: expected a target for compute capability 8.6, the artifact has 'sm_90'"
        in message("--device=cuda", LOCKSTEP_CUDA_CAPABILITY="8.6")
    )
    assert (
        "device 'cuda:1': expected the ordinal of a GPU below 1, found 1"
        in message("--device=cuda:1")
    )
    assert (
        "device 'cuda:0,x': expected ordinals of GPUs, separated by commas, found '0,x'"
        in message("--device=cuda:0,x")
    )
    assert "4096 of 4096 bytes are free" in message(
        "--device=cuda", LOCKSTEP_CUDA_MEMORY="4096"
    )
    assert (
        "failed on GPU 0 'Lockstep CUDA stand-in': CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
        in message("--device=cuda", LOCKSTEP_CUDA_FAIL="launch:12")
    )
    # In the first step, and in one that has been recorded.
    for command in 40, 1000:
        text = message("--device=cuda", LOCKSTEP_CUDA_FAIL=f"lost:{command}")
        assert "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)" in text
    # How far the queue that finds the loss first has come is a matter of
    # chance, and so is what it would launch next.
    assert re.search(
        r"at least \d+ of \d+ commands have been executed"
        r"(, next is (kernel 'step_\w+'|a reduction or a search))?\n",
        text,
    )
