"""Kernels in the order that the link needs: random networks, of several towers
in one step, have the same bits in any order, and simulated steps that are not
longer.
"""

import json
import random
import shutil

import numpy as np
import pytest

import targets
from lockstep import capture, model

#: Of each, rows in a replica's batch.
ROWS = 4

#: Networks, and how many of them have to find an order that is better.
COUNT, IMPROVED = 6, 2

MODEL = """\
import jax
import jax.numpy as jnp

import lockstep

TOWERS = {towers}
batch_spec = {{
    str(i): (({rows}, widths[0]), "float32") for i, widths in enumerate(TOWERS)
}}


def init(seed):
    def layers(key, widths):
        return [
            jax.random.normal(jax.random.fold_in(key, i), shape) / shape[0] ** 0.5
            for i, shape in enumerate(zip(widths, widths[1:]))
        ]

    return [layers(jax.random.key(i), widths) for i, widths in enumerate(TOWERS)]


def loss(state, batch):
    total = 0.0
    for i, layers in enumerate(state):
        x = batch[str(i)]
        for weights in layers:
            x = jnp.tanh(x @ weights)
        total = total * jnp.mean(x) + jnp.mean(x**2) if {joined} else total + jnp.mean(x**2)
    return total


def step(state, batch, scalars):
    value, gradients = jax.value_and_grad(loss)(state, batch)
    gradients = lockstep.all_reduce(gradients, "MEAN")
    state = jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients)
    return state, {{"loss": lockstep.all_reduce(value, "MEAN")}}
"""


def network(rng):
    towers = [
        [rng.choice([4, 8, 16, 64, 96]) for _ in range(rng.randint(2, 6))]
        for _ in range(rng.randint(1, 3))
    ]
    return towers, MODEL.format(
        towers=towers, rows=ROWS, joined=rng.random() < 0.3
    )


def link(rng):
    """A network whose link takes about as long as the kernels."""
    return {
        "name": "random-link",
        "compute": {
            "flops_per_second": 1e9,
            "bytes_per_second": 1e10,
            "launch_seconds": 1e-7,
        },
        "reduces_on_compute": False,
        "algorithm": "direct",
        "levels": [
            {
                "name": "wire",
                "latency_seconds": rng.choice([1e-8, 1e-6]),
                "bytes_per_second": rng.choice([3e8, 1e9, 3e9]),
            }
        ],
    }


@pytest.fixture
def results(tools, tmp_path):
    """Compiles a captured network with options, takes three steps, and returns
    the simulated seconds of one, whether kernels have been moved, and the bytes
    of the last checkpoint.
    """

    def get(*options):
        artifact = tmp_path / "model.lockstep"
        remarks = tools.run(
            "lockstep-compile", tmp_path / "step.mlir", "--replicas=3", f"--target={targets.BEST}", "--check-order", "--remarks=bucket", *options, "-o", artifact,
        ).stderr  # fmt: skip
        shutil.rmtree(tmp_path / "checkpoints", ignore_errors=True)
        tools.run(
            "lockstep-run", artifact, "--init", tmp_path / "init.safetensors", "--data", tmp_path / "data.npz",
            "--steps=3", "--save", tmp_path / "checkpoints", "--check-races",
        )  # fmt: skip
        simulated = json.loads(
            tools.run("lockstep-simulate", artifact, "--format=json").stdout
        )
        return (
            simulated["seconds"],
            "executed after others that were written later" in remarks,
            (tmp_path / "checkpoints/checkpoint-3.safetensors").read_bytes(),
        )

    return get


def test_random_networks(results, tmp_path):
    improved = 0
    for seed in range(COUNT):
        rng = random.Random(seed)
        towers, text = network(rng)
        (tmp_path / "model.py").write_text(text)
        loaded = model.load(tmp_path / "model.py")
        capture.write(tmp_path, *capture.capture(loaded))
        np.savez(
            tmp_path / "data.npz",
            **{
                str(i): np.random.default_rng(i)
                .normal(size=(6 * ROWS, widths[0]))
                .astype(np.float32)
                for i, widths in enumerate(towers)
            },
        )
        (tmp_path / "link.json").write_text(json.dumps(link(rng)))
        topology = f"--topology={tmp_path / 'link.json'}"
        _, _, expected = results()
        for mode in ("on", "off"):
            options = [topology, f"--shard-update={mode}"]
            plain, moved, bits = results(*options, "--order-kernels=false")
            assert not moved and bits == expected, seed
            seconds, moved, bits = results(*options)
            assert bits == expected, (seed, mode)
            assert seconds <= plain * 1.001, (seed, mode)
            assert moved or seconds == plain, (seed, mode)
            improved += moved and seconds < plain
    assert improved >= IMPROVED
