"""Kills runs at random moments, and checks that nothing is incomplete, lost or
mixed.

    bench/faults/kills.py --bin=build/release/bin --kills=1000 --doubles=300
    --pairs=100 DIGITS/digits.lockstep --init=... --data=...

Each run trains for `--steps` steps and saves twenty times. It is killed
(SIGKILL), gets two SIGINTs within two milliseconds, or is started twice with
one folder. Then every checkpoint must be complete (its SHA-256 is computed
here, independently of the runtime) and have the step of its name; after two
SIGINTs, which count as one, the last one must have the last step in the
metrics; and the run, resumed to its end, must write the same bytes as an
undisturbed one, in the last checkpoint and in the metrics.
"""

import collections
import concurrent.futures
import hashlib
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import command_line

LOCKED = (
    "expected a folder that no other run saves to, found it locked by process"
)


class Disturbed:
    """Runs of one artifact, compared with an undisturbed one."""

    def __init__(self, options, folder):
        self.options = options
        whole = folder / "whole"
        done = self.start(whole).communicate()[1]
        self.last = f"checkpoint-{options.steps}.safetensors"
        if not (whole / self.last).exists():
            sys.exit(
                f"kills.py: error: the run that nobody disturbs has failed: {done}"
            )
        self.checkpoint, self.metrics = (
            (whole / self.last).read_bytes(),
            (whole / "metrics.jsonl").read_bytes(),
        )
        self.measure(folder)

    def measure(self, folder):
        """The current duration of a run, with the same number of concurrent
        runs as later.
        """
        begin = time.monotonic()
        folders = [
            tempfile.TemporaryDirectory(dir=folder)
            for _ in range(self.options.jobs)
        ]
        for process in [self.start(pathlib.Path(own.name)) for own in folders]:
            process.communicate()
        self.seconds = time.monotonic() - begin

    def start(self, folder, *more):
        folder.mkdir(exist_ok=True)
        steps = self.options.steps
        return subprocess.Popen(
            [
                self.options.bin / "lockstep-run", self.options.artifact, f"--init={self.options.init}", f"--data={self.options.data}",
                f"--steps={steps}", f"--save-every={max(1, steps // 20)}", f"--save={folder}", f"--metrics={folder / 'metrics.jsonl'}",
                "--resume", *self.options.set, *more,
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def check(self, folder):
        """The error in the files of a run; empty if there is none."""
        for path in folder.glob("checkpoint-*.safetensors"):
            content = path.read_bytes()
            size = int.from_bytes(content[:8], "little")
            metadata = json.loads(content[8 : 8 + size])["__metadata__"]
            digest = metadata["sha256"].encode()
            if (
                hashlib.sha256(content.replace(digest, b"0" * 64, 1))
                .hexdigest()
                .encode()
                != digest
            ):
                return f"{path.name} is not whole"
            if path.name != f"checkpoint-{metadata['step']}.safetensors":
                return f"{path.name} is of step {metadata['step']}"
        process = self.start(folder)
        said = process.communicate()[1]
        if process.returncode:
            return f"cannot be resumed: {said}"
        if (folder / self.last).read_bytes() != self.checkpoint or (
            folder / "metrics.jsonl"
        ).read_bytes() != self.metrics:
            return "resumed, the run ends with other bytes"
        if left := [path.name for path in folder.glob("*.tmp")]:
            return f"{', '.join(left)} stays"
        return ""


def kill(runs, folder, draw):
    process = runs.start(folder)
    time.sleep(draw.uniform(0, runs.seconds))
    process.kill()
    process.communicate()
    return "killed" if process.returncode < 0 else "ended before", runs.check(
        folder
    )


def interrupt_twice(runs, folder, draw):
    process = runs.start(folder)
    time.sleep(draw.uniform(0, runs.seconds))
    process.send_signal(signal.SIGINT)
    time.sleep(draw.uniform(0, 0.002))
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    metrics = folder / "metrics.jsonl"
    steps = (
        [json.loads(line)["step"] for line in metrics.read_text().splitlines()]
        if metrics.exists()
        else []
    )
    saved = sorted(
        int(path.stem.split("-")[1])
        for path in folder.glob("checkpoint-*.safetensors")
    )
    if process.returncode == -signal.SIGINT:
        # Before the run handles signals, or after its end, they have their
        # default effect.
        wrong = (
            ""
            if not steps or steps[-1] + 1 == runs.options.steps
            else f"ended by the signal after {len(steps)} steps: {said}"
        )
        return (
            "ended by the signal before the first step or after the last",
            wrong or runs.check(folder),
        )
    if process.returncode not in (0, 128 + signal.SIGINT):
        return "failed", f"status {process.returncode}: {said}"
    # A run that is stopped before its first step may save the state before it.
    if saved[-1:] != [steps[-1] + 1 if steps else 0] and (steps or saved):
        return (
            "lost",
            f"the last step is {steps[-1:]}, the last checkpoint {saved[-1:]}: {said}",
        )
    return (
        "saved at the signal" if process.returncode else "ended before",
        runs.check(folder),
    )


def start_two(runs, folder, draw):
    processes = [runs.start(folder)]
    time.sleep(draw.uniform(0, 0.2 * runs.seconds))
    processes.append(runs.start(folder))
    said = [process.communicate()[1] for process in processes]
    refused = [bool(process.returncode) for process in processes]
    if all(refused) or any(
        is_refused and LOCKED not in text
        for is_refused, text in zip(refused, said, strict=True)
    ):
        return "failed", "\n".join(said)
    return "one was refused" if any(
        refused
    ) else "one after the other", runs.check(folder)


def main():
    parser = command_line.parser_of(__doc__)
    parser.add_argument(
        "--set", action="append", default=[], type="--set={}".format
    )
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--doubles", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        runs = Disturbed(options, folder)
        failures = 0
        for disturb, count in (
            (kill, options.kills),
            (interrupt_twice, options.doubles),
            (start_two, options.pairs),
        ):
            outcomes = collections.Counter()
            runs.measure(folder)

            def one(number, disturb=disturb):
                with tempfile.TemporaryDirectory(dir=folder) as own:
                    return disturb(
                        runs,
                        pathlib.Path(own),
                        random.Random(
                            f"{options.seed} {disturb.__name__} {number}"
                        ),
                    )

            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                for number, (outcome, wrong) in enumerate(
                    pool.map(one, range(count))
                ):
                    outcomes[outcome] += 1
                    if wrong:
                        failures += 1
                        print(
                            f"{disturb.__name__} {number}: {wrong}",
                            file=sys.stderr,
                        )
            text = ", ".join(
                f"{outcome}: {times}"
                for outcome, times in sorted(outcomes.items())
            )
            print(f"{disturb.__name__}: {count} runs; {text or 'none'}")
        print(f"{failures} wrong")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
