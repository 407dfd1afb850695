"""Bad input of every kind: a clear message and a non-zero status."""

import re

import pytest

BRANCH = """
module {
  replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
    %id = replica.id : tensor<i32> loc("train.py":7:8)
    %zero = arith.constant 0 : i32
    %i = tensor.extract %id[] : tensor<i32> loc("train.py":7:8)
    %first = arith.cmpi eq, %i, %zero : i32 loc("train.py":8:6)
    %r = scf.if %first -> tensor<4xf32> {
      %s = replica.all_reduce sum %x : tensor<4xf32> loc("train.py":9:11)
      scf.yield %s : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    } loc("train.py":8:3)
    %m = replica.all_reduce mean %r : tensor<4xf32> loc("train.py":10:9)
    replica.return %m : tensor<4xf32>
  }
}
"""


@pytest.fixture(scope="module")
def artifact(tools, examples, tmp_path_factory):
    return tools.compile(examples("digits-mlp").source, tmp_path_factory.mktemp("artifact") / "a.lockstep", "--replicas=2")


def message(done):
    assert done.returncode != 0
    return done.stderr


def test_collective_under_a_varying_condition(tools, tmp_path):
    source = tmp_path / "branch.mlir"
    source.write_text(BRANCH)
    text = message(tools.run("lockstep-compile", source, "--replicas=2", "-o", tmp_path / "x", check=False))
    for line in ("train.py:9", "train.py:8", "train.py:7"):
        assert line in text
    assert "all_reduce" in text and "replica.id" in text


def test_unknown_operation(tools, tmp_path):
    source = tmp_path / "unknown.mlir"
    source.write_text('func.func @step(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {\n'
                      '  %0 = "stablehlo.fft"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("train.py":3:5)\n'
                      "  return %0 : tensor<4xf32>\n}\n")
    text = message(tools.run("lockstep-compile", source, "--replicas=1", "-o", tmp_path / "x", check=False))
    assert "stablehlo.fft" in text and "train.py:3" in text


def test_truncated_artifact(tools, examples, artifact, tmp_path):
    short = tmp_path / "short.lockstep"
    short.write_bytes(artifact.read_bytes()[:-100])
    text = message(tools.run("lockstep-run", short, *examples("digits-mlp").arguments(1, tmp_path / "m"), check=False))
    assert "truncated" in text


def test_flipped_bytes(tools, examples, artifact, tmp_path):
    data = bytearray(artifact.read_bytes())
    for position in range(0, len(data), len(data) // 7):
        flipped = bytearray(data)
        flipped[position] ^= 0x10
        path = tmp_path / "flipped.lockstep"
        path.write_bytes(flipped)
        message(tools.run("lockstep-run", path, *examples("digits-mlp").arguments(1, tmp_path / "m"), check=False))


def test_other_replica_count(tools, examples, artifact, tmp_path):
    arguments = examples("digits-mlp").arguments(1, tmp_path / "m")
    text = message(tools.run("lockstep-run", artifact, *arguments, "--replicas=3", check=False))
    assert re.search(r"\b2\b", text) and re.search(r"\b3\b", text)


def test_missing_data(tools, examples, artifact, tmp_path):
    mlp = examples("digits-mlp")
    arguments = ["--init", mlp.folder / "init.safetensors", "--data", tmp_path / "none.npz", "--steps=1"]
    assert "none.npz" in message(tools.run("lockstep-run", artifact, *arguments, check=False))


def test_truncated_data(tools, examples, artifact, tmp_path):
    mlp = examples("digits-mlp")
    short = tmp_path / "short.npz"
    short.write_bytes((mlp.folder / "train.npz").read_bytes()[:2000])
    arguments = ["--init", mlp.folder / "init.safetensors", "--data", short, "--steps=1"]
    assert "short.npz" in message(tools.run("lockstep-run", artifact, *arguments, check=False))


def test_missing_initial_values(tools, examples, artifact, tmp_path):
    mlp = examples("digits-mlp")
    text = message(tools.run("lockstep-run", artifact, "--data", mlp.folder / "train.npz", "--steps=1", check=False))
    assert "params/w1" in text


def test_unknown_target(tools, examples, tmp_path):
    source = examples("digits-mlp").source
    text = message(tools.run("lockstep-compile", source, "--replicas=2", "--target=x86-64-v9", "-o", tmp_path / "x", check=False))
    assert "x86-64-v9" in text and "x86-64-v3" in text


def test_missing_replica_count(tools, examples, tmp_path):
    text = message(tools.run("lockstep-compile", examples("digits-mlp").source, "-o", tmp_path / "x", check=False))
    assert "--replicas" in text


def test_a_paused_replica_is_reported(tools, examples, artifact, tmp_path):
    arguments = examples("digits-mlp").arguments(3, tmp_path / "m")
    done = tools.run("lockstep-run", artifact, *arguments, "--inject=pause:replica=1,channel=0", "--deadline=1", check=False)
    text = message(done)
    assert "all_reduce" in text and "model.py" in text and "replica 1" in text
