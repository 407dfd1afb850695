"""The targets that tests compile for: kernels of others need not be compiled in
most of them.
"""

import os
import pathlib

#: Of `lockstep-run`, as its name is without options: `simulated:7`.
DEVICE = os.environ.get("LOCKSTEP_DEVICE", "cpu").partition(":")[0]


def _processor():
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    needed = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
    return "x86-64-v4" if needed <= set(flags) else "x86-64-v3"


#: The best one that the device executes, and one that every machine does.
BEST = "sm_90" if DEVICE == "cuda" else _processor()
EVERYWHERE = "sm_90" if DEVICE == "cuda" else "x86-64-v3"
