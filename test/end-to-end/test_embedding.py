"""Tables whose rows are looked up: training by rows has the results of JAX with
dense gradients.
"""

import numpy as np
import pytest

from conftest import capture, read_metrics, read_variables, steps_of

ROWS, WIDTH, BATCH, STEPS = 50, 4, 6, 8

# Ids occur several times in a batch, in an example and on several replicas;
# some are out of range, which yields zeros. One table is updated by rows, the
# other has a momentum, which needs a dense gradient.
MODEL = """\
import jax
import jax.numpy as jnp
import numpy as np

import lockstep

batch_spec = {"ids": ((6, 3), "int32"), "y": ((6,), "float32")}
scalar_spec = {"lr": 0.1}


def init(seed):
    rng = np.random.default_rng(seed)
    def table():
        return rng.normal(size=(50, 4)).astype(np.float32)
    return {"words": table(), "places": table(), "velocity": np.zeros((50, 4), np.float32), "w": np.ones(4, np.float32)}


def loss(state, batch):
    rows = LOOKUP(state["words"], batch["ids"]) + LOOKUP(state["places"], batch["ids"] // 2)
    return jnp.mean((jnp.mean(jnp.tanh(rows), 1) @ state["w"] - batch["y"]) ** 2)


def step(state, batch, scalars):
    trained = {name: state[name] for name in ("words", "places", "w")}
    value, grads = jax.value_and_grad(loss)(trained, batch)
    value, grads = lockstep.all_reduce((value, grads), "MEAN")
    lr = scalars["lr"]
    velocity = 0.9 * state["velocity"] + grads["places"]
    return {
        "words": state["words"] - lr * grads["words"],
        "places": state["places"] - lr * velocity,
        "velocity": velocity,
        "w": state["w"] - lr * grads["w"],
    }, {"loss": value}
"""
DENSE = "\n\ndef LOOKUP(table, ids):\n    return jnp.where((ids >= 0)[..., None] & (ids < 50)[..., None], table[jnp.clip(ids, 0, 49)], 0)\n"
BY_ROWS = "\n\nLOOKUP = lockstep.embedding_lookup\n"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    ids = rng.integers(-2, 20, size=(BATCH * 4 * STEPS, 3)).astype(np.int32)
    ids[::7] = 55
    return {"ids": ids, "y": rng.normal(size=len(ids)).astype(np.float32)}


def trained_by_jax(folder, data, replicas):
    """Losses and the state after some steps of the model with dense gradients."""
    import oracle
    from lockstep import model as models

    path = folder / "dense" / "model.py"
    path.parent.mkdir()
    path.write_text(MODEL + DENSE)
    reference = oracle.Oracle(models.load(str(path)), replicas)
    state = reference.model.init(0)
    losses = []
    for number, batch in zip(
        range(STEPS),
        oracle.batches(data, reference.rows_per_step, 0),
        strict=False,
    ):
        state, metrics = reference.step(
            state, batch, reference.scalars(number, 0, {})
        )
        losses.append(float(metrics["loss"]))
    return losses, {name: np.asarray(value) for name, value in state.items()}


def captured(folder):
    path = folder / "model.py"
    path.write_text(MODEL + BY_ROWS)
    return capture(path, folder) / "step.mlir"


def floats(variables):
    return {
        name: np.frombuffer(content, np.float32).reshape(shape)
        for name, (_, shape, content) in variables.items()
    }


@pytest.mark.parametrize("replicas", [1, 3, 4])
def test_training_by_rows_is_training_by_tables(  # [11-embedding]
    tools, tmp_path, data, replicas
):
    losses, state = trained_by_jax(tmp_path, data, replicas)
    source = captured(tmp_path)
    np.savez(tmp_path / "data.npz", **data)
    arguments = [
        "--init",
        tmp_path / "init.safetensors",
        "--data",
        tmp_path / "data.npz",
        f"--steps={STEPS}",
        "--seed=0",
    ]
    saved = {}
    for mode in ("interpreter", "-O0", "-O2"):
        metrics = tmp_path / f"metrics{mode}.jsonl"
        if mode == "interpreter":
            saved[mode] = tmp_path / "interpreted.safetensors"
            tools.run(
                "lockstep-interpret",
                source,
                f"--replicas={replicas}",
                *arguments,
                f"--metrics={metrics}",
                f"--save={saved[mode]}",
            )
        else:
            artifact = tools.compile(
                source,
                tmp_path / "step.lockstep",
                f"--replicas={replicas}",
                mode,
            )
            tools.run(
                "lockstep-run",
                artifact,
                *arguments,
                f"--metrics={metrics}",
                f"--save={tmp_path / mode}",
                "--check-races",
            )
            saved[mode] = tmp_path / mode / f"checkpoint-{STEPS}.safetensors"
        np.testing.assert_allclose(
            [line["loss"] for line in steps_of(read_metrics(metrics))],
            losses,
            rtol=1e-5,
            err_msg=mode,
        )
        for name, value in floats(read_variables(saved[mode])).items():
            np.testing.assert_allclose(
                value,
                state[name],
                rtol=1e-5,
                atol=1e-6,
                err_msg=f"{mode}: {name}",
            )
    # The rows are bitwise equal with and without optimizations.
    assert read_variables(saved["-O0"]) == read_variables(saved["-O2"])


# Tables are split over two servers; the other variables are whole.
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_tables_on_servers_are_trained_alike(tools, tmp_path, data, level):
    losses, state = trained_by_jax(tmp_path, data, 2)
    source = captured(tmp_path)
    np.savez(tmp_path / "data.npz", **data)
    servers = [
        "--strategy=parameter_server_sync",
        "--servers=2",
        "--partitioner=min_size bytes 256 shards 2",
    ]
    artifact = tools.compile(
        source, tmp_path / "step.lockstep", "--replicas=2", level, *servers
    )
    metrics = tmp_path / "metrics.jsonl"
    arguments = [
        "--init",
        tmp_path / "init.safetensors",
        "--data",
        tmp_path / "data.npz",
        f"--steps={STEPS}",
        "--seed=0",
    ]
    tools.run(
        "lockstep-run",
        artifact,
        *arguments,
        f"--metrics={metrics}",
        f"--save={tmp_path / 'saved'}",
    )
    np.testing.assert_allclose(
        [line["loss"] for line in steps_of(read_metrics(metrics))],
        losses,
        rtol=1e-5,
    )
    for name, value in floats(
        read_variables(tmp_path / "saved" / f"checkpoint-{STEPS}.safetensors")
    ).items():
        np.testing.assert_allclose(
            value, state[name], rtol=1e-5, atol=1e-6, err_msg=name
        )


def test_a_remark_names_what_needs_the_whole_table(tools, tmp_path):
    source = captured(tmp_path)  # [8-sparse-gradient]
    said = tools.run(
        "lockstep-compile",
        source,
        "-o",
        tmp_path / "step.lockstep",
        "--replicas=2",
        "--remarks=lower",
    ).stderr
    assert "variable 'words' is changed by the rows 36x4xf32" in said
    line = next(
        number
        for number, text in enumerate(MODEL.splitlines(), 1)
        if "velocity = 0.9" in text
    )
    assert (
        f"made dense: 'linalg.generic' (model.py:{line}) needs all of it"
        in said
    )
    assert "variable 'places'" not in said


# Lookups in hand-written IR, with ragged ids; a missing row is zeros.
LOOKUP = """
replica.variable @table : tensor<5x2xf32> {initial = dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0]]> : tensor<5x2xf32>}
replica.variable @sum : tensor<2xf32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<2xf32>}
replica.step @step(%ids: tensor<?xi64> {replica.batch = "ids", replica.bounds = array<i64: 4>}) {
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %rows = replica.lookup @table, %ids : tensor<?xi64> -> tensor<?x2xf32>
  %sum = linalg.reduce ins(%rows : tensor<?x2xf32>) outs(%zero : tensor<2xf32>) dimensions = [0]
    (%in: f32, %out: f32) { %s = arith.addf %in, %out : f32 linalg.yield %s : f32 }
  replica.assign_add @sum, %sum : tensor<2xf32>
  %dense = replica.slices_to_dense %rows at %ids : tensor<?x2xf32>, tensor<?xi64> -> tensor<5x2xf32>
  %all = replica.all_reduce sum %dense : tensor<5x2xf32>
  %table = replica.read @table : tensor<5x2xf32>
  %new = arith.addf %all, %table : tensor<5x2xf32>
  replica.assign @table, %new : tensor<5x2xf32>
  replica.return
}
"""


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_ragged_lookups(interpreted, replicas):  # [8-lookup]
    ids = np.array([4, 4, -1, 0, 3, 5, 1, 1, 1, 2, 0, 9], np.int64)[
        : 4 * replicas
    ]
    table = np.arange(10, dtype=np.float32).reshape(5, 2)
    rows = np.where(
        ((ids >= 0) & (ids < 5))[:, None], table[np.clip(ids, 0, 4)], 0
    )
    found = floats(interpreted(LOOKUP, replicas, {"ids": ids}))
    np.testing.assert_array_equal(found["sum"], rows.sum(0))
    np.add.at(table, ids[(ids >= 0) & (ids < 5)], rows[(ids >= 0) & (ids < 5)])
    np.testing.assert_array_equal(found["table"], table)
