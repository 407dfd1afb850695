"""Text that is nested deeper than a program needs: an error at its place in all
tools, not the end of the stack.
"""

import pytest


def source(kind, depth):
    step = """replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.scalar = "c"}) {
  %b = tensor.extract %c[] : tensor<i1>
"""
    if kind == "regions":
        return (
            step
            + "scf.if %b {\n" * depth
            + "replica.assign_add @v, %x : tensor<4xf32>\n"
            + "}\n" * depth
            + "replica.return\n}\n"
        )
    if kind == "aliases":
        chain = "".join(
            f"#loc{i + 1} = loc(callsite(#loc{i} at #loc0))\n"
            for i in range(depth)
        )
        return (
            '#loc0 = loc("a")\n'
            + chain
            + step
            + f"replica.return loc(#loc{depth})\n}}\n"
        )
    return (
        step
        + "replica.return loc("
        + 'callsite("a" at ' * depth
        + '"b"'
        + ")" * depth
        + ")\n}\n"
    )


VARIABLE = "replica.variable @v : tensor<4xf32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}\n"
TOOLS = {
    "lockstep-compile": ["--replicas=2", "-o", "out"],
    "lockstep-opt": ["--canonicalize", "-o", "out"],
    "lockstep-interpret": ["--replicas=2"],
    "lockstep-verify": ["--replicas=2"],
    "lockstep-translate": ["--emit-artifact", "-o", "out"],
}


@pytest.mark.parametrize("kind", ["regions", "locations", "aliases"])
@pytest.mark.parametrize("tool", TOOLS)
def test_too_deep(tools, tmp_path, tool, kind):
    path = tmp_path / "step.mlir"
    path.write_text(
        VARIABLE + source(kind, 10_000 if kind == "regions" else 200_000)
    )
    options = [
        tmp_path / "out" if option == "out" else option
        for option in TOOLS[tool]
    ]
    done = tools.run(tool, path, *options, check=False)
    assert done.returncode in (1, 2)
    # An alias is nested in the two brackets of its location.
    line = {"regions": 503, "locations": 4, "aliases": 252}[kind]
    assert done.stderr.startswith(f"{path}:{line}:")
    assert (
        "error: expected brackets that are nested at most 500 deep, found more\n"
        in done.stderr
    )


# The largest allowed depth, which includes the brackets of the step and of its
# last type.
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("kind", ["regions", "locations", "aliases"])
def test_as_deep_as_is_allowed(tools, tmp_path, kind, level):
    path = tmp_path / "step.mlir"
    path.write_text(VARIABLE + source(kind, 248 if kind == "aliases" else 498))
    tools.compile(path, tmp_path / "step.lockstep", "--replicas=2", level)
    tools.run("lockstep-inspect", tmp_path / "step.lockstep")
    tools.run("lockstep-verify", path, "--replicas=2")
    tools.run("lockstep-opt", path, "--canonicalize", "--mlir-print-debuginfo")
    if level == "-O0" and kind == "regions":
        tools.run(
            "lockstep-translate",
            "--import-artifact",
            tmp_path / "step.lockstep",
            "-o",
            tmp_path / "text.mlir",
        )
        tools.run(
            "lockstep-translate",
            "--emit-artifact",
            tmp_path / "text.mlir",
            "-o",
            tmp_path / "again.lockstep",
        )


# Characters that are no brackets: in arrows, comparisons, strings and comments.
def test_no_brackets(tools, tmp_path):
    path = tmp_path / "step.mlir"
    many = 600
    text = source("regions", 1).replace(
        "replica.assign_add", "// " + "{" * many + "\nreplica.assign_add"
    )
    sets = "".join(
        f"#s{i} = affine_set<(d0) : (d0 >= 0, -d0 + {i} >= 0)>\n#m{i} = affine_map<(d0) -> (d0)>\n"
        for i in range(many)
    )
    path.write_text(
        sets
        + VARIABLE.replace("{sync", '{note = "\\"' + "[" * many + '", sync')
        + text
    )
    tools.run("lockstep-opt", path, "-o", "/dev/null")
