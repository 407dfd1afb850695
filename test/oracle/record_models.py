"""Records what plain JAX computes for the models of `test/end-to-end/models`.

    python test/oracle/record_models.py [NAME ...]

Writes `test/oracle/models/NAME.json` for each model named, or for all. Under
`runs`, by the number of replicas, it holds for each metric

- `metrics`: its value in every step, and `evaluation`: what `evaluate` returns
  for the final state, if the model has one;
- `movement`, `evaluation_movement`: how far these move when each float of the
  initial state is multiplied by 1 + 1e-7 or 1 - 1e-7. It is the largest
  distance among some draws of the signs, in this step or an earlier one: a
  state that has moved stays so, even where one batch does not show it. A system
  that rounds differently cannot be expected to be nearer to JAX than JAX is to
  itself.
"""

import argparse
import json
import re
import sys

import numpy as np

import oracle
import zoo

PERTURBATION = 1e-7
DRAWS = 16
#: A metric that moves by more than this part of its largest value cannot be
#: compared.
LARGEST_MOVEMENT = 2e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a model (default: all)"
    )
    names = parser.parse_args().names or zoo.names()
    oracle.set_devices(max(zoo.REPLICAS))
    sys.path.insert(0, str(zoo.ROOT / "python-bindings"))
    zoo.RECORDINGS.mkdir(exist_ok=True)
    for name in names:
        entry = zoo.load(name)
        result = {
            "model": name,
            "rows_per_replica": entry.model.rows,
            "data": oracle.digest(entry.data),
            "seed": zoo.SEED,
            "steps": zoo.STEPS,
            "runs": {
                str(replicas): record(entry, replicas)
                for replicas in zoo.REPLICAS
            },
        }
        zoo.recording_path(name).write_text(compact(result))


def record(entry, replicas):
    """Returns the metrics of a model with some replicas, and their movement.

    Raises:
      ValueError: if a metric is not finite, or moves so far that a
        comparison with it would be meaningless.
    """
    from lockstep import contract

    runner = oracle.Oracle(entry.model, replicas)
    state = contract.initial_state(entry.model, zoo.SEED)
    random = np.random.default_rng(zoo.SEED)
    exact = train(runner, entry, state)
    others = [
        train(runner, entry, perturb(state, random)) for _ in range(DRAWS)
    ]
    result = {}
    for kind, movement in (
        ("metrics", "movement"),
        ("evaluation", "evaluation_movement"),
    ):
        if not exact[kind]:
            continue
        result[kind] = {
            metric: shortest(values) for metric, values in exact[kind].items()
        }
        result[movement] = {
            metric: largest_distance(
                values, [other[kind][metric] for other in others]
            )
            for metric, values in exact[kind].items()
        }
        check(
            f"{entry.name} with {replicas} replicas",
            result[kind],
            result[movement],
        )
    return result


def train(runner, entry, state):
    """Trains a model; returns the metrics by name and step, and its evaluation."""
    metrics = {}
    batches = oracle.batches(entry.data, runner.rows_per_step, zoo.SEED)
    for number in range(zoo.STEPS):
        state, values = runner.step(
            state, next(batches), runner.scalars(number, zoo.SEED, {})
        )
        for metric, value in values.items():
            metrics.setdefault(metric, []).append(np.asarray(value))
    evaluation = (
        runner.evaluate(state, entry.evaluation_data)
        if entry.evaluation_data
        else {}
    )
    return {"metrics": metrics, "evaluation": evaluation}


def perturb(state, random):
    """Returns the state with each float moved up or down by 1e-7 of itself."""
    import jax
    import jax.numpy as jnp

    def moved(x):
        if not jnp.issubdtype(x.dtype, jnp.floating):
            return x
        signs = random.choice([-1.0, 1.0], size=x.shape)
        return jnp.asarray(
            np.asarray(x, np.float64) * (1 + PERTURBATION * signs), x.dtype
        )

    return jax.tree.map(moved, state)


def largest_distance(values, others):
    """Returns how far the values of a metric are at most from those of other
    runs, in this step or before, to two digits.
    """
    distances = np.max(
        [
            np.abs(np.subtract(values, other, dtype=np.float64))
            for other in others
        ],
        axis=0,
    )
    if distances.ndim:
        distances = np.maximum.accumulate(distances)
    return np.vectorize(lambda d: float(f"{d:.1e}"))(distances).tolist()


def shortest(values):
    """Returns one number, or one a step, with as few digits as read back to the
    same floats.
    """
    return (
        [json.loads(str(value)) for value in values]
        if isinstance(values, list)
        else values
    )


def check(what, metrics, movement):
    """Raises ValueError if metrics cannot be compared with."""
    for metric, values in metrics.items():
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"{what}: expected '{metric}' to be finite, found {values}"
            )
        moved = np.max(movement[metric]) / max(np.max(np.abs(values)), 1e-30)
        if moved > LARGEST_MOVEMENT:
            raise ValueError(
                f"{what}: expected '{metric}' to move by at most {LARGEST_MOVEMENT} of itself, found {moved:.1e}"
            )


def compact(result):
    """Returns JSON with one metric a line."""
    text = json.dumps(result, indent=1)
    return (
        re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text)
        + "\n"
    )


if __name__ == "__main__":
    main()
