"""Results are bitwise independent of worker threads, communication options, the
folder of the compilation, stopping and resuming.
"""

import numpy as np
import pytest

import targets
from conftest import capture, read_metrics, read_variables

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


@pytest.mark.daily(3)
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


@pytest.mark.daily(3)
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


ACCUMULATING = """
import jax.numpy as jnp
from jax import lax

import lockstep

batch_spec = {"x": ((1, 7, 5), "float32"), "y": ((1, 5), "float32")}


def init(seed):
    return {"sums": jnp.zeros(2), "rows": jnp.zeros((2, 5))}


def step(state, batch, scalars):
    x, y = batch["x"][0], batch["y"][0]
    t = EXPRESSION

    def micro(carry, _):
        return carry + 1, (jnp.sum(t), carry)

    _, (sums, rows) = lax.scan(micro, y, (), length=2)
    return {
        "sums": lockstep.all_reduce(sums, "SUM"),
        "rows": lockstep.all_reduce(rows, "SUM"),
    }, {}
"""

# What an iteration stores for the next one, and sums; and a sum behind it.
CARRYING = """
import jax.numpy as jnp
from jax import lax

import lockstep

batch_spec = {"x": ((1, 7, 7), "float32"), "y": ((1, 5), "float32")}


def init(seed):
    return {"sums": jnp.zeros(2)}


def step(state, batch, scalars):
    def micro(carry, _):
        total, x = carry
        n = EXPRESSION
        return (total + jnp.sum(SUMMED), n), None

    start = (jnp.float32(0), batch["x"][0])
    (total, x), _ = lax.scan(micro, start, None, length=3)
    sums = lockstep.all_reduce((total, jnp.sum(x)), "SUM")
    return {"sums": jnp.stack(sums)}, {}
"""


# On a network, the last iteration of the loop is peeled: its sums, and those
# behind it, read what is stored, as they do in a loop.
@pytest.mark.parametrize(
    "text, expression, width",
    [
        (ACCUMULATING, "x.T * 2", 5),
        (ACCUMULATING, "x.T + y[:, None]", 5),
        (ACCUMULATING, "jnp.where(y > 0, y, x[:5, :1])", 5),
        (CARRYING.replace("SUMMED", "x"), "x * 0.9", 7),
        (CARRYING.replace("SUMMED", "n"), "x.T * 0.9", 7),
        (CARRYING.replace("SUMMED", "n"), "jnp.sin(x.T) + x", 7),
    ],
)
def test_the_last_iteration_adds_as_the_others(
    tools, tmp_path, text, expression, width
):
    model = tmp_path / "model.py"
    model.write_text(text.replace("EXPRESSION", expression))
    folder = capture(model, tmp_path / "captured")
    generator = np.random.default_rng(0)
    data = tmp_path / "data.npz"
    np.savez(
        data,
        **{
            name: generator.standard_normal((3, *shape)).astype("float32")
            for name, shape in (("x", (7, width)), ("y", (5,)))
        },
    )
    found = []
    for topology in "host", "ethernet-25g":
        artifact = tmp_path / "step.lockstep"
        done = tools.run(
            "lockstep-compile",
            folder / "step.mlir",
            "--replicas=3",
            f"--topology={topology}",
            f"--target={targets.BEST}",
            "--remarks=kernels",
            "-o",
            artifact,
        )
        assert ("iterations is peeled" in done.stderr) == (topology != "host")
        saved = tmp_path / topology
        tools.run(
            "lockstep-run",
            artifact,
            f"--init={folder / 'init.safetensors'}",
            f"--data={data}",
            "--steps=1",
            f"--save={saved}",
        )
        found.append(read_variables(saved / "checkpoint-1.safetensors"))
    assert found[0] == found[1]
    sums = np.frombuffer(found[0]["sums"][2], "float32")
    assert sums.all()
    if text == ACCUMULATING:
        assert sums[0] == sums[1]
