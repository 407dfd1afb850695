"""Executes artifacts in a separate process, which may crash."""

import pathlib
import pickle
import signal
import subprocess
import sys

import numpy as np

from differential.errors import CrashedError, RefusedError

#: The main function of the process.
PROGRAM = pathlib.Path(__file__).parent / "session_process.py"


class Sessions:
    """Runs artifacts in a child process, which is started again when it has
    died.
    """

    def __init__(self, library: pathlib.Path):
        self.library = library
        self.process = None

    def run(
        self, artifact: pathlib.Path, state: dict, batch: dict, threads: int
    ) -> dict[str, np.ndarray]:
        """Executes the program `step` once and returns the variables, those of
        replica 0.

        Raises:
          RefusedError: if the runtime reports an error.
          CrashedError: if the process dies.
        """
        if self.process is None:
            command = [sys.executable, str(PROGRAM), str(self.library)]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        try:
            pickle.dump(
                (str(artifact), state, batch, threads), self.process.stdin
            )
            self.process.stdin.flush()
            done, answer = pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            code = self.process.wait()
            self.process = None
            name = signal.Signals(-code).name if code < 0 else f"status {code}"
            raise CrashedError(
                f"the compiled program ends with {name}"
            ) from error
        if not done:
            raise RefusedError(f"the runtime: {answer}")
        return answer

    def close(self):
        """Ends the process."""
        if self.process is not None:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None
