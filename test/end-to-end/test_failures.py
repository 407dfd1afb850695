"""Runs that fail, hang or are slow."""

import json
import math
import re
import signal

import numpy as np
import pytest

from conftest import ON_HOST, read_metrics
from started import Started


# The report names the collective and its line, the replicas that have arrived
# and that are missing, and every replica's command. [10-stuck-peer]
def test_a_paused_replica_is_reported(tools, examples, compiled, tmp_path):
    report = tmp_path / "report.json"
    done = tools.run(
        "lockstep-run", compiled("digits-mlp", "--replicas=4"),
        *examples("digits-mlp").arguments(3, tmp_path / "metrics.jsonl"),
        "--inject=pause:replica=1,channel=0", "--deadline=1", "--report", report,
        check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert (
        "no replica of program 'step' has made progress for 1 s" in done.stderr
    )
    assert re.search(
        r"waiting for channel 0 \(all_reduce \w+, \d+ bytes, model\.py:\d+\)",
        done.stderr,
    )
    assert (
        "arrived: replicas 0, 2-3\n" in done.stderr
        and "missing: replica 1\n" in done.stderr
    )
    assert re.search(
        r"replica 0: blocked in command \d+ 'wait channel 0' \(model\.py:\d+\)",
        done.stderr,
    )
    assert re.search(
        r"replica 1: paused by an injected fault before command \d+ 'start all_reduce",
        done.stderr,
    )
    found = json.loads(report.read_text())
    assert found["waits"][0]["missing"] == [1]
    assert found["replicas"][1]["state"] == "paused"


# Powers of a matrix, until the first element is no longer positive: for the
# identity, forever.
LOOP = """replica.step @step(%x: tensor<16x16xf32> {replica.batch = "x"}) -> (tensor<16x16xf32> {replica.result = "mean"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %last = scf.while (%a = %x) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    %first = tensor.extract %a[%c0, %c0] : tensor<16x16xf32>
    %goes_on = arith.cmpf ogt, %first, %zero : f32
    scf.condition(%goes_on) %a : tensor<16x16xf32>
  } do {
  ^bb0(%a: tensor<16x16xf32>):
    %b = linalg.matmul ins(%a, %x : tensor<16x16xf32>, tensor<16x16xf32>) outs(%zeros : tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %b : tensor<16x16xf32>
  }
  %mean = replica.all_reduce mean %last : tensor<16x16xf32>
  replica.return %mean : tensor<16x16xf32>
}
"""


# A replica in an endless loop makes progress, so no deadline expires; but
# others wait for it, which is reported. Signals end such a step like any other.
def test_a_loop_without_an_end_is_reported(tools, tmp_path):
    source, artifact, report = (
        tmp_path / name
        for name in ("loop.mlir", "loop.lockstep", "report.json")
    )
    source.write_text(LOOP)
    tools.compile(source, artifact, "--replicas=2")
    np.savez(
        tmp_path / "x.npz",
        **{
            "x@0": np.zeros((16, 16), np.float32),
            "x@1": np.eye(16, dtype=np.float32),
        },
    )
    run = Started(
        tools.command(
            "lockstep-run",
            artifact,
            "--inputs",
            tmp_path / "x.npz",
            "--deadline=0.5",
            "--report",
            report,
        )
    )
    run.wait_for(
        "the run goes on, as the others may still come; a signal ends it\n"
    )
    assert (
        "replicas of program 'step' have waited for 0.5 s, while others went on without coming\n"
        in run.said
    )
    assert (
        f"waiting for channel 0 (all_reduce sum, 1024 bytes, {source}:14)\n  arrived: replica 0\n  missing: replica 1\n"
        in run.said
    )
    assert json.loads(report.read_text())["waits"][0]["missing"] == [1]
    run.process.send_signal(signal.SIGTERM)
    assert run.end() == 128 + signal.SIGTERM, run.said
    assert (
        "lockstep-run: SIGTERM: stopping after the current step; a second signal aborts it\n"
        in run.said
    )
    assert (
        "lockstep-run: error: aborted, since the current step has not ended 0.5 s after SIGTERM\n"
        in run.said
    )


# The deadline is for progress, not for a step: one that takes twice as long is
# no hang while its kernels end one after the other.
def test_a_slow_step_of_64_replicas_is_no_hang(
    tools, examples, compiled, tmp_path
):
    cnn = examples("digits-cnn")
    data = dict(np.load(cnn.folder / "train.npz"))
    large = tmp_path / "large.npz"
    np.savez(
        large,
        **{
            name: np.resize(array, (64 * 32, *array.shape[1:]))
            for name, array in data.items()
        },
    )
    arguments = [
        compiled("digits-cnn", "--replicas=64", "-O0"),
        *(
            "--init",
            cnn.folder / "init.safetensors",
            "--data",
            large,
            "--steps=1",
            "--threads=2",
        ),
    ]
    taken = re.search(
        r"trained 1 step in ([\d.]+) s",
        tools.run("lockstep-run", *arguments).stdout,
    )
    tools.run("lockstep-run", *arguments, f"--deadline={float(taken[1]) / 2}")


# A too large learning rate: JAX's loss is NaN from the second step on, and so
# is this one, in all outputs.
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_loss_that_is_not_a_number_is_reported(
    tools, examples, compiled, tmp_path, level
):
    mlp, metrics = examples("digits-mlp"), tmp_path / "metrics.jsonl"
    done = tools.run(
        "lockstep-run", compiled("digits-mlp", "--replicas=4", level), *mlp.arguments(4, metrics),
        "--set=lr=1e30", "--eval-data", mlp.folder / "test.npz",
    )  # fmt: skip
    first, *others, evaluation = read_metrics(metrics)
    assert math.isfinite(first["loss"])
    assert [line["loss"] for line in others] == ["nan"] * 3
    assert evaluation["evaluate"]["loss"] == "nan"
    assert done.stderr.count("lockstep-run: step 2: loss is nan\n") == 1
    assert "loss of the last step nan\n" in done.stdout
    assert re.search(r"evaluation: .*\bloss nan\b", done.stdout)


@pytest.fixture
def first_launch(tools, compiled):
    """The first launch of the MLP's step that is no part of a once section, as
    lockstep-inspect describes it.
    """
    artifact = compiled("digits-mlp", "--replicas=4")
    described = json.loads(
        tools.run("lockstep-inspect", artifact, "--format=json").stdout
    )
    step = next(
        program
        for program in described["programs"]
        if program["name"] == "step"
    )
    return next(
        command
        for command in step["commands"]
        if command["op"] == "launch" and not command.get("once")
    )


# A worker leaves a launch unfinished, or a kernel never returns, on one
# replica: the report names that launch and its line.
@pytest.mark.parametrize(
    ("fault", "state", "place"),
    [
        ("return-early", "left", "left unfinished by its worker in"),
        ("hang", "running", "running"),
    ],
)
@pytest.mark.parametrize("executors", [1, 2])
def test_a_launch_that_does_not_end_is_named(
    tools,
    examples,
    compiled,
    tmp_path,
    first_launch,
    fault,
    state,
    place,
    executors,
):
    report = tmp_path / "report.json"
    done = tools.run(
        "lockstep-run", compiled("digits-mlp", "--replicas=4"),
        *examples("digits-mlp").arguments(3, tmp_path / "metrics.jsonl"), "--threads=2", f"--executors={executors}",
        f"--inject={fault}:replica=3,command={first_launch['pc']},program=step", "--deadline=1", "--report", report,
        check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert f"injected: {fault}:replica=3" in done.stderr
    if not ON_HOST:
        # No worker is inside of a kernel.
        state, place = "left", "left unfinished by its worker in"
    named = rf"replica 3: {place} command {first_launch['pc']} 'launch '{first_launch['kernel']}'' \({first_launch['line']}\) on worker \d"
    assert re.search(named, done.stderr), done.stderr
    found = json.loads(report.read_text())
    assert [replica["state"] for replica in found["replicas"]].count(state) == 1
    assert found["replicas"][3]["state"] == state
    assert found["replicas"][3]["events"][-1] == {
        "event": "begins", "command": first_launch["pc"],
        "what": f"launch '{first_launch['kernel']}'", "location": first_launch["line"],
    }  # fmt: skip


# One element on one replica becomes NaN: without the check the loss is NaN
# everywhere, with it the error names the kernel, its line and the element.
@pytest.mark.parametrize("executors", [1, 2])
def test_the_kernel_that_makes_a_nan_is_named(
    tools, examples, compiled, tmp_path, first_launch, executors
):
    def run(*options):
        return tools.run(
            "lockstep-run", compiled("digits-mlp", "--replicas=4"),
            *examples("digits-mlp").arguments(3, tmp_path / "metrics.jsonl"), f"--executors={executors}", *options,
            f"--inject=nan:replica=2,command={first_launch['pc']},program=step",
            check=False,
        )  # fmt: skip

    assert run().returncode == 0
    assert "step 1: loss is nan" in run().stderr
    done = run("--check-finite")
    assert done.returncode == 1
    named = rf"error: {first_launch['line']}: launch '{first_launch['kernel']}' has written nan: replica 2, buffer \d+, element \["
    assert re.search(named, done.stderr), done.stderr
    assert f"in command {first_launch['pc']} of program 'step'\n" in done.stderr
    # Without a fault the check reports nothing.
    tools.run(
        "lockstep-run",
        compiled("digits-mlp", "--replicas=4"),
        *examples("digits-mlp").arguments(3, tmp_path / "metrics"),
        "--check-finite",
    )


# A NaN in the data is distinguished from one that a kernel creates.
def test_a_nan_in_the_data_is_reported(tools, examples, compiled, tmp_path):
    mlp = examples("digits-mlp")
    data = dict(np.load(mlp.folder / "train.npz"))
    floats = next(
        name for name, array in data.items() if array.dtype.kind == "f"
    )
    data[floats][:] = math.inf
    np.savez(tmp_path / "bad.npz", **data)
    done = tools.run(
        "lockstep-run", compiled("digits-mlp", "--replicas=4"), "--init", mlp.folder / "init.safetensors",
        "--data", tmp_path / "bad.npz", "--steps=1", "--check-finite",
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert re.search(
        rf"; it has read inf: buffer \d+ \(input '{floats}'\), element \[0, 0\]",
        done.stderr,
    ), done.stderr


def test_a_fault_that_cannot_act_is_an_error(
    tools, examples, compiled, tmp_path
):
    done = tools.run(
        "lockstep-run", compiled("digits-mlp", "--replicas=4"),
        *examples("digits-mlp").arguments(3, tmp_path / "metrics"), "--inject=hang:replica=0,command=99999",
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert (
        "injection 'hang:replica=0,command=99999': replica 0 has no command 99999"
        in done.stderr
    )
