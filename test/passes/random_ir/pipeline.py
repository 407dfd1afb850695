"""The compiler's pipeline as text, and edits that omit optional passes."""

import re

#: Optional passes, in pipeline order: the text of a pass in the pipeline of
#: -O2, as a regular expression, and its replacement at -O0. A pass that runs
#: several times is omitted everywhere.
OPTIONAL_PASSES = {
    "simplify-collectives": (
        r"func\.func\( simplify-collectives\{[^}]*\} \),",
        "",
    ),
    "fuse-operations": (r"func\.func\( fuse-operations\{[^}]*\} \),", ""),
    "form-kernels{fuse}": (r"(form-kernels\{[^}]*)fuse=true", r"\1fuse=false"),
    "bucket-collectives": (r"func\.func\( bucket-collectives\{[^}]*\} \),", ""),
    "schedule-collectives": (
        r"func\.func\( schedule-collectives\{[^}]*\} \),",
        "",
    ),
    "generate-code{level=O2}": (
        r"(generate-code\{[^}]*)level=O2",
        r"\1level=O0",
    ),
    "plan-memory{reuse}": (r"(plan-memory\{[^}]*)reuse=true", r"\1reuse=false"),
}


def parse(printed, replicas, target):
    """The pipeline that `--dump-pass-pipeline` has printed, as
    `--pass-pipeline` takes it, for so many replicas and one target.
    """
    start = printed.index("builtin.module(")
    depth = 0
    for end in range(start, len(printed)):
        depth += {"(": 1, ")": -1}.get(printed[end], 0)
        if depth == 0 and printed[end] == ")":
            break
    text = re.sub(r"\s+", " ", printed[start : end + 1])
    text = re.sub(
        r"set-replicas\{[^}]*\}", f"set-replicas{{replicas={replicas}}}", text
    )
    return re.sub(r"targets=[^} ]*", f"targets={target}", text)


def without(pipeline, names):
    """The pipeline without some of `OPTIONAL_PASSES`. ValueError: it does not
    have them.
    """
    for name in names:
        pattern, replacement = OPTIONAL_PASSES[name]
        pipeline, count = re.subn(pattern, replacement, pipeline)
        if not count:
            raise ValueError(
                f"expected the pass '{name}' in the pipeline, found {pipeline}"
            )
    return pipeline
