"""Captured models and running steps of them, for measurements of schedules."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

import training  # noqa: E402
from measuring import add_rounds as add_rounds  # noqa: E402
from measuring import spread_text as spread_text  # noqa: E402
from training import ROOT, Runner, compile_step  # noqa: E402

#: Name, file, and the environment that selects a size.
MODELS = {
    "mlp": ("bench/jax/mlp.py", {"LAYERS": "784-1024-1024-10"}),
    "wide": ("bench/jax/mlp.py", {"LAYERS": "1024-2048-2048-2048-10"}),
    "tiny": ("bench/jax/mlp.py", {"LAYERS": "-".join(["16"] * 201)}),
    "narrow": ("bench/jax/mlp.py", {"LAYERS": "-".join(["64"] * 9)}),
    "cnn": ("examples/digits-cnn/model.py", {}),
    "transformer": ("bench/schedule/transformer.py", {}),
    "towers": ("bench/schedule/towers.py", {}),
    "resnet": ("bench/schedule/resnet.py", {}),
    "language-model": ("examples/language-model/model.py", {}),
}


def parser_of(documentation):
    """A parser of the common options: models, the folder of the binaries."""
    parser = argparse.ArgumentParser(
        description=documentation.partition("\n")[0]
    )
    parser.add_argument("models", nargs="*", help=", ".join(MODELS))
    parser.add_argument(
        "--binaries", type=pathlib.Path, default=ROOT / "build/release/bin"
    )
    return parser


def parse(parser):
    options = parser.parse_args()
    options.binaries = options.binaries.resolve()
    return options


def simulation_options(documentation):
    """Parses the options of a measurement by simulation: the common ones, and
    the number of replicas.
    """
    parser = parser_of(documentation)
    parser.add_argument("--replicas", type=int, default=8)
    return parse(parser)


def capture(name, folder, replicas):
    """Captures a model to `step.mlir` and `init.safetensors` in `folder`."""
    path, variables = MODELS[name]
    training.capture(ROOT / path, folder, replicas, **variables)


def simulate_artifact(binaries, artifact, *options):
    """Returns the output of lockstep-simulate."""
    done = subprocess.run(
        [binaries / "lockstep-simulate", artifact, "--format=json", *options],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def compile_for(binaries, folder, topology, replicas, *options):
    """Compiles a captured model for a simulation; returns the artifact."""
    return compile_step(
        binaries,
        folder,
        folder / "step.lockstep",
        f"--replicas={replicas}",
        "--target=x86-64-v3",
        f"--topology={topology}",
        *options,
    )


def simulate(binaries, folder, topology, replicas, *options):
    """Compiles a captured model with the options, and returns the output of
    lockstep-simulate.
    """
    artifact = compile_for(binaries, folder, topology, replicas, *options)
    return simulate_artifact(binaries, artifact)


def alternate(runners, steps, rounds):
    """Executes `steps[name]` steps of each runner in each round, and closes the
    runners. Returns the seconds of a step by name for each round. Several names
    may have one runner, which is executed once a round.
    """
    found = []
    for _ in range(rounds):
        times = {}
        for name, runner in runners.items():
            if runner not in times:
                times[runner] = runner.run(steps[name])
        found.append({name: times[r] for name, r in runners.items()})
    for runner in set(runners.values()):
        runner.close()
    return found


def runner_of(binaries, name, folder, artifact, **options):
    """A compiled model with random batches, ready to run."""
    path, variables = MODELS[name]
    os.environ.update(variables)
    return Runner(binaries, ROOT / path, folder, artifact, **options)
