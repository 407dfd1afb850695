"""Runs the prepared models on a GPU, and reports what differs from the CPU.

For each model: the largest relative difference of a metric from the CPU's in 20
steps, with products and convolutions by generated code and by libraries, and
the time of a step, whose commands the GPU has recorded as a graph; then whether
a second run, whose commands are enqueued one by one, has the same metrics, and
the time of its steps. Then what the examples have learned after training, compared with the
CPU's, and the rates of the GPU (`lockstep-benchmark`). Then one model with two
executors, which exchange through the host and by NCCL, on two GPUs or on one:
the metrics must be those of one executor. Then compute-sanitizer's tools on one
model, where they are installed. Only Python's own library is used. The exit
status is 1 if anything is wrong.
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import packages

STEPS = 20
#: Of a loss: sums of another order, over 20 steps of training. Models in 16 bits
#: round differently.
TOLERANCE = 1e-4
TOLERANCES = {"mixed_bf16": 3e-2, "mixed_f16": 3e-2, "translator": 3e-2}
#: Of a run of a model, so that one that hangs leaves time for others.
MODEL_SECONDS = 60
#: How far from the CPU's a metric of an evaluation may be after training.
LEARNED_TOLERANCE = 0.01
SANITIZED = "vae"
EXCHANGED = "vae"
TOOLS = ["memcheck", "initcheck", "synccheck", "racecheck"]


class Failed(Exception):
    """A command that failed; the text is what it printed last."""


def execute(command, limit, **environment):
    """What a command prints, which ends within `limit` seconds."""
    try:
        done = subprocess.run(
            list(map(str, command)),
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"did not end within {limit} s") from None
    if done.returncode != 0:
        raise Failed((done.stdout + done.stderr).strip()[-2000:])
    return done.stdout + done.stderr


@dataclasses.dataclass(frozen=True)
class Run:
    """A run of a model: the metrics of all steps, the milliseconds of the
    fastest one, and why steps were not recorded, if they were not."""

    metrics: list
    milliseconds: float
    obstacle: str


class Check:
    def __init__(self, folder, deadline):
        self.folder, self.deadline = folder, deadline
        self.models = json.loads((folder / "models.json").read_text())
        self.examples = json.loads((folder / "examples.json").read_text())
        self.environment = {
            "LD_LIBRARY_PATH": packages.library_path(folder / "lib")
        }
        self.wrong = []

    def left(self):
        return self.deadline - time.monotonic()

    def command(
        self,
        name,
        device,
        metrics,
        steps=STEPS,
        options=(),
        variant="generated",
    ):
        model = self.folder / "models" / name
        return [
            self.folder / "bin" / "lockstep-run",
            model / f"{variant}.lockstep",
            f"--device={device}",
            f"--init={model / 'init.safetensors'}",
            f"--data={model / 'train.npz'}",
            f"--steps={steps}",
            f"--seed={self.models[name]}",
            f"--metrics={metrics}",
            *options,
        ]

    def train(
        self, name, device, options=(), variant="generated", **environment
    ):
        metrics = self.folder / "metrics.jsonl"
        output = execute(
            self.command(
                name, device, metrics, options=options, variant=variant
            ),
            max(min(self.left(), MODEL_SECONDS), 1),
            **self.environment,
            **environment,
        )
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        rates = [
            float(rate)
            for rate in re.findall(r"^step .* (\S+) steps/s", output, re.M)
        ]
        milliseconds = 1000 / max(rates) if any(rates) else float("nan")
        obstacle = re.search(r"one by one: (.*)", output)
        return Run(
            [
                value
                for line in lines
                for name, value in line.items()
                if name not in ("step", "epoch")
            ],
            milliseconds,
            obstacle[1] if obstacle else "",
        )

    def model(self, name):
        cpu = self.train(name, "cpu")
        self.compare(name, cpu, "generated")
        try:
            self.compare(name, cpu, "libraries")
        except Failed as error:
            if "expected NVIDIA's cu" not in str(error):
                raise
            print(f"{name:20} cuBLASLt or cuDNN is not installed", flush=True)

    def compare(self, name, cpu, variant):
        gpu = self.train(name, "cuda", variant=variant)
        again = self.train(name, "cuda", ["--no-recording"], variant=variant)
        difference = max(
            abs(a - b) / max(abs(b), 1e-6)
            for a, b in zip(gpu.metrics, cpu.metrics, strict=True)
        )
        remarks = [variant, *([gpu.obstacle] if gpu.obstacle else [])]
        wrong = []
        if not difference <= TOLERANCES.get(name, TOLERANCE):
            wrong.append("DIFFERS")
        if again.metrics != gpu.metrics:
            wrong.append("NOT REPEATED")
        if wrong:
            self.wrong.append(f"{name}, {variant}")
        print(
            f"{name:20} {difference:12.1e} {cpu.milliseconds:10.2f} {gpu.milliseconds:10.2f} {again.milliseconds:10.2f}  {' '.join(wrong + remarks)}",
            flush=True,
        )

    def example(self, name):
        folder = self.folder / "examples" / name
        options = self.examples[name]
        learned = {}
        for device in "cpu", "cuda":
            metrics = self.folder / "metrics.jsonl"
            execute(
                [
                    self.folder / "bin" / "lockstep-run",
                    folder / "generated.lockstep",
                    f"--device={device}",
                    f"--init={folder / 'init.safetensors'}",
                    f"--data={folder / 'train.npz'}",
                    f"--eval-data={folder / 'test.npz'}",
                    "--seed=0",
                    f"--metrics={metrics}",
                    *options,
                ],
                max(min(self.left(), MODEL_SECONDS), 1),
                **self.environment,
            )
            last = metrics.read_text().splitlines()[-1]
            learned[device] = json.loads(last)["evaluate"]
        is_far = any(
            not abs(value - learned["cpu"][metric]) <= LEARNED_TOLERANCE
            for metric, value in learned["cuda"].items()
        )
        if is_far:
            self.wrong.append(name)
        for metric, value in learned["cuda"].items():
            print(
                f"{name}, {' '.join(options)[2:]}: {metric} {value:.4f}, CPU {learned['cpu'][metric]:.4f}{'  DIFFERS' if is_far else ''}",
                flush=True,
            )

    def exchange(self, transport, gpus):
        """Two executors, on one GPU only if NCCL is new enough for that."""
        device = "cuda" if gpus > 1 else "cuda:0,0"
        options = ["--executors=2", f"--transport={transport}"]
        what = f"two executors, {transport}, {min(gpus, 2)} GPUs"
        one = self.train(EXCHANGED, "cuda").metrics
        try:
            two = self.train(
                EXCHANGED, device, options, NCCL_MULTI_RANK_GPU_ENABLE="1"
            )
        except Failed as error:
            if gpus == 1 and "invalid usage" in str(error):
                print(f"{what}: NCCL refuses them")
                return
            raise
        if two.metrics != one:
            self.wrong.append(what)
        equal = "the metrics of one" if two.metrics == one else "DIFFERS"
        print(f"{what}: {equal}, {two.milliseconds:.2f} ms", flush=True)

    def sanitize(self, tool, variant):
        metrics = self.folder / "metrics.jsonl"
        # Errors of the driver's functions are Lockstep's to report: it asks
        # modules for symbols that they may lack.
        command = ["compute-sanitizer", f"--tool={tool}", "--error-exitcode=3"]
        if tool == "memcheck":
            command.append("--report-api-errors=no")
        run = self.command(SANITIZED, "cuda", metrics, steps=3, variant=variant)
        execute(
            [*command, *run],
            max(min(self.left(), 120), 1),
            **self.environment,
        )
        print(f"{tool}, {variant}: nothing found", flush=True)

    def rates(self):
        """The rates of the GPU, and what they make of measured steps."""
        # They have one replica, whose kernels have the GPU for themselves.
        artifacts = sorted(
            (self.folder / "large").glob("mlp*/*-libraries.lockstep")
        )
        if not artifacts:
            print("no large model to measure the rates of the GPU")
            return
        command = [
            self.folder / "bin" / "lockstep-benchmark",
            "--calibrate",
            *artifacts,
            "--device=cuda",
            "--replicas=2,4",
            "-o",
            self.folder / "rates.json",
        ]
        limit = max(min(self.left(), MODEL_SECONDS), 1)
        print(execute(command, limit, **self.environment), flush=True)

    def attempt(self, what, check, *arguments):
        """What fails does not keep the rest from being checked."""
        try:
            check(*arguments)
        except Failed as error:
            self.wrong.append(what)
            print(f"{what}: {error}", flush=True)

    def run(self):
        gpus = 1
        try:
            listed = execute(["nvidia-smi", "-L"], 30).strip()
            gpus = max(len(re.findall(r"^GPU \d+", listed, re.M)), 1)
            print(listed)
        except (Failed, OSError) as error:
            print(f"nvidia-smi: {error}")
        print(
            f"{'model':20} {'difference':>12} {'CPU ms':>10} {'GPU ms':>10} {'no graph':>10}",
            flush=True,
        )
        for name in self.models:
            self.attempt(name, self.model, name)
        for name in self.examples:
            self.attempt(name, self.example, name)
        self.attempt("rates", self.rates)
        # The sum of two operands has the same bits in each order.
        for transport in "threads", "nccl", "nccl:reduce":
            what = f"two executors, {transport}"
            self.attempt(what, self.exchange, transport, gpus)
        if shutil.which("compute-sanitizer"):
            for tool in TOOLS:
                self.attempt(tool, self.sanitize, tool, "generated")
            what = f"{TOOLS[0]}, libraries"
            self.attempt(what, self.sanitize, TOOLS[0], "libraries")
        else:
            print("compute-sanitizer is not installed")
        print("wrong: " + (", ".join(self.wrong) or "nothing"))
        return 1 if self.wrong else 0


if __name__ == "__main__":
    folder, seconds = pathlib.Path(sys.argv[1]).resolve(), float(sys.argv[2])
    sys.exit(Check(folder, time.monotonic() + seconds).run())
