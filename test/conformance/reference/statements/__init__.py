"""The semantics of each operation of the language, by subject. Importing this
declares them all.
"""

from . import control, cross, math, replica, updates, variables

__all__ = ["control", "cross", "math", "replica", "updates", "variables"]
