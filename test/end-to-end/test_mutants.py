"""Changed artifacts are rejected, or end with an error or with results."""

import os
import pathlib
import re
import subprocess

import pytest

import targets
from gpus import standin
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
#: For the executing device, and for the stand-in for a GPU.
TARGETS = f"--target={targets.BEST},sm_90"


@pytest.fixture(scope="module")
def artifacts(tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mutants")
    options = (
        "--replicas=2",
        "--check-bounds",
        TARGETS,
    )
    for name, more in COMPILED.items():
        tools.run(
            "lockstep-compile",
            MODULES / f"{name}.mlir",
            "-o",
            folder / f"{pathlib.Path(name).name}.lockstep",
            *options,
            *more,
        )
    (folder / "alone.mlir").write_text(ALONE)
    servers = (
        "--replicas=1",
        "--servers=2",
        "--partitioner=fixed 2",
        "--check-bounds",
    )
    tools.run(
        "lockstep-compile",
        folder / "alone.mlir",
        "-o",
        folder / "alone.lockstep",
        TARGETS,
        *servers,
    )
    # Without kernels, but with barriers.
    tools.run("lockstep-fuzz-corpus", folder)
    return sorted(
        path
        for path in folder.glob("*.lockstep")
        if not path.name.startswith("signed")
    )


@pytest.mark.parametrize(
    "build, count, device",
    [(BUILDS[0], 3000, ""), (BUILDS[1], 1000, ""), (BUILDS[1], 200, "cuda")],
)
def test_mutants_are_refused_or_end(tools, artifacts, build, count, device):
    if not os.environ.get(build):
        pytest.skip(f"{build} names no folder of tools")
    tool = pathlib.Path(os.environ[build]) / "lockstep-try-mutants"
    environment = dict(os.environ)
    if device:
        if not (tools.folder.parent / "lib" / "liblockstep_cuda.so").exists():
            pytest.skip("the device 'cuda' is not built")
        environment |= {
            "LOCKSTEP_DEVICE": device,
            "LD_LIBRARY_PATH": str(standin(tools)),
        }
    command = [tool, *artifacts, f"--count={count}", "--fields"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
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
