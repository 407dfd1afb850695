"""Executes the examples in the documentation (rules: documentation.py)."""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from documentation import (
    KINDS,
    PAGES,
    ROOT,
    blocks,
    commands,
    pattern,
    programs_and_options,
)

#: Programs of others that pages name; they come with the packages of the
#: Makefile, or with a system.
OTHERS = {
    "cd",
    "cmake",
    "ctest",
    "lit",
    "make",
    "ninja",
    "pre-commit",
    "python -m pytest",
    "run-clang-tidy-22",
}
#: Tools whose options are in the text of pages, and options of other programs
#: there.
TOOLS = [
    "benchmark",
    "compile",
    "conformance",
    "inspect",
    "interpret",
    "opt",
    "run",
    "sign",
    "simulate",
    "translate",
    "verify",
    "verify-random",
]
OPTIONS_OF_OTHERS = {
    "--all-files",
    "--bind-to",
    "--component",
    "--param",
    "--oversubscribe",
    "--preset",
    "--svg",
    "--test-dir",
    "--text",
}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pytest.fixture
def folder(tools, examples, tmp_path):
    """A folder that looks like the repository's, with an example beside it;
    `make` in it builds nothing.
    """
    for path in ROOT.iterdir():
        if (
            path.name == "Makefile"
            or path.is_dir()
            and path.name != "build"
            and not path.name.startswith(".")
        ):
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "release").symlink_to(tools.folder.parent)
    (tmp_path / "build" / "venv").symlink_to(sys.prefix)
    example = examples("digits-mlp")
    for path in [example.model, *example.folder.iterdir()]:
        shutil.copy(path, tmp_path)
    make = tmp_path / "build" / "make"
    make.write_text(f'#!/bin/sh\nexec {shutil.which("make")} -o tools "$@"\n')
    make.chmod(0o755)
    return tmp_path


@pytest.fixture
def run(tools, folder):
    """Executes a line of a shell in that folder; returns (status, all that it
    printed).
    """
    path = [
        folder / "build",
        pathlib.Path(sys.executable).parent,
        tools.folder,
        os.environ["PATH"],
    ]
    environment = {
        "PATH": ":".join(map(str, path)),
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(ROOT / "python-bindings"),
    }
    return lambda command: tools.shell(command, folder, **environment)


@pytest.mark.own_device
@each_page
def test_commands(page, run, folder):
    digests = {}
    for block in blocks(page):
        if "file" in block.names:
            path = folder / block.names["file"]
            assert not path.is_symlink()
            path.write_text(block.text)
        for command, expected in (
            commands(block.text) if block.kind == "console" else ()
        ):
            status, printed = run(command)
            match = pattern(expected, digests).fullmatch(printed)
            assert match, (
                f"{page.name}:{block.line}: {command}\nexpected:\n{expected}\nfound:\n{printed}"
            )
            fails = re.search(
                r"error: |no replica of program .* has made progress", expected
            )
            assert (status != 0) == bool(fails), (
                f"{page.name}:{block.line}: {command}: status {status}"
            )
            digests |= {
                name[1:]: value for name, value in match.groupdict().items()
            }
    assert len(set(digests.values())) == len(digests)


@each_page
def test_kinds_of_blocks(page):
    for block in blocks(page):
        place = f"{page.name}:{block.line}"
        assert block.kind in KINDS, (
            f"{place}: expected one of {KINDS} behind the fence, found {block.kind!r}"
        )
        if block.kind == "text" and "from" not in block.names:
            assert not re.search(
                r"error: |^\$ |\blockstep-\w+ .*-", block.text, re.M
            ), f"{place}: what is printed has to be said by a test"


@each_page
def test_fragments_of_python(page):
    for block in blocks(page):
        if block.kind == "python" and not block.text.startswith(">>>"):
            ast.parse(block.text, f"{page.name}:{block.line}")


# Literals of several lines are joined and unescaped.
@each_page
def test_output_of_other_tests(page):
    for block in blocks(page):
        if "from" in block.names:
            text = (ROOT / block.names["from"]).read_text()
            text = re.sub(r'"\s*\n\s*"', "", text).replace('\\"', '"')
            for line in block.text.splitlines():
                assert line.strip() in text, (
                    f"{page.name}:{block.line}: not in {block.names['from']}: {line}"
                )


def help_of(run, environment, words):
    """The output of --help; None if it is not a program of this project."""
    program = words[0]
    if pathlib.Path(program).name == "python":
        program = (
            f"python {' '.join(words[1:3] if words[1] == '-m' else words[1:2])}"
        )
    if program in OTHERS or program.startswith("build/fuzz/"):
        return None
    status, printed = run(f"{' '.join(environment)} {program} --help")
    assert status == 0, f"{program} --help: {printed}"
    return printed


@each_page
def test_commands_that_are_not_executed(page, run):
    makefile = (ROOT / "Makefile").read_text()
    for block in blocks(page):
        for environment, words, options in (
            programs_and_options(block.text) if block.kind == "sh" else ()
        ):
            place = f"{page.name}:{block.line}: {' '.join(words)}"
            if words[0] == "make":
                assert all(
                    re.search(rf"^([\w-]+ )*{target}\b.*:", makefile, re.M)
                    for target in words[1:]
                ), place
            said = help_of(run, environment, words)
            for option in options if said is not None else ():
                assert re.search(
                    rf"(^|[\s,\[]){re.escape(option)}\b", said, re.M
                ), f"{place}: has no {option}"


@pytest.fixture(scope="module")
def options(tools):
    """All options that the tools have, and those of the capture."""
    texts = [tools.run(f"lockstep-{tool}", "--help").stdout for tool in TOOLS]
    texts.append(
        subprocess.run(
            [sys.executable, "-m", "lockstep.capture", "--help"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    return set(re.findall(r"--[\w-]+", "\n".join(texts)))


@each_page
def test_options_in_the_text(page, options):
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    named = {
        option
        for code in re.findall(r"`[^`\n]*`", text)
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", code)
    }
    assert named <= options | OPTIONS_OF_OTHERS
