"""Random programs: what `verify-uniformity` accepts compiles, at both levels, and gives the interpreter's bits.

`LOCKSTEP_RANDOM_PROGRAMS=1000 LOCKSTEP_RANDOM_SEED=7000` tries that many, from that seed on.
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
    """As the generator has it."""
    return 2 + seed // 4 % 4


def random_inputs(rng, replicas):
    """What the generator's programs take: scalars, and a batch for each replica, with 0 to 3 rows of `r`."""

    def flag():
        return np.array(rng.integers(0, 2) == 1)

    def number():
        return np.array(rng.integers(0, 4), np.int32)

    def floats(*shape):
        return rng.integers(-2, 3, shape).astype(np.float32)

    inputs = {"s": flag(), "t": flag(), "k": number(), "u": floats(2)}
    for replica in range(replicas):
        batch = {"x": floats(2), "r": floats(rng.integers(0, 4), 2), "n": number(), "b": flag(), "c": flag()}
        inputs.update({f"{name}@{replica}": value for name, value in batch.items()})
    return inputs


def random_variables(rng, text):
    kinds = {"2xf32": lambda: rng.integers(-2, 3, 2).astype(np.float32), "i32": lambda: np.array(rng.integers(0, 4), np.int32)}
    return {name: kinds[kind]() for name, kind in re.findall(r"replica\.variable @(\w+) : tensor<(\S+?)>", text)}


def check(tools, folder, seed):
    """False if the program is refused."""
    text = tools.run("lockstep-verify-random", f"--seed={seed}", "--print").stdout
    replicas = replicas_of(seed)
    source = folder / "step.mlir"
    source.write_text(text)
    if tools.run("lockstep-compile", source, f"--replicas={replicas}", "--stop-after=verify", "-o", os.devnull, check=False).returncode:
        return False
    rng = np.random.default_rng(seed)
    save_file(random_variables(rng, text), folder / "init.safetensors")
    np.savez(folder / "inputs.npz", **random_inputs(rng, replicas))
    arguments = [f"--inputs={folder / 'inputs.npz'}", f"--init={folder / 'init.safetensors'}"]
    expected = tools.run("lockstep-interpret", source, f"--replicas={replicas}", *arguments).stdout.splitlines()
    for level in ("-O0", "-O2"):
        artifact = tools.compile(source, folder / "step.lockstep", f"--replicas={replicas}", level)
        for ways in (["--threads=2"], ["--check-races"]):
            found = tools.run("lockstep-run", artifact, *arguments, *ways).stdout.splitlines()
            assert sorted(found) == sorted(expected), f"seed {seed}, {level}, {ways}\n{text}"
    return True


@pytest.mark.parametrize("first", range(SEED, SEED + COUNT, CHUNK))
def test_what_is_accepted_compiles_and_gives_the_same(tools, tmp_path, first):
    # Every fourth one is in collective form, which is not compiled.
    seeds = [seed for seed in range(first, first + CHUNK) if seed % 4 != 3]
    accepted = sum(check(tools, tmp_path, seed) for seed in seeds)
    assert accepted > 0
