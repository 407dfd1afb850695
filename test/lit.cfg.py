"""How lit runs the tests of the compiler and its tools.

A test is an `.mlir` file with `RUN:` lines. Tools are found by their names:
those of this build first, then LLVM's (`FileCheck`, `not`, `split-file`). What
a test reads besides itself lies in a folder `Inputs`.
"""

import os

import lit.formats

config.name = "lockstep"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

path = [
    config.lockstep_tools_dir,
    config.llvm_tools_dir,
    config.environment.get("PATH", ""),
]
config.environment["PATH"] = os.pathsep.join(path)
# A failing FileCheck shows what it looked for and what it found.
config.environment["FILECHECK_OPTS"] = (
    "--dump-input-filter=all --allow-unused-prefixes=false"
)
# Users' compilations verify the IR before it is written; tests, after each pass.
config.substitutions.append(
    (r"\blockstep-compile(?=\s)", "lockstep-compile --verify-each")
)
# `lit --param check_values=1`: every pass that a test runs is checked on random
# data.
if lit_config.params.get("check_values"):  # noqa: F821
    config.substitutions.append(
        (r"\blockstep-opt\b", "lockstep-opt --check-values")
    )
    config.available_features.add("check-values")
config.substitutions.append(("%python", config.python or "python3"))
config.substitutions.append(
    ("%examples", os.path.join(config.lockstep_source_dir, "examples"))
)
