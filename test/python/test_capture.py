"""What the capture writes, and that it writes the same bytes everywhere."""

import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

from lockstep import capture
from lockstep import model as models

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ["digits-mlp", "digits-cnn", "language-model"]
MLIR_OPT = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")

SMALL = """\
import jax
import jax.numpy as jnp

import lockstep

batch_spec = {"x": ((4, 3), "float32")}
scalar_spec = {"lr": 0.1, "warm": True, "period": 7}


def init(seed):
    return {"w": jnp.zeros(3) + seed, "layers": [jnp.ones((2, 3)), 0.5]}


def loss(w, x):
    return jnp.mean(jnp.square(x @ w))


def step(state, batch, scalars):
    value, grad = jax.value_and_grad(loss)(state["w"], batch["x"])
    grad = lockstep.all_reduce(grad, "MEAN")
    value = jax.jit(lambda v: lockstep.all_reduce(v, "SUM"))(value)
    w = state["w"] - scalars["lr"] * grad
    return {**state, "w": w}, {"loss": value}
"""


@pytest.fixture
def make(tmp_path):
    """Writes a model file and loads it: `make(text)`."""

    def maker(text=SMALL, folder="model"):
        path = tmp_path / folder / "model.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return models.load(str(path))

    return maker


def captured(model, **options):
    """Captures a model; returns the text."""
    return capture.capture(model, **options)[0]


def line_of(model, text):
    """Number of the first line of a model that has `text`."""
    lines = pathlib.Path(model.path).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def location(text, operation):
    """Resolves the location of the first operation that `operation` matches."""
    aliases = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.M))
    line = next(
        line for line in text.splitlines() if re.search(operation, line)
    )
    found = re.search(r"loc\((.*)\)$", line).group(1)
    while match := re.search(r"#loc\d*", found):
        found = found.replace(match.group(), aliases[match.group()], 1)
    return found


def test_arguments_and_results_are_named(make):
    text = captured(make())
    attributes = re.search(r"arg_attrs = (\[.*?\]), function_type", text).group(
        1
    )
    assert attributes == (
        '[{replica.variable = "layers/0"}, {replica.variable = "layers/1"},'
        ' {replica.variable = "w"}, {replica.batch = "x"},'
        ' {replica.default = 1.000000e-01 : f32, replica.scalar = "lr"},'
        ' {replica.default = 7 : i32, replica.scalar = "period"},'
        ' {replica.scalar = "seed"}, {replica.scalar = "step"},'
        ' {replica.default = true, replica.scalar = "warm"}]'
    )
    assert 'res_attrs = [{replica.variable = "layers/0"}' in text
    assert '{replica.metric = "loss"}]' in text
    assert "tensor<ui32>, tensor<i32>, tensor<i1>) -> (" in text


def test_replica_operations(make):
    text = captured(make())
    assert text.count('call_target_name = "replica.all_reduce"') == 2
    assert 'backend_config = {reduction = "MEAN"}' in text
    assert 'backend_config = {reduction = "SUM"}' in text
    assert text.count("has_side_effect = true") == 2
    assert "func.call" not in text


def test_the_initial_state_is_written_by_path(make, tmp_path):
    capture.write(tmp_path / "out", *capture.capture(make(), seed=5))
    state = load_file(tmp_path / "out" / "init.safetensors")
    assert sorted(state) == ["layers/0", "layers/1", "w"]
    np.testing.assert_array_equal(state["w"], [5, 5, 5])
    assert state["layers/1"].shape == ()
    assert state["layers/1"].dtype == np.float32


def test_operations_point_at_the_users_line(make):
    model = make()
    text = captured(model)
    line = line_of(model, 'all_reduce(grad, "MEAN")')
    found = location(text, 'reduction = "MEAN"')
    assert found == f'"step"("model.py":{line}:12)'
    # A helper that JAX outlines keeps its own line and its caller's.
    line = line_of(model, 'all_reduce(v, "SUM")')
    assert f'"model.py":{line}:' in location(text, 'reduction = "SUM"')
    # Operations of a called function: its line, and where it was called.
    inner = line_of(model, "jnp.square(x @ w)")
    outer = line_of(model, "value_and_grad(loss)")
    assert re.fullmatch(
        rf'callsite\("loss"\("model.py":{inner}:\d+\)'
        rf' at "step"\("model.py":{outer}:\d+\)\)',
        location(text, r"arith.mulf"),
    )


def test_lines_have_the_names_of_functions(make):
    """Those of a derivative too; lambda functions and JAX's have none."""
    text = SMALL.replace(
        "    return jnp.mean(jnp.square(x @ w))",
        """    def inner(v):
        return jnp.sin(v)

    return jnp.mean((lambda v: jnp.cos(jax.nn.relu(v)))(inner(x @ w)))""",
    )
    names = re.findall(r'loc\("(\w+)"\(', captured(make(text)))
    assert set(names) == {"inner", "inner_backward", "loss", "loss_backward",
                          "step"}  # fmt: skip
    assert location(captured(make(text)), "math.sin").startswith(
        'callsite("inner"("model.py":'
    )


def test_no_location_names_a_machine(make, tmp_path):
    text = captured(make())
    assert str(tmp_path) not in text
    assert set(re.findall(r'loc\("([^"]*)":', text)) == {"model.py"}


def test_inputs_have_their_names_as_locations(make):
    text = captured(make())
    assert '= loc("layers/0")' in text
    assert '= loc("lr")' in text


def test_the_replica_count_is_open_or_fixed(make):
    text = SMALL.replace('"MEAN")', '"SUM") / lockstep.num_replicas_in_sync()')
    assert "replica.num_in_sync" in captured(make(text))
    fixed = captured(make(text), replicas=8)
    assert "replica.num_in_sync" not in fixed
    assert "8.000000e+00" in fixed
    assert "replica.captured_replicas = 8 : i64" in fixed
    assert "captured_replicas" not in text


def test_gather_is_captured_with_its_gradient(make):
    text = SMALL.replace(
        "jnp.mean(jnp.square(x @ w))",
        "jnp.mean(jnp.square(lockstep.all_gather(x * w, 0)))",
    )
    found = captured(make(text), replicas=4)
    assert re.search(
        r'"replica.all_gather".*\(tensor<4x3xf32>\) -> tensor<16x3xf32>', found
    )
    assert "backend_config = {axis = 0 : i64}" in found
    assert '"replica.id"' in found  # the gradient's own slice


def test_gather_needs_the_replica_count(make):
    text = SMALL.replace("(x @ w)", "(lockstep.all_gather(x * w, 0))")
    with pytest.raises(
        ValueError, match="open in this capture: give --replicas=N"
    ):
        captured(make(text))


def test_collectives_in_loops_and_branches_stay_in_them(make):
    text = SMALL.replace(
        '    w = state["w"]',
        """\
    def body(carry, row):
        return carry + lockstep.all_reduce(row, "SUM"), None
    total, _ = jax.lax.scan(body, jnp.zeros(3), batch["x"])
    total = jax.lax.cond(
        scalars["warm"], lambda t: lockstep.all_reduce(t, "MEAN"), lambda t: t, total
    )
    w = total + state["w"]""",
    )
    found = captured(make(text))
    assert found.count("replica.all_reduce") == 4
    assert '"stablehlo.while"' in found
    assert '"stablehlo.case"' in found


def test_unsigned_integers_stay_at_the_border(make):
    text = SMALL.replace(
        '{"loss": value}',
        '{"loss": value, "u": jnp.sum(jax.lax.sort(scalars["seed"][None]) // 3)}',
    )
    found = captured(make(text))
    unsigned = [line for line in found.splitlines() if "ui32" in line]
    border = r'"func.(func|return)"|\^bb0|"builtin.unrealized_conversion_cast"'
    assert all(re.search(border, line) for line in unsigned)
    assert '"stablehlo.sort"' in found
    assert "arith.divui" in found


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt is not installed")
def test_examples_parse(name, tmp_path):
    model = models.load(str(ROOT / "examples" / name / "model.py"))
    capture.write(tmp_path, *capture.capture(model))
    subprocess.run(
        [
            MLIR_OPT,
            "--allow-unregistered-dialect",
            tmp_path / "step.mlir",
            "-o",
            "-",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.skipif(
    jax.__version__ != "0.10.2", reason="captured with JAX 0.10.2"
)
def test_the_committed_captures_are_current(name):
    folder = ROOT / "examples" / name
    text = captured(models.load(str(folder / "model.py")))
    assert text == (folder / "step.mlir").read_text()


def test_evaluate_is_captured_with_the_mask():
    text = captured(
        models.load(str(ROOT / "examples" / "digits-mlp" / "model.py"))
    )
    evaluate = text[text.index('sym_name = "step"') :]
    assert '{replica.batch = "mask"}' in evaluate
    assert (
        'res_attrs = [{replica.sum = "accuracy"}, {replica.count = "accuracy"},'
        ' {replica.sum = "loss"}, {replica.count = "loss"}], sym_name = "evaluate"'
    ) in evaluate


def test_an_operation_without_a_lowering(make):
    values = 'jnp.sum(jnp.abs(jnp.linalg.eigvals(batch["x"][:3])))'
    text = SMALL.replace('"loss": value', f'"loss": {values}')
    with pytest.raises(models.ModelError, match="'eig' is not supported: JAX"):
        captured(make(text))


# JAX lowers it by operations of its own, whose errors do not have the line; in
# a function that is compiled separately, and in a loop.
@pytest.mark.parametrize(
    "value",
    [
        "jnp.linalg.svd(x, compute_uv=False).sum()",
        "jax.lax.scan(lambda c, _: (jnp.linalg.eigvalsh(c + c.T)[:, None] * c, ()), x, None, 2)[0].sum()",
    ],
)
def test_an_error_inside_of_a_lowering_has_the_line(make, tmp_path, value):
    # Before it, there is one that is lowered for another platform alone.
    fine = "jax.lax.platform_dependent(x, cpu=jnp.linalg.svdvals, default=lambda x: x[0])"
    text = SMALL.replace(
        '"loss": value',
        f'"fine": (lambda x: {fine})(batch["x"][:3, :3]).sum(),\n        "loss": (lambda x: {value})(batch["x"][:3, :3])',
    )
    line = 1 + [i for i, row in enumerate(text.split("\n")) if value in row][0]
    with pytest.raises(
        models.ModelError,
        match=rf"^\w+.py:{line}: step: '\w+' is not supported: ",
    ):
        captured(make(text))


def test_two_captures_in_two_folders_are_the_same_bytes(tmp_path):
    outputs = []
    for folder in ("one", "two/deeper"):
        copy = tmp_path / folder / "example"
        shutil.copytree(ROOT / "examples" / "digits-cnn", copy)
        subprocess.run(
            [sys.executable, "-m", "lockstep.capture", "model.py", "-o", "out"],
            check=True,
            cwd=copy,
            env={"PYTHONPATH": str(ROOT / "python-bindings"), "PATH": ""},
        )
        outputs.append(
            [
                (copy / "out" / n).read_bytes()
                for n in ("step.mlir", "init.safetensors")
            ]
        )
    assert outputs[0] == outputs[1]


def test_a_capture_after_a_run_is_the_same(make, run, replicas):
    """Cached traces of plain JAX are not reused for the capture."""
    model = make()
    before = captured(model)
    state, x = model.init(0), np.ones((replicas, 4, 3), np.float32)
    scalars = {k: np.ones((), v.dtype) for k, v in model.scalars.items()}
    run(lambda v: model.step(state, {"x": v}, scalars)[1]["loss"], x)
    assert captured(model) == before


def test_booleans_are_packed(make):
    """Eight elements per byte, as LLVM 22 reads constants of booleans."""
    mask = np.tril(np.ones((31, 31), bool))
    text, _ = capture.capture(
        make(
            SMALL.replace(
                "x @ w",
                "jnp.where(np.tril(np.ones((31, 31), bool)), (x @ w)[0], 0)",
            ).replace("import jax\n", "import jax\nimport numpy as np\n", 1)
        )
    )
    constant = re.search(r'dense<"0x([0-9A-F]+)"> : tensor<31x31xi1>', text)
    bits = np.unpackbits(
        np.frombuffer(bytes.fromhex(constant[1]), np.uint8), bitorder="little"
    )[: mask.size]
    np.testing.assert_array_equal(bits.reshape(mask.shape), mask)


def test_typed_keys_are_kept_as_integers(make):
    text, state = capture.capture(
        make(
            """
            import jax

            batch_spec = {}

            def init(seed):
                return {"key": jax.random.key(seed), "x": jax.numpy.zeros(3)}

            def step(state, batch, scalars):
                key, own = jax.random.split(state["key"])
                return {"key": key, "x": jax.random.normal(own, 3)}, {"x": state["x"]}
            """
        ),
        seed=7,
    )
    np.testing.assert_array_equal(
        state["key"], jax.random.key_data(jax.random.key(7))
    )
    assert 'replica.variable = "key"' in text
    # Metrics may be arrays.
    assert re.search(r'replica\.metric = "x"', text)


KEYED = """
import jax

batch_spec = {}

def init(seed):
    return {"key": jax.random.key(seed), "x": jax.numpy.zeros(3) + seed}

def step(state, batch, scalars):
    key, own = jax.random.split(state["key"])
    return {"key": key, "x": jax.random.normal(own, 3)}, {}
"""


@pytest.mark.parametrize("model", [SMALL, KEYED])
def test_shapes_alone_are_captured_to_the_same_module(make, model, tmp_path):
    model = make(model)
    text, state = capture.capture(model, shapes_only=True)
    assert state is None
    assert text == captured(model)
    capture.write(tmp_path / "shapes", text, state)
    assert [path.name for path in (tmp_path / "shapes").iterdir()] == [
        "step.mlir"
    ]


def test_a_state_larger_than_any_memory(make):
    text, _ = capture.capture(
        make(SMALL.replace("jnp.zeros(3)", "jnp.zeros((1 << 40, 3))[0]")),
        shapes_only=True,
    )
    assert "tensor<3xf32>" in text


def test_an_init_that_needs_values_has_no_shapes(make):
    text = SMALL.replace(
        "jnp.ones((2, 3))", "__import__('numpy').ones(3) * jnp.ones(3)"
    )
    text = text.replace(
        "jnp.zeros(3) + seed", "__import__('numpy').asarray(jnp.zeros(3))"
    )
    with pytest.raises(
        models.ModelError,
        match="init: expected that it computes in JAX alone, since only shapes are captured",
    ):
        capture.capture(make(text), shapes_only=True)


def test_numbers_without_a_key_are_refused(make):
    with pytest.raises(
        models.ModelError,
        match=r"model.py:\d+:\d+: cannot capture 'stablehlo.rng'.*use jax.random",
    ):
        capture.capture(
            make(
                SMALL.replace(
                    "x @ w", "x @ w * jax.lax.rng_uniform(0.0, 1.0, (4,))"
                )
            )
        )
