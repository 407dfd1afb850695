"""Runs lockstep-run in several processes that mpirun starts."""

import os
import subprocess
import sys

#: Open MPI refuses more processes than cores, and to be started by root,
#: unless it is told otherwise.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    # Containers may forbid to read the memory of another process.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


class Processes:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder

    def command(self, count, *arguments, program=()):
        return [
            "mpirun", "-q", "-n", str(count), *program,
            *self.tools.command("lockstep-run", *arguments),
        ]  # fmt: skip

    def run(self, count, *arguments, check=True, program=(), **environment):
        command = self.command(count, *arguments, program=program)
        done = subprocess.run(
            command, env=os.environ | ENVIRONMENT | environment, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        if check:
            assert done.returncode == 0, (
                f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
            )
        return done

    def start(self, count, *arguments):
        """Starts processes, and returns mpirun and a function that returns the
        number of the process of a rank.
        """
        program = [sys.executable, "-c", NOTING_ITS_NUMBER, self.folder]
        launcher = subprocess.Popen(
            list(map(str, self.command(count, *arguments, program=program))),
            env=os.environ | ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        return launcher, lambda rank: int(
            (self.folder / f"process-{rank}").read_text()
        )


#: Writes the number of its process to a file, then becomes the command.
NOTING_ITS_NUMBER = """
import os, sys
folder, *command = sys.argv[1:]
rank = os.environ["OMPI_COMM_WORLD_RANK"]
with open(f"{folder}/process-{rank}", "w") as file:
    file.write(str(os.getpid()))
os.execv(command[0], command)
"""
