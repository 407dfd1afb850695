"""Random programs: programs that `verify-uniformity` accepts compile, at both
levels, and have bitwise the interpreter's results; with parameter servers, too.

`LOCKSTEP_RANDOM_PROGRAMS=1000 LOCKSTEP_RANDOM_SEED=7000` tries that many, from
that seed on.
"""

import os
import re

import numpy as np
import pytest
from safetensors.numpy import save_file

COUNT = int(os.environ.get("LOCKSTEP_RANDOM_PROGRAMS", 60))
SEED = int(os.environ.get("LOCKSTEP_RANDOM_SEED", 1))

#: Programs of one test.
CHUNK = 10


def replicas_of(seed):
    """The number of replicas that the generator chooses for a seed."""
    return 2 + seed // 4 % 4


def random_inputs(rng, replicas):
    """The inputs of the generator's programs: scalars, and a batch for each
    replica, with 0 to 3 rows of `r`.
    """

    def flag():
        return np.array(rng.integers(0, 2) == 1)

    def number():
        return np.array(rng.integers(0, 4), np.int32)

    def floats(*shape):
        return rng.integers(-2, 3, shape).astype(np.float32)

    inputs = {"s": flag(), "t": flag(), "k": number(), "u": floats(2)}
    for replica in range(replicas):
        batch = {
            "x": floats(2),
            "r": floats(rng.integers(0, 4), 2),
            "n": number(),
            "b": flag(),
            "c": flag(),
        }
        inputs.update(
            {f"{name}@{replica}": value for name, value in batch.items()}
        )
    return inputs


def random_variables(rng, text):
    kinds = {
        "2xf32": lambda: rng.integers(-2, 3, 2).astype(np.float32),
        "i32": lambda: np.array(rng.integers(0, 4), np.int32),
    }
    return {
        name: kinds[kind]()
        for name, kind in re.findall(
            r"replica\.variable @(\w+) : tensor<(\S+?)>", text
        )
    }


def servers_of(seed):
    """Options for one to three servers, and for variables in one piece, in two,
    or in two if they are large enough.
    """
    rule = ("fixed 1", "fixed 2", "min_size bytes 4 shards 2")[seed % 3]
    return ["--strategy=parameter_server_sync", f"--servers={1 + seed % 3}"], [
        f"--partitioner={rule}"
    ]


def check(
    tools, folder, seed, strategy=(), partitioner=(), more=("--check-races",)
):
    """False if the program is rejected."""
    text = tools.run(
        "lockstep-verify-random", f"--seed={seed}", "--print"
    ).stdout
    replicas = replicas_of(seed)
    source = folder / "step.mlir"
    source.write_text(text)
    options = [f"--replicas={replicas}", *strategy]
    if tools.run(
        "lockstep-compile",
        source,
        *options,
        *partitioner,
        "--stop-after=verify",
        "-o",
        os.devnull,
        check=False,
    ).returncode:
        return False
    rng = np.random.default_rng(seed)
    save_file(random_variables(rng, text), folder / "init.safetensors")
    np.savez(folder / "inputs.npz", **random_inputs(rng, replicas))
    arguments = [
        f"--inputs={folder / 'inputs.npz'}",
        f"--init={folder / 'init.safetensors'}",
    ]
    expected = tools.run(
        "lockstep-interpret", source, *options, *arguments
    ).stdout.splitlines()
    for level in ("-O0", "-O2"):
        artifact = tools.compile(
            source, folder / "step.lockstep", *options, *partitioner, level
        )
        for run_options in (["--threads=2"], more):
            found = tools.run(
                "lockstep-run", artifact, *arguments, *run_options
            ).stdout.splitlines()
            assert sorted(found) == sorted(expected), (
                f"seed {seed}, {level}, {run_options}\n{text}"
            )
    return True


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, CHUNK))
def test_what_is_accepted_compiles_and_gives_the_same(tools, tmp_path, first):
    # Every fourth program is in collective form, which is not compiled.
    seeds = [seed for seed in range(first, first + CHUNK) if seed % 4 != 3]
    accepted = sum(check(tools, tmp_path, seed) for seed in seeds)
    assert accepted > 0


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, CHUNK))
def test_what_is_accepted_with_servers_compiles_and_gives_the_same(
    tools, tmp_path, first
):
    seeds = [seed for seed in range(first, first + CHUNK) if seed % 4 != 3]
    accepted = sum(
        check(tools, tmp_path, seed, *servers_of(seed), ["--executors=2"])
        for seed in seeds
    )
    assert accepted > 0
