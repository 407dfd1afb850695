"""A session of the runtime through its C API, with NumPy arrays.

The API is used as in a C program, so these tests also apply to embedders.
"""

import contextlib
import ctypes
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)

import numpy as np

#: By the number of a `lockstep_element`; bf16 has no type in NumPy.
DTYPES = [
    "?",
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "f2",
    None,
    "f4",
    "f8",
]

ALIGNMENT = 64


class Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("workers", c_uint32),
        ("deadline_seconds", c_double),
        ("target", c_char_p),
        ("trace_file", c_char_p),
        ("check_races", c_int),
        ("executors", c_uint32),
        ("check_finite", c_int),
        ("shadow_variables", c_int),
        ("check_mirrored", c_uint64),
        ("on_deadline", c_void_p),
        ("on_long_wait", c_void_p),
        ("report_context", c_void_p),
        ("trusted_keys", c_char_p),
        ("device", c_char_p),
        ("transport", c_char_p),
        ("record_runs", c_int),
        ("flush_subnormals", c_int),
    ]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("element", c_int),
        ("shape", POINTER(c_int64)),
        ("rank", c_size_t),
        ("bytes", c_size_t),
        ("per_replica", c_int),
    ]

    def array(self):
        """An array of this type, its values undefined."""
        return np.empty(tuple(self.shape[: self.rank]), DTYPES[self.element])


class LockstepError(Exception):
    """A call has failed; the text is what `lockstep_last_error` says."""


class Session:
    """A `lockstep_session`; `close` it, or use it in a `with`."""

    def __init__(self, library, artifact, **options):
        self.library = ctypes.CDLL(str(library))
        self.library.lockstep_last_error.restype = c_char_p
        for name in (
            "variable_count",
            "input_count",
            "input_size",
            "output_count",
        ):
            getattr(self.library, f"lockstep_{name}").restype = c_size_t
        settings = Options()
        self.library.lockstep_options_init(
            byref(settings), c_size_t(ctypes.sizeof(settings))
        )
        for name, value in options.items():
            setattr(settings, name, value)
        self.handle = c_void_p()
        self.call(
            "session_open",
            str(artifact).encode(),
            byref(settings),
            opened=False,
        )
        self.replicas = self.library.lockstep_replicas(self.handle)
        self.variables = dict(
            self.describe(
                "variable", self.library.lockstep_variable_count(self.handle)
            )
        )
        self.batches = {}

    def close(self):
        self.library.lockstep_session_close(self.handle)
        self.handle = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, function, *arguments, opened=True):
        """Calls `lockstep_FUNCTION`; raises `LockstepError` if it fails."""
        ends = (
            (self.handle, *arguments)
            if opened
            else (*arguments, byref(self.handle))
        )
        if getattr(self.library, f"lockstep_{function}")(*ends) != 0:
            raise LockstepError(self.library.lockstep_last_error().decode())

    def describe(self, what, count, *program):
        """Yields (name, `Tensor`) of all variables, or of a program's outputs."""
        for index in range(count):
            info = Tensor()
            self.call(f"{what}_info", *program, c_size_t(index), byref(info))
            yield info.name.decode(), info

    def get(self, name, replica=0):
        """Copies a variable."""
        value = self.variables[name].array()
        self.call(
            "variable_get",
            name.encode(),
            c_uint32(replica),
            value.ctypes.data_as(c_void_p),
            c_size_t(value.nbytes),
        )
        return value

    def set(self, name, value):
        """Sets a variable on all replicas."""
        value = np.ascontiguousarray(
            value, DTYPES[self.variables[name].element]
        )
        for replica in range(
            self.replicas if self.variables[name].per_replica else 1
        ):
            self.call(
                "variable_set",
                name.encode(),
                c_uint32(replica),
                value.ctypes.data_as(c_void_p),
                c_size_t(value.nbytes),
            )

    def set_scalar(self, name, value):
        """Sets a host scalar; `value` has the scalar's dtype."""
        value = np.asarray(value)
        self.call(
            "scalar_set",
            name.encode(),
            value.ctypes.data_as(c_void_p),
            c_size_t(value.nbytes),
        )

    def program(self, name):
        number = c_uint32()
        self.call("program_find", name.encode(), byref(number))
        return number

    def bind(self, program, batch):
        """Binds every replica's rows of a global batch: name -> array."""
        size = self.library.lockstep_input_size(self.handle, program)
        for replica in range(self.replicas):
            memory = np.empty(size + ALIGNMENT, np.uint8)
            memory = memory[-memory.ctypes.data % ALIGNMENT :][:size]
            for index in range(
                self.library.lockstep_input_count(self.handle, program)
            ):
                info, offset = Tensor(), c_size_t()
                self.call(
                    "input_info",
                    program,
                    c_size_t(index),
                    byref(info),
                    byref(offset),
                )
                rows = info.shape[0]
                part = info.array()
                part[...] = batch[info.name.decode()][
                    replica * rows : (replica + 1) * rows
                ]
                memory[offset.value : offset.value + part.nbytes] = (
                    part.reshape(-1).view(np.uint8)
                )
            # The session reads this memory as long as it is bound.
            self.batches[program.value, replica] = memory
            self.call(
                "input_bind",
                program,
                c_uint32(replica),
                memory.ctypes.data_as(c_void_p),
            )

    def run(self, program):
        """Executes a program once; returns its outputs, those of replica 0."""
        self.call("run", program)
        count = self.library.lockstep_output_count(self.handle, program)
        results = {}
        for index, (name, info) in enumerate(
            self.describe("output", count, program)
        ):
            data, size = c_void_p(), c_size_t()
            self.call(
                "output_get",
                program,
                c_size_t(index),
                c_uint32(0),
                byref(data),
                byref(size),
            )
            value = info.array()
            ctypes.memmove(value.ctypes.data, data, value.nbytes)
            results[name] = value
        return results


@contextlib.contextmanager
def failing(text):
    """Expects a `LockstepError` whose text contains `text`."""
    try:
        yield
    except LockstepError as error:
        assert text in str(error)
    else:
        raise AssertionError(
            f"expected an error that says '{text}', found none"
        )
