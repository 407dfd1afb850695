"""Step time and compile time compared with JAX on the same machine, in the same
process.

    LOCKSTEP_BIN=build/release/bin build/venv/bin/python bench/jax/steps.py
    [--layers=64-128-10 ...] [--devices=1 ...]

Both run the same function of `mlp.py`: Lockstep as N replicas of one process,
JAX by `shard_map` on N host devices, with donated state. Inputs are in place on
both sides. With one device JAX dispatches a whole round ahead; with several it
waits for each step, because steps in flight on few cores end in its own "this
thread may be stuck". Rounds of several steps alternate between the two; the
ratio of a round is Lockstep's time divided by JAX's (below 1: Lockstep is
faster). The median of all rounds is printed with the smallest and the largest.
The losses of both are compared before the measurement.

For compile time, `lockstep-compile` from its start to its end (parsing, all
stages, the file written; for both default targets, and for one) is compared
with `jax.jit(...).lower(...).compile()`, tracing included, alternately.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from measuring import add_alone, add_rounds, measure_alone  # noqa: E402
from training import capture  # noqa: E402

DEFAULT_LAYERS = ["64-128-10", "784-1024-1024-10"]


def spread(values):
    """Median, smallest and largest."""
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }


def text(ratio):
    return f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"


class Lockstep:
    """The compiled step, through the C API."""

    def __init__(self, folder, replicas, binaries):
        from capi import Session

        self.replicas, self.folder, self.binaries = replicas, folder, binaries
        self.artifact = folder / "step.lockstep"
        self.compile()
        # As XLA does on processors.
        self.session = Session(
            binaries.parent / "lib" / "liblockstep.so",
            self.artifact,
            flush_subnormals=1,
        )

    def compile(self, *options):
        """Returns the seconds that it took."""
        command = [
            self.binaries / "lockstep-compile",
            self.folder / "step.mlir",
            f"--replicas={self.replicas}",
            "-o",
            self.artifact,
        ]
        begin = time.perf_counter()
        subprocess.run([*map(str, command), *options], check=True)
        return time.perf_counter() - begin

    def start(self, state, batch):
        for name, value in state.items():
            self.session.set(name, value)
        self.program = self.session.program("step")
        self.session.bind(self.program, batch)

    def run(self, steps):
        """Returns the seconds of `steps` steps and the last loss."""
        begin = time.perf_counter()
        for _ in range(steps - 1):
            self.session.call("run", self.program)
        loss = self.session.run(self.program)["loss"]
        return time.perf_counter() - begin, float(loss)


class Jax:
    """The same step by `shard_map`, on as many host devices."""

    def __init__(self, model, replicas):
        import jax
        import numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        self.mesh = Mesh(np.array(jax.devices("cpu")[:replicas]), ("replica",))
        self.everywhere, self.own = (
            NamedSharding(self.mesh, PartitionSpec(*axes))
            for axes in ((), ("replica",))
        )
        self.model, self.replicas = model, replicas
        self.scalars = model.default_scalars()

    def compile(self, state, batch):
        """Returns the seconds that it took, tracing included."""
        import jax
        from jax.sharding import PartitionSpec

        jax.clear_caches()
        everywhere, own = PartitionSpec(), PartitionSpec("replica")
        begin = time.perf_counter()
        mapped = jax.shard_map(
            self.model.step,
            mesh=self.mesh,
            in_specs=(everywhere, own, everywhere),
            out_specs=everywhere,
            check_vma=False,
        )
        self.step = (
            jax.jit(mapped, donate_argnums=0)
            .lower(state, batch, self.scalars)
            .compile()
        )
        return time.perf_counter() - begin

    def start(self, state, batch):
        import jax

        self.state, self.batch = (
            jax.device_put(state, self.everywhere),
            jax.device_put(batch, self.own),
        )
        self.scalars = jax.device_put(self.scalars, self.everywhere)
        self.compile(self.state, self.batch)

    def run(self, steps):
        """Returns the seconds of `steps` steps and the last loss."""
        import jax

        begin = time.perf_counter()
        for _ in range(steps):
            self.state, metrics = self.step(
                self.state, self.batch, self.scalars
            )
            # With several devices, steps in flight can wait for each other's
            # threads forever.
            if self.replicas > 1:
                jax.block_until_ready(metrics)
        jax.block_until_ready((self.state, metrics))
        return time.perf_counter() - begin, float(metrics["loss"])


def measure(layers, devices, seconds, rounds):
    """One model on one number of devices, in this process, which has as many."""
    import numpy as np
    from safetensors.numpy import load_file

    from lockstep import model as models

    binaries = pathlib.Path(os.environ["LOCKSTEP_BIN"]).resolve()
    path = pathlib.Path(__file__).with_name("mlp.py")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        capture(path, folder, devices)
        model = models.load(path)
        widths = [int(width) for width in layers.split("-")]
        random = np.random.default_rng(0)
        rows = model.rows * devices
        batch = {
            "x": random.standard_normal((rows, widths[0]), np.float32),
            "y": random.integers(0, widths[-1], rows).astype(np.int32),
        }
        ours, theirs = Lockstep(folder, devices, binaries), Jax(model, devices)
        ours.start(load_file(folder / "init.safetensors"), batch)
        theirs.start(model.init(0), batch)

        losses = [side.run(20)[1] for side in (ours, theirs)]
        if not np.isclose(*losses, rtol=1e-4):
            raise SystemExit(
                f"the two do not compute the same: losses {losses} after 20 steps"
            )
        # The number of steps of a round that take the given time.
        steps = max(
            3,
            int(seconds / max(side.run(20)[0] / 20 for side in (ours, theirs))),
        )
        pairs = [
            (ours.run(steps)[0] / steps, theirs.run(steps)[0] / steps)
            for _ in range(rounds)
        ]
        compiles = [
            (
                ours.compile(),
                ours.compile("--target=x86-64-v3"),
                theirs.compile(theirs.state, theirs.batch),
            )
            for _ in range(5)
        ]
    return {
        "layers": layers,
        "devices": devices,
        "steps_a_round": steps,
        "rounds": rounds,
        "lockstep_us": spread([a * 1e6 for a, _ in pairs]),
        "jax_us": spread([b * 1e6 for _, b in pairs]),
        "step_ratio": spread([a / b for a, b in pairs]),
        "lockstep_compile_s": spread([a for a, _, _ in compiles]),
        "jax_compile_s": spread([c for _, _, c in compiles]),
        "compile_ratio": spread([a / c for a, _, c in compiles]),
        "compile_ratio_one_target": spread([b / c for _, b, c in compiles]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", nargs="+", default=DEFAULT_LAYERS)
    parser.add_argument("--devices", nargs="+", type=int, default=[1, 2, 8])
    add_rounds(parser, rounds=15, seconds=1.0)
    add_alone(parser)
    options = parser.parse_args()
    if options.one:
        print(
            json.dumps(
                measure(
                    options.layers[0],
                    options.devices[0],
                    options.seconds,
                    options.rounds,
                )
            )
        )
        return
    print(
        "| layers | devices | Lockstep, µs a step | JAX, µs a step | step time by JAX's | compile time by JAX's | the same, one target |"
    )
    print("|---|---|---|---|---|---|---|")
    for layers in options.layers:
        for devices in options.devices:
            # The number of host devices is fixed when JAX is loaded.
            r = measure_alone(
                __file__,
                ["--layers", layers, "--devices", str(devices)],
                options,
                LAYERS=layers,
                XLA_FLAGS=f"--xla_force_host_platform_device_count={devices}",
            )
            print(
                f"| {layers} | {devices} | {r['lockstep_us']['median']:.0f} | {r['jax_us']['median']:.0f} | {text(r['step_ratio'])} "
                f"| {text(r['compile_ratio'])} | {text(r['compile_ratio_one_target'])} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
