"""A running tool that a test has started and sends signals to."""

import atexit
import subprocess
import threading


class Started:
    """A run that gets signals after certain messages on the standard error
    output; `said` is its output so far.
    """

    def __init__(self, command, folder=None):
        self.process = subprocess.Popen(
            list(map(str, command)), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )  # fmt: skip
        self.said = ""
        # The awaited message may never be printed, and a failing test does not
        # wait for the end.
        atexit.register(self.process.kill)
        self.timer = threading.Timer(300, self.process.kill)
        self.timer.daemon = True
        self.timer.start()

    def wait_for(self, text):
        while text not in self.said:
            line = self.process.stderr.readline()
            assert line, self.said
            self.said += line

    def signal(self, number, after):
        self.wait_for(after)
        self.process.send_signal(number)

    def insist(self, number, until):
        """Signals repeatedly until the run prints `until`: a signal too soon
        after the first one counts as the same request.
        """
        said = threading.Event()

        def signal_again():
            while not said.wait(0.1):
                self.process.send_signal(number)

        signals = threading.Thread(target=signal_again)
        signals.start()
        try:
            self.wait_for(until)
        finally:
            said.set()
            signals.join()

    def end(self):
        """Waits for the end of the run; its exit status."""
        # Not by `communicate`, which does not see buffered output.
        self.said += self.process.stderr.read()
        self.process.wait()
        self.timer.cancel()
        return self.process.returncode
