"""Measures the checks before lowering on generated steps: time and memory over
the number of operations.

    LOCKSTEP_OPT=build/release/bin/lockstep-opt python
    bench/verify/uniformity.py --svg=build/uniformity.svg

A step is made of pieces of 20 operations with one collective each, as in
typical programs: gradients that are reduced, losses that decide whether all
skip, loops with a collective in each iteration, branches on the rank with equal
sides, branches on data without collectives, reads and assignments of variables.
All values are varying or depend on varying ones, so that the analysis visits
every value. The time is the CPU time of the whole tool, which uses one thread:
start, parsing, the analysis and the checks, and writing the step out again.
"""

import argparse
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from measuring import cost  # noqa: E402

SIZES = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]
OPS_PER_PIECE = 20
T = "tensor<4xf32>"


class Step:
    """The text of a step, and its number of operations."""

    def __init__(self):
        self.lines, self.ops, self.collectives, self.names = [], 0, 0, 0

    def op(self, text, result=True, depth=1):
        """Adds one operation; returns the name of its result."""
        self.ops += 1
        self.collectives += "replica.all_" in text
        name = f"%v{self.names}"
        self.names += result
        self.lines.append(
            "  " * depth + (f"{name} = " if result else "") + text
        )
        return name

    def line(self, text, depth=1):
        self.lines.append("  " * depth + text)

    def chain(self, value, count, depth=1):
        """Varying arithmetic."""
        for i in range(count):
            value = self.op(
                f"arith.{'addf' if i % 2 else 'mulf'} {value}, %x : {T}",
                depth=depth,
            )
        return value


def gradient(step, value):
    """Backward work, its reduction, and an update."""
    value = step.chain(value, 15)
    total = step.op(f"replica.all_reduce mean {value} : {T}")
    old = step.op(f"replica.read @w : {T}")
    new = step.op(f"arith.subf {old}, {total} : {T}")
    step.op(f"replica.assign @w, {new} : {T}", result=False)
    return step.op(f"arith.addf {new}, {value} : {T}")


def skip(step, value):
    """All replicas skip together if the reduced loss is too large."""
    value = step.chain(value, 12)
    total = step.op(f"replica.all_reduce sum {value} : {T}")
    loss = step.op(f"tensor.extract {total}[%c0] : {T}")
    finite = step.op(f"arith.cmpf olt, {loss}, %limit : f32")
    result = step.op(f"scf.if {finite} -> {T} {{")
    inner = step.chain(value, 2, depth=2)
    step.op(f"scf.yield {inner} : {T}", result=False, depth=2)
    step.line("} else {")
    step.op(f"scf.yield %x : {T}", result=False, depth=2)
    step.line("}")
    return result


def loop(step, value):
    """A collective in each of three iterations, with a loop-carried value."""
    value = step.chain(value, 6)
    carried = f"%c{step.names}"
    result = step.op(
        f"scf.for %i{step.names} = %c0 to %c3 step %c1 iter_args({carried} = {value}) -> {T} {{"
    )
    inner = step.chain(carried, 10, depth=2)
    total = step.op(f"replica.all_reduce sum {inner} : {T}", depth=2)
    total = step.op(f"arith.addf {total}, {inner} : {T}", depth=2)
    step.op(f"scf.yield {total} : {T}", result=False, depth=2)
    step.line("}")
    return result


def rank(step, value):
    """One operand of a collective differs on replica 0."""
    value = step.chain(value, 8)
    number = step.op("arith.addi %rank, %one : i32")
    first = step.op("arith.cmpi eq, " + number + ", %one : i32")
    result = step.op(f"scf.if {first} -> {T} {{")
    total = step.op(
        f"replica.all_reduce sum {step.chain(value, 3, depth=2)} : {T}", depth=2
    )
    step.op(f"scf.yield {total} : {T}", result=False, depth=2)
    step.line("} else {")
    total = step.op(f"replica.all_reduce sum {value} : {T}", depth=2)
    step.collectives -= 1
    step.op(f"scf.yield {total} : {T}", result=False, depth=2)
    step.line("}")
    return step.chain(result, 2)


def data(step, value):
    """A branch on the data, without a collective in it."""
    value = step.chain(value, 6)
    total = step.op(f"replica.all_reduce sum {value} : {T}")
    element = step.op(f"tensor.extract {value}[%c0] : {T}")
    condition = step.op(f"arith.cmpf olt, {element}, %limit : f32")
    result = step.op(f"scf.if {condition} -> {T} {{")
    step.op(
        f"scf.yield {step.chain(value, 3, depth=2)} : {T}",
        result=False,
        depth=2,
    )
    step.line("} else {")
    step.op(
        f"scf.yield {step.chain(value, 3, depth=2)} : {T}",
        result=False,
        depth=2,
    )
    step.line("}")
    return step.op(f"arith.addf {result}, {total} : {T}")


PIECES = [gradient, skip, loop, rank, data]


def generate(ops, replicas):
    """A step with about `ops` operations."""
    step = Step()
    step.line(
        f"replica.strategy @s {{kind = #replica.kind<mirrored>, replicas = {replicas}}}",
        0,
    )
    step.line(
        f"replica.variable @w : {T} {{aggregation = #replica.aggregation<mean>}}",
        0,
    )
    step.line(f'replica.step @step(%x: {T} {{replica.batch = "x"}}) {{', 0)
    for name, text in [
        ("c0", "0 : index"),
        ("c1", "1 : index"),
        ("c3", "3 : index"),
        ("one", "1 : i32"),
        ("limit", "1.0e+09 : f32"),
    ]:
        step.line(f"%{name} = arith.constant {text}")
    step.line("%id = replica.id : tensor<i32>")
    step.line("%rank = tensor.extract %id[] : tensor<i32>")
    step.ops += 7
    value, piece = "%x", 0
    while step.ops + OPS_PER_PIECE <= ops:
        value = PIECES[piece % len(PIECES)](step, value)
        piece += 1
    step.op("replica.return", result=False)
    step.line("}", 0)
    return step


def measure(tool, path, repeat):
    """Seconds of CPU time, the best of several runs, and the peak memory in
    MiB.
    """
    best, memory = float("inf"), 0
    for _ in range(repeat):
        seconds, mebibytes = cost(
            [
                tool,
                path,
                "--mlir-disable-threading",
                "--verify-uniformity",
                "-o",
                os.devnull,
            ]
        )
        best, memory = min(best, seconds), max(memory, mebibytes)
    return best, memory


def plot(rows):
    """The two curves as SVG, both axes logarithmic, beside lines of slope 1."""
    import math

    width, height, left, right, bottom = 640, 420, 70, 40, 50

    def scale(values, low, high):
        # A value just beside a power of ten needs no separate decade.
        first, last = (
            math.floor(math.log10(min(values)) + 0.01),
            math.ceil(math.log10(max(values)) - 0.01),
        )
        return (
            lambda v: (
                low + (math.log10(v) - first) / (last - first) * (high - low)
            )
        ), range(first, last + 1)

    x, x_ticks = scale([row[0] for row in rows], left, width - right)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{2 * height}" font-family="sans-serif" font-size="12">'
    ]
    for index, (label, column) in enumerate([("seconds", 2), ("MiB", 3)]):
        top = index * height
        y, y_ticks = scale(
            [row[column] for row in rows], top + height - bottom, top + 20
        )
        for tick in x_ticks:
            parts.append(
                f'<text x="{x(10**tick):.0f}" y="{top + height - bottom + 18}" text-anchor="middle">{10**tick:,}</text>'
            )
            parts.append(
                f'<line x1="{x(10**tick):.0f}" x2="{x(10**tick):.0f}" y1="{top + 20}" y2="{top + height - bottom}" stroke="#ddd"/>'
            )
        for tick in y_ticks:
            parts.append(
                f'<text x="{left - 8}" y="{y(10**tick) + 4:.0f}" text-anchor="end">{10**tick:g}</text>'
            )
            parts.append(
                f'<line x1="{left}" x2="{width - right}" y1="{y(10**tick):.0f}" y2="{y(10**tick):.0f}" stroke="#ddd"/>'
            )
        points = " ".join(
            f"{x(row[0]):.1f},{y(row[column]):.1f}" for row in rows
        )
        linear = " ".join(
            f"{x(row[0]):.1f},{y(rows[-1][column] * row[0] / rows[-1][0]):.1f}"
            for row in rows
            if rows[-1][column] * row[0] / rows[-1][0] >= 10 ** y_ticks[0]
        )
        parts.append(
            f'<polyline points="{linear}" fill="none" stroke="#999" stroke-dasharray="4"/>'
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="#06c" stroke-width="2"/>'
        )
        parts.append(
            f'<text x="{left}" y="{top + 14}">{label}; dashed: linear in the number of operations</text>'
        )
        parts.append(
            f'<text x="{width / 2}" y="{top + height - 8}" text-anchor="middle">operations</text>'
        )
    return "\n".join(parts + ["</svg>\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument(
        "--repeat",
        type=int,
        default=3,
        help="runs of each size, of which the fastest counts",
    )
    parser.add_argument("--svg", type=pathlib.Path, help="file for the plot")
    parser.add_argument(
        "--emit", type=int, metavar="OPS", help="only print a step of this size"
    )
    options = parser.parse_args()
    if options.emit:
        print("\n".join(generate(options.emit, options.replicas).lines))
        return
    tool = os.environ.get("LOCKSTEP_OPT", "build/release/bin/lockstep-opt")
    rows = []
    print(
        "| operations | collectives | seconds | MiB | µs an operation |\n|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            step = generate(size, options.replicas)
            path = pathlib.Path(folder) / "step.mlir"
            path.write_text("\n".join(step.lines))
            seconds, memory = measure(tool, path, options.repeat)
            rows.append((step.ops, step.collectives, seconds, memory))
            print(
                f"| {step.ops:,} | {step.collectives:,} | {seconds:.3f} | {memory:.0f} | {seconds / step.ops * 1e6:.1f} |",
                flush=True,
            )
    if options.svg:
        options.svg.write_text(plot(rows))


if __name__ == "__main__":
    main()
