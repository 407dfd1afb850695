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

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from training import ROOT, Runner, capture, compile_step  # noqa: E402

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
        compile_step(binaries, folder, artifact, f"--replicas={replicas}")
        worker = [
            sys.executable,
            __file__,
            "--worker",
            binaries,
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
        """Returns the seconds of one step."""
        print(steps, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def work(binaries, artifact, model, folder):
    """Executes steps: reads their number, prints the time of one in seconds."""
    runner = Runner(
        pathlib.Path(binaries), model, pathlib.Path(folder), artifact
    )
    for line in sys.stdin:
        print(runner.run(int(line)), flush=True)
    runner.close()


def measure(model, options):
    """Returns the microseconds of a step by the build before, and the ratios of
    all rounds.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        capture(model, folder, options.replicas)
        before, after = (
            Build(binaries, model, folder, options.replicas)
            for binaries in (options.before, options.after)
        )
        # The number of steps of a round that take the given time.
        steps = max(
            3,
            int(
                options.seconds
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
    return statistics.median(a * 1e6 for a, _ in pairs), [
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
