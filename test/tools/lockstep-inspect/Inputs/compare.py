"""Writes traces for compare.mlir: `compare.py FOLDER`.

`run.json` is what lockstep-run would write for three steps of simulation.mlir
with two replicas. In the second step, kernels take three times as long.
"""

import json
import pathlib
import sys

LINES = {0: 4, 1: 9, 2: 3, 3: 9, 6: 10, 10: 10, 5: 10, 9: 10}


def event(replica, name, category, command, begin, end):
    return {
        "ph": "X",
        "pid": 0,
        "tid": replica,
        "ts": begin,
        "dur": end - begin,
        "name": name,
        "cat": category,
        "args": {
            "command": command,
            "program": "step",
            "location": f"model.py:{LINES[command]}",
        },
    }


def step(begin, slow):
    """Kernels of 8 us; the second replica begins 1 us late."""
    kernel = 8 * slow
    for replica in range(2):
        now = begin + replica
        yield event(replica, "backward1", "kernel", 0, now, now + kernel)
        now += kernel
        yield event(
            replica, "start all_reduce sum channel 0", "collective", 1, now, now
        )
        yield event(replica, "backward2", "kernel", 2, now, now + kernel)
        now += kernel
        yield event(
            replica, "start all_reduce sum channel 1", "collective", 3, now, now
        )
        # The first collective has ended; the second takes 30 us.
        if replica == 0:
            yield event(0, "update", "kernel", 6, now, now + kernel)
            now += kernel
        else:
            yield event(1, "wait channel 2", "wait", 5, now, now + kernel - 1)
            now += kernel - 1
        end = begin + 1 + 2 * kernel + 30
        yield event(replica, "wait channel 1", "wait", 3, now, end)
        if replica == 0:
            yield event(0, "update", "kernel", 10, end, end + kernel)


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    events = [e for i in range(3) for e in step(1000 * i, 3 if i == 1 else 1)]

    def write(name, content):
        (folder / name).write_text(json.dumps(content))

    def write_changed(file, /, **changes):
        changed = json.loads(json.dumps(events))
        arguments = {"command", "program", "location"}
        for key, value in changes.items():
            (changed[1]["args"] if key in arguments else changed[1])[key] = (
                value
            )
        write(file, {"traceEvents": changed})

    write("run.json", {"traceEvents": events})
    write("list.json", events)
    write("empty.json", {"traceEvents": []})
    (folder / "text.json").write_text("step 1/5, loss 2.6")
    write_changed("name.json", name="start all_reduce max channel 0")
    write_changed("line.json", location="other.py:9")
    write_changed("command.json", command=99)
    write_changed("program.json", program="train")
    write_changed("category.json", cat="idle")
    write_changed("kind.json", cat="wait", name="wait channel 7")
    write_changed("time.json", dur=-1)


main(*sys.argv[1:])
