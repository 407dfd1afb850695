"""The runtime is independent: it includes no headers of the compiler and links
none of its libraries.

LOCKSTEP_RUNTIME_FILES names the library and the tools that a machine without
LLVM runs, separated by `:`.
"""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = os.environ["LOCKSTEP_RUNTIME_FILES"].split(":")
# The tools of the runtime have the same restrictions.
FOLDERS = ["runtime", "tools/lockstep-run"]
COMPILER = re.compile(
    r'#\s*include\s*[<"](dialect|passes|mlir|llvm|llvm-c|mlir-c|lld|clang)/'
)
LIBRARY = re.compile(r"lib(LLVM|MLIR|clang|lld|Polly|Remarks)", re.IGNORECASE)


def needed(path):
    """Names of all libraries that the loader would map for `path`, its own and
    theirs.
    """
    lines = subprocess.run(
        ["ldd", path], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    missing = [line for line in lines if "not found" in line]
    assert not missing, f"{path}: {missing}"
    return [line.split()[0] for line in lines]


@pytest.mark.parametrize("path", FILES, ids=os.path.basename)
def test_links_no_compiler(path):
    libraries = needed(path)
    assert any("libc.so" in library for library in libraries), libraries
    assert not [library for library in libraries if LIBRARY.search(library)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_includes_no_compiler(folder):
    sources = [
        p
        for p in (ROOT / folder).rglob("*")
        if p.suffix in {".h", ".cpp", ".c", ".fbs"}
    ]
    assert sources
    found = [
        f"{p.relative_to(ROOT)}: {line}"
        for p in sources
        for line in p.read_text().splitlines()
        if COMPILER.match(line)
    ]
    assert not found
