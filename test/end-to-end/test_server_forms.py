"""Many forms of steps and programs whose variables are on servers: executed,
they have the interpreter's results, and asynchronous workers those of
arithmetic.

The modules are in `Inputs/servers`. Numbers are small integers, so that sums
are exact in every order, and means of two.
"""

import re

import numpy as np
import pytest

from conftest import read_metrics, read_variables
from modules_by_hand import MODULES, results

FORMS = sorted(path.stem for path in (MODULES / "servers").glob("*.mlir"))
TYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i32": np.int32,
    "i64": np.int64,
}

TENSOR = r"tensor<(?P<shape>(?:[0-9?]+x)*)(?P<element>\w+)>"
BOUND = r"(?:, replica\.bounds = array<i64: (?P<bound>\d+)>)?"
BATCH = re.compile(
    rf"%\w+: (?:!replica\.per_replica<)?{TENSOR}>? {{replica\.batch = \"(?P<name>\w+)\"{BOUND}}}"
)
BATCHES = re.compile(
    rf"!replica\.iterator<{TENSOR}> {{replica\.batches = \[\"(?P<name>\w+)\"\]}}"
)
SCALAR = re.compile(
    r"%\w+: tensor<(?P<element>\w+)> {replica\.scalar = \"(?P<name>\w+)\""
)


def draw(random, element, shape):
    if element == "i1":
        return random.integers(0, 2, shape).astype(np.bool_)
    # Row numbers, some of which are out of range, and counts.
    low, high = (-2, 9) if element.startswith("i") else (-3, 4)
    return random.integers(low, high, shape).astype(TYPES[element])


def inputs_of(text, replicas, random):
    """Arrays for all replicas, and the values of host scalars."""
    arrays = {}
    for declared in [*BATCH.finditer(text), *BATCHES.finditer(text)]:
        sizes = [size for size in declared["shape"].split("x") if size]
        batches = [] if declared.re is BATCH else [3]
        for replica in range(replicas):
            # The bound is that of the one size that varies.
            shape = [
                int(size)
                if size != "?"
                else int(random.integers(0, int(declared["bound"]) + 1))
                for size in sizes
            ]
            arrays[f"{declared['name']}@{replica}"] = draw(
                random, declared["element"], batches + shape
            )
    scalars = []
    for declared in SCALAR.finditer(text):
        value = int(random.integers(0, 4))
        scalars += [
            "--set",
            f"{declared['name']}={('false', 'true')[value % 2] if declared['element'] == 'i1' else value}",
        ]
    return arrays, scalars


def test_declarations_are_read():
    text = '%x: tensor<?x2xf32> {replica.batch = "x", replica.bounds = array<i64: 3>}, %k: tensor<i1> {replica.scalar = "k"}'
    text += '%it: !replica.iterator<tensor<4xf32>> {replica.batches = ["y"]}, %z: !replica.per_replica<tensor<i64>> {replica.batch = "z"}'
    arrays, scalars = inputs_of(text, 2, np.random.default_rng(0))
    assert sorted(arrays) == ["x@0", "x@1", "y@0", "y@1", "z@0", "z@1"]
    assert arrays["x@1"].shape[0] <= 3 and arrays["x@1"].shape[1:] == (2,)
    assert arrays["y@0"].shape == (3, 4) and arrays["z@0"].shape == ()
    assert scalars[0] == "--set" and scalars[1] in ("k=false", "k=true")


@pytest.mark.daily(3)
@pytest.mark.parametrize(
    "replicas, servers, partitioner",
    [
        (1, 2, "fixed 2"),
        (2, 1, "fixed 3"),
        (2, 2, "min_size bytes 8 shards 2"),
        (3, 2, "max_size bytes 16"),
    ],
)
@pytest.mark.parametrize("name", FORMS)
def test_servers_give_what_the_interpreter_says(
    tools, tmp_path, name, replicas, servers, partitioner
):
    source = MODULES / "servers" / f"{name}.mlir"
    strategy = ["--strategy=parameter_server_sync", f"--servers={servers}"]
    artifacts = {}
    for level in ("-O0", "-O2"):
        artifacts[level] = tools.compile(
            source,
            tmp_path / f"form{level}.lockstep",
            f"--replicas={replicas}",
            *strategy,
            f"--partitioner={partitioner}",
            level,
        )
    # Powers and thirds are rounded.
    tolerance = 1e-5 if name == "adam" or replicas == 3 else 0
    random = np.random.default_rng(replicas)
    file = tmp_path / "inputs.npz"
    for draws in range(3):
        arrays, scalars = inputs_of(source.read_text(), replicas, random)
        np.savez(file, **arrays)
        given = ["--inputs", file, *scalars]
        expected = results(
            tools.run(
                "lockstep-interpret",
                source,
                f"--replicas={replicas}",
                *strategy,
                *given,
            ).stdout
        )
        for level, artifact in artifacts.items():
            # Threads that share replicas, and executors that communicate only
            # by messages.
            for options in (
                [["--threads=2"], ["--check-races"]]
                if draws == 0
                else [["--executors=2"] if replicas > 1 else []]
            ):
                found = results(
                    tools.run(
                        "lockstep-run",
                        artifact,
                        *given,
                        *options,
                        "--deadline=20",
                    ).stdout
                )
                assert found.keys() == expected.keys(), (level, options)
                for key, (shape, values) in expected.items():
                    assert found[key][0] == shape, (level, options, key)
                    np.testing.assert_allclose(
                        found[key][1],
                        values,
                        rtol=tolerance,
                        atol=tolerance,
                        err_msg=f"{level} {options} {key}",
                    )


# All effects of a step commute: `@table` and `@sums` sum the updates of all
# steps; a momentum of equal gradients and its variable count steps, since their
# shards are split equally and each server updates its own together.
ALONE = """
replica.strategy @strategy {kind = #replica.kind<parameter_server>}
replica.variable @table : tensor<7x2xf32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<7x2xf32>}
replica.variable @sums : tensor<5xf32> {aggregation = #replica.aggregation<mean>, initial = dense<0.0> : tensor<5xf32>}
replica.variable @weights : tensor<6xf32> {initial = dense<0.0> : tensor<6xf32>}
replica.variable @momentum : tensor<6xf32> {initial = dense<0.0> : tensor<6xf32>}
replica.variable @seen : tensor<i64> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>,
    initial = dense<0> : tensor<i64>}
replica.step @step(%batch_ids: tensor<1x3xi64> {replica.batch = "ids"}, %batch_rows: tensor<1x3x2xf32> {replica.batch = "rows"},
                   %step: tensor<i32> {replica.scalar = "step"}) -> (tensor<3x2xf32> {replica.metric = "found"}) {
  %ids = tensor.collapse_shape %batch_ids [[0, 1]] : tensor<1x3xi64> into tensor<3xi64>
  %rows = tensor.collapse_shape %batch_rows [[0, 1], [2]] : tensor<1x3x2xf32> into tensor<3x2xf32>
  %ones = arith.constant dense<1.0> : tensor<6xf32>
  %fives = arith.constant dense<5.0> : tensor<5xf32>
  %count = arith.constant dense<1> : tensor<i64>
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %found = replica.lookup @table, %ids : tensor<3xi64> -> tensor<3x2xf32>
  replica.scatter add @table, %ids, %rows : tensor<3xi64>, tensor<3x2xf32>
  %m = replica.read @momentum : tensor<6xf32>
  %next = arith.addf %m, %ones : tensor<6xf32>
  replica.assign @momentum, %next : tensor<6xf32>
  replica.assign_sub @weights, %next : tensor<6xf32>
  %s = tensor.extract %step[] : tensor<i32>
  %rest = arith.remsi %s, %three : i32
  %due = arith.cmpi eq, %rest, %zero : i32
  scf.if %due {
    replica.assign_add @sums, %fives : tensor<5xf32>
  } else {
    replica.assign_add @seen, %count : tensor<i64>
  }
  replica.return %found : tensor<3x2xf32>
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    "workers, servers, partitioner",
    [(1, 1, "fixed 1"), (2, 2, "fixed 2"), (3, 2, "max_size bytes 16")],
)
def test_what_workers_do_on_their_own_adds_up(
    tools, tmp_path, level, workers, servers, partitioner
):
    steps, examples = 240, 20
    source = tmp_path / "alone.mlir"
    source.write_text(ALONE)
    random = np.random.default_rng(0)
    # All examples are equal, so their assignment to workers is irrelevant.
    ids = random.integers(-1, 8, 3).astype(np.int64)
    rows = random.integers(-3, 4, (3, 2)).astype(np.float32)
    np.savez(
        tmp_path / "data.npz",
        ids=np.tile(ids, (examples, 1)),
        rows=np.tile(rows, (examples, 1, 1)),
    )
    artifact = tools.compile(
        source,
        tmp_path / "alone.lockstep",
        "--replicas=1",
        f"--servers={servers}",
        f"--partitioner={partitioner}",
        level,
    )
    files = [
        "--data",
        tmp_path / "data.npz",
        "--metrics",
        tmp_path / "metrics.jsonl",
        "--save",
        tmp_path / "saved",
    ]
    tools.run(
        "lockstep-run",
        artifact,
        *files,
        f"--steps={steps}",
        f"--workers={workers}",
        "--deadline=20",
    )
    saved = read_variables(
        tmp_path / "saved" / f"checkpoint-{steps}.safetensors"
    )
    floats = {
        name: np.frombuffer(saved[name][2], np.float32)
        for name in ("table", "sums", "weights", "momentum")
    }
    table = np.zeros((7, 2), np.float32)
    inside = (ids >= 0) & (ids < 7)
    np.add.at(table, ids[inside], steps * rows[inside])
    np.testing.assert_array_equal(floats["table"].reshape(7, 2), table)
    np.testing.assert_array_equal(
        floats["sums"], np.full(5, 5 * (steps // 3), np.float32)
    )
    np.testing.assert_array_equal(
        floats["momentum"], np.full(6, steps, np.float32)
    )
    np.testing.assert_array_equal(
        floats["weights"], np.full(6, -steps * (steps + 1) // 2, np.float32)
    )
    assert np.frombuffer(saved["seen"][2], np.int64)[0] == steps - steps // 3
    # Ids that are no row of the table yield zeros.
    lines = read_metrics(tmp_path / "metrics.jsonl")
    assert len(lines) == steps
    for line in lines:
        np.testing.assert_array_equal(
            np.reshape(line["found"], (3, 2))[~inside], 0
        )
