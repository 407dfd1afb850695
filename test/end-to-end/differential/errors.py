"""How a program can fail before there is a result."""


class RefusedError(Exception):
    """A tool, the runtime or the capture has refused a program; the text is
    what it said.
    """


class CrashedError(Exception):
    """A process has died or taken too long; the text says which one and how."""
