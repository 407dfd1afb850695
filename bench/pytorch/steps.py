"""Step times compared with PyTorch's on the same machine, in the same process.

    LOCKSTEP_BIN=build/release/bin build/venv/bin/python bench/pytorch/steps.py
    --torch=SITE_PACKAGES [MODEL ...]

SITE_PACKAGES is the folder of a virtual environment with PyTorch, of the same
version of Python. The models are those of `bench/jax` and `bench/schedule`, and
the same functions of PyTorch's operations here, eager and by `torch.compile`,
with PyTorch's optimizer, attention, normalization and GELU. All start with the
same parameters and the same batch on one device, and use all CPUs; their losses
are compared before the measurement. Rounds of several steps alternate; the
ratio of a round is Lockstep's time divided by PyTorch's. The median of all
rounds is printed with the smallest and the largest.
"""

import argparse
import functools
import json
import os
import pathlib
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH / "support"), str(BENCH / "jax")]

from measuring import (  # noqa: E402
    add_alone,
    add_rounds,
    measure_alone,
    spread_text,
)
from training import ROOT, capture  # noqa: E402

MOMENTUM = 0.9
#: Name, file, and the environment that selects a size.
MODELS = {
    "mlp": ("bench/jax/mlp.py", {"LAYERS": "784-1024-1024-10"}),
    "transformer": (
        "bench/schedule/transformer.py",
        {"SIZES": "4-256-4-512-8-64"},
    ),
    "gpt": ("bench/schedule/transformer.py", {"SIZES": "2-768-12-4096-2-256"}),
}


def perceptron(torch, state, batch):
    """A function that takes a step of `bench/jax/mlp.py`, and returns the loss."""
    params = [
        torch.tensor(state[f"params/{kind}{i}"]).requires_grad_()
        for i in range(len(os.environ["LAYERS"].split("-")) - 1)
        for kind in "wb"
    ]
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=MOMENTUM)
    x, y = torch.tensor(batch["x"]), torch.tensor(batch["y"]).long()

    def loss():
        h = x
        for w, b in zip(params[::2], params[1::2], strict=True):
            h = (h if w is params[0] else torch.relu(h)) @ w + b
        return torch.nn.functional.cross_entropy(h, y)

    return step_of(optimizer, loss)


def transformer(torch, state, batch):
    """The same for `bench/schedule/transformer.py`."""
    functional = torch.nn.functional
    layers, width, heads, _, rows, length = map(
        int, os.environ["SIZES"].split("-")
    )
    p = {
        name: torch.tensor(value).requires_grad_()
        for name, value in state.items()
    }
    optimizer = torch.optim.SGD(list(p.values()), lr=0.01)
    x, y = (torch.tensor(batch[name]).long() for name in "xy")

    def normalize(h, scale):
        return functional.layer_norm(h, (width,)) * scale

    def attend(h, layer):
        qkv = (h @ p[layer + "qkv"]).reshape(
            rows, length, 3, heads, width // heads
        )
        mixed = functional.scaled_dot_product_attention(
            *(qkv[:, :, i].transpose(1, 2) for i in range(3)), is_causal=True
        )
        mixed = mixed.transpose(1, 2).reshape(rows, length, width)
        return mixed @ p[layer + "project"]

    def loss():
        h = p["embedding"][x] + p["positions"]
        for i in range(layers):
            layer = f"layers/{i}/"
            h = h + attend(normalize(h, p[layer + "scale1"]), layer)
            up = normalize(h, p[layer + "scale2"]) @ p[layer + "up"]
            up = functional.gelu(up + p[layer + "up_bias"], approximate="tanh")
            h = h + up @ p[layer + "down"] + p[layer + "down_bias"]
        logits = h @ p["head"]
        return functional.cross_entropy(logits.flatten(0, 1), y.flatten())

    return step_of(optimizer, loss)


def step_of(optimizer, loss):
    def step():
        optimizer.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        optimizer.step()
        return value

    return step


def random_batch(name):
    import numpy as np

    random = np.random.default_rng(0)
    if name == "mlp":
        width = int(os.environ["LAYERS"].split("-")[0])
        return {
            "x": random.standard_normal((64, width), np.float32),
            "y": random.integers(0, 10, 64).astype(np.int32),
        }
    *_, vocabulary, rows, length = map(int, os.environ["SIZES"].split("-"))
    return {
        key: random.integers(0, vocabulary, (rows, length)).astype(np.int32)
        for key in "xy"
    }


def seconds_of(step, count):
    """Seconds of one of `count` steps, and the last loss."""
    begin = time.perf_counter()
    for _ in range(count):
        loss = step()
    return (time.perf_counter() - begin) / count, float(loss)


def measure(name, seconds, rounds):
    """Seconds of a step of Lockstep, of eager and of compiled PyTorch in each
    round, in this process, whose environment selects the size of the model.
    """
    import numpy as np
    import steps
    import torch
    from safetensors.numpy import load_file

    # Before the threads begin, which take it over; Lockstep does it, too.
    torch.set_flush_denormal(True)
    binaries = pathlib.Path(os.environ["LOCKSTEP_BIN"]).resolve()
    build = perceptron if name == "mlp" else transformer
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        capture(ROOT / MODELS[name][0], folder, 1)
        state, batch = (
            load_file(folder / "init.safetensors"),
            random_batch(name),
        )
        ours = steps.Lockstep(folder, 1, binaries)
        ours.start(state, batch)

        def run_ours(count):
            spent, loss = ours.run(count)
            return spent / count, loss

        functions = [build(torch, state, batch) for _ in range(2)]
        functions[1] = torch.compile(functions[1])
        sides = [
            run_ours,
            *(functools.partial(seconds_of, step) for step in functions),
        ]
        losses = [side(5)[1] for side in sides]
        if not np.allclose(losses, losses[0], rtol=1e-3):
            raise SystemExit(
                f"they do not compute the same: losses {losses} after 5 steps"
            )
        count = max(3, int(seconds / max(side(3)[0] for side in sides)))
        return [[side(count)[0] for side in sides] for _ in range(rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", help=", ".join(MODELS))
    parser.add_argument("--torch", required=True, help="folder of PyTorch")
    add_rounds(parser, rounds=9, seconds=0.5)
    add_alone(parser)
    options = parser.parse_args()
    if options.one:
        # Behind the packages of this environment, NumPy among them.
        sys.path.append(options.torch)
        print(
            json.dumps(
                measure(options.models[0], options.seconds, options.rounds)
            )
        )
        return
    print(
        "| model | Lockstep, ms a step | PyTorch | ratio | compiled | ratio |"
    )
    print("|---|---|---|---|---|---|")
    for name in options.models or MODELS:
        rounds = measure_alone(
            __file__,
            [name, "--torch", options.torch],
            options,
            **MODELS[name][1],
        )
        ours, eager, compiled = (
            sorted(times)[len(rounds) // 2] * 1e3
            for times in zip(*rounds, strict=True)
        )
        ratios = [spread_text([r[0] / r[i] for r in rounds]) for i in (1, 2)]
        print(
            f"| {name} | {ours:.3g} | {eager:.3g} | {ratios[0]} "
            f"| {compiled:.3g} | {ratios[1]} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
