"""Variables on parameter servers: the bits of mirrored variables, and rows of
large tables without the tables.
"""

import re

import numpy as np
import pytest

from conftest import read_variables
from modules_by_hand import results

STRATEGY = "--strategy=parameter_server_sync"


@pytest.mark.parametrize(
    "servers, partitioner",
    [
        (1, "fixed 1"),
        (2, "min_size bytes 4096 shards 2"),
        (3, "max_size bytes 8192"),
    ],
)
@pytest.mark.parametrize(
    "name, steps", [("digits-mlp", 50), ("digits-cnn", 10)]
)
def test_servers_and_copies_have_the_same_bits(
    train, name, steps, servers, partitioner
):
    copies = train(name, steps, compile=["--replicas=4"])
    for executors in (1, 3):
        options = [
            "--replicas=4",
            STRATEGY,
            f"--servers={servers}",
            f"--partitioner={partitioner}",
        ]
        assert (
            train(
                name, steps, compile=options, run=[f"--executors={executors}"]
            )
            == copies
        )


def test_a_checkpoint_does_not_say_where_variables_were(
    tools, examples, tmp_path
):
    example = examples("digits-mlp")
    servers = tools.compile(
        example.source,
        tmp_path / "servers.lockstep",
        "--replicas=4",
        STRATEGY,
        "--servers=2",
        "--partitioner=fixed 2",
    )
    copies = tools.compile(
        example.source, tmp_path / "copies.lockstep", "--replicas=4"
    )

    def train(artifact, steps, folder, *more):
        tools.run(
            "lockstep-run",
            artifact,
            *example.arguments(steps, tmp_path / f"{folder}.jsonl"),
            "--save",
            tmp_path / folder,
            *more,
        )
        return tmp_path / folder / f"checkpoint-{steps}.safetensors"

    straight = train(copies, 20, "straight")
    assert read_variables(train(servers, 20, "on-servers")) == read_variables(
        straight
    )
    for first, second in ((servers, copies), (copies, servers)):
        folder = "servers-first" if first is servers else "copies-first"
        train(first, 11, folder)
        assert read_variables(
            train(second, 20, folder, "--resume")
        ) == read_variables(straight)


# Rows of a table are looked up and changed.
TABLE = """
replica.strategy @strategy {{kind = #replica.kind<{kind}>, replicas = {replicas} : i64{servers}}}
replica.variable @table : tensor<{rows}x64xf32> {{aggregation = #replica.aggregation<sum>, initial = dense<1.0> : tensor<{rows}x64xf32>}}
replica.step @step(%ids: tensor<{batch}xi64> {{replica.batch = "ids"}}, %half: tensor<{batch}x64xf32> {{replica.batch = "half"}})
    -> (tensor<{batch}x64xf32> {{replica.result = "rows"}}) {{
  %rows = replica.lookup @table, %ids : tensor<{batch}xi64> -> tensor<{batch}x64xf32>
  %change = arith.mulf %rows, %half : tensor<{batch}x64xf32>
  replica.scatter sub @table, %ids, %change : tensor<{batch}xi64>, tensor<{batch}x64xf32>
  replica.return %rows : tensor<{batch}x64xf32>
}}
"""


def run_table(tools, folder, rows, batch, replicas, ids, *options, **strategy):
    """The rows that each replica found, the table afterwards, and the bytes
    that replicas sent and received.
    """
    source = folder / f"table-{rows}.mlir"
    source.write_text(
        TABLE.format(rows=rows, batch=batch, replicas=replicas, **strategy)
    )
    artifact = tools.compile(source, folder / "table.lockstep", *options)
    np.savez(
        folder / "ids.npz",
        **{f"ids@{r}": ids[r] for r in range(replicas)},
        half=np.full((batch, 64), 0.5, np.float32),
    )
    done = tools.run("lockstep-run", artifact, "--inputs", folder / "ids.npz")
    found = results(done.stdout)
    traffic = re.search(
        r"gave the servers (\d+) bytes and got (\d+) bytes from them in 1 runs",
        done.stderr,
    )
    told = tools.run("lockstep-inspect", artifact).stdout
    bounds = re.findall(
        r"all replicas give (\S+ \S+) to it and get (\S+ \S+) from it", told
    )
    return found, traffic and (int(traffic[1]), int(traffic[2])), bounds


def test_the_bound_is_what_is_exchanged_if_all_rows_are_on_one_server(
    tools, tmp_path
):
    replicas, batch = 3, 32
    ids = [np.arange(batch) for _ in range(replicas)]
    strategy = {
        "kind": "parameter_server_sync",
        "servers": ", servers = 1 : i64",
    }
    _, exchanged, bounds = run_table(
        tools, tmp_path, 1000, batch, replicas, ids, **strategy
    )
    given, got = (
        replicas * (8 + 8 + batch * (8 + 4 * 64) + 8 + 16),
        replicas * (batch * 4 * 64 + 8),
    )
    assert exchanged == (given, got)
    assert bounds == [(f"{given / 1024:.1f} KiB", f"{got / 1024:.1f} KiB")]


@pytest.mark.daily(2)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_what_is_exchanged_depends_on_rows_and_not_on_the_table(
    tools, tmp_path, level
):
    replicas, servers, batch = 3, 4, 32
    random = np.random.default_rng(0)
    ids = [random.integers(0, 1000, batch) for _ in range(replicas)]
    # Half of one replica's ids do not exist: they are not sent to servers.
    ids[2][::2] = -1
    rows = sum(int((each >= 0).sum()) for each in ids)
    strategy = {
        "kind": "parameter_server_sync",
        "servers": f", servers = {servers} : i64, partitioner = #replica.partitioner<fixed {servers}>",
    }
    exchanged = {}
    for size in (1000, 100_000):
        found, exchanged[size], bounds = run_table(
            tools, tmp_path, size, batch, replicas, ids, level, **strategy
        )
        same, _, _ = run_table(
            tools,
            tmp_path,
            size,
            batch,
            replicas,
            ids,
            level,
            kind="mirrored",
            servers="",
        )
        assert found == same
        table = np.ones((size, 64), np.float32)
        everything = np.concatenate(ids)
        inside = everything >= 0
        looked_up = np.where(
            inside[:, None], np.float32(1), np.float32(0)
        ) * np.ones((len(everything), 64), np.float32)
        np.testing.assert_array_equal(
            np.concatenate(
                [
                    np.reshape(found["result", "rows", r][1], (batch, 64))
                    for r in range(replicas)
                ]
            ),
            looked_up,
        )
        np.subtract.at(table, everything[inside], looked_up[inside] / 2)
        np.testing.assert_array_equal(
            np.reshape(found["variable", "table", 0][1], (size, 64)), table
        )
        # The bound is that all ids are on each server.
        given, got = (
            replicas * (8 + 8 + batch * (8 + 4 * 64) + 8 + 16),
            replicas * (batch * 4 * 64 + 8),
        )
        assert (
            level == "-O0"
            or bounds
            == [(f"{given / 1024:.1f} KiB", f"{got / 1024:.1f} KiB")] * servers
        )
        if level == "-O2":
            assert all(
                sent <= servers * most
                for sent, most in zip(
                    exchanged[size], (given, got), strict=True
                )
            )
    assert exchanged[1000] == exchanged[100_000]
    # Each replica sends the number of rows and the ids to each server, receives
    # the rows, and sends updates; shapes, too, a number for each dimension.
    pairs = replicas * servers
    given, got = (
        pairs * 8 + rows * (8 + 4 * 64) + pairs * (1 + 1 + 2) * 8,
        rows * 4 * 64 + pairs * 8,
    )
    assert exchanged[1000][1] == got
    # Optimized code sends the ids once, for lookup and update.
    assert (
        exchanged[1000][0] == given
        if level == "-O2"
        else given < exchanged[1000][0] < given + rows * 8 + pairs * 32
    )


def if_below_one(number, then):
    """A branch on an element of a tensor."""
    return f"""%e = tensor.extract {number}
  %q = arith.cmpf olt, %e, %one : f32
  scf.if %q {{
    {then}
  }}"""


# Servers and replicas take the same path through branches and loops; each
# computes the conditions itself.
TOGETHER = {
    "an element of a mean": f"""
  %g = replica.all_reduce mean %x : tensor<4xf32>
  {if_below_one("%g[%c0] : tensor<4xf32>", "replica.assign_add @b, %x : tensor<4xf32>")}""",
    "an element of a mean in a loop": f"""
  scf.for %i = %c0 to %trips step %c1 {{
    %v = replica.read @a : tensor<4xf32>
    %d = arith.subf %v, %x : tensor<4xf32>
    replica.assign_sub @a, %d : tensor<4xf32>
    %g = replica.all_reduce mean %d : tensor<4xf32>
    {if_below_one("%g[%c0] : tensor<4xf32>", "replica.assign_add @b, %d : tensor<4xf32>")}
  }}""",
    "an element of a variable": f"""
  %v = replica.read @b : tensor<4xf32>
  {if_below_one("%v[%c0] : tensor<4xf32>", "replica.assign_add @b, %x : tensor<4xf32>")}""",
    "elements one after another": f"""
  %c4 = arith.constant 4 : index
  %g = replica.all_reduce mean %x : tensor<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {{
    {if_below_one("%g[%i] : tensor<4xf32>", "replica.assign_add @a, %x : tensor<4xf32>")} else {{
      replica.assign_sub @b, %x : tensor<4xf32>
    }}
  }}""",
    "a scalar that is reduced in a loop": f"""
  scf.for %i = %c0 to %trips step %c1 {{
    %v = replica.read @s : tensor<f32>
    %y = tensor.extract %x[%c1] : tensor<4xf32>
    %z = tensor.from_elements %y : tensor<f32>
    %d = arith.subf %v, %z : tensor<f32>
    replica.assign_sub @s, %d : tensor<f32>
    %g = replica.all_reduce mean %d : tensor<f32>
    {if_below_one("%g[] : tensor<f32>", "replica.assign_add @t, %d : tensor<f32>")}
  }}""",
    "a norm, and nested loops": """
  %zero = arith.constant dense<0.0> : tensor<f32>
  %g = replica.all_reduce mean %x : tensor<4xf32>
  %n = linalg.dot ins(%g, %g : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %e = tensor.extract %n[] : tensor<f32>
  %q = arith.cmpf ogt, %e, %one : f32
  scf.for %i = %c0 to %trips step %c1 {
    scf.for %j = %c0 to %i step %c1 {
      scf.if %q {
        replica.assign_add @b, %x : tensor<4xf32>
      }
    }
    replica.assign_add @a, %x : tensor<4xf32>
  }""",
}
VARIABLES = {"a": "4xf32", "b": "4xf32", "s": "f32", "t": "f32"}


@pytest.mark.daily(2)
@pytest.mark.parametrize("replicas, servers", [(1, 2), (3, 1), (3, 2), (4, 3)])
@pytest.mark.parametrize("name", TOGETHER)
def test_servers_and_replicas_take_the_same_path(
    tools, tmp_path, name, replicas, servers
):
    variables = ""
    for variable, type in VARIABLES.items():
        if (
            f"@{variable} " in TOGETHER[name]
            or f"@{variable}," in TOGETHER[name]
        ):
            attributes = f"aggregation = #replica.aggregation<mean>, initial = dense<0.0> : tensor<{type}>"
            variables += f"replica.variable @{variable} : tensor<{type}> {{{attributes}}}\n"
    source = tmp_path / "together.mlir"
    source.write_text(f"""{variables}
replica.step @step(%x: tensor<4xf32> {{replica.batch = "x"}}, %k: tensor<i32> {{replica.scalar = "k"}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %kk = tensor.extract %k[] : tensor<i32>
  %trips = arith.index_cast %kk : i32 to index
{TOGETHER[name]}
  replica.return
}}
""")
    # Each branch is taken and not taken; loops have three or no iterations.
    for value, trips in ((0.5, 3), (2.5, 3), (-2.5, 0)):
        x = {
            f"x@{r}": np.array(
                [value, -value, value / 2, 4 * value], np.float32
            )
            * (1 + r % 2)
            for r in range(replicas)
        }
        np.savez(tmp_path / "x.npz", **x)
        given = ("--inputs", tmp_path / "x.npz", "--set", f"k={trips}")
        expected = results(
            tools.run(
                "lockstep-interpret", source, f"--replicas={replicas}", *given
            ).stdout
        )
        for level in ("-O0", "-O2"):
            options = (
                f"--replicas={replicas}",
                STRATEGY,
                f"--servers={servers}",
                level,
            )
            artifact = tools.compile(
                source, tmp_path / "together.lockstep", *options
            )
            assert (
                results(tools.run("lockstep-run", artifact, *given).stdout)
                == expected
            )
