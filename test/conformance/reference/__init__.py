"""The semantics of the case language `tfdist-neutral-1`, in plain NumPy.

`evaluate(case)` runs the `program` of one case and returns its result in the
format of the cases.
It checks every expected value independently: it shares no code with the
compiler, the runtime
or the interpreter, and imports nothing of them.

    errors        the classes of diagnostics
    values        tensors, indexed slices, per-replica and mirrored values; literals in and out
    nests         lists, tuples and dicts: mapping, regrouping, selecting a replica
    arithmetic    the language's math, element types and shapes
    tape          reverse mode over that math
    reductions    sums, means and concatenations over replicas
    strategies    what the strategies differ in
    variables     copies, aggregation, scatters
    uniformity    which values replicas may disagree on, before anything is run
    machine       one worker: contexts, statements, rendezvous of replicas
    statements/   what each operation does
    record        results: writing, comparing
"""

from .machine import evaluate
from .record import differences, expectation

__all__ = ["differences", "evaluate", "expectation"]
