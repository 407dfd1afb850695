"""Step times of two builds of Lockstep on the same captured models.

    build/venv/bin/python bench/builds/steps.py --before=DIR/bin
    --after=build/release/bin [--replicas=2] [MODEL.py ...]

Each model is captured once and compiled by both builds; each build executes its
artifact with its own library, in a separate process. Batches are random. Rounds
of several steps alternate between the two; the ratio of a round is the time of
`--after` divided by that of `--before`. The median of all rounds is printed
with the smallest and the largest.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT / "python-bindings"),
    str(ROOT / "test" / "end-to-end"),
]

MODELS = [
    "bench/jax/mlp.py",
    "examples/digits-mlp/model.py",
    "examples/digits-cnn/model.py",
    "examples/language-model/model.py",
    "test/end-to-end/models/vit.py",
    "test/end-to-end/models/gpt.py",
]

#: Steps before anything is measured.
WARM_UP = 5


class Build:
    """A build that executes a step in a separate process."""

    def __init__(self, binaries, model, folder, replicas):
        binaries = pathlib.Path(binaries).resolve()
        artifact = folder / f"{len(list(folder.glob('*.lockstep')))}.lockstep"
        compile = [
            binaries / "lockstep-compile",
            folder / "step.mlir",
            f"--replicas={replicas}",
            "-o",
            artifact,
        ]
        subprocess.run(list(map(str, compile)), check=True)
        worker = [
            sys.executable,
            __file__,
            "--worker",
            binaries.parent / "lib" / "liblockstep.so",
            artifact,
            model,
            folder,
        ]
        self.process = subprocess.Popen(
            list(map(str, worker)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, steps):
        """Returns the seconds of `steps` steps."""
        print(steps, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def work(library, artifact, model, folder):
    """Executes steps: reads their number, prints their time in seconds."""
    import time

    import numpy as np
    from safetensors.numpy import load_file

    from capi import Session
    from lockstep import model as models

    random = np.random.default_rng(0)
    with Session(library, artifact) as session:
        for name, value in load_file(
            pathlib.Path(folder) / "init.safetensors"
        ).items():
            session.set(name, value)
        loaded, batch = models.load(model), {}
        for name, entry in loaded.scalars.items():
            session.set_scalar(
                name, np.asarray(loaded.defaults.get(name, 0), entry.dtype)
            )
        for name, entry in loaded.batch.items():
            shape = (session.replicas * entry.shape[0], *entry.shape[1:])
            is_float = np.issubdtype(entry.dtype, np.floating)
            batch[name] = (
                random.standard_normal(shape)
                if is_float
                else random.integers(0, 2, shape)
            ).astype(entry.dtype)
        program = session.program("step")
        session.bind(program, batch)
        for line in sys.stdin:
            begin = time.perf_counter()
            for _ in range(int(line)):
                session.call("run", program)
            print(time.perf_counter() - begin, flush=True)


def measure(model, options):
    """Returns the microseconds of a step by the build before, and the ratios of
    all rounds.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "python-bindings"))
        capture = [
            sys.executable,
            "-m",
            "lockstep.capture",
            str(model),
            "-o",
            str(folder),
            f"--replicas={options.replicas}",
        ]
        subprocess.run(
            capture, check=True, stdout=subprocess.DEVNULL, env=environment
        )
        before, after = (
            Build(binaries, model, folder, options.replicas)
            for binaries in (options.before, options.after)
        )
        # The number of steps of a round that take the given time.
        steps = max(
            3,
            int(
                options.seconds
                * WARM_UP
                / max(
                    build.run(WARM_UP)
                    for build in (before, after, before, after)
                )
            ),
        )
        pairs = [
            (before.run(steps), after.run(steps)) for _ in range(options.rounds)
        ]
        for build in (before, after):
            build.close()
    return statistics.median(a / steps * 1e6 for a, _ in pairs), [
        b / a for a, b in pairs
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "models",
        nargs="*",
        type=pathlib.Path,
        metavar="MODEL.py",
        help="default: the examples and two larger models",
    )
    parser.add_argument(
        "--before",
        required=True,
        metavar="DIR",
        help="the tools of one build, its library in `lib` beside them",
    )
    parser.add_argument(
        "--after", required=True, metavar="DIR", help="those of the other"
    )
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="of one round"
    )
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    os.environ.setdefault("LAYERS", "64-128-10")  # of bench/jax/mlp.py
    os.environ["JAX_PLATFORMS"] = "cpu"
    print(
        "| model | before, µs a step | step time by that before |\n|---|---|---|"
    )
    for model in options.models or [ROOT / model for model in MODELS]:
        before, ratios = measure(model.resolve(), options)
        name = model.parent.name if model.stem == "model" else model.stem
        print(
            f"| {name} | {before:.0f} | {statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f}) |",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(*sys.argv[2:])
    else:
        main()
