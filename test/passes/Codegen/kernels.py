"""Compiles kernels with lockstep-opt and calls them, for tests and
measurements.

A kernel is native code of the form `void kernel(void *const *buffers, const
int64_t *scalars, int64_t tile)`; buffers are the tensor arguments, the results,
and scratch memory if it has any.
"""

import ctypes
import os
import re
import subprocess
import tempfile

import numpy as np

import gpu

OPT = os.environ.get("LOCKSTEP_OPT", "lockstep-opt")
LEVELS = ["O0", "O2"]
TYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": np.uint16,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
}


def host_targets():
    """The targets that this machine can run, best last."""
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        flags = set(
            re.search(r"^flags\s*:(.*)$", cpuinfo.read(), re.M).group(1).split()
        )
    targets = []
    if {"avx2", "fma", "f16c", "bmi2"} <= flags:
        targets.append("x86-64-v3")
    if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
        targets.append("x86-64-v4")
    return targets


def all_targets():
    """The targets that code can be tested for: those of the machine, and a GPU
    if there is a driver."""
    return host_targets() + (["sm_90"] if gpu.DRIVER else [])


class CompileError(Exception):
    """lockstep-opt rejected the input; the text is its output."""


def tensor(*shape, element="f32"):
    """The type of a tensor: (2, 3) -> `tensor<2x3xf32>`."""
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


def parse_tensor(text):
    """`tensor<2x3xf32>` -> ((2, 3), float32)."""
    *shape, element = (
        re.fullmatch(r"tensor<(.*)>", text.strip()).group(1).split("x")
    )
    return tuple(map(int, shape)), TYPES[element]


def aligned(shape, dtype):
    """Memory as the runtime allocates it: aligned to 64 bytes."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    raw = np.full(
        size + 64, 1 if dtype is np.bool_ else 0xA5, np.uint8
    )  # reveals unwritten elements
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + size].view(dtype).reshape(shape)


class Kernel:
    """One kernel of a compiled module, for one target."""

    def __init__(self, header, library):
        self.name = re.match(r"@(\w+)", header).group(1)
        signature, _, attributes = header.partition("attributes {")
        arguments, _, results = signature.partition("->")
        self.arguments = [
            parse_tensor(t) for t in re.findall(r"tensor<[^>]*>", arguments)
        ]
        self.results = [
            parse_tensor(t) for t in re.findall(r"tensor<[^>]*>", results)
        ]

        def number(key, default):
            match = re.search(rf"\b{key} = (\d+)", attributes)
            return int(match.group(1)) if match else default

        self.grid, self.scratch = number("grid", 1), number("scratch", 0)
        self.flops, self.bytes = number("flops", 0), number("bytes", 0)
        match = re.search(r"in_place = array<i64: ([-\d, ]*)>", attributes)
        self.in_place = (
            [int(i) for i in match.group(1).split(",")]
            if match
            else [-1] * len(self.results)
        )
        self.library = library

    def bind(
        self, *arguments, scalars=(), in_place=False, tiles=None, offset=0
    ):
        """Returns (run, results): `run()` executes all tiles once. On a GPU,
        buffers are `offset` bytes behind aligned memory."""
        assert len(arguments) == len(self.arguments), (
            f"{self.name}: {len(self.arguments)} arguments expected"
        )
        buffers = []
        for value, (shape, dtype) in zip(
            arguments, self.arguments, strict=True
        ):
            buffer = aligned(shape, dtype)
            buffer[...] = value
            buffers.append(buffer)
        results = []
        for (shape, dtype), argument in zip(
            self.results, self.in_place, strict=True
        ):
            if in_place and argument >= 0:
                results.append(buffers[argument])
            else:
                results.append(aligned(shape, dtype))
        scratch = (
            [aligned((self.scratch * self.grid,), np.uint8)]
            if self.scratch
            else []
        )
        everything = buffers + results + scratch
        if isinstance(self.library, gpu.Module):
            return self.on_gpu(everything, scalars, offset), results
        pointers = (ctypes.c_void_p * max(len(everything), 1))(
            *[b.ctypes.data for b in everything]
        )
        numbers = (ctypes.c_int64 * max(len(scalars), 1))(*scalars)
        order = range(self.grid) if tiles is None else tiles
        function = self.library[self.name]
        function.restype = None

        def run(keep=everything):
            for tile in order:
                function(pointers, numbers, ctypes.c_int64(tile))

        return run, results

    def on_gpu(self, buffers, scalars, offset):
        """Buffers that are the same memory are so on the device."""
        places = {}

        def run():
            for buffer in buffers:
                at = buffer.ctypes.data
                if at not in places:
                    places[at] = gpu.driver().allocate(buffer, offset)
                gpu.driver().copy_in(places[at], buffer)
            self.library.launch(
                self.name, [places[b.ctypes.data] for b in buffers], scalars
            )
            for buffer in buffers:
                gpu.driver().copy_out(buffer, places[buffer.ctypes.data])

        return run

    def __call__(self, *arguments, **options):
        run, results = self.bind(*arguments, **options)
        run()
        return results[0] if len(results) == 1 else results


class Module:
    """All kernels of a module for all targets: `module[target][name]`. `passes`
    run before code is generated, with `options`.
    """

    def __init__(self, text, targets=None, level="O2", passes=(), options=""):
        targets = targets or all_targets()
        command = [
            OPT,
            *passes,
            f"--generate-code=targets={','.join(targets)} level={level} {options}",
            "--verify-each",
            "-",
        ]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise CompileError(done.stderr)
        self.output, self.targets = done.stdout, {}
        headers = re.findall(r"device\.kernel (@.*) \{$", done.stdout, re.M)
        for target, data in re.findall(
            r'device\.binary @\w+ (?:device "cuda" )?target "([^"]*)" \{object = dense<"0x([0-9A-F]*)">',
            done.stdout,
        ):
            if target.startswith("sm_"):
                library = gpu.Module(bytes.fromhex(data))
                kernels = [Kernel(header, library) for header in headers]
                self.targets[target] = {
                    kernel.name: kernel for kernel in kernels
                }
                continue
            with tempfile.NamedTemporaryFile(suffix=".so") as file:
                file.write(bytes.fromhex(data))
                file.flush()
                library = ctypes.CDLL(file.name)
            kernels = [Kernel(header, library) for header in headers]
            self.targets[target] = {kernel.name: kernel for kernel in kernels}

    def __getitem__(self, target):
        return self.targets[target]
