"""Records what plain JAX computes for a model, to compare Lockstep with.

    python test/oracle/record.py examples/digits-mlp/model.py --data train.npz \
        --replicas=4 --steps=100 -o test/oracle/digits-mlp-4.json

The JSON holds the metrics of every step, as numbers that read back to the
same floats. `--states DIR` also writes the state before each step, as
`DIR/state-N.safetensors`, and what the step takes, as `DIR/batch-N.npz`: a
single step can then be compared on its own. With `--eval-data` the final
state is evaluated.
"""

import argparse
import json
import os
import pathlib
import sys

import numpy as np

import oracle

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    options = arguments()
    oracle.set_devices(options.replicas)
    sys.path.insert(0, str(ROOT / "python-bindings"))

    from lockstep import contract
    from lockstep import model as models

    model = models.load(options.model)
    runner = oracle.Oracle(model, options.replicas)
    data = dict(np.load(options.data))
    overrides = dict(setting.split("=", 1) for setting in options.set)
    state = contract.initial_state(model, options.seed)
    metrics = {}
    batches = oracle.batches(data, runner.rows_per_step, options.seed)
    for number in range(options.steps):
        batch = next(batches)
        scalars = runner.scalars(number, options.seed, overrides)
        if options.states:
            save_state(options.states, number, state, batch)
        state, values = runner.step(state, batch, scalars)
        for name, value in values.items():
            metrics.setdefault(name, []).append(np.asarray(value).item())
    if options.states:
        save_state(options.states, options.steps, state)

    result = {
        "model": os.path.basename(
            os.path.dirname(os.path.abspath(options.model))
        ),
        "replicas": options.replicas,
        "rows_per_replica": model.rows,
        "data": oracle.digest(data),
        "seed": options.seed,
        "set": {name: float(value) for name, value in overrides.items()},
        "steps": options.steps,
        "metrics": metrics,
    }
    if options.eval_data:
        result["evaluation"] = runner.evaluate(
            state, dict(np.load(options.eval_data))
        )
    write(options.output, result)


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", metavar="MODEL.py")
    parser.add_argument("--data", required=True, metavar="NPZ")
    parser.add_argument("--eval-data", metavar="NPZ")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE"
    )
    parser.add_argument("--states", metavar="DIR")
    parser.add_argument("-o", dest="output", metavar="JSON", required=True)
    return parser.parse_args()


def save_state(folder, number, state, batch=None):
    """Writes the state before step `number`, and that step's global batch."""
    from safetensors.numpy import save_file

    from lockstep.model import named_leaves

    os.makedirs(folder, exist_ok=True)
    leaves = {k: np.asarray(v) for k, v in named_leaves(state, "state").items()}
    save_file(leaves, os.path.join(folder, f"state-{number}.safetensors"))
    if batch is not None:
        np.savez(os.path.join(folder, f"batch-{number}.npz"), **batch)


def write(path, result):
    """Writes JSON with one number a line, so that changes can be read."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
