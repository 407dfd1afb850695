"""Runs the prepared models on a GPU, and reports what differs from the CPU.

For each model: the largest relative difference of a loss from the CPU's in 20
steps, whether a second run has the same losses, and the time of a step. Then
one model with two executors, which exchange through the host and by NCCL, on two
GPUs or on one: the losses must be those of one executor. Then compute-sanitizer's
tools on one model, where they are installed. Only Python's own library is used.
The exit status is 1 if anything is wrong.
"""

import json
import os
import pathlib
import re
import shutil
import site
import subprocess
import sys
import time

STEPS = 20
#: Of a loss: sums of another order, over 20 steps of training. Models in 16 bits
#: round differently.
TOLERANCE = 1e-4
TOLERANCES = {"mixed_bf16": 3e-2, "mixed_f16": 3e-2}
#: Of a run of a model, so that one that hangs leaves time for others.
MODEL_SECONDS = 60
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


class Check:
    def __init__(self, folder, deadline):
        self.folder, self.deadline = folder, deadline
        self.models = json.loads((folder / "models.json").read_text())
        self.environment = {"LD_LIBRARY_PATH": self.library_path()}
        self.wrong = []

    def library_path(self):
        """The machine's own libraries first, where it has them, and NCCL of a
        Python package."""
        old = os.environ.get("LD_LIBRARY_PATH", "")
        packages = [
            str(path)
            for folder in site.getsitepackages()
            for path in pathlib.Path(folder).glob("nvidia/nccl/lib")
        ]
        return ":".join(
            filter(None, [old, str(self.folder / "lib"), *packages])
        )

    def left(self):
        return self.deadline - time.monotonic()

    def command(self, name, device, metrics, steps=STEPS, options=()):
        model = self.folder / "models" / name
        return [
            self.folder / "bin" / "lockstep-run",
            model / "step.lockstep",
            f"--device={device}",
            f"--init={model / 'init.safetensors'}",
            f"--data={model / 'train.npz'}",
            f"--steps={steps}",
            f"--seed={self.models[name]}",
            f"--metrics={metrics}",
            *options,
        ]

    def losses(self, name, device, options=(), **environment):
        """The losses of a run, and the milliseconds of its fastest step."""
        metrics = self.folder / "metrics.jsonl"
        output = execute(
            self.command(name, device, metrics, options=options),
            max(min(self.left(), MODEL_SECONDS), 1),
            **self.environment,
            **environment,
        )
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        rates = [
            int(rate)
            for rate in re.findall(r"^step .* (\d+) steps/s", output, re.M)
        ]
        milliseconds = 1000 / max(rates) if any(rates) else float("nan")
        return [line["loss"] for line in lines if "loss" in line], milliseconds

    def model(self, name):
        expected, on_cpu = self.losses(name, "cpu")
        found, on_gpu = self.losses(name, "cuda")
        again, _ = self.losses(name, "cuda")
        difference = max(
            abs(a - b) / max(abs(b), 1e-6)
            for a, b in zip(found, expected, strict=True)
        )
        remarks = []
        if not difference <= TOLERANCES.get(name, TOLERANCE):
            remarks.append("DIFFERS")
        if again != found:
            remarks.append("NOT REPEATED")
        if remarks:
            self.wrong.append(name)
        print(
            f"{name:20} {difference:12.1e} {on_cpu:10.2f} {on_gpu:10.2f}  {' '.join(remarks)}",
            flush=True,
        )

    def exchange(self, transport, gpus):
        """Two executors, on one GPU only if NCCL is new enough for that."""
        device = "cuda" if gpus > 1 else "cuda:0,0"
        options = ["--executors=2", f"--transport={transport}"]
        what = f"two executors, {transport}, {min(gpus, 2)} GPUs"
        one, _ = self.losses(EXCHANGED, "cuda")
        try:
            found, milliseconds = self.losses(
                EXCHANGED, device, options, NCCL_MULTI_RANK_GPU_ENABLE="1"
            )
        except Failed as error:
            if gpus == 1 and "invalid usage" in str(error):
                print(f"{what}: NCCL refuses them")
                return
            raise
        if found != one:
            self.wrong.append(what)
        equal = "the losses of one" if found == one else "DIFFERS"
        print(f"{what}: {equal}, {milliseconds:.2f} ms", flush=True)

    def sanitize(self, tool):
        metrics = self.folder / "metrics.jsonl"
        command = ["compute-sanitizer", f"--tool={tool}", "--error-exitcode=3"]
        try:
            execute(
                [*command, *self.command(SANITIZED, "cuda", metrics, steps=1)],
                max(min(self.left(), 120), 1),
                **self.environment,
            )
            print(f"{tool}: nothing found", flush=True)
        except Failed as error:
            self.wrong.append(tool)
            print(f"{tool}: {error}", flush=True)

    def run(self):
        gpus = 1
        try:
            listed = execute(["nvidia-smi", "-L"], 30).strip()
            gpus = max(len(re.findall(r"^GPU \d+", listed, re.M)), 1)
            print(listed)
        except (Failed, OSError) as error:
            print(f"nvidia-smi: {error}")
        print(
            f"{'model':20} {'difference':>12} {'CPU ms':>10} {'GPU ms':>10}",
            flush=True,
        )
        for name in self.models:
            try:
                self.model(name)
            except Failed as error:
                self.wrong.append(name)
                print(f"{name:20} {error}", flush=True)
        for transport in "threads", "nccl":
            try:
                self.exchange(transport, gpus)
            except Failed as error:
                self.wrong.append(transport)
                print(f"two executors, {transport}: {error}", flush=True)
        if shutil.which("compute-sanitizer"):
            for tool in TOOLS:
                self.sanitize(tool)
        else:
            print("compute-sanitizer is not installed")
        print("wrong: " + (", ".join(self.wrong) or "nothing"))
        return 1 if self.wrong else 0


if __name__ == "__main__":
    folder, seconds = pathlib.Path(sys.argv[1]).resolve(), float(sys.argv[2])
    sys.exit(Check(folder, time.monotonic() + seconds).run())
