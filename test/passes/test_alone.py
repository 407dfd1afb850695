"""Each pass separately, on modules that no earlier pass has prepared: an error
at an operation is allowed, a crash is not.
"""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPT = os.environ["LOCKSTEP_OPT"]
DECLARATION = re.compile(r'def \w+Pass : Pass<"([a-z-]+)", "::mlir::([\w:]+)">')
ANCHORS = {
    "ModuleOp": "{}",
    "func::FuncOp": "func.func({})",
    "LLVM::LLVMFuncOp": "llvm.func({})",
}
PASSES = sorted(
    found
    for file in ROOT.glob("passes/*/Passes.td")
    for found in DECLARATION.findall(file.read_text())
)
#: Programs, steps with several blocks, and functions in collective form.
MODULES = [
    "end-to-end/Inputs/program-run.mlir",
    "dialect/Replica/programs.mlir",
    "dialect/Collective/ops.mlir",
    "passes/Verify/blocks.mlir",
    "passes/Verify/groups.mlir",
]


@pytest.mark.parametrize("name, anchor", PASSES)
def test_a_pass_alone_does_not_crash(name, anchor):
    assert len(PASSES) > 30
    for module in MODULES:
        for before in ["", "set-replicas{replicas=8},"]:
            pipeline = f"builtin.module({before}{ANCHORS[anchor].format(name)})"
            command = [
                OPT,
                ROOT / "test" / module,
                "--split-input-file",
                "--allow-unregistered-dialect",
                f"--pass-pipeline={pipeline}",
                "-o",
                os.devnull,
            ]
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert done.returncode in (0, 1), (
                f"{module}: {pipeline}\n{done.stderr[-4000:]}"
            )
            assert done.returncode == 0 or "error:" in done.stderr, (
                f"{module}: {pipeline}\n{done.stderr}"
            )
