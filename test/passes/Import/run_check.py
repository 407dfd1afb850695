"""Runs imported StableHLO, and compares it with JAX.

Each case is a small JAX function (run_cases.py). It is lowered and legalized as
a capture is, imported by `lockstep-opt`, lowered to machine code by upstream's
passes alone,
and called; results must equal those of the function under JAX.

  python run_check.py --opt=build/bin/lockstep-opt [case...]
"""

import argparse
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

import jax
import numpy as np
from jaxlib.mlir import passmanager
from jaxlib.mlir._mlir_libs import _stablehlo

from run_cases import CASES

LEGALIZE = "builtin.module(func.func(chlo-legalize-to-stablehlo),inline,stablehlo-legalize-to-linalg{enable-primitive-ops=false},canonicalize,cse)"
IMPORT = (
    "--import-stablehlo",
    "--avoid-loop-overflow",
    "--unroll-small-loops",
    "--canonicalize",
    "--cse",
)
LOWER = (
    "--one-shot-bufferize=bufferize-function-boundaries=1"
    " function-boundary-type-conversion=identity-layout-map"
    " allow-return-allocs-from-loops=1",
    "--llvm-request-c-wrappers",
    "--convert-linalg-to-loops",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--math-expand-ops=ops=round,roundeven,ctlz",
    "--arith-expand",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--finalize-memref-to-llvm",
    "--convert-to-llvm",
    "--reconcile-unrealized-casts",
)


def legalized(name, function, args):
    """Returns the function as it leaves legalization, in generic form."""
    module = (
        jax.jit(function, keep_unused=True)
        .lower(*args)
        .compiler_ir("stablehlo")
    )
    with module.context:
        passmanager.PassManager.parse(LEGALIZE).run(module.operation)
        text = module.operation.get_asm(print_generic_op_form=True)
    text = re.sub(r'(sym_name = "|callee = @)', rf"\g<1>{name}__", text)
    return text


def descriptor(dtype, rank):
    """The C type by which a memref of `rank` dimensions is passed."""

    class Descriptor(ctypes.Structure):
        _fields_ = [
            ("base", ctypes.c_void_p),
            ("data", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", ctypes.c_int64 * rank),
            ("strides", ctypes.c_int64 * rank),
        ]

        def array(self):
            size = (
                int(np.prod(list(self.sizes), dtype=np.int64)) * dtype.itemsize
            )
            data = ctypes.string_at(
                self.data + self.offset * dtype.itemsize, size
            )
            return np.frombuffer(data, dtype).reshape(list(self.sizes))

    return Descriptor


def call(library, name, args, expected):
    """Calls a compiled function; returns arrays like `expected`."""
    operands = []
    for arg in args:
        arg = np.ascontiguousarray(arg)
        memref = descriptor(arg.dtype, arg.ndim)()
        memref.base = memref.data = arg.ctypes.data
        for d in range(arg.ndim):
            memref.sizes[d] = arg.shape[d]
            memref.strides[d] = arg.strides[d] // arg.dtype.itemsize
        operands.append((memref, arg))
    fields = [
        (f"r{i}", descriptor(e.dtype, e.ndim)) for i, e in enumerate(expected)
    ]
    results = type("Results", (ctypes.Structure,), {"_fields_": fields})()
    pointers = [ctypes.byref(memref) for memref, _ in operands]
    getattr(library, f"_mlir_ciface_{name}__main")(
        ctypes.byref(results), *pointers
    )
    return [getattr(results, field).array() for field, _ in fields]


def build(text, options, folder):
    """Imports, lowers and compiles a module; returns the loaded library."""
    (folder / "in.mlir").write_text(text)
    llvm = pathlib.Path(options.llvm)

    def run(*command):
        subprocess.run([str(part) for part in command], check=True)

    run(options.opt, "--allow-unregistered-dialect", "--verify-each", *IMPORT,
        folder / "in.mlir", "-o", folder / "imported.mlir")  # fmt: skip
    run(
        llvm / "mlir-opt",
        *LOWER,
        folder / "imported.mlir",
        "-o",
        folder / "llvm.mlir",
    )
    run(
        llvm / "mlir-translate",
        "--mlir-to-llvmir",
        folder / "llvm.mlir",
        "-o",
        folder / "code.ll",
    )
    run(llvm / "clang", "-shared", "-fPIC", "-O1", "-Wno-override-module", folder / "code.ll",
        "-o", folder / "code.so", f"-L{llvm.parent / 'lib'}", "-lmlir_c_runner_utils", "-lm",
        f"-Wl,-rpath,{llvm.parent / 'lib'}")  # fmt: skip
    return ctypes.CDLL(str(folder / "code.so"))


def compare(name, found, expected):
    """Returns whether results agree: integers exactly, floats to 1e-5."""
    for i, (f, e) in enumerate(zip(found, expected, strict=True)):
        if np.issubdtype(e.dtype, np.floating):
            same = np.allclose(f, e, rtol=1e-5, atol=1e-6, equal_nan=True)
        else:
            same = np.array_equal(f, e)
        if not same:
            print(f"{name}: result {i}: expected\n{e}\nfound\n{f}")
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--opt", required=True, help="path of lockstep-opt")
    parser.add_argument(
        "--llvm", default="/usr/lib/llvm-22/bin", help="folder of LLVM's tools"
    )
    parser.add_argument("cases", nargs="*", help="cases to run (all)")
    options = parser.parse_args()
    _stablehlo.register_stablehlo_passes()
    chosen = {name: CASES[name] for name in options.cases or CASES}
    failures = 0
    for name, (function, args) in chosen.items():
        expected = [
            np.asarray(r) for r in jax.tree.leaves(jax.jit(function)(*args))
        ]
        with tempfile.TemporaryDirectory() as folder:
            library = build(
                legalized(name, function, args), options, pathlib.Path(folder)
            )
            ok = compare(name, call(library, name, args, expected), expected)
        print(f"{name}: {'ok' if ok else 'FAILED'}", flush=True)
        failures += not ok
    print(f"{len(chosen) - failures} of {len(chosen)} cases passed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
