"""Several executors, which share nothing but messages, are like one: losses,
variables, checkpoints, reports.
"""

import json

import numpy as np
import pytest

import capi
from conftest import read_metrics, read_variables, without_devices
from modules_by_hand import MODULES

REPLICAS = 4
EXECUTORS = [1, 2, 3]


@pytest.fixture
def training(tools, examples, compiled, tmp_path):
    """Trains digits-mlp: `training(name, steps, options...)` returns the
    metrics and the folder of checkpoints.
    """

    def run(name, steps, *options):
        mlp, metrics, folder = (
            examples("digits-mlp"),
            tmp_path / f"{name}.jsonl",
            tmp_path / name,
        )
        tools.run(
            "lockstep-run", compiled("digits-mlp", f"--replicas={REPLICAS}"), *mlp.arguments(steps, metrics),
            "--eval-data", mlp.folder / "test.npz", "--save", folder, *options,
        )  # fmt: skip
        return read_metrics(metrics), folder

    return run


def checkpoint(folder, step):
    return (folder / f"checkpoint-{step}.safetensors").read_bytes()


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("executors", EXECUTORS[1:])
def test_training_has_the_same_bits(training, executors, threads):
    metrics, folder = training("one", 40)
    found, others = training(
        "several", 40, f"--executors={executors}", f"--threads={threads}"
    )
    assert found == metrics
    assert checkpoint(others, 40) == checkpoint(folder, 40)


# Delays of messages do not change results, nor do exchanges on each of two
# hosts before those between them.
@pytest.mark.parametrize("executors, link", [(2, "1"), (4, "2"), (2, "1,4")])
def test_training_over_a_slow_link_has_the_same_bits(training, executors, link):
    metrics, folder = training("fast", 10, "--executors=2")
    found, others = training(
        "slow",
        10,
        f"--executors={executors}",
        f"--transport=slow:1e-4,1e9,{link}",
    )
    assert found == metrics
    assert checkpoint(others, 10) == checkpoint(folder, 10)


# A checkpoint can be resumed with another number of executors.
def test_checkpoints_are_interchangeable(training):
    metrics, folder = training("straight", 45)
    for steps, executors in ((15, 3), (30, 1), (45, 2)):
        found, parts = training(
            "parts", steps, "--resume", f"--executors={executors}"
        )
    assert [line for line in found if "evaluate" not in line] == [
        line for line in metrics if "evaluate" not in line
    ]
    assert checkpoint(parts, 45) == checkpoint(folder, 45)


def under(servers):
    """Options of the compiler for this many parameter servers; 0: mirrored
    variables.
    """
    return (
        [
            f"--servers={servers}",
            "--strategy=parameter_server_sync",
            f"--partitioner=fixed {servers}",
        ]
        if servers
        else []
    )


# Ten steps at a time are trained with mirrored variables, or with another
# number of servers that have the variables in shards.
def test_checkpoints_do_not_depend_on_servers(
    tools, examples, compiled, training, tmp_path
):
    metrics, folder = training("straight", 40)
    mlp = examples("digits-mlp")
    for steps, servers, executors in (
        (10, 2, 1),
        (20, 0, 2),
        (30, 3, 2),
        (40, 1, 3),
    ):
        tools.run(
            "lockstep-run", compiled("digits-mlp", f"--replicas={REPLICAS}", *under(servers)), *mlp.arguments(steps, tmp_path / "parts"),
            "--eval-data", mlp.folder / "test.npz", "--save", tmp_path / "saved", "--resume", f"--executors={executors}",
        )  # fmt: skip
    parts = [
        line
        for line in read_metrics(tmp_path / "parts")
        if "evaluate" not in line
    ]
    assert parts == [line for line in metrics if "evaluate" not in line]
    assert checkpoint(tmp_path / "saved", 40) == checkpoint(folder, 40)


# The report names a server that did not arrive; a fault is injected into it by
# its rank.
def test_servers_are_reported(tools, examples, compiled, tmp_path):
    done = tools.run(
        "lockstep-run", compiled("digits-mlp", f"--replicas={REPLICAS}", *under(2)), *examples("digits-mlp").arguments(3, tmp_path / "metrics"),
        "--inject=pause:replica=5,command=1,program=step", "--deadline=1", "--executors=2",
        check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert "missing: server1\n" in done.stderr
    assert (
        "server1: paused by an injected fault before command 1" in done.stderr
    )
    assert (
        "\nserver0: " in done.stderr
        and "\nreplica 3: blocked in command" in done.stderr
    )


@pytest.mark.parametrize("executors", EXECUTORS[1:])
def test_the_report_is_about_all(
    tools, examples, compiled, tmp_path, executors
):
    def report(count):
        path = tmp_path / f"report-{count}.json"
        done = tools.run(
            "lockstep-run", compiled("digits-mlp", f"--replicas={REPLICAS}"), *examples("digits-mlp").arguments(3, tmp_path / "metrics"),
            "--inject=pause:replica=3,channel=0", "--deadline=1", "--report", path, f"--executors={count}",
            check=False,
        )  # fmt: skip
        assert done.returncode == 3
        text = done.stderr[done.stderr.index("no replica of program") :]
        return without_devices(text), json.loads(path.read_text())["waits"]

    assert report(executors) == report(1)


def test_races_and_traces(training, tmp_path):
    metrics, _ = training("plain", 5)
    trace = tmp_path / "trace.json"
    checked, _ = training(
        "checked", 5, "--executors=2", "--check-races", "--trace", trace
    )
    assert checked == metrics
    events = json.loads(trace.read_text())["traceEvents"]
    names = {
        event["pid"]: event["args"]["name"]
        for event in events
        if event["name"] == "process_name"
    }
    assert names == {0: "replicas 0-1", 1: "replicas 2-3"}
    kernels = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("cat") == "kernel"
    }
    assert kernels == {(0, 0), (0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize("count", [0, REPLICAS + 1])
def test_executors_that_do_not_fit(tools, compiled, count):
    done = tools.run(
        "lockstep-run",
        compiled("digits-mlp", f"--replicas={REPLICAS}"),
        "--steps=0",
        f"--executors={count}",
        check=False,
    )
    assert done.returncode in (1, 2)
    expected = (
        "expected 1 to 4 executors, at most one for each replica, found 5"
        if count
        else "--executors"
    )
    assert expected in done.stderr


# A replica's epoch of batches is one run of the program, whose results are the
# metrics; the next epoch has another order.
@pytest.mark.parametrize("executors", EXECUTORS[:2])
def test_programs_are_fed_from_data(tools, tmp_path, executors):
    artifact = tools.compile(
        MODULES / "program-steps.mlir",
        tmp_path / "program.lockstep",
        "--replicas=2",
    )
    data = tmp_path / "data.npz"
    np.savez(data, x=np.arange(11, dtype=np.float32))
    options = ["--data", data, f"--executors={executors}", "--seed=4"]

    def run(name, epochs, *more):
        tools.run(
            "lockstep-run",
            artifact,
            *options,
            f"--epochs={epochs}",
            "--metrics",
            tmp_path / name,
            "--save",
            tmp_path / f"{name}-saved",
            *more,
        )
        return read_metrics(tmp_path / name)

    found = run("straight", 4)
    assert [(line["step"], line["epoch"], line["n"]) for line in found] == [
        (i, i, 5) for i in range(4)
    ]
    for line in found:
        assert line["sum"] == sum(line["each"]) == 2 * line["mean"]
        assert set(line["each"]) <= set(range(11))
    assert len({tuple(line["each"]) for line in found}) > 1
    run("parts", 2)
    assert run("parts", 4, "--resume") == found
    [variables, resumed] = (
        read_variables(tmp_path / f"{name}-saved" / "checkpoint-4.safetensors")
        for name in ("straight", "parts")
    )
    assert resumed == variables


def test_a_program_needs_data_that_it_can_take(tools, tmp_path):
    artifact = tools.compile(
        MODULES / "program-early-stop.mlir",
        tmp_path / "program.lockstep",
        "--replicas=2",
    )
    np.savez(tmp_path / "data.npz", x=np.zeros(4, np.float32))
    done = tools.run(
        "lockstep-run",
        artifact,
        "--data",
        tmp_path / "data.npz",
        "--epochs=1",
        check=False,
    )
    assert done.returncode == 1
    assert (
        "'x': expected the shape of a batch [rows, ...], found f32"
        in done.stderr
    )
    done = tools.run("lockstep-run", artifact, "--epochs=1", check=False)
    assert "expected --data=PATH, because the step takes data" in done.stderr


def test_the_c_api_has_executors(tools, compiled, tmp_path):
    artifact = compiled("digits-mlp", f"--replicas={REPLICAS}")
    with capi.Session(
        tools.library, artifact, executors=3, workers=2
    ) as session:
        assert session.replicas == REPLICAS
        value = np.arange(10, dtype=np.float32)
        session.set("params/b2", value)
        np.testing.assert_array_equal(session.get("params/b2"), value)
    with capi.failing(
        "expected 1 to 4 executors, at most one for each replica, found 5"
    ):
        capi.Session(tools.library, artifact, executors=5)
