"""Accesses out of bounds and wrong sizes are errors at the line, not accesses
to other memory.
"""

import functools

import numpy as np
import pytest

pytestmark = pytest.mark.own_device

LEVELS = ["-O0", "-O2"]
DEVICES = {
    "cpu": [],
    "simulated": ["--device=simulated:1"],
    "cuda": ["--device=cuda"],
}

#: The use of the index `%k` in a step, at line 7 of model.py.
ACCESSES = {
    "read": '%r = tensor.extract %x[%c0, %k] : tensor<1x4xf32> loc("model.py":7:3)\n  %y = tensor.from_elements %r, %r : tensor<2xf32>',
    "write": """%e = arith.constant 1.0 : f32
  %z = arith.constant dense<0.0> : tensor<2xf32>
  %y = tensor.insert %e into %z[%k] : tensor<2xf32> loc("model.py":7:3)""",
    "slice": '%y = tensor.extract_slice %x[0, %k] [1, 2] [1, 1] : tensor<1x4xf32> to tensor<2xf32> loc("model.py":7:3)',
    "in a body": """%e = tensor.empty() : tensor<2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<2xf32>) {
  ^bb0(%o: f32):
    %l = linalg.index 0 : index
    %j = arith.addi %l, %k : index
    %v = tensor.extract %x[%c0, %j] : tensor<1x4xf32> loc("model.py":7:3)
    linalg.yield %v : f32
  } -> tensor<2xf32>""",
}
#: The least index that is too large, and what is found too large then.
ENDS = {"read": (4, 4), "write": (2, 2), "slice": (3, 4), "in a body": (3, 4)}


def step(access):
    return f"""
replica.step @step(%i: tensor<1xi32> {{replica.batch = "i"}}, %x: tensor<1x4xf32> {{replica.batch = "x"}})
    -> (tensor<2xf32> {{replica.result = "y"}}) {{
  %c0 = arith.constant 0 : index
  %n = tensor.extract %i[%c0] : tensor<1xi32>
  %k = arith.index_cast %n : i32 to index
  {ACCESSES[access]}
  replica.return %y : tensor<2xf32>
}}
"""


@pytest.fixture(params=DEVICES)
def run(tools, tmp_path, request):
    """Compiles a step for a device and runs it once; returns the finished
    process."""
    launch = functools.partial(tools.run, "lockstep-run")
    target = []
    if request.param == "cuda":
        launch = request.getfixturevalue("gpu")
        target = ["--target=sm_90"]

    def runner(text, inputs, *options, replicas=2):
        source, file = tmp_path / "step.mlir", tmp_path / "inputs.npz"
        source.write_text(text)
        np.savez(file, **inputs)
        artifact = tools.compile(
            source,
            tmp_path / "step.lockstep",
            f"--replicas={replicas}",
            *target,
            *options,
        )
        return launch(
            artifact,
            "--inputs",
            file,
            *DEVICES[request.param],
            check=False,
        )

    return runner


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("access", ACCESSES)
def test_accesses_are_checked(run, access, level):
    x = np.arange(4, dtype=np.float32)[None]
    end, found = ENDS[access]
    for index in (0, end - 1):
        assert (
            run(
                step(access),
                {"i": np.array([index], np.int32), "x": x},
                level,
                "--check-bounds",
            ).returncode
            == 0
        )
    for index, number in ((end, found), (-1, -1), (2**31 - 1, None)):
        done = run(
            step(access),
            {"i": np.array([index], np.int32), "x": x},
            level,
            "--check-bounds",
        )
        assert done.returncode == 1
        size, dimension, kind = (
            ("2", 0, "tensor<2xf32>")
            if access == "write"
            else ("4", 1, "tensor<1x4xf32>")
        )
        expected = f"model.py:7: expected an index in [0, {size}) for dimension {dimension} of {kind}, found "
        assert (
            expected
            + (f"{number} [E_OUT_OF_RANGE]" if number is not None else "")
            in done.stderr
        )


#: A loop that reads the index of its next iteration, until that is negative.
#: The host continues the loop with a collective, a kernel the other one.
LOOP = """
#s = affine_map<() -> ()>
replica.step @step(%i: tensor<1xi32> {{replica.batch = "i"}}, %x: tensor<1x4xi32> {{replica.batch = "x"}})
    -> (tensor<i32> {{replica.result = "y"}}) {{
  %c0 = arith.constant 0 : index
  %n0 = tensor.extract %i[%c0] : tensor<1xi32>
  %own = tensor.from_elements %n0 : tensor<i32>
  %first = replica.all_reduce max %own : tensor<i32>
  %r = scf.while (%s = %first) : (tensor<i32>) -> (tensor<i32>) {{
    %sv = tensor.extract %s[] : tensor<i32>
    %lim = arith.constant 0 : i32
    %c = arith.cmpi sge, %sv, %lim : i32
    scf.condition(%c) %s : tensor<i32>
  }} do {{
  ^bb0(%s: tensor<i32>):
    %e = tensor.empty() : tensor<i32>
    %st = linalg.generic {{indexing_maps = [#s, #s], iterator_types = []}} ins(%s : tensor<i32>) outs(%e : tensor<i32>) {{
    ^bb1(%a: i32, %b: i32):
      %k = arith.index_cast %a : i32 to index
      %v = tensor.extract %x[%c0, %k] : tensor<1x4xi32> loc("model.py":7:3)
      linalg.yield %v : i32
    }} -> tensor<i32>
    {next}
    scf.yield %next : tensor<i32>
  }}
  replica.return %r : tensor<i32>
}}
"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "next",
    [
        "%next = replica.all_reduce max %st : tensor<i32>",
        "%next = arith.maxsi %st, %st : tensor<i32>",
    ],
    ids=["host", "kernel"],
)
def test_loops_end(run, level, next):
    """Though what a kernel would have stored is their condition."""
    text, first = LOOP.format(next=next), np.zeros(1, np.int32)
    for x, code in (([1, -1, 0, 0], 0), ([1, 9, 0, 0], 1)):
        x = np.array([x], np.int32)
        done = run(text, {"i": first, "x": x}, level, "--check-bounds")
        assert done.returncode == code, done.stderr
    assert "model.py:7: expected an index in [0, 4) for" in done.stderr


#: The number of elements of a result is read.
SIZE = """
replica.step @step(%i: tensor<1xi32> {replica.batch = "i"}, %x: tensor<1x4xi32> {replica.batch = "x"}, %v: tensor<8xf32> {replica.batch = "v"})
    -> (tensor<?xf32> {replica.result = "y"}) {
  %c0 = arith.constant 0 : index
  %n = tensor.extract %i[%c0] : tensor<1xi32>
  %k = arith.index_cast %n : i32 to index
  %r = tensor.extract %x[%c0, %k] : tensor<1x4xi32> loc("model.py":7:3)
  %z = arith.index_cast %r : i32 to index
  %y = tensor.extract_slice %v[0] [%z] [1] : tensor<8xf32> to tensor<?xf32>
  replica.return %y : tensor<?xf32>
}
"""


def test_sizes_that_are_read_out_of_bounds(run):
    inputs = {
        "x": np.array([[4, 3, 2, 1]], np.int32),
        "v": np.ones(8, np.float32),
    }
    for index, code in ((3, 0), (9, 1)):
        inputs["i"] = np.array([index], np.int32)
        done = run(SIZE, inputs, "--check-bounds")
        assert done.returncode == code, done.stderr
    assert "model.py:7: expected an index in [0, 4)" in done.stderr
    assert "found 9 [E_OUT_OF_RANGE]" in done.stderr


CAST = """
replica.step @step(%x: tensor<?xf32> {replica.batch = "x", replica.bounds = array<i64: 8>}) -> (tensor<4xf32> {replica.result = "y"}) {
  %c = tensor.cast %x : tensor<?xf32> to tensor<4xf32> loc("model.py":7:3)
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.add ins(%c, %c : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  replica.return %y : tensor<4xf32>
}
"""


# With or without checks of accesses: a cast is a promise that the program
# makes.
@pytest.mark.parametrize(
    "options", [(), ("--check-bounds",)], ids=["unchecked", "checked"]
)
@pytest.mark.parametrize("level", LEVELS)
def test_casts_to_a_size_that_is_not_there(run, level, options):
    assert (
        run(CAST, {"x": np.ones(4, np.float32)}, level, *options).returncode
        == 0
    )
    for size in (0, 2, 6):
        done = run(CAST, {"x": np.ones(size, np.float32)}, level, *options)
        assert done.returncode == 1
        expected = "model.py:7: expected 4 elements along dimension 0 of a value that is cast to tensor<4xf32>, found "
        assert f"{expected}{size} [E_SHAPE_MISMATCH]" in done.stderr


GATHER = """
replica.step @step(%x: tensor<?xf32> {replica.batch = "x", replica.bounds = array<i64: 4>}) -> (tensor<4xf32> {replica.result = "y"}) {
  %y = replica.all_gather %x axis 0 : tensor<?xf32> -> tensor<4xf32> loc("model.py":7:3)
  replica.return %y : tensor<4xf32>
}
"""


# With one replica the result is the value, whose size is checked like that of a
# cast.
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        (1, "expected 4 elements along dimension 0 of a value that is cast to"),
        (2, "expected 4 rows in the result, found"),
    ],
)
def test_gathers_of_a_size_that_is_not_there(run, level, replicas, message):
    def gather(size):
        parts = {"x@0": size - replicas + 1, "x@1": 1}
        inputs = {
            name: np.ones(part, np.float32)
            for name, part in list(parts.items())[:replicas]
        }
        return run(GATHER, inputs, level, replicas=replicas)

    assert gather(4).returncode == 0
    for size in (2, 3):
        done = gather(size)
        assert done.returncode == 1
        assert "model.py:7: " in done.stderr
        assert message in done.stderr
        assert f"found {size}" in done.stderr


ALL_ROWS = """
collective.group @all
replica.step @step(%x: tensor<3xf32> {replica.batch = "x"}) -> (tensor<?xf32> {replica.result = "y"}) {
  %size = arith.constant 6 : index
  %p = collective.start all_gather none @all axis 0 (%x : tensor<3xf32>) sizes(%size) {bounds = array<i64: BOUND>}
      -> !collective.pending<tensor<?xf32>> loc("model.py":7:3)
  %y = collective.wait %p (%x : tensor<3xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  replica.return %y : tensor<?xf32>
}
"""


# Also if all operands have static sizes.
@pytest.mark.parametrize("level", LEVELS)
def test_bounds_of_results(run, level):
    inputs = {f"x@{r}": np.ones(3, np.float32) for r in range(2)}
    done = run(ALL_ROWS.replace("BOUND", "6"), inputs, level)
    assert done.returncode == 0
    done = run(ALL_ROWS.replace("BOUND", "5"), inputs, level)
    assert done.returncode == 1
    assert "model.py:7: " in done.stderr
    assert (
        "the operands have 24 bytes, the bound of the result is 20"
        in done.stderr
    )
