"""Writes LLVM IR with a kernel for each operation that loop code may have.

llc makes PTX of it for several targets, which the stand-in has to load and
execute: no instruction may be unknown. With --host, writes the same kernels as
functions for the host, without those that only a GPU has or whose results are
approximations; their results have to be equal.

Usage: generate_operations.py [--host] > out.ll
"""

import sys

from operations.arithmetic_kernels import write_arithmetic
from operations.conversion_kernels import write_comparisons, write_conversions
from operations.kernel_writer import Writer
from operations.memory_kernels import write_memory, write_threads


def main():
    writer = Writer(is_host="--host" in sys.argv)
    write_arithmetic(writer)
    write_conversions(writer)
    write_comparisons(writer)
    write_memory(writer)
    write_threads(writer)


main()
