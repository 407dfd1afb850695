"""Set-up: the environment variable LOCKSTEP_BIN names the folder of the built
tools.
"""

import os

import pytest

from random_ir.execution import Executor


@pytest.fixture(scope="session")
def tools():
    folder = os.environ.get("LOCKSTEP_BIN")
    if not folder:
        pytest.fail(
            "expected LOCKSTEP_BIN to name the folder of the built tools"
        )
    return folder


@pytest.fixture
def executor(tools, tmp_path):
    return Executor(tools, tmp_path)
