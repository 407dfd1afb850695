"""Results of whole training runs of four replicas."""

import runpy

import pytest

from conftest import ROOT, read_metrics, run_python, steps_of

LANGUAGE_MODEL = ROOT / "examples" / "language-model"


# The seed draws the initial values and the order of the images. Evaluation
# counts all 360 images once.
@pytest.mark.daily(3)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "name, epochs", [("digits-mlp", 30), ("digits-cnn", 15)]
)
def test_digits_are_recognized(
    tools, examples, compiled, tmp_path, name, epochs, seed
):
    example, metrics = examples(name), tmp_path / "metrics.jsonl"
    run_python(
        "-m",
        "lockstep.capture",
        example.model,
        "-o",
        tmp_path,
        f"--seed={seed}",
    )
    tools.run(
        "lockstep-run", compiled(name, "--replicas=4"),
        *("--init", tmp_path / "init.safetensors"),
        *("--data", example.folder / "train.npz", "--eval-data", example.folder / "test.npz"),
        f"--epochs={epochs}", f"--seed={seed}", "--metrics", metrics,
    )  # fmt: skip
    accuracy = read_metrics(metrics)[-1]["evaluate"]["accuracy"]
    assert accuracy >= 0.96
    assert accuracy * 360 == pytest.approx(round(accuracy * 360))


# A model that had only learned how often each character occurs would not get
# below their entropy.
def test_language_model_beats_the_entropy_of_characters(
    tools, examples, compiled, tmp_path
):
    example, metrics = examples("language-model"), tmp_path / "metrics.jsonl"
    run_python(LANGUAGE_MODEL / "data.py", "-o", tmp_path)
    data = runpy.run_path(str(LANGUAGE_MODEL / "data.py"))
    entropy = data["entropy"](data["read"](data["licences"]()))
    tools.run(
        "lockstep-run", compiled("language-model", "--replicas=4"),
        *("--init", example.folder / "init.safetensors"),
        *("--data", tmp_path / "train.npz", "--eval-data", tmp_path / "test.npz"),
        "--steps=500", "--seed=0", "--metrics", metrics,
    )  # fmt: skip
    lines = read_metrics(metrics)
    losses = [line["loss"] for line in steps_of(lines)]
    assert len(losses) == 500 and losses[0] > entropy
    assert max(losses[-50:]) < entropy
    assert lines[-1]["evaluate"]["loss"] < entropy
