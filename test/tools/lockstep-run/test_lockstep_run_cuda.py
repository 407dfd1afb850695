"""lockstep-run on NVIDIA GPUs, on a machine whose driver cannot be used.

LOCKSTEP_DRIVERS names the folders of two libraries `libcuda.so.1`, separated by
`:`: one is too old, the other one lacks functions.
"""

import os

import pytest

from run_tool import USUAL, failure

pytestmark = pytest.mark.skipif(
    "LOCKSTEP_DRIVERS" not in os.environ,
    reason="the device 'cuda' is not built",
)


def error(model, folder, device="cuda"):
    """The message if the driver is the `libcuda.so.1` in the folder."""
    return failure(
        model, *USUAL, "--steps=1", f"--device={device}",
        env={"LD_LIBRARY_PATH": str(folder)},
    )  # fmt: skip


def test_no_driver(model, tmp_path):
    """A file that is no library hides the machine's own driver."""
    library = tmp_path / "libcuda.so.1"
    library.touch()
    assert (
        error(model, tmp_path)
        == f"'model.lockstep': device 'cuda': expected NVIDIA's driver for CUDA 12.4 or newer, found none: {library}: file too short"
    )


def test_old_driver(model):
    old, _ = os.environ["LOCKSTEP_DRIVERS"].split(":")
    assert (
        error(model, old)
        == "'model.lockstep': device 'cuda': expected NVIDIA's driver for CUDA 12.4 or newer, found one for CUDA 12.2"
    )


def test_driver_without_functions(model):
    _, incomplete = os.environ["LOCKSTEP_DRIVERS"].split(":")
    assert (
        error(model, incomplete)
        == "'model.lockstep': device 'cuda': expected a driver for CUDA 12.4 or newer, found a libcuda.so.1 without 'cuGetErrorName'"
    )


@pytest.mark.parametrize("ordinal", ["x", "-1", "1x"])
def test_ordinals(model, tmp_path, ordinal):
    assert (
        error(model, tmp_path, f"cuda:{ordinal}")
        == f"'model.lockstep': device 'cuda:{ordinal}': expected ordinals of GPUs, separated by commas, found '{ordinal}'"
    )
