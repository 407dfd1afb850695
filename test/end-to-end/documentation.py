"""The pages of the documentation, README.md and docs/*.md, as tests read them.

What stands between two fences is a block. The words behind the first fence say
how it is kept true:

- `console`: commands behind `$ `, each with all that it prints. A test executes
  them in order, in one folder for each page. `...` in the output matches
  any text, and 64 hexadecimal digits match one digest, which is the same
  wherever the page has the same digits.
- `LANGUAGE file=NAME`: a file of that name, which is written before the
  commands behind it are executed.
- `sh`: commands that no test executes because they build, take hours, or name
  what a user has. Their programs exist, and know the options.
- `text from=PATH`: what the code under test prints in that test of this
  repository, which expects the same lines.
- `text`: a drawing.
- `python` that is neither: examples of `>>>`, which are executed
  (test_numerics.py), or a fragment, which has to be Python.
- `mlir`, `cpp` that are no file: a fragment.
"""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
KINDS = [
    "console",
    "sh",
    "text",
    "python",
    "mlir",
    "cpp",
    "c",
    "cmake",
    "json",
]
DIGEST = re.compile(r"\b[0-9a-f]{64}\b")


@dataclasses.dataclass
class Block:
    line: int
    kind: str
    #: `file` and `from`, where they are given.
    names: dict
    text: str


def blocks(page):
    """The blocks of a page, in order."""
    content = page.read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"^```(.*)\n((?:.*\n)*?)```$", content, re.M):
        kind, *names = match[1].split() or [""]
        line = content.count("\n", 0, match.start()) + 1
        found.append(
            Block(
                line, kind, dict(name.split("=", 1) for name in names), match[2]
            )
        )
    return found


def commands(text):
    """[(command, output)] of a block `console`; a line that ends with a
    backslash is continued.
    """
    found = []
    for line in text.splitlines():
        if found and found[-1][0].endswith("\\"):
            command, printed = found[-1]
            found[-1] = (f"{command}\n{line}", printed)
        elif line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in found]


def pattern(text, digests):
    """The pattern of a text of a page: `...` matches anything, and a digest the
    value that it has matched before.
    """

    def part(piece):
        if piece == "...":
            return ".*"
        if not DIGEST.fullmatch(piece):
            return re.escape(piece)
        return (
            digests[piece]
            if piece in digests
            else f"(?P<k{piece}>[0-9a-f]{{64}})"
        )

    return re.compile(
        "".join(map(part, re.split(r"(\.\.\.|\b[0-9a-f]{64}\b)", text))), re.S
    )


def programs_and_options(text):
    """[(environment, words, options)] of the commands of a block `sh`; brackets
    of optional parts are ignored.
    """
    joined = re.sub(r"\\\n", " ", text)
    found = []
    for line in re.split(r"\n|&&|\|(?= )|;", joined):
        words = (
            re.sub(r"(^|\s)#.*", "", line)
            .replace("[", " ")
            .replace("]", " ")
            .split()
        )
        environment = []
        while words and re.fullmatch(r"\w+=.*", words[0]):
            environment.append(words.pop(0))
        if words and words[0] != "export":
            options = [
                word.split("=")[0] if word.startswith("--") else word[:2]
                for word in words[1:]
                if re.match(r"--?[a-zA-Z]", word) and word != "-m"
            ]
            found.append(
                (
                    environment,
                    [
                        word
                        for word in words
                        if not word.startswith("-") or word == "-m"
                    ],
                    options,
                )
            )
    return found
