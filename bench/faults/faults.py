"""Injects each fault many times, with real clocks, and checks that it is
reported in time with the right replica.

    bench/faults/faults.py --bin=build/release/bin --runs=100
    DIGITS/digits.lockstep --init=... --data=... > table.md

Places are drawn at random, by seed: the replica, the launch of the program
`step`, and one or two executors. A fault counts as found if the report shows
the replica in this command, in the state of the fault, and no other replica in
such a state; a NaN, if the error names kernel, replica and command. It is in
time if it is reported at most the deadline and a second after the fault was
injected.
"""

import concurrent.futures
import dataclasses
import json
import pathlib
import random
import subprocess
import tempfile
import time

import command_line

#: The state of a replica after a fault.
STATES = {"pause": "paused", "return-early": "left", "hang": "running"}
FAULTS = [*STATES, "nan"]


@dataclasses.dataclass
class Outcome:
    found: bool
    seconds: float
    said: str


def launches(options):
    """The launches of the step that every replica executes, and that write
    floats, as (command, kernel).
    """
    described = subprocess.run(
        [options.bin / "lockstep-inspect", options.artifact, "--format=json"], check=True, capture_output=True, text=True
    )  # fmt: skip
    described = json.loads(described.stdout)
    step = next(
        program
        for program in described["programs"]
        if program["name"] == "step"
    )
    floats = {
        buffer["index"]
        for buffer in step["buffers"]
        if buffer["type"].split("x")[-1] in ("f16", "bf16", "f32", "f64")
    }
    commands = [
        (c["pc"], c["kernel"])
        for c in step["commands"]
        if c["op"] == "launch" and not c.get("once") and floats & {*c["writes"]}
    ]
    return commands, described["replicas"]


def first_line_with(process, texts, said):
    """Reads the output of the process up to a line that contains one of the
    texts; returns the time of this line.
    """
    for line in process.stderr:
        said.append(line)
        if any(text in line for text in texts):
            return time.monotonic()
    return None


def run(options, fault, replica, command, kernel, executors):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        process = subprocess.Popen(
            [
                options.bin / "lockstep-run", options.artifact, f"--init={options.init}", f"--data={options.data}", "--steps=2",
                f"--inject={fault}:replica={replica},command={command},program=step", f"--deadline={options.deadline}",
                f"--report={report}", f"--executors={executors}", "--threads=2", "--check-finite",
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        said = []
        begin = first_line_with(process, ["injected: "], said)
        end = first_line_with(
            process, ["no replica of program", "has written nan"], said
        )
        said += process.stderr.readlines()
        status = process.wait()
        text = "".join(said)
        if begin is None or end is None:
            return Outcome(False, float("inf"), text)
        if fault == "nan":
            found = (
                status == 1
                and f"launch '{kernel}' has written nan: replica {replica},"
                in text
                and f"in command {command} of" in text
            )
        else:
            replicas = json.loads(report.read_text())["replicas"]
            culprits = [
                r["replica"] for r in replicas if r["state"] == STATES[fault]
            ]
            found = (
                status == 3
                and culprits == [replica]
                and replicas[replica]["command"] == command
            )
        return Outcome(found, end - begin, text)


def main():
    parser = command_line.parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument(
        "--jobs", type=int, default=2, help="runs at the same time"
    )
    parser.add_argument("--deadline", type=float, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    places, replicas = launches(options)
    rng = random.Random(options.seed)
    print(
        "| fault | runs | culprit named | in time | longest, in s after the fault |\n|---|---|---|---|---|"
    )
    failed = False
    for fault in FAULTS:
        drawn = [
            (rng.randrange(replicas), *rng.choice(places), rng.choice([1, 2]))
            for _ in range(options.runs)
        ]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            outcomes = list(
                pool.map(
                    lambda place, fault=fault: run(options, fault, *place),
                    drawn,
                )
            )
        found = sum(outcome.found for outcome in outcomes)
        timely = sum(
            outcome.seconds <= options.deadline + 1 for outcome in outcomes
        )
        longest = max(outcome.seconds for outcome in outcomes)
        print(
            f"| `{fault}` | {options.runs} | {found} | {timely} | {longest:.2f} |",
            flush=True,
        )
        failed |= found < options.runs or timely < options.runs
        for place, outcome in zip(drawn, outcomes, strict=True):
            if not outcome.found:
                print(f"{fault} at {place}:\n{outcome.said}", flush=True)
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
