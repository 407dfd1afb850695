"""Changed artifacts are rejected, or end with an error or with results."""

import functools
import os
import pathlib
import re
import subprocess

import pytest

import targets
from modules_by_hand import MODULES, SERVERS
from test_server_forms import ALONE

#: Modules that together have every table of the schema but barriers, and the
#: options to compile them with.
COMPILED = {
    "merge-call-loop": (),
    "program-run": (),
    "program-steps": ("-O0",),
    "ragged-branch": (),
    "ragged-compute": ("-O0",),
    "uneven-batches": (),
    "servers/nested-break": SERVERS,
    "servers/ragged-rows": SERVERS,
    "servers/rows-of-two-tables": SERVERS,
}
#: The release tools, and those of a build with sanitizers, if there is one.
BUILDS = ["LOCKSTEP_BIN", "LOCKSTEP_SANITIZED_BIN"]


@pytest.fixture(scope="module")
def artifacts(tools, tmp_path_factory):
    """The artifacts for a device: `artifacts("cuda")`, compiled once."""

    @functools.cache
    def compile_all(device):
        folder = tmp_path_factory.mktemp(f"mutants-{device}")

        def compile_one(source, *options):
            tools.run(
                "lockstep-compile",
                source,
                "-o",
                folder / f"{source.stem}.lockstep",
                "--check-bounds",
                *options,
            )

        if device == "cuda":
            every = best = "sm_90"
        else:
            # A mutant may execute code for one target as that for another.
            best = targets.BEST
            every = ",".join(sorted({"x86-64-v3", best}))
        for name, more in COMPILED.items():
            source = MODULES / f"{name}.mlir"
            compile_one(source, "--replicas=2", f"--target={every}", *more)
        alone = folder / "alone.mlir"
        alone.write_text(ALONE)
        compile_one(
            alone,
            "--replicas=1",
            "--servers=2",
            "--partitioner=fixed 2",
            f"--target={best}",
        )
        # Without kernels, but with barriers.
        tools.run("lockstep-fuzz-corpus", folder)
        return sorted(
            path
            for path in folder.glob("*.lockstep")
            if not path.name.startswith("signed")
        )

    return compile_all


@pytest.mark.parametrize(
    "build, count", list(zip(BUILDS, (3000, 500), strict=True))
)
def test_mutants_are_refused_or_end(artifacts, build, count):
    try_mutants(artifacts(targets.DEVICE), build, count)


def test_mutants_on_a_gpu(artifacts, standin_variables):
    try_mutants(
        artifacts("cuda"),
        "LOCKSTEP_SANITIZED_BIN",
        200,
        LOCKSTEP_DEVICE="cuda",
        **standin_variables,
    )


def try_mutants(artifacts, build, count, **environment):
    if not os.environ.get(build):
        pytest.skip(f"{build} names no folder of tools")
    tool = pathlib.Path(os.environ[build]) / "lockstep-try-mutants"
    command = [tool, *artifacts, f"--count={count}", "--fields"]
    done = subprocess.run(
        command,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "0 of them damaged their process, hung, or did not end" in done.stdout
    )
    counts = {
        line.split()[0]: sum(map(int, line.split()[1:]))
        for line in re.findall(r"^\w+\.\w+ .*$", done.stdout, re.MULTILINE)
    }
    assert len(counts) > 100
    if count > 2 * len(counts) * len(BUILDS) * 5:
        assert not [field for field, changed in counts.items() if changed == 0]
    # Each is a number of mutants.
    refused, errors, endless, late, completed = map(
        int, re.findall(r"\d+", done.stdout.splitlines()[-2])[1:]
    )
    assert (
        refused + errors + endless + late + completed == count
        and refused
        and completed
        and not late
    )
