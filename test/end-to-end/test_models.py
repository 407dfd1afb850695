"""The models of `models/`, trained for 20 steps with 1, 2 and 4 replicas,
compared with JAX's results for the same steps.

JAX's metrics are committed in `test/oracle/models`, beside how far each of them
moves when the initial state is perturbed by 1e-7: a metric may differ by ten
times that, or by 1e-5 of itself.
"""

import numpy as np
import pytest
from safetensors.numpy import save_file

import oracle
import targets
import zoo
from conftest import read_metrics, steps_of

LEVELS = ["-O0", "-O2"]

#: On processors, kernels that every machine can execute: most other tests
#: execute the best ones of this machine.
TARGET = f"--target={targets.EVERYWHERE}"

#: Models whose shapes depend on the number of replicas: each number needs a
#: separate capture.
CAPTURED_WITH_COUNT = {"clip"}

RELATIVE_TOLERANCE, ALLOWED_MOVEMENTS = 1e-5, 10


class Prepared:
    """A captured model, with its initial values, its data and the recorded
    results.
    """

    def __init__(self, name, replicas, folder):
        from lockstep import capture

        entry = zoo.load(name)
        self.recorded = zoo.recording(name)
        assert oracle.digest(entry.data) == self.recorded["data"], (
            "the data are not those of the recording"
        )
        text, state = capture.capture(entry.model, replicas, zoo.SEED)
        self.source = folder / "step.mlir"
        self.source.write_text(text)
        save_file(state, folder / "init.safetensors")
        np.savez(folder / "train.npz", **entry.data)
        self.arguments = [
            f"--init={folder / 'init.safetensors'}",
            f"--data={folder / 'train.npz'}",
        ]
        if entry.evaluation_data is not None:
            np.savez(folder / "evaluation.npz", **entry.evaluation_data)
            self.arguments.append(f"--eval-data={folder / 'evaluation.npz'}")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Models by name and replica count, each captured once."""
    made = {}

    def get(name, replicas):
        key = (name, replicas if name in CAPTURED_WITH_COUNT else None)
        if key not in made:
            made[key] = Prepared(*key, tmp_path_factory.mktemp(name))
        return made[key]

    return get


def assert_like_jax(found, expected, movement):
    """Compares metrics by name, each a number or one number a step."""
    assert found.keys() == expected.keys()
    differing = []
    for name in expected:
        values, wanted, moved = (
            np.atleast_1d(np.asarray(kind[name], np.float64))
            for kind in (found, expected, movement)
        )
        assert values.shape == wanted.shape
        allowed = np.maximum(
            RELATIVE_TOLERANCE * np.abs(wanted), ALLOWED_MOVEMENTS * moved
        )
        steps = np.flatnonzero(
            ~(np.abs(values - wanted) <= allowed)
        )  # a NaN differs
        if steps.size:
            first = steps[0]
            differing.append(
                f"{name}: differs in {steps.size} of {wanted.size} steps, first in step {first}: "
                f"expected {wanted[first]:.8g} within {allowed[first]:.1e}, found {values[first]:.8g}"
            )
    assert not differing, "\n" + "\n".join(differing)


@pytest.mark.daily(3)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("replicas", zoo.REPLICAS)
@pytest.mark.parametrize("name", zoo.names())
def test_metrics_are_those_of_jax(
    tools, prepared, tmp_path, name, replicas, level
):
    model = prepared(name, replicas)
    artifact = tools.compile(
        model.source,
        tmp_path / "model.lockstep",
        f"--replicas={replicas}",
        level,
        TARGET,
    )
    metrics = tmp_path / "metrics.jsonl"
    tools.run(
        "lockstep-run",
        artifact,
        *model.arguments,
        f"--steps={zoo.STEPS}",
        f"--seed={zoo.SEED}",
        f"--metrics={metrics}",
    )

    lines = read_metrics(metrics)
    steps = steps_of(lines)
    assert len(steps) == zoo.STEPS
    run = model.recorded["runs"][str(replicas)]
    found = {
        metric: [float(line[metric]) for line in steps]
        for metric in run["metrics"]
    }
    assert_like_jax(found, run["metrics"], run["movement"])
    if "evaluation" in run:
        assert_like_jax(
            lines[-1]["evaluate"], run["evaluation"], run["evaluation_movement"]
        )


def test_every_model_is_recorded():
    assert zoo.names() == sorted(
        path.stem for path in zoo.RECORDINGS.glob("*.json")
    )
