"""The `simulated` device, whose memory faults on the host and whose queues
execute late, in a seeded random order, has bitwise the results of `cpu`.
"""

import shlex

import pytest

from collectives_by_hand import CollectiveRunner
from conftest import read_metrics

pytestmark = pytest.mark.own_device

SEEDS = [1, 2, 3]


@pytest.fixture
def training(tools, examples, compiled, tmp_path):
    """Trains an example: `training(name, steps, options...)` returns the
    metrics and the bytes of the last checkpoint.
    """

    def run(name, steps, *options):
        example = examples(name)
        metrics, folder = tmp_path / "metrics.jsonl", tmp_path / "saved"
        tools.run(
            "lockstep-run", compiled(name, "--replicas=4"), *example.arguments(steps, metrics),
            "--eval-data", example.folder / "test.npz", "--save", folder, *options,
        )  # fmt: skip
        saved = folder / f"checkpoint-{steps}.safetensors"
        found = read_metrics(metrics), saved.read_bytes()
        saved.unlink()
        return found

    return run


@pytest.mark.parametrize("name", ["digits-mlp", "digits-cnn"])
def test_training_has_the_same_bits(training, name):
    expected = training(name, 12, "--device=cpu")
    for seed in SEEDS:
        for executors in (1, 3):
            found = training(
                name,
                12,
                f"--device=simulated:{seed}",
                f"--executors={executors}",
            )
            assert found == expected, f"seed {seed}, {executors} executors"


# The plugin lies beside the folder of a program that is searched in PATH, too.
def test_a_plugin_is_found_from_any_folder(tools, examples, compiled, tmp_path):
    example = examples("digits-mlp")
    arguments = example.arguments(1, tmp_path / "metrics.jsonl")
    command = ["lockstep-run", compiled("digits-mlp", "--replicas=4"), *arguments, "--device=simulated:1"]  # fmt: skip
    status, printed = tools.shell(shlex.join(map(str, command)), tmp_path)
    assert status == 0, printed


@pytest.mark.parametrize("option", ["--check-races", "--check-finite"])
def test_checks_see_what_the_device_has_written(training, option):
    expected = training("digits-mlp", 3, "--device=cpu")
    assert training("digits-mlp", 3, "--device=simulated:5", option) == expected


def test_a_value_that_is_not_finite_is_named(tools, examples, compiled):
    def run(device):
        example = examples("digits-mlp")
        return tools.run(
            "lockstep-run", compiled("digits-mlp", "--replicas=4"), *example.arguments(3, "/dev/null"),
            "--check-finite", "--inject=nan:replica=2,command=0", f"--device={device}", check=False,
        )  # fmt: skip

    on_host, on_device = run("cpu"), run("simulated:2")
    assert on_host.returncode == on_device.returncode != 0
    assert on_host.stderr == on_device.stderr


def test_collectives_by_hand(tools, tmp_path, monkeypatch):
    """Each kind, on several executors: `test_collectives.py` once more."""
    import test_collectives

    monkeypatch.setenv("LOCKSTEP_DEVICE", "simulated:4")
    run = CollectiveRunner(tools, tmp_path)
    for axis in (0, 1):
        test_collectives.test_all_to_all(run, 4, None, axis)
    test_collectives.test_permute(run, 3, None)
    test_collectives.test_scatter(run, 3, None)
    test_collectives.test_reduce_scatter(run, 4, None)
    test_collectives.test_ragged_all_gather(run, 3)


def test_a_device_that_is_not_there(tools, compiled):
    done = tools.run(
        "lockstep-run",
        compiled("digits-mlp", "--replicas=4"),
        "--device=quantum",
        "--steps=1",
        check=False,
    )
    assert done.returncode == 1
    assert (
        "device 'quantum': expected 'cpu' or the name of a plugin, looked for"
        in done.stderr
    )
