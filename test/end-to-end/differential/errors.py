"""How a program can fail before there is a result."""


class RefusedError(Exception):
    """A tool, the runtime or the capture has rejected a program; the text is
    its message.
    """


class CrashedError(Exception):
    """A process has crashed or timed out; the text describes it."""
