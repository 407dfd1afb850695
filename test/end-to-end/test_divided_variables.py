"""Variables that the compiler divides among the replicas are like whole ones:
results, checkpoints, programs that read them.
"""

import json
import re

import numpy as np
import pytest

from conftest import read_metrics, steps_of

REPLICAS = 4
ON = "--shard-update=on"
EXAMPLES = {"digits-mlp": 30, "digits-cnn": 15, "language-model": 3}
#: Variables whose gradients are exchanged in pieces of rows. The gradients of
#: the language model are clipped by their norm, which needs them whole.
PIECES = {
    "digits-mlp": "--split=params/w1:4",
    "digits-cnn": "--split=params/conv2/w:3,params/dense/w:8",
}


def inspected(tools, artifact):
    return json.loads(
        tools.run("lockstep-inspect", artifact, "--format=json").stdout
    )


# The optimizers are SGD with momentum and AdamW; momentum and moments are
# stored in parts, the parameters too, and gathered by steps and evaluations.
@pytest.mark.parametrize("executors", [1, 3])
@pytest.mark.parametrize(
    "name, options",
    [(name, [ON]) for name in EXAMPLES]
    + [(name, [ON, pieces]) for name, pieces in PIECES.items()],
)
def test_training_has_the_same_bits(
    tools, examples, compiled, tmp_path, name, options, executors
):
    def run(folder, *options):
        example, metrics = examples(name), tmp_path / f"{folder}.jsonl"
        tools.run(
            "lockstep-run", compiled(name, f"--replicas={REPLICAS}", *options), *example.arguments(EXAMPLES[name], metrics),
            "--eval-data", example.folder / "test.npz", "--save", tmp_path / folder,
            f"--executors={executors if options else 1}",
        )  # fmt: skip
        last = f"checkpoint-{EXAMPLES[name]}.safetensors"
        return read_metrics(metrics), (tmp_path / folder / last).read_bytes()

    assert run("whole") == run("divided", *options)


def test_each_replica_stores_a_part(tools, compiled):
    artifact = inspected(tools, compiled("digits-mlp", "--replicas=4", ON))
    variables = {
        variable["name"]: variable for variable in artifact["variables"]
    }
    for tree in ("params", "velocity"):
        weights = variables[f"{tree}/w1"]
        assert weights["space"] == "replica_variable"
        assert weights["type"] == "2048xf32"
        assert weights["whole_type"] == "64x128xf32"
        # Four replicas do not divide ten elements: there are two of padding.
        bias = variables[f"{tree}/b2"]
        assert bias["space"] == "replica_variable"
        assert bias["type"] == "3xf32"
        assert bias["whole_type"] == "10xf32"


# The gradient of a piece is a product of its own, and a gather has all pieces.
def test_each_piece_is_exchanged_by_itself(tools, compiled):
    artifact = inspected(
        tools,
        compiled(
            "digits-mlp", "--replicas=4", ON, PIECES["digits-mlp"], "--bucket=none",
        ),
    )  # fmt: skip
    pieces = {
        variable["name"]: variable["shard"]
        for variable in artifact["variables"]
        if variable["shard"]
    }
    assert pieces == {
        f"{tree}/w1.piece{i}": {"of": f"{tree}/w1", "first_row": 16 * i, "rows": 16}
        for tree in ("params", "velocity")
        for i in range(4)
    }  # fmt: skip
    (step,) = (
        program for program in artifact["programs"] if program["name"] == "step"
    )
    exchanged = [
        (collective["kind"], len(collective["operands"]), collective["bytes"])
        for collective in step["collectives"]
    ]
    assert exchanged.count(("all_gather", 4, 4 * 16 * 128)) == 1
    assert exchanged.count(("reduce_scatter", 1, 4 * 16 * 128)) == 4


# The gather of the pieces is at the line of the first use, which the remark
# names, not the view of the pieces.
def test_the_gather_of_pieces_is_explained(tools, examples, tmp_path):
    remarks = tools.run(
        "lockstep-compile", examples("digits-mlp").folder / "step.mlir", "--replicas=4", ON, PIECES["digits-mlp"], "--topology=ethernet-25g", "--bucket=none",
        "--remarks=schedule", "-o", tmp_path / "a.lockstep",
    ).stderr.splitlines()  # fmt: skip
    gathers = [
        line for line in remarks if "all_gather of 4 tensors (8.00 KiB)" in line
    ]
    for gather, program in zip(gathers, ("step", "evaluate"), strict=True):
        assert re.search(
            rf"model.py:37: .*; its first use is @{program}_1_logits_matmul \(model.py:37\)",
            gather,
        )


# A checkpoint has the whole variables, so that a run can continue with any
# number of executors, and with or without parts.
def test_checkpoints_are_interchangeable(tools, examples, compiled, tmp_path):
    mlp = examples("digits-mlp")

    def run(folder, steps, executors, *options):
        metrics = tmp_path / f"{folder}.jsonl"
        tools.run(
            "lockstep-run", compiled("digits-mlp", f"--replicas={REPLICAS}", *options), *mlp.arguments(steps, metrics),
            "--save", tmp_path / folder, "--resume", f"--executors={executors}",
        )  # fmt: skip
        last = tmp_path / folder / f"checkpoint-{steps}.safetensors"
        return steps_of(read_metrics(metrics)), last.read_bytes()

    straight = run("straight", 40, 1)
    pieces = PIECES["digits-mlp"]
    run("parts", 10, 2, ON)
    run("parts", 20, 1)
    run("parts", 25, 3, ON, pieces)
    run("parts", 30, 1, ON)
    assert run("parts", 40, 4, ON, pieces) == straight


MODULE = """
replica.variable @w : tensor<{shape}> {{initial = dense<1.0> : tensor<{shape}>}}
replica.variable @m : tensor<{shape}> {{initial = dense<0.5> : tensor<{shape}>}}
replica.variable @b : tensor<3xf32> {{initial = dense<2.0> : tensor<3xf32>}}
replica.step @step(%x: tensor<{shape}> {{replica.batch = "x"}}) {{
  %w = replica.read @w : tensor<{shape}>
  %m = replica.read @m : tensor<{shape}>
  %b = replica.read @b : tensor<3xf32>
  %g = arith.mulf %w, %x : tensor<{shape}>
  %s = replica.all_reduce mean %g : tensor<{shape}>
  %half = arith.constant dense<0.5> : tensor<{shape}>
  %old = arith.mulf %m, %half : tensor<{shape}>
  %new = arith.addf %old, %s : tensor<{shape}>
  %mask = arith.constant {mask} : tensor<{shape}>
  %masked = arith.mulf %new, %mask : tensor<{shape}>
  %next = arith.subf %w, %masked : tensor<{shape}>
  replica.assign @m, %new : tensor<{shape}>
  replica.assign @w, %next : tensor<{shape}>
  %id = replica.id : tensor<i32>
  %e = tensor.empty() : tensor<3xi32>
  %ids = linalg.broadcast ins(%id : tensor<i32>) outs(%e : tensor<3xi32>) dimensions = [0]
  %y = arith.sitofp %ids : tensor<3xi32> to tensor<3xf32>
  %t = replica.all_reduce sum %y : tensor<3xf32>
  %c = arith.addf %b, %t : tensor<3xf32>
  replica.assign @b, %c : tensor<3xf32>
  replica.return
}}
"""


# The mask is a constant of which each replica takes its part. `b` is divided
# among two and three replicas, for more it is too short.
@pytest.mark.daily(3)
@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("shape", [(8,), (2, 4), (4, 3, 2), (13,), (5, 7)])
def test_steps_by_hand(interpreted, replicas, shape):
    kind = "".join(f"{size}x" for size in shape) + "f32"
    count = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    mask = f"dense<{json.dumps((count % 3).tolist())}>"
    x = np.resize(count % 5 - 2, (3 * replicas, *shape)).reshape(
        3 * replicas * shape[0], *shape[1:]
    )
    interpreted(
        MODULE.format(shape=kind, mask=mask), replicas, {"x": x}, steps=3,
        options=[(ON,), (ON, "--topology=ethernet-25g"), (ON, "--bucket=none"), (ON, "--overlap=false")],
        levels=["-O2"],
    )  # fmt: skip


# Parts of pieces; where the replicas do not divide the elements of a piece, each
# piece ends with padding, and the pieces are concatenated by a kernel.
@pytest.mark.daily(3)
@pytest.mark.parametrize("replicas", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "shape, pieces", [((32,), 2), ((6, 16), 3), ((4, 8, 4), 4), ((64, 5), 2)]
)
def test_pieces_by_hand(interpreted, replicas, shape, pieces):
    kind = "".join(f"{size}x" for size in shape) + "f32"
    count = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    # Of a constant, each piece takes its rows if all elements are equal.
    mask = "dense<0.25>"
    x = np.resize(count % 5 - 2, (3 * replicas, *shape)).reshape(
        3 * replicas * shape[0], *shape[1:]
    )
    split = (ON, f"--split=w:{pieces}")
    interpreted(
        MODULE.format(shape=kind, mask=mask).replace("dense<1.0>", "dense<1.5>"), replicas, {"x": x}, steps=3,
        options=[split, (*split, "--topology=ethernet-25g"), (*split, "--bucket=none"), (*split, "--overlap=false")],
        levels=["-O2"],
    )  # fmt: skip


# Of a variable that is split by name, all pieces must be divided.
def test_pieces_that_cannot_be_divided(tools, examples, tmp_path):
    def refused(name, split):
        done = tools.run(
            "lockstep-compile", examples(name).folder / "step.mlir", "--replicas=4", ON, f"--split={split}", "-o", tmp_path / "a.lockstep",
            check=False,
        )  # fmt: skip
        assert done.returncode == 1
        return done.stderr.splitlines()

    # Its moments are split with it.
    found = refused("language-model", "params/layers/0/up:2")
    for name in "params", "m", "v":
        assert any(
            line.endswith(
                f"error: expected pieces of a variable that replicas can divide, found variable '{name}/layers/0/up.piece0' (64x512xf32): "
                "its new value is not computed from sums of the same rows alone"
            )
            for line in found
        )
    assert refused("digits-mlp", "params/w1:3")[0].endswith(
        "error: expected a variable that can be split into 3 pieces, found 'params/w1': it has 64 rows"
    )
    assert refused("digits-mlp", "w1:2")[0] == (
        "lockstep-compile: error: expected a variable that can be split into 2 pieces, found 'w1': it is unknown, or split already"
    )


# The gradients are clipped by their norm, and a step is left out if it is not
# finite. The norm is summed in another order. Three replicas have parts that end
# with padding.
@pytest.mark.daily(2)
@pytest.mark.parametrize("replicas", [3, 4])
def test_norms_are_summed_in_parts(tools, compiled, train, replicas):
    options = [f"--replicas={replicas}", ON, "--reassociate"]
    variables = inspected(tools, compiled("language-model", *options))[
        "variables"
    ]
    whole = {
        variable["name"]
        for variable in variables
        if variable["whole_type"] is None
    }
    assert whole == {"count"} and len(variables) > 70
    divided = train("language-model", 5, compile=options)
    plain = train("language-model", 5, compile=options[:1])
    for found, expected in zip(divided, plain, strict=True):
        assert found == pytest.approx(expected, rel=1e-5)


# The norm of all sums needs them whole; the compiler says so.
def test_sums_that_are_needed_whole(tools, tmp_path):
    source = tmp_path / "step.mlir"
    source.write_text("""
replica.variable @w : tensor<8xf32> {initial = dense<1.0> : tensor<8xf32>}
replica.variable @b : tensor<1xf32> {initial = dense<1.0> : tensor<1xf32>}
replica.step @step(%x: tensor<8xf32> {replica.batch = "x"}, %y: tensor<1xf32> {replica.batch = "y"}) {
  %w = replica.read @w : tensor<8xf32>
  %s = replica.all_reduce sum %x : tensor<8xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %norm = linalg.reduce ins(%s : tensor<8xf32>) outs(%zero : tensor<f32>) dimensions = [0]
      (%in: f32, %out: f32) {
        %square = arith.mulf %in, %in : f32
        %sum = arith.addf %out, %square : f32
        linalg.yield %sum : f32
      }
  %empty = tensor.empty() : tensor<8xf32>
  %clip = linalg.broadcast ins(%norm : tensor<f32>) outs(%empty : tensor<8xf32>) dimensions = [0]
  %clipped = arith.divf %s, %clip : tensor<8xf32>
  %next = arith.subf %w, %clipped : tensor<8xf32>
  replica.assign @w, %next : tensor<8xf32>
  %t = replica.all_reduce sum %y : tensor<1xf32>
  replica.assign @b, %t : tensor<1xf32>
  replica.return
}
""")
    done = tools.run(
        "lockstep-compile", source, "-o", tmp_path / "a.lockstep", "--replicas=2", ON, "--remarks=simplify",
    )  # fmt: skip
    remarks = [
        line.split(": ", 1)[1].replace(f"{tmp_path}/", "")
        for line in done.stderr.splitlines()
        if "not divided" in line
    ]
    assert remarks == [
        "missed [simplify]: variable 'w' (8xf32) is not divided among the replicas: the sum of its gradients is needed as a whole (step.mlir:8)",
        "missed [simplify]: variable 'b' (1xf32) is not divided among the replicas: it has fewer elements than there are replicas",
    ]
