"""Calls kernels on a GPU, through the driver: that of a real one, or the
stand-in of `test/support/cuda`.
"""

import ctypes
import functools
import os

import numpy as np

#: The driver library, for example the stand-in; none: no GPU is tested.
DRIVER = os.environ.get("LOCKSTEP_CUDA_DRIVER")


class Driver:
    """The functions of the driver, which raise errors, in the context of the
    first device."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.cuInit(0)
        device = ctypes.c_int()
        self.cuDeviceGet(ctypes.byref(device), 0)
        context = ctypes.c_void_p()
        self.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self.cuCtxSetCurrent(context)

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            status = function(*arguments)
            if status != 0:
                text = ctypes.c_char_p()
                self.library.cuGetErrorString(status, ctypes.byref(text))
                raise RuntimeError(f"{name}: {text.value.decode()}")

        return call

    def allocate(self, array, offset=0):
        """Memory of the device with the bytes of an array, `offset` bytes
        behind the beginning of the allocation."""
        address = ctypes.c_uint64()
        self.cuMemAlloc_v2(
            ctypes.byref(address),
            ctypes.c_size_t(max(array.nbytes, 1) + offset),
        )
        address.value += offset
        self.copy_in(address, array)
        return address

    def copy_in(self, address, array):
        self.cuMemcpyHtoD_v2(
            address,
            ctypes.c_void_p(array.ctypes.data),
            ctypes.c_size_t(array.nbytes),
        )

    def copy_out(self, array, address):
        self.cuMemcpyDtoH_v2(
            ctypes.c_void_p(array.ctypes.data),
            address,
            ctypes.c_size_t(array.nbytes),
        )


@functools.cache
def driver():
    return Driver(DRIVER)


class Module:
    """A loaded module of PTX."""

    def __init__(self, text):
        self.text = text.decode()
        self.handle = ctypes.c_void_p()
        log = ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(5, 6)  # the log of errors, and its size
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        try:
            driver().cuModuleLoadDataEx(
                ctypes.byref(self.handle), text + b"\0", 2, options, values
            )
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {log.value.decode()}") from None

    def launches(self, kernel):
        """[(blocks, threads)] of the phases of a kernel."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        driver().cuModuleGetGlobal_v2(
            ctypes.byref(address),
            ctypes.byref(size),
            self.handle,
            f"{kernel}$launches".encode(),
        )
        numbers = np.zeros(size.value // 8, np.int64)
        driver().copy_out(numbers, address)
        return numbers.reshape(-1, 2).tolist()

    def launch(self, kernel, addresses, scalars):
        """Executes all phases of a kernel, and waits for them."""
        values = [*addresses, *map(ctypes.c_int64, scalars)]
        parameters = (ctypes.c_void_p * max(len(values), 1))(
            *map(ctypes.addressof, values)
        )
        for phase, (blocks, threads) in enumerate(self.launches(kernel)):
            function = ctypes.c_void_p()
            driver().cuModuleGetFunction(
                ctypes.byref(function),
                self.handle,
                f"{kernel}${phase}".encode(),
            )
            driver().cuLaunchKernel(
                function, blocks, 1, 1, threads, 1, 1, 0, None, parameters, None
            )
        driver().cuCtxSynchronize()
