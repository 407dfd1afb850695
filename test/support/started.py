"""A tool that a test has started and disturbs while it runs."""

import atexit
import subprocess
import threading


class Started:
    """A run that gets signals when it says certain things on the standard error
    output; `said` is what it has said so far.
    """

    def __init__(self, command, folder=None):
        self.process = subprocess.Popen(
            list(map(str, command)), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )  # fmt: skip
        self.said = ""
        # What is waited for may never be said, and a test that fails does not
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
        """Signals again and again until the run says `until`: what comes too
        soon after the first signal counts as the same request.
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
        # Not by `communicate`, which does not see what has been read ahead.
        self.said += self.process.stderr.read()
        self.process.wait()
        self.timer.cancel()
        return self.process.returncode
