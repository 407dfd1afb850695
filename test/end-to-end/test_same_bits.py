"""Results are bitwise independent of worker threads, communication options, the
folder of the compilation, stopping and resuming.
"""

import pytest

from conftest import read_metrics

#: How many steps each example takes here.
STEPS = {"digits-mlp": 50, "digits-cnn": 30, "language-model": 3}
EXAMPLES = list(STEPS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_worker_threads(train, name):
    one, two = (
        train(
            name, STEPS[name], compile=["--replicas=4"], run=[f"--threads={n}"]
        )
        for n in (1, 2)
    )
    assert one == two


@pytest.mark.parametrize(
    "option",
    [
        "--bucket=none",
        "--overlap=false",
        "--bucket=bytes:4096",
        "--topology=ethernet-25g",
        "--topology=dgx-h100",
        "--shard-update=on",
    ],
)
@pytest.mark.parametrize("name", EXAMPLES)
def test_communication_options(train, name, option):  # [2.5-bytes-per-pack]
    plain = train(name, STEPS[name], compile=["--replicas=4"])
    changed = train(name, STEPS[name], compile=["--replicas=4", option])
    assert plain == changed


def test_bounded_memory(train):
    options = ["--replicas=4", "--topology=ethernet-25g"]
    plain = train("digits-mlp", STEPS["digits-mlp"], compile=options)
    for bound in (
        ["--memory-bound=170000"],
        ["--memory-bound=170000", "--shard-update=off"],
        ["--memory-bound=110000"],
    ):
        changed = train(
            "digits-mlp", STEPS["digits-mlp"], compile=options + bound
        )
        assert plain == changed, bound


@pytest.mark.parametrize("name", EXAMPLES)
def test_two_compilations_in_two_folders(
    tools, examples, compiled, tmp_path, name
):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    source = folder / "copy.mlir"
    source.write_bytes(examples(name).source.read_bytes())
    options = ["--replicas=4", "--target=x86-64-v3,x86-64-v4"]
    again = tools.compile(source, folder / "copy.lockstep", *options)
    assert again.read_bytes() == compiled(name, *options).read_bytes()


# A run that stops in the middle of an epoch and continues from its checkpoint:
# its metrics and its last checkpoint are those of a run that did not stop. The
# language model's dropout and learning rate follow the step's number, its AdamW
# a counter in the state.
@pytest.mark.parametrize(
    "name, stop, end",
    [("digits-mlp", 37, 60), ("digits-cnn", 13, 25), ("language-model", 3, 7)],
)
def test_resuming(tools, examples, compiled, tmp_path, name, stop, end):
    def run(steps, metrics, folder, *more):
        arguments = examples(name).arguments(steps, tmp_path / metrics)
        tools.run(
            "lockstep-run",
            compiled(name, "--replicas=4"),
            *arguments,
            "--save",
            tmp_path / folder,
            *more,
        )
        return read_metrics(tmp_path / metrics)

    straight = run(end, "straight", "straight-checkpoints")
    run(stop, "parts", "checkpoints")
    assert run(end, "parts", "checkpoints", "--resume") == straight
    last = f"checkpoint-{end}.safetensors"
    assert (tmp_path / "checkpoints" / last).read_bytes() == (
        tmp_path / "straight-checkpoints" / last
    ).read_bytes()
