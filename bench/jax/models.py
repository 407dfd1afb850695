"""Step times of models compared with those of JAX on the same machine, in the
same process.

    LOCKSTEP_BIN=build/release/bin build/venv/bin/python bench/jax/models.py
    [MODEL ...]

The model file is the same on both sides, on one device, with a random batch and
the default scalars; `steps.py` says how they are executed. The losses of both
are compared before the measurement. Rounds of several steps alternate between
the two; the ratio of a round is Lockstep's time divided by JAX's. The median of
all rounds is printed with the smallest and the largest.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

import steps  # noqa: E402

from measuring import (  # noqa: E402
    add_alone,
    add_rounds,
    measure_alone,
    spread_text,
)
from training import ROOT, capture  # noqa: E402

ZOO = "test/end-to-end/models"
#: Name, file, and the environment that selects a size.
MODELS = {
    "mlp": ("bench/jax/mlp.py", {"LAYERS": "784-1024-1024-10"}),
    "digits-cnn": ("examples/digits-cnn/model.py", {}),
    "language-model": ("examples/language-model/model.py", {}),
    "transformer": ("bench/schedule/transformer.py", {}),
    "gpt": ("bench/schedule/transformer.py", {"SIZES": "2-768-12-4096-2-256"}),
    "resnet-50": ("bench/jax/resnet.py", {"SIZE": "64", "BATCH": "8"}),
    "towers": ("bench/schedule/towers.py", {}),
    "vit": (f"{ZOO}/vit.py", {}),
    "unet": (f"{ZOO}/unet_diffusion.py", {}),
    "bilstm": (f"{ZOO}/bilstm.py", {}),
    "graph-net": (f"{ZOO}/graph_net.py", {}),
}


def random_batch(model):
    """A batch for one replica: the model's own data, or normal numbers and
    integers below 2, which every model takes as classes."""
    import numpy as np

    data = model.step.__globals__.get("data")
    if data:
        rows = next(iter(model.batch.values())).shape[0]
        data = data(rows, 0)
        return {name: np.asarray(data[name]) for name in model.batch}
    random = np.random.default_rng(0)
    return {
        name: (
            random.standard_normal(entry.shape)
            if np.issubdtype(entry.dtype, np.floating)
            else random.integers(0, 2, entry.shape)
        ).astype(entry.dtype)
        for name, entry in model.batch.items()
    }


def measure(name, seconds, rounds):
    """Seconds of a step of Lockstep and of JAX in each round, in this process,
    whose environment selects the size of the model.
    """
    import jax
    import numpy as np
    from safetensors.numpy import load_file

    from lockstep import model as models

    binaries = pathlib.Path(os.environ["LOCKSTEP_BIN"]).resolve()
    path = ROOT / MODELS[name][0]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        capture(path, folder, 1)
        model = models.load(path)
        batch = random_batch(model)
        ours, theirs = steps.Lockstep(folder, 1, binaries), steps.Jax(model, 1)
        for scalar, value in model.default_scalars().items():
            ours.session.set_scalar(scalar, value)
        ours.start(load_file(folder / "init.safetensors"), batch)
        # JAX's donation of the state needs a buffer for each tensor.
        copies = jax.tree.map(lambda x: jax.numpy.array(x), model.init(0))
        theirs.start(copies, batch)

        losses = [side.run(5)[1] for side in (ours, theirs)]
        if not np.isclose(*losses, rtol=1e-3):
            raise SystemExit(
                f"the two do not compute the same: losses {losses} after 5 steps"
            )
        count = max(
            3,
            int(seconds / max(side.run(3)[0] / 3 for side in (ours, theirs))),
        )
        return [
            (ours.run(count)[0] / count, theirs.run(count)[0] / count)
            for _ in range(rounds)
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", help=", ".join(MODELS))
    add_rounds(parser, rounds=9, seconds=0.5)
    add_alone(parser)
    options = parser.parse_args()
    if options.one:
        print(
            json.dumps(
                measure(options.models[0], options.seconds, options.rounds)
            )
        )
        return
    print("| model | Lockstep, ms a step | JAX, ms a step | ratio |")
    print("|---|---|---|---|")
    for name in options.models or MODELS:
        pairs = measure_alone(__file__, [name], options, **MODELS[name][1])
        ours, theirs = (
            sorted(times)[len(pairs) // 2] * 1e3
            for times in zip(*pairs, strict=True)
        )
        ratio = spread_text([a / b for a, b in pairs])
        print(f"| {name} | {ours:.3g} | {theirs:.3g} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
