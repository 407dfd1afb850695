"""Runs what the import makes of StableHLO, and compares it with JAX.

Each case is a small JAX function. It is lowered and legalized as a capture is,
imported by `lockstep-opt`, lowered to machine code by upstream's passes alone,
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
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxlib.mlir import passmanager
from jaxlib.mlir._mlir_libs import _stablehlo

RNG = np.random.default_rng(0)
CASES = {}

LEGALIZE = (
    "builtin.module(func.func(chlo-legalize-to-stablehlo),inline,stablehlo-legalize-to-linalg{enable-primitive-ops=false},canonicalize,cse)"
)
IMPORT = ("--import-stablehlo", "--unroll-small-loops", "--canonicalize", "--cse")
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


def case(*args):
    """Registers a function, to be called with `args`."""

    def register(function):
        CASES[function.__name__] = (function, [np.asarray(a) for a in args])
        return function

    return register


def normal(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def integers(low, high, *shape, dtype=np.int32):
    return RNG.integers(low, high, shape, dtype=dtype)


# Loops and branches


@case(normal(4))
def while_on_data(x):
    return lax.while_loop(lambda c: jnp.sum(c) < 100.0, lambda c: c * c + 1, x)


@case(normal(4))
def fori(x):
    return lax.fori_loop(0, 10, lambda i, c: c * 2 + i, x)


@case(normal(4), np.int32(3))
def fori_to_argument(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * 2 + i, x)


@case(normal(4), np.int32(-3), np.int32(7))
def fori_from_argument(x, low, high):
    return lax.fori_loop(low, high, lambda i, c: c * 0.5 + i, x)


@case(normal(4), np.int32(3), np.int32(-7))
def fori_without_trips(x, low, high):
    return lax.fori_loop(low, high, lambda i, c: c * 0.5 + i, x)


@case(np.int32(3))
def while_with_step(n):
    """The counter and a second one are results, and the step is not 1."""

    def body(c):
        i, j, x = c
        return i + 3, j - 5, x + i * j

    return lax.while_loop(lambda c: c[0] < 20, body, (n, n + 1, n))


@case(np.uint32(3))
def while_on_unsigned(n):
    def body(c):
        return c[0] + jnp.uint32(0x10000001), c[1] + 1

    return lax.while_loop(lambda c: c[0] < jnp.uint32(0xE0000000), body, (n, n))


@case(normal(4), normal(6, 4))
def scan(x, xs):
    return lax.scan(lambda c, y: (c * 0.5 + y, c.sum()), x, xs)


@case(normal(4), normal(6, 4))
def scan_reverse(x, xs):
    return lax.scan(lambda c, y: (c * 0.5 + y, c.sum()), x, xs, reverse=True)


@case(normal(4), normal(6, 4))
def scan_gradient(x, xs):
    def loss(x):
        def step(c, y):
            return (jnp.tanh(c * 0.5 + y), c.sum())

        return lax.scan(step, x, xs)[1].sum()

    return jax.grad(loss)(x)


@case(normal(3, 4))
def nested_loops(x):
    def inner(i, c):
        return lax.fori_loop(0, i, lambda j, d: d + i * j, c)

    return lax.fori_loop(0, 5, inner, x)


@case(np.bool_(True), normal(4))
def cond_true(p, x):
    return lax.cond(p, lambda x: x * 2, jnp.sin, x)


@case(np.bool_(False), normal(4))
def cond_false(p, x):
    return lax.cond(p, lambda x: x * 2, jnp.sin, x)


@case(integers(-2, 6, 8), normal(4))
def switch(indices, x):
    branches = [lambda x: x * 2, jnp.sin, lambda x: x - 1, lambda x: x * x]
    return lax.map(lambda i: lax.switch(i, branches, x), indices)


# Scatter


@case(normal(8, 3), integers(-9, 12, 20), normal(20, 3))
def scatter_add(x, i, u):
    return x.at[i].add(u)


@case(normal(8, 3), integers(0, 12, 20, dtype=np.uint32), normal(20, 3))
def scatter_add_unsigned_indices(x, i, u):
    return x.at[i].add(u)


@case(integers(0, 99, 8, 3), integers(0, 8, 20), integers(0, 99, 20, 3))
def scatter_max(x, i, u):
    return x.at[i].max(u), x.at[i].min(u), x.at[i].mul(u)


@case(normal(8), np.array([1, 11, 5, 0, 8], np.int32), normal(5))
def scatter_set(x, i, u):
    return x.at[i].set(u), x.at[3].set(u[0])


@case(normal(9, 8), integers(-2, 9, 6), integers(-2, 9, 6), normal(6))
def scatter_two_indices(x, i, j, u):
    return x.at[i, j].add(u), x.T.at[j, i].add(u)


@case(normal(6, 5), integers(-3, 8, 4, 1), normal(4, 3, 2))
def scatter_windows(x, i, u):
    """Windows that overhang are dropped as a whole."""
    numbers = lax.ScatterDimensionNumbers((1, 2), (), (0,))
    return lax.scatter_add(x, i, u, numbers, mode="fill")


@case(normal(8, 3), integers(0, 3, 5, 1))
def take_along_axis_gradient(x, i):
    def loss(x):
        return jnp.sum(jnp.take_along_axis(x[:5], i, 1) ** 2)

    return jax.grad(loss)(x)


@case(normal(16, 4), integers(0, 16, 2, 5))
def embedding_gradient(e, i):
    return jax.grad(lambda e: jnp.sum(e[i] ** 2))(e)


@case(normal(3, 8), integers(0, 8, 3, 4), normal(3, 4))
def scatter_batched(x, i, u):
    return jax.vmap(lambda x, i, u: x.at[i].add(u))(x, i, u)


@case(integers(0, 9, 8, dtype=np.uint32), integers(0, 8, 4))
def scatter_unsigned(x, i):
    return x.at[i].add(jnp.uint32(0xFFFFFFFF)), x.at[i].max(jnp.uint32(0xFFFFFFF0))


# Random numbers and unsigned integers


@case(np.uint32(3), np.int32(2))
def bernoulli(seed, step):
    key = jax.random.fold_in(jax.random.key(seed), step)
    return jax.random.bernoulli(key, 0.9, (30, 5)), jax.random.bits(key, (7,))


@case(np.uint32(0xFFFFFFF3))
def random_numbers(seed):
    keys = jax.random.split(jax.random.key(seed), 4)
    return (
        jax.random.normal(keys[0], (4, 3)),
        jax.random.uniform(keys[1], (5,)),
        jax.random.randint(keys[2], (7,), 0, 13),
        jax.random.permutation(keys[3], 17),
    )


@case(
    np.array([1, 0xFFFFFFFF, 0x80000000, 5], np.uint32),
    np.array([0xFFFFFFFE, 0xFFFFFFFF, 3, 0], np.uint32),
)
def unsigned_arithmetic(a, b):
    return (
        a // jnp.maximum(b, 1),
        a % jnp.maximum(b, 1),
        a < b,
        jnp.maximum(a, b),
        a >> 3,
        a.astype(jnp.float32),
        a.astype(jnp.uint8),
        lax.population_count(a),
        jnp.sum(a),
        jnp.max(a),
        -a,
        a**3,
        jnp.argmax(a),
        jnp.sort(a),
    )


@case(np.array([0.5, 250.9, 3.0], np.float32))
def unsigned_from_float(a):
    return a.astype(jnp.uint32), a.astype(jnp.uint8).astype(jnp.float32)


# Sort


@case(normal(4, 5))
def sort_rows(x):
    return jnp.sort(x, 1), jnp.argsort(x, 0), jnp.sort(x, 1, descending=True)


@case(integers(0, 4, 33))
def sort_is_stable(x):
    return lax.sort((x, jnp.arange(33)), num_keys=1)


@case(normal(3, 1), normal(2, 16), normal(2, 17))
def sort_sizes(a, b, c):
    return tuple(lax.sort((x, -x), dimension=1, num_keys=2) for x in (a, b, c))


@case(np.array([1.0, np.nan, -0.0, 0.0, -np.inf, np.inf, -1.0], np.float32))
def sort_special(x):
    return jnp.sort(x), jnp.argsort(x)


@case(normal(4, 50))
def top_k(x):
    return lax.top_k(x, 5)


# Pooling


def max_pool(x, size, stride, padding):
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding)


@case(normal(2, 4, 4, 3), normal(2, 5, 5, 3))
def max_pool_gradient(x, y):
    def loss(x, *how):
        return jnp.sum(max_pool(x, *how) ** 2)

    return (
        jax.grad(loss)(x, 2, 2, "VALID"),
        jax.grad(loss)(y, 3, 2, "SAME"),
        jax.grad(loss)(y, 3, 1, "SAME"),
        jax.grad(loss)(y, 2, 3, ((0, 0), (1, 2), (2, 2), (0, 0))),
    )


# Others


@case(normal(8))
def checkpoint(x):
    return jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())(x))(x)


@case(normal(8, 3), normal(2, 3), np.int32(7))
def dynamic_update_slice(x, u, i):
    return lax.dynamic_update_slice(x, u, (i, 0)), lax.dynamic_slice(x, (i, 0), (2, 3))


def legalized(name, function, args):
    """Returns the function as it leaves legalization, in generic form."""
    module = jax.jit(function, keep_unused=True).lower(*args).compiler_ir("stablehlo")
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
            size = int(np.prod(list(self.sizes), dtype=np.int64)) * dtype.itemsize
            data = ctypes.string_at(self.data + self.offset * dtype.itemsize, size)
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
    fields = [(f"r{i}", descriptor(e.dtype, e.ndim)) for i, e in enumerate(expected)]
    results = type("Results", (ctypes.Structure,), {"_fields_": fields})()
    pointers = [ctypes.byref(memref) for memref, _ in operands]
    getattr(library, f"_mlir_ciface_{name}__main")(ctypes.byref(results), *pointers)
    return [getattr(results, field).array() for field, _ in fields]


def build(text, options, folder):
    """Imports, lowers and compiles a module; returns the loaded library."""
    (folder / "in.mlir").write_text(text)
    llvm = pathlib.Path(options.llvm)

    def run(*command):
        subprocess.run([str(part) for part in command], check=True)

    run(options.opt, "--allow-unregistered-dialect", "--verify-each", *IMPORT,
        folder / "in.mlir", "-o", folder / "imported.mlir")  # fmt: skip
    run(llvm / "mlir-opt", *LOWER, folder / "imported.mlir", "-o", folder / "llvm.mlir")
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
    parser.add_argument("--llvm", default="/usr/lib/llvm-22/bin", help="folder of LLVM's tools")
    parser.add_argument("cases", nargs="*", help="cases to run (all)")
    options = parser.parse_args()
    _stablehlo.register_stablehlo_passes()
    chosen = {name: CASES[name] for name in options.cases or CASES}
    failures = 0
    for name, (function, args) in chosen.items():
        expected = [np.asarray(r) for r in jax.tree.leaves(jax.jit(function)(*args))]
        with tempfile.TemporaryDirectory() as folder:
            library = build(legalized(name, function, args), options, pathlib.Path(folder))
            ok = compare(name, call(library, name, args, expected), expected)
        print(f"{name}: {'ok' if ok else 'FAILED'}", flush=True)
        failures += not ok
    print(f"{len(chosen) - failures} of {len(chosen)} cases passed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
