"""Workers that take steps on their own: no update is lost, one worker is like
all replicas together, errors end the run of all.
"""

import re
import signal
import time

import numpy as np
import pytest

from conftest import read_metrics, read_variables
from started import Started

UNDER = ["--replicas=1", "--strategy=parameter_server", "--servers=2"]

# `n` counts steps, `w` adds up rows, `half` counts every second one in a
# branch. All elements of a row are equal, so those of `w` are at all times.
MODULE = """
replica.strategy @strategy {kind = #replica.kind<parameter_server>}
replica.variable @n : tensor<f32> {initial = dense<0.0> : tensor<f32>}
replica.variable @w : tensor<96xf32> {initial = dense<1.0> : tensor<96xf32>}
replica.variable @half : tensor<f32> {initial = dense<0.0> : tensor<f32>}
replica.step @step(%x: tensor<96xf32> {replica.batch = "x"}, %step: tensor<i32> {replica.scalar = "step"})
    -> (tensor<96xf32> {replica.metric = "w"}, tensor<f32> {replica.metric = "n"}) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %n = replica.read @n : tensor<f32>
  %more = arith.addf %n, %one : tensor<f32>
  replica.assign @n, %more : tensor<f32>
  replica.assign_add @w, %x : tensor<96xf32>
  %bits = arith.constant dense<1> : tensor<i32>
  %odd = arith.andi %step, %bits : tensor<i32>
  %is_odd = arith.cmpi eq, %odd, %bits : tensor<i32>
  %condition = tensor.extract %is_odd[] : tensor<i1>
  %h = replica.read @half : tensor<f32>
  %next = scf.if %condition -> tensor<f32> {
    %sum = arith.addf %h, %one : tensor<f32>
    scf.yield %sum : tensor<f32>
  } else {
    scf.yield %h : tensor<f32>
  }
  replica.assign @half, %next : tensor<f32>
  %w = replica.read @w : tensor<96xf32>
  replica.return %w, %n : tensor<96xf32>, tensor<f32>
}
"""


@pytest.fixture
def command(tools, tmp_path):
    """Compiles the module above: `command(level, steps, options...)` is what
    takes its steps.
    """
    source = tmp_path / "step.mlir"
    source.write_text(MODULE)
    np.savez(tmp_path / "data.npz", x=np.ones(96 * 20, np.float32))

    def make(level, steps, *options):
        artifact = tools.compile(
            source, tmp_path / f"step{level}.lockstep", *UNDER, level
        )
        files = [
            "--data",
            tmp_path / "data.npz",
            "--metrics",
            tmp_path / "metrics.jsonl",
            "--save",
            tmp_path / "saved",
        ]
        return ["lockstep-run", artifact, *files, f"--steps={steps}", *options]

    return make


def saved_variables(folder, steps):
    variables = read_variables(
        folder / "saved" / f"checkpoint-{steps}.safetensors"
    )
    return {
        name: np.frombuffer(value[2], np.float32)
        for name, value in variables.items()
    }


# A step whose metric is the row that it has taken.
ROWS = """
replica.strategy @strategy {kind = #replica.kind<parameter_server>}
replica.variable @n : tensor<f32> {initial = dense<0.0> : tensor<f32>}
replica.step @step(%x: tensor<1xf32> {replica.batch = "x"}) -> (tensor<1xf32> {replica.metric = "row"}) {
  %one = arith.constant dense<1.0> : tensor<f32>
  replica.assign_add @n, %one : tensor<f32>
  replica.return %x : tensor<1xf32>
}
"""


# How many steps a worker takes depends on its speed; which rows it takes does
# not: worker w has those of a run of one worker with the seed S + w.
def test_each_worker_has_all_rows_in_its_own_order(tools, tmp_path):
    rows, seed = 20, 5  # [8-worker-data]
    source = tmp_path / "rows.mlir"
    source.write_text(ROWS)
    artifact = tools.compile(source, tmp_path / "rows.lockstep", *UNDER)
    np.savez(tmp_path / "rows.npz", x=np.arange(rows, dtype=np.float32))

    def taken(workers, first_seed):
        """The rows that each worker takes, in 200 steps."""
        tools.run(
            "lockstep-run",
            artifact,
            f"--data={tmp_path / 'rows.npz'}",
            f"--metrics={tmp_path / 'rows.jsonl'}",
            f"--workers={workers}",
            f"--seed={first_seed}",
            "--steps=200",
        )
        orders = [[] for _ in range(workers)]
        for line in read_metrics(tmp_path / "rows.jsonl"):
            orders[line["worker"]] += line["row"]
        return orders

    (first,), (second,) = taken(1, seed), taken(1, seed + 1)
    assert first != second
    for order in (first, second):
        for epoch in np.reshape(order, (-1, rows)):
            assert sorted(epoch) == list(range(rows))
    together = taken(2, seed)
    assert sum(map(len, together)) == 200
    for order, alone in zip(together, (first, second), strict=True):
        assert order == alone[: len(order)]


@pytest.fixture
def counters(tools, command, tmp_path):
    """Takes steps of the module above: `counters(level, steps, options...)`
    gives the metrics, the variables and what was said.
    """

    def run(level, steps, *options, check=True):
        done = tools.run(*command(level, steps, *options), check=check)
        if not check:
            return done
        return (
            read_metrics(tmp_path / "metrics.jsonl"),
            saved_variables(tmp_path, steps),
            done.stderr,
        )

    return run


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_no_update_is_lost(counters, level, workers):  # [8-asynchronous]
    steps = 300
    metrics, variables, said = counters(level, steps, f"--workers={workers}")
    assert [line["step"] for line in metrics] == list(range(steps))
    assert [line["epoch"] for line in metrics] == [
        step // 20 for step in range(steps)
    ]
    assert {line["worker"] for line in metrics} <= set(range(workers))
    for line in metrics:
        assert len(set(line["w"])) == 1
        assert 0 <= line["n"] < steps
    assert variables["n"] == steps
    assert variables["half"] == steps // 2
    np.testing.assert_array_equal(
        variables["w"], np.full(96, steps + 1, np.float32)
    )
    given, got, runs = map(
        int,
        re.search(
            r"gave the servers (\d+) bytes and got (\d+) bytes from them in (\d+) runs",
            said,
        ).groups(),
    )
    assert runs == steps
    assert given % steps == got % steps == 0
    assert given and got


@pytest.mark.parametrize("name, steps", [("digits-mlp", 60)])
def test_one_worker_is_like_all_replicas_together(
    tools, examples, compiled, tmp_path, name, steps
):
    example, artifact = examples(name), compiled(name, *UNDER)

    def train(folder, *options):
        metrics = tmp_path / f"{folder}.jsonl"
        tools.run(
            "lockstep-run", artifact, *example.arguments(steps, metrics), "--save", tmp_path / folder,
            "--eval-data", example.folder / "test.npz", *options,
        )  # fmt: skip
        lines = read_metrics(metrics)
        return [
            {key: value for key, value in line.items() if key != "worker"}
            for line in lines
        ], read_variables(tmp_path / folder / f"checkpoint-{steps}.safetensors")

    assert train("alone", "--workers=1") == train("together")
    # Stale gradients need a smaller step: their number depends on the relative
    # speed of workers.
    lines, _ = train("several", "--workers=3", "--set=lr=0.005")
    losses = [line["loss"] for line in lines if "loss" in line]
    assert len(losses) == steps
    assert np.mean(losses[-10:]) < np.mean(losses[:10])


def test_a_saved_state_is_resumed(counters):
    counters("-O2", 30, "--workers=3", "--save-every=7")
    metrics, variables, said = counters("-O2", 75, "--workers=2", "--resume")
    assert "resuming after 30 steps" in said
    assert variables["n"] == 75
    assert [line["step"] for line in metrics] == list(range(75))
    assert metrics[-1]["epoch"] == 3


# The blocked worker is reported, and not waited for.
def test_a_worker_that_is_stuck_ends_the_run(counters):  # [8-coordinator]
    done = counters(
        "-O2",
        100_000,
        "--workers=3",
        "--inject=pause:replica=0,command=1,program=step",
        "--deadline=1",
        check=False,
    )
    assert done.returncode == 3
    assert (
        "replica 0: paused by an injected fault before command 1" in done.stderr
    )


# The steps that have begun are finished, and no others are counted: they are
# the first ones, without a gap.
@pytest.mark.parametrize("workers", [1, 3])
def test_a_signal_ends_the_run_after_the_steps_at_hand(
    tools, command, tmp_path, workers
):
    run = Started(
        tools.command(*command("-O2", 2_000_000_000, f"--workers={workers}"))
    )
    metrics = tmp_path / "metrics.jsonl"
    while not metrics.exists() or not metrics.stat().st_size:
        assert run.process.poll() is None
        time.sleep(0.01)
    run.process.send_signal(signal.SIGTERM)
    assert run.end() == 128 + signal.SIGTERM, run.said
    lines = read_metrics(metrics)
    steps = len(lines)
    assert [line["step"] for line in lines] == list(range(steps))
    variables = saved_variables(tmp_path, steps)
    assert variables["n"] == steps
    np.testing.assert_array_equal(
        variables["w"], np.full(96, steps + 1, np.float32)
    )


# A blocked worker is not waited for after the second signal, and the result is
# the interruption.
@pytest.mark.parametrize("workers", [1, 3])
def test_a_second_signal_gives_the_steps_up(tools, command, workers):
    fault = "--inject=pause:replica=0,command=1,program=step"
    run = Started(
        tools.command(
            *command(
                "-O2", 100_000, f"--workers={workers}", fault, "--deadline=1000"
            )
        )
    )
    run.signal(signal.SIGINT, after="injected: ")
    run.wait_for(
        "SIGINT: stopping after the current step; a second signal aborts it\n"
    )
    run.insist(
        signal.SIGINT,
        until="lockstep-run: error: aborted at the second signal, SIGINT\n",
    )
    assert run.end() == 128 + signal.SIGINT, run.said


def test_other_strategies_are_refused(tools, compiled, counters):
    def error(*arguments):
        done = tools.run("lockstep-run", *arguments, check=False)
        assert done.returncode in (1, 2)
        return done.stderr

    mirrored = compiled("digits-mlp", "--replicas=4")
    expected = "--workers=2: expected an artifact of the strategy 'parameter_server' for workers that take steps on their own"
    assert expected + ", which has one replica, found 4" in error(
        mirrored, "--steps=1", "--workers=2"
    )
    alone = compiled("digits-mlp", "--replicas=1")
    assert expected + ", found one without servers" in error(
        alone, "--steps=1", "--workers=2"
    )
    together = compiled(
        "digits-mlp",
        "--replicas=1",
        "--strategy=parameter_server_sync",
        "--servers=2",
    )
    assert "it works on a variable itself, not on a copy" in error(
        together, "--steps=1", "--workers=2"
    )
    assert "--executors excludes --workers" in error(
        mirrored, "--steps=1", "--workers=2", "--executors=2"
    )
    assert "--workers" in error(mirrored, "--steps=1", "--workers=0")


# Whether the server of `n` and a worker communicate further depends on the
# value that the worker has read, even if other workers change `n` meanwhile.
DECISION = """
replica.strategy @strategy {kind = #replica.kind<parameter_server>}
replica.variable @n : tensor<4xf32> {initial = dense<0.0> : tensor<4xf32>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "seen"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = replica.read @n : tensor<4xf32>
  %first = tensor.extract %n[%c0] : tensor<4xf32>
  %positive = arith.cmpf ogt, %first, %zero : f32
  %product = arith.mulf %n, %x : tensor<4xf32>
  %seen = scf.if %positive -> tensor<4xf32> {
    %square = arith.mulf %product, %x : tensor<4xf32>
    replica.assign_sub @n, %square : tensor<4xf32>
    scf.yield %square : tensor<4xf32>
  } else {
    replica.assign_add @n, %x : tensor<4xf32>
    scf.yield %x : tensor<4xf32>
  }
  replica.return %seen : tensor<4xf32>
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("workers", [2, 4])
def test_a_server_branches_on_the_sent_value(tools, tmp_path, level, workers):
    source = tmp_path / "step.mlir"
    source.write_text(DECISION)
    np.savez(
        tmp_path / "data.npz",
        x=np.random.default_rng(0).normal(size=4 * 64).astype(np.float32),
    )
    artifact = tools.compile(
        source, tmp_path / "step.lockstep", "--replicas=1", "--servers=1", level
    )
    metrics = tmp_path / "metrics.jsonl"
    tools.run(
        "lockstep-run",
        artifact,
        "--data",
        tmp_path / "data.npz",
        "--steps=2000",
        f"--workers={workers}",
        "--metrics",
        metrics,
    )
    assert len(read_metrics(metrics)) == 2000
