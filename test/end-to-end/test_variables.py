"""Reads and assignments of variables by synchronization and aggregation:
compiled programs equal the interpreter bitwise.
"""

import numpy as np
import pytest

from conftest import capture, read_variables

REPLICAS = [1, 2, 3, 4, 8]

ON_READ = "synchronization = #replica.synchronization<on_read>"


def variable(name, element, *attributes):
    tensor = f"tensor<1x4x{element}>"
    zero = "0" if element.startswith("i") else "0.0"
    return f"replica.variable @{name} : {tensor} {{initial = dense<{zero}> : {tensor}{''.join(', ' + a for a in attributes)}}}\n"


def aggregation(name):
    return f"aggregation = #replica.aggregation<{name}>"


@pytest.mark.parametrize("replicas", REPLICAS)
def test_aggregations_of_assignments(interpreted, replicas):  # [5.2-sum]
    text = "".join(
        variable(name, "f32", aggregation(name))
        for name in ("sum", "mean", "only_first_replica")
    )
    text += variable("added", "f32", aggregation("only_first_replica"))
    text += """replica.step @step(%x: tensor<1x4xf32> {replica.batch = "x"}) {
  replica.assign @sum, %x : tensor<1x4xf32>
  replica.assign_sub @mean, %x : tensor<1x4xf32>
  replica.assign @only_first_replica, %x : tensor<1x4xf32>
  replica.assign_add @added, %x : tensor<1x4xf32>
  replica.return
}
"""
    rows = (
        np.random.default_rng(0)
        .standard_normal((2 * replicas, 4))
        .astype(np.float32)
    )
    variables = interpreted(text, replicas, {"x": rows}, steps=2)
    first = np.frombuffer(variables["only_first_replica"][2], np.float32)
    assert any((row == first).all() for row in rows)


@pytest.mark.parametrize("replicas", REPLICAS)  # [5.3-read-context]
@pytest.mark.parametrize("element", ["f32", "f64", "bf16", "i32"])
def test_on_read_variables_across_replicas(interpreted, element, replicas):
    """Each replica adds its own row. Reads in cross-replica context combine the
    copies; an assignment there splits a value among the copies of a sum.
    """
    tensor = f"tensor<1x4x{element}>"
    kinds = ["sum", "only_first_replica"] + (
        ["mean"] if element != "i32" else []
    )
    text = "".join(
        variable(f"own_{kind}", element, ON_READ, aggregation(kind))
        + variable(f"read_{kind}", element)
        + variable(f"together_{kind}", element)
        for kind in kinds
    )
    text += variable("parts", element, ON_READ, aggregation("sum")) + variable(
        "whole", element
    )
    convert = {
        "f32": "",
        "f64": "arith.extf",
        "bf16": "arith.truncf",
        "i32": "arith.fptosi",
    }[element]
    given = "%in" if not convert else "%0"
    reads = "\n".join(
        f"    %{kind} = replica.read @own_{kind} : {tensor}" for kind in kinds
    )
    names = ", ".join(f"%{kind}" for kind in kinds)
    types = ", ".join([tensor] * len(kinds))
    text += f"""replica.step @step(%data: tensor<1x4xf32> {{replica.batch = "x"}}) {{
  %empty = tensor.empty() : {tensor}
  %x = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%data : tensor<1x4xf32>) outs(%empty : {tensor}) {{
  ^bb0(%in: f32, %out: {element}):
    {f"%0 = {convert} %in : f32 to {element}" if convert else ""}
    linalg.yield {given} : {element}
  }} -> {tensor}
{chr(10).join(f"  replica.assign_add @own_{kind}, %x : {tensor}" for kind in kinds)}
  {names} = replica.merge_call -> {types} {{
{reads}
    replica.yield {names} : {types}
  }}
{chr(10).join(f"  replica.assign @read_{kind}, %{kind} : {tensor}" for kind in kinds)}
{chr(10).join(f"  %together_{kind} = replica.read @own_{kind} {{aggregated}} : {tensor}" for kind in kinds)}
{chr(10).join(f"  replica.assign @together_{kind}, %together_{kind} : {tensor}" for kind in kinds)}
  replica.merge_call (%sum : {tensor}) {{
  ^bb0(%all: {tensor}):
    replica.assign @parts, %all : {tensor}
    replica.yield
  }}
  %whole = replica.merge_call -> {tensor} {{
    %w = replica.read @parts : {tensor}
    replica.yield %w : {tensor}
  }}
  replica.assign @whole, %whole : {tensor}
  replica.return
}}
"""
    rows = (
        np.random.default_rng(0)
        .uniform(-100, 100, (2 * replicas, 4))
        .astype(np.float32)
    )
    variables = interpreted(text, replicas, {"x": rows}, steps=2)
    for kind in kinds:
        assert variables[f"together_{kind}"][2] == variables[f"read_{kind}"][2]
    if element == "i32":
        total = rows.astype(np.int32).sum(axis=0)
        np.testing.assert_array_equal(
            np.frombuffer(variables["read_sum"][2], np.int32), total
        )
        # An integer is cut into parts that are truncated.
        part = np.trunc(total / replicas).astype(np.int32)
        np.testing.assert_array_equal(
            np.frombuffer(variables["whole"][2], np.int32), part * replicas
        )


MODEL = """
import jax, jax.numpy as jnp
import lockstep

def init(seed):
    return {name: jnp.full(2, i, jnp.float32) for i, name in enumerate(["all", "evaluate", "step", "step_0", "strategy", "server0", "worker"])}

def step(state, batch, scalars):
    s = lockstep.all_reduce(batch["x"].sum(axis=0), "SUM")
    return {name: value + s for name, value in state.items()}, {"loss": s[0]}

def evaluate(state, batch):
    return {"n": (state["step"][0] + state["evaluate"][0], jnp.float32(1))}

batch_spec = {"x": jax.ShapeDtypeStruct((1, 2), jnp.float32)}
"""


def test_entries_of_the_state_may_have_names_of_other_symbols(tools, tmp_path):
    """Functions, the group of all ranks, roles and the strategy are symbols
    too; files have the names of the state's entries. [5.1-names]
    """
    model = tmp_path / "model.py"
    model.write_text(MODEL)
    capture(model, tmp_path)
    np.savez(tmp_path / "x.npz", x=np.ones((4, 2), np.float32))
    arguments = [
        "--init",
        tmp_path / "init.safetensors",
        "--data",
        tmp_path / "x.npz",
        "--steps=1",
    ]
    artifact = tools.compile(
        tmp_path / "step.mlir", tmp_path / "model.lockstep", "--replicas=4"
    )
    tools.run(
        "lockstep-run",
        artifact,
        *arguments,
        "--save",
        tmp_path / "run",
        "--eval-data",
        tmp_path / "x.npz",
    )
    tools.run(
        "lockstep-interpret",
        tmp_path / "step.mlir",
        "--replicas=4",
        *arguments,
        "--save",
        tmp_path / "interpreted",
    )
    variables = read_variables(tmp_path / "run" / "checkpoint-1.safetensors")
    assert variables == read_variables(tmp_path / "interpreted")
    servers = [
        "--replicas=4",
        "--strategy=parameter_server_sync",
        "--servers=2",
        "--partitioner=fixed 2",
    ]
    artifact = tools.compile(
        tmp_path / "step.mlir", tmp_path / "servers.lockstep", *servers
    )
    tools.run(
        "lockstep-run",
        artifact,
        *arguments,
        "--save",
        tmp_path / "servers",
        "--eval-data",
        tmp_path / "x.npz",
    )
    assert variables == read_variables(
        tmp_path / "servers" / "checkpoint-1.safetensors"
    )
    assert (
        variables.keys() == read_variables(tmp_path / "init.safetensors").keys()
    )
    for i, name in enumerate(["all", "evaluate", "step", "step_0", "strategy"]):
        np.testing.assert_array_equal(
            np.frombuffer(variables[name][2], np.float32), [i + 4, i + 4]
        )
