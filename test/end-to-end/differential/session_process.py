"""The process that executes artifacts for `sessions.Sessions`.

It has no JAX in it, reads requests from its standard input and answers on its
standard output, both as pickles.
"""

import pathlib
import pickle
import resource
import sys
import time

import ml_dtypes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import capi  # noqa: E402

#: Seconds without progress after which the runtime aborts, and processor
#: seconds after which a kernel is assumed to hang.
DEADLINE, CPU_SECONDS = 60.0, 60

# NumPy has no dtype for these.
capi.DTYPES[10] = ml_dtypes.bfloat16


def execute(
    library: str, artifact: str, state: dict, batch: dict, threads: int
) -> tuple[bool, object]:
    """Executes the program `step` once; returns (True, variables of replica 0)
    or (False, error).
    """
    resource.setrlimit(
        resource.RLIMIT_CPU,
        (int(time.process_time()) + CPU_SECONDS, resource.RLIM_INFINITY),
    )
    try:
        with capi.Session(
            library, artifact, workers=threads, deadline_seconds=DEADLINE
        ) as session:
            for name, value in state.items():
                session.set(name, value)
            program = session.program("step")
            session.bind(program, batch)
            session.call("run", program)
            return True, {name: session.get(name) for name in session.variables}
    except capi.LockstepError as error:
        return False, str(error)


def serve(library: str):
    """Answers requests until there are no more."""
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(execute(library, *request), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
