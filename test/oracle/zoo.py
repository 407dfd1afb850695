"""The models of `test/end-to-end/models`: their training, and the results of
plain JAX.

`record_models.py` records that; `test/end-to-end/test_models.py` trains the
same steps with Lockstep.
"""

import dataclasses
import json
import pathlib
import runpy

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "test" / "end-to-end" / "models"
RECORDINGS = ROOT / "test" / "oracle" / "models"

SEED = 0
STEPS = 20
REPLICAS = (1, 2, 4)
#: Four replicas see each example in several epochs, one replica sees each once.
STEPS_AN_EPOCH = STEPS // max(REPLICAS)


@dataclasses.dataclass(frozen=True)
class Entry:
    """A model of the zoo.

    Attributes:
      name: the name of its file.
      model: the `lockstep.model.Model`.
      data: name -> training examples.
    """

    name: str
    model: object
    data: dict[str, np.ndarray]

    @property
    def evaluation_data(self):
        """Examples to evaluate, some replicas' last batch of which is padded;
        None if the model has no `evaluate`.
        """
        if self.model.evaluate is None:
            return None
        rows = self.model.rows * (max(REPLICAS) + 1) - 1
        return {name: array[:rows] for name, array in self.data.items()}


def names():
    """Returns the names of all models."""
    return sorted(path.stem for path in MODELS.glob("*.py"))


def load(name):
    """Returns the entry of a model; JAX is imported."""
    from lockstep import model as models

    path = str(MODELS / f"{name}.py")
    model = models.load(path)
    make_data = runpy.run_path(path)["data"]
    return Entry(
        name,
        model,
        make_data(model.rows * max(REPLICAS) * STEPS_AN_EPOCH, SEED),
    )


def recording_path(name):
    """Returns the file with JAX's results for a model."""
    return RECORDINGS / f"{name}.json"


def recording(name):
    """Returns JAX's results for a model, as described in `record_models.py`."""
    return json.loads(recording_path(name).read_text())
