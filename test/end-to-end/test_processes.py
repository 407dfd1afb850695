"""Several processes that mpirun has started are like one: losses, variables,
checkpoints, results, reports.
"""

import json
import os
import signal
import sys
import time

import numpy as np
import pytest

from conftest import Tools, read_metrics, without_devices
from gpus import standin
from modules_by_hand import MODULES
from mpi_processes import Processes

REPLICAS = 4
PROCESSES = [2, 3]


@pytest.fixture
def processes(tools, tmp_path):
    if not (tools.folder.parent / "lib" / "liblockstep_mpi.so").exists():
        pytest.skip("the transport 'mpi' is not built")
    return Processes(tools, tmp_path)


@pytest.fixture
def training(tools, examples, compiled, processes, tmp_path):
    """Trains digits-mlp in some processes, or by no mpirun: returns the metrics
    and the bytes of the last checkpoint.
    """

    def run(name, count, steps, *options, compile=()):
        mlp, metrics, folder = (
            examples("digits-mlp"),
            tmp_path / f"{name}.jsonl",
            tmp_path / name,
        )
        arguments = [
            compiled("digits-mlp", f"--replicas={REPLICAS}", *compile),
            *mlp.arguments(steps, metrics),
            *("--eval-data", mlp.folder / "test.npz", "--save", folder),
            *options,
        ]
        if count == 0:
            tools.run("lockstep-run", *arguments)
        else:
            processes.run(count, *arguments)
        checkpoint = folder / f"checkpoint-{steps}.safetensors"
        return read_metrics(metrics), checkpoint.read_bytes()

    return run


@pytest.mark.parametrize("count", PROCESSES)
def test_training_has_the_same_bits(training, count):
    expected = training("one", 0, 40)
    assert training("several", count, 40) == expected


def test_a_process_may_have_several_executors(training):
    expected = training("one", 0, 20)
    assert training("more", 2, 20, "--executors=3", "--threads=2") == expected


# Each replica has a part of the state of the update, and the parts of other
# processes are saved, too.
def test_a_divided_update_is_saved(training):
    options = ("--shard-update=on",)
    expected = training("one", 0, 12, compile=options)
    assert training("several", 2, 12, compile=options) == expected


def test_servers_may_be_in_any_process(training):
    options = (
        "--servers=3",
        "--strategy=parameter_server_sync",
        "--partitioner=fixed 3",
    )
    expected = training("one", 0, 12, compile=options)
    assert training("several", 2, 12, compile=options) == expected


def test_checkpoints_are_interchangeable(training):
    metrics, checkpoint = training("straight", 0, 45)
    for count, steps in ((3, 15), (0, 30), (2, 45)):
        found, parts = training("parts", count, steps, "--resume")
    assert parts == checkpoint
    assert [line for line in found if "evaluate" not in line] == [
        line for line in metrics if "evaluate" not in line
    ]


# A value of each replica is known to the first process, which writes it:
# metrics that differ, the variables of all replicas.
@pytest.mark.parametrize(
    "module, replicas", [("program-steps", 2), ("uneven-batches", 3)]
)
def test_values_of_each_replica(tools, processes, tmp_path, module, replicas):
    artifact = tools.compile(
        MODULES / f"{module}.mlir",
        tmp_path / "module.lockstep",
        f"--replicas={replicas}",
    )
    x = np.arange(22, dtype=np.float32)
    options = ["--global-batch=7", "--remainder=distribute"]
    if module == "uneven-batches":
        x = x.reshape(11, 2)
    else:
        options = []
    np.savez(tmp_path / "data.npz", x=x)

    def files(name):
        return [
            artifact,
            *("--data", tmp_path / "data.npz", "--epochs=3", "--seed=4"),
            *("--metrics", tmp_path / f"{name}.jsonl"),
            *("--save", tmp_path / name),
            *options,
        ]

    tools.run("lockstep-run", *files("one"))
    processes.run(2, *files("several"))
    names = [path.name for path in (tmp_path / "one").glob("*.safetensors")]
    assert names
    for name in ["../one.jsonl", *names]:
        other = name.replace("one", "several")
        assert (tmp_path / "several" / other).read_bytes() == (
            tmp_path / "one" / name
        ).read_bytes()


def test_a_single_step_prints_all_results(tools, processes, tmp_path):
    artifact = tools.compile(
        MODULES / "ragged-axis0.mlir",
        tmp_path / "ragged.lockstep",
        "--replicas=3",
    )
    parts = [np.full((r, 1), r, np.float32) for r in (2, 0, 3)]
    np.savez(
        tmp_path / "x.npz", **{f"x@{r}": part for r, part in enumerate(parts)}
    )
    arguments = [artifact, "--inputs", tmp_path / "x.npz"]
    alone = tools.run("lockstep-run", *arguments)
    assert alone.stdout.count("\n") == 3
    for count in PROCESSES:
        assert processes.run(count, *arguments).stdout == alone.stdout


def test_replicas_of_all_processes_have_as_many_batches(
    tools, processes, tmp_path
):
    artifact = tools.compile(
        MODULES / "program-steps.mlir",
        tmp_path / "program.lockstep",
        "--replicas=2",
    )
    x = {f"x@{r}": np.zeros((3 + r, 1), np.float32) for r in range(2)}
    np.savez(tmp_path / "x.npz", **x)
    done = processes.run(
        2, artifact, "--inputs", tmp_path / "x.npz", check=False
    )
    assert done.returncode == 1
    assert (
        "program 'main': replica 1 has 4 batches, but replica 0 has 3"
        in done.stderr
    )


def usual(examples, compiled, *options):
    mlp = examples("digits-mlp")
    return [
        compiled("digits-mlp", f"--replicas={REPLICAS}"),
        *("--init", mlp.folder / "init.safetensors"),
        *("--data", mlp.folder / "train.npz"),
        *options,
    ]


# Whichever process gets the signal, all end after the same step.
@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_stops_all(
    tools, examples, compiled, processes, training, tmp_path, rank
):
    metrics, saved = tmp_path / "stopped.jsonl", tmp_path / "stopped"
    launcher, process_of = processes.start(
        2,
        *usual(examples, compiled, "--steps=2000000000", "--seed=0"),
        *("--metrics", metrics, "--save", saved),
    )
    while not metrics.exists() or not metrics.stat().st_size:
        assert launcher.poll() is None
        time.sleep(0.01)
    os.kill(process_of(rank), signal.SIGTERM)
    out, err = launcher.communicate(timeout=300)
    assert launcher.returncode == 128 + signal.SIGTERM, err
    assert out.startswith("stopped after "), out + err
    [checkpoint] = saved.glob("*.safetensors")
    steps = len(read_metrics(metrics))
    assert checkpoint.name == f"checkpoint-{steps}.safetensors"
    if steps <= 5000:
        _, expected = training("straight", 0, steps)
        assert checkpoint.read_bytes() == expected


# A process that is killed does not keep the others.
def test_a_lost_process_ends_all(examples, compiled, processes, tmp_path):
    metrics = tmp_path / "metrics.jsonl"
    launcher, process_of = processes.start(
        2,
        *usual(examples, compiled, "--steps=2000000000", "--metrics", metrics),
    )
    while not metrics.exists() or not metrics.stat().st_size:
        assert launcher.poll() is None
        time.sleep(0.01)
    os.kill(process_of(1), signal.SIGKILL)
    launcher.communicate(timeout=300)
    assert launcher.returncode != 0


def test_a_hang_is_reported_by_each(examples, compiled, processes, tmp_path):
    done = processes.run(
        2,
        *usual(
            examples,
            compiled,
            "--steps=3",
            "--deadline=1",
            "--inject=pause:replica=3,channel=0",
            f"--report={tmp_path / 'report.json'}",
        ),
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "injected: pause:replica=3,channel=0" in done.stderr
    # One process may end the other before it has written its own.
    reports = {path.name: path for path in tmp_path.glob("report*.json")}
    assert reports.keys() <= {"report.json", "report.process1.json"}
    said = without_devices(done.stderr)
    if "report.process1.json" in reports:
        assert "\nprocess 1:\nno replica of program 'step' has made" in said
        report = json.loads(reports["report.process1.json"].read_text())
        assert report["waits"][0]["missing"] == [3]
    if "report.json" in reports:
        assert "\nprocess 0:\nno replica of program 'step' has made" in said
        report = json.loads(reports["report.json"].read_text())
        assert report["waits"][0]["missing"] == [2, 3]
    assert reports


def test_each_process_writes_a_trace(examples, compiled, processes, tmp_path):
    processes.run(
        2,
        *usual(
            examples,
            compiled,
            "--steps=2",
            f"--trace={tmp_path / 'trace.json'}",
        ),
    )
    for name, first, last in (
        ("trace.json", 0, 1),
        ("trace.process1.json", 2, 3),
    ):
        text = (tmp_path / name).read_text()
        assert f"replicas {first}-{last}" in text


#: Chooses the option of the process, then becomes the command.
DIFFERING = """
import os, sys
first, second, *command = sys.argv[1:]
own = second if os.environ["OMPI_COMM_WORLD_RANK"] == "1" else first
os.execv(command[0], command + own.split())
"""


@pytest.mark.parametrize(
    "first, second, fact",
    [
        (
            "--steps=4",
            "--steps=5",
            "executors must have the same steps (--steps): found '5' in "
            "executor 1 (ranks 2-3), '4' in executor 0 (ranks 0-1)",
        ),
        (
            "--steps=4 --seed=1",
            "--steps=4 --seed=2",
            "executors must have the same seed (--seed): found '2' in "
            "executor 1 (ranks 2-3), '1' in executor 0 (ranks 0-1)",
        ),
    ],
)
def test_processes_must_do_the_same(
    examples, compiled, processes, first, second, fact
):
    done = processes.run(
        2,
        *usual(examples, compiled),
        program=[sys.executable, "-c", DIFFERING, first, second],
        check=False,
    )
    assert done.returncode == 1
    assert fact in done.stderr


# Others do not wait for a process that cannot take part, nor for its deadline.
@pytest.mark.parametrize(
    "first, second, said",
    [
        ("--seed=0", "--init=/nowhere/x", "process 1: error: '/nowhere/x': "),
        ("--metrics=/nowhere/x", "--metrics=x", "process 0: error: '/nowhere/"),
        ("--seed=0", "--data=/nowhere/x", "process 1: error: '/nowhere/x': "),
    ],
)
def test_an_error_of_one_ends_all(
    examples, compiled, processes, first, second, said
):
    done = processes.run(
        2,
        *usual(examples, compiled, "--steps=2000000000", "--deadline=10000"),
        program=[sys.executable, "-c", DIFFERING, first, second],
        check=False,
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert "has made progress" not in done.stderr


# They learn of it from each other's messages, not after a deadline.
@pytest.mark.parametrize("counts", [(2, 3), (3, 2), (3, 4)])
def test_processes_must_have_the_same_executors(
    examples, compiled, processes, counts
):
    first, second = (f"--executors={count}" for count in counts)
    done = processes.run(
        2,
        *usual(examples, compiled, "--steps=3", "--deadline=10000"),
        program=[sys.executable, "-c", DIFFERING, first, second],
        check=False,
    )
    assert done.returncode == 1
    assert (
        "expected the same executors in all processes, found another division "
        "of the ranks in process " in done.stderr
    )


@pytest.mark.parametrize(
    "transport, said",
    [
        ("mpi:2", "transport 'mpi:2': expected no options, found '2'"),
        (
            "nccl:tcp",
            "transport 'nccl:tcp': expected 'nccl:threads' or 'nccl:mpi', the "
            "same with ',reduce', or 'nccl:reduce', found 'nccl:tcp'",
        ),
    ],
)
def test_options_of_transports(
    tools, examples, compiled, processes, transport, said
):
    done = tools.run(
        "lockstep-run",
        *usual(examples, compiled, "--steps=1"),
        f"--transport={transport}",
        check=False,
    )
    assert done.returncode == 1
    assert said in done.stderr


def test_a_process_needs_a_replica(examples, compiled, processes):
    done = processes.run(
        5, *usual(examples, compiled, "--steps=1"), check=False
    )
    assert done.returncode == 1
    assert (
        "expected 1 to 4 processes, at most one for each replica, found 5"
        in done.stderr
    )


def test_workers_are_in_one_process(tools, examples, compiled, processes):
    mlp = examples("digits-mlp")
    done = processes.run(
        2,
        compiled(
            "digits-mlp",
            "--replicas=1",
            "--servers=1",
            "--strategy=parameter_server",
        ),
        *("--workers=2", "--steps=1"),
        *("--init", mlp.folder / "init.safetensors"),
        *("--data", mlp.folder / "train.npz"),
        check=False,
    )
    assert done.returncode == 1
    assert (
        "expected a transport that has all executors of a worker in this "
        "process, found 'mpi', which connects 2 processes" in done.stderr
    )


# The plugin of the build with AddressSanitizer, which only processes load.
def test_under_address_sanitizer(examples, compiled, processes, tmp_path):
    folder = os.environ.get("LOCKSTEP_SANITIZED_BIN")
    if not folder or not os.path.exists(f"{folder}/lockstep-run"):
        pytest.skip("expected LOCKSTEP_SANITIZED_BIN to name a build")
    arguments = [
        *usual(examples, compiled, "--steps=20", "--seed=0"),
        *("--eval-data", examples("digits-mlp").folder / "test.npz"),
    ]
    expected = processes.run(2, *arguments)
    sanitized = Processes(Tools(folder), tmp_path)
    # MPI itself leaks memory.
    found = sanitized.run(3, *arguments, ASAN_OPTIONS="detect_leaks=0")
    assert "evaluation: " in found.stdout
    assert found.stdout.splitlines()[1:] == expected.stdout.splitlines()[1:]


@pytest.fixture
def nccl(tools):
    """The folder of the stand-ins for CUDA's driver and NCCL."""
    folder = standin(tools)
    if not (folder / "libnccl.so.2").exists():
        pytest.skip("the stand-in for CUDA's driver is not built")
    return folder


#: Lets the second process use another transport.
REDUCING_IN_ONE = """
import os, sys
command = sys.argv[1:]
if os.environ["OMPI_COMM_WORLD_RANK"] == "1":
    command = [word.replace("nccl:mpi", "nccl:mpi,reduce") for word in command]
os.execv(command[0], command)
"""


def test_processes_agree_on_who_reduces(nccl, examples, compiled, processes):
    done = processes.run(
        2, compiled("digits-mlp", f"--replicas={REPLICAS}", "--target=sm_90a"),
        *usual(examples, compiled, "--steps=1")[1:],
        "--device=cuda", "--transport=nccl:mpi",
        program=[sys.executable, "-c", REDUCING_IN_ONE], check=False,
        LD_LIBRARY_PATH=str(nccl), LOCKSTEP_CUDA_DEVICES="2",
    )  # fmt: skip
    assert done.returncode != 0
    assert (
        "must have the same transport: found 'nccl:mpi,reduce' in executor 1 "
        "(ranks 2-3), 'nccl:mpi' in executor 0 (ranks 0-1)"
    ) in done.stderr


# A GPU for each process: messages of hosts by MPI, or data by NCCL.
@pytest.mark.own_device
@pytest.mark.parametrize(
    "transport", ["mpi", "nccl", "nccl:mpi", "nccl:reduce", "nccl:mpi,reduce"]
)
def test_gpus_of_several_processes(
    tools, nccl, examples, compiled, processes, tmp_path, transport
):
    mlp = examples("digits-mlp")
    compile = ("digits-mlp", f"--replicas={REPLICAS}")
    tools.run(
        "lockstep-run", compiled(*compile), *mlp.arguments(3, tmp_path / "cpu"),
        "--device=cpu",
    )  # fmt: skip
    done = processes.run(
        2, compiled(*compile, "--target=sm_90a"), *mlp.arguments(3, tmp_path / "gpus"),
        "--device=cuda", f"--transport={transport}",
        LD_LIBRARY_PATH=str(nccl), LOCKSTEP_CUDA_DEVICES="2",
    )  # fmt: skip
    assert "trained 3 steps" in done.stdout
    for found, expected in zip(
        read_metrics(tmp_path / "gpus"),
        read_metrics(tmp_path / "cpu"),
        strict=True,
    ):
        assert found["loss"] == pytest.approx(expected["loss"], rel=1e-5)
