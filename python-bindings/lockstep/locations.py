"""Source locations of the captured program.

`user_location` creates all locations: JAX's own frames and operation names are
removed, and files are written relative to the model's folder, so that the
captured bytes do not depend on this folder.
"""

import inspect
import os
import sys
import traceback

from jaxlib.mlir import ir


class Locations:
    """Rewrites the locations of a module for one model.

    Attributes:
      folder: folder of the model file; paths below it are written relative.
    """

    def __init__(self, folder):
        """Records the calls in progress, which are not the model's."""
        self.folder = os.path.realpath(folder)
        self._callers = {
            (f.filename, f.lineno) for f in traceback.extract_stack()
        }
        self._own = os.path.realpath(os.path.dirname(__file__))
        self._roots = sorted(
            {os.path.realpath(p) for p in sys.path if p}, key=len, reverse=True
        )

    def user_location(self, location):
        """Returns the user's part of a location.

        A chain of calls between lines of the user's files stays a
        `callsite(... at ...)`; a location without such a line is unknown.
        """
        return self._chain(self._frames(location))

    def of_function(self, function):
        """Returns the location of a Python function; unknown if it has none."""
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is None:
            return ir.Location.unknown()
        return self._chain([(code.co_filename, code.co_firstlineno, 0)])

    def inlined(self, callee, caller):
        """Location of an operation that moved from a callee to its caller."""
        return self._chain([*self._frames(callee), *self._frames(caller)])

    def _chain(self, frames):
        """Makes a location of (file, line, column), innermost first."""
        while frames and frames[-1][:2] in self._callers:
            frames.pop()
        shown = dict.fromkeys(filter(None, map(self._shown, frames)))
        locations = [ir.Location.file(*frame) for frame in shown]
        if not locations:
            return ir.Location.unknown()
        if len(locations) == 1:
            return locations[0]
        return ir.Location.callsite(locations[0], locations[1:])

    def _frames(self, location):
        """Lists the lines of a location, innermost first."""
        if isinstance(location, ir.NameLoc):
            return self._frames(location.child_loc)
        if isinstance(location, ir.CallSiteLoc):
            return [
                *self._frames(location.callee),
                *self._frames(location.caller),
            ]
        if isinstance(location, ir.FusedLoc):
            parts = map(self._frames, location.locations)
            return next((frames for frames in parts if frames), [])
        if isinstance(location, ir.FileLineColLoc):
            return [
                (location.filename, location.start_line, location.start_col)
            ]
        return []

    def _shown(self, frame):
        """Writes a frame for the user; None if its file is not the user's.

        Columns are counted from 1, as editors do; JAX counts them from 0. A
        frame with a relative path has already been converted.
        """
        path, line, column = frame
        if not os.path.isabs(path):
            return None if path.startswith("<") else frame
        path = os.path.realpath(path)
        if path.startswith(self._own + os.sep):
            return None
        for root in (self.folder, *self._roots):
            if path.startswith(root + os.sep):
                name = os.path.relpath(path, root).replace(os.sep, "/")
                return name, line, column + 1
        return os.path.basename(path), line, column + 1
