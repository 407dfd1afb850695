"""Folders use only those below them, as in the diagram of
docs/developing.md."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOPS = ("dialect", "passes", "runtime", "tools")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def uses():
    """For each folder with C++ sources, the other folders it includes from."""
    graph = collections.defaultdict(set)
    for path in (path for top in TOPS for path in (ROOT / top).rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        folder = path.parent.relative_to(ROOT).as_posix()
        for name in INCLUDE.findall(path.read_text()):
            used = ROOT / name
            if used.exists() and used.parent != path.parent:
                graph[folder].add(used.parent.relative_to(ROOT).as_posix())
    return graph


def reached(graph, start):
    """All folders that `start` uses, directly or through others."""
    found, pending = set(), [start]
    while pending:
        for folder in graph[pending.pop()] - found:
            found.add(folder)
            pending.append(folder)
    return found


def test_no_folders_use_each_other():
    graph = uses()
    assert len(graph) > 20
    circles = {
        folder for folder in list(graph) if folder in reached(graph, folder)
    }
    assert not circles


def test_compiler_and_tools_are_above_the_runtime():
    graph = uses()
    for folder in list(graph):
        if folder.startswith("runtime/"):
            above = {
                used
                for used in reached(graph, folder)
                if not used.startswith("runtime/")
            }
            assert not above, folder
