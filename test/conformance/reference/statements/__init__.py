"""What each operation of the language does, by subject. Importing this declares
them all.
"""

from . import control, cross, math, replica, updates, variables

__all__ = ["control", "cross", "math", "replica", "updates", "variables"]
