"""Source locations of the captured program.

`user_location` creates all locations: JAX's own frames and operation names are
removed, and files are written relative to the model's folder, so that the
captured bytes do not depend on this folder. A line has the name of its
function, `loc("attention"("model.py":80:11))`; the lines of a derivative have
that of the function whose derivative it is, `"attention_backward"`.
"""

import functools
import inspect
import os
import sys
import traceback
from typing import NamedTuple

from jaxlib.mlir import ir

BACKWARD = "_backward"


class Frame(NamedTuple):
    """A line of a Python function, which has a name unless it is a lambda
    function or the module.
    """

    path: str
    line: int
    column: int
    function: str = ""

    @property
    def is_converted(self):
        """Whether it is the user's already, with a relative path."""
        return not os.path.isabs(self.path)

    @property
    def place(self):
        return self[:3]


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
        # Operations share lines, and most of the calls around them: what a
        # location and a line become is computed once for each.
        self._known_frames = {}
        self._shown = functools.cache(self._shown)

    def user_location(self, location):
        """Returns the user's part of a location.

        A chain of calls between lines of the user's files stays a
        `callsite(... at ...)`; a location without such a line is unknown.
        """
        return self._chain(self._frames(location), _is_backward(location))

    def of_function(self, function):
        """Returns the location of a Python function; unknown if it has none."""
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is None:
            return ir.Location.unknown()
        return self._chain([Frame(code.co_filename, code.co_firstlineno, 0)])

    def inlined(self, callee, caller):
        """Location of an operation that moved from a callee to its caller."""
        return self._chain(
            [*self._frames(callee), *self._frames(caller)],
            _is_backward(callee) or _is_backward(caller),
        )

    def _chain(self, frames, is_backward=False):
        """Makes a location of frames, innermost first."""
        end = len(frames)
        while end and frames[end - 1][:2] in self._callers:
            end -= 1
        shown = {}
        for frame in filter(None, map(self._shown, frames[:end])):
            shown.setdefault(frame.place, frame)
        locations = []
        for place, frame in shown.items():
            location, name = ir.Location.file(*place), frame.function
            if name and is_backward:
                name, is_backward = (
                    name.removesuffix(BACKWARD) + BACKWARD,
                    False,
                )
            locations.append(
                ir.Location.name(name, location) if name else location
            )
        if not locations:
            return ir.Location.unknown()
        if len(locations) == 1:
            return locations[0]
        return ir.Location.callsite(locations[0], locations[1:])

    def _frames(self, location):
        """Lists the lines of a location, innermost first."""
        # Equal locations are one attribute.
        key = location.attr
        frames = self._known_frames.get(key)
        if frames is None:
            frames = self._find_frames(location)
            self._known_frames[key] = frames
        return frames

    def _find_frames(self, location):
        if isinstance(location, ir.NameLoc):
            child = location.child_loc
            frames = self._frames(child)
            if not isinstance(child, ir.FileLineColLoc):
                return frames
            # The last part of `losses.<locals>.dropout`.
            name = location.name_str.rpartition(".")[2]
            return [
                frame._replace(function=name if name.isidentifier() else "")
                for frame in frames
            ]
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
                Frame(
                    location.filename, location.start_line, location.start_col
                )
            ]
        return []

    def _shown(self, frame):
        """Writes a frame for the user; None if its file is not the user's.

        Columns are counted from 1, as editors do; JAX counts them from 0. A
        frame with a relative path has already been converted.
        """
        if frame.is_converted:
            return None if frame.path.startswith("<") else frame
        path = os.path.realpath(frame.path)
        if path.startswith(self._own + os.sep):
            return None
        for root in (self.folder, *self._roots):
            if path.startswith(root + os.sep):
                path = os.path.relpath(path, root).replace(os.sep, "/")
                break
        else:
            path = os.path.basename(path)
        return frame._replace(path=path, column=frame.column + 1)


def describe(location):
    """The innermost line of the user's program in a location, as
    `model.py:15:40`; `unknown` if there is none.
    """
    while isinstance(location, ir.NameLoc):
        location = location.child_loc
    if isinstance(location, ir.CallSiteLoc):
        return describe(location.callee)
    if isinstance(location, ir.FileLineColLoc):
        line, column = location.start_line, location.start_col
        return f"{location.filename}:{line}:{column}"
    return str(location).removeprefix("loc(").removesuffix(")")


def _is_backward(location):
    """Whether an operation is one of a derivative: JAX has a name for each
    operation, `"jit(step)/transpose(jvp(layer))/mul"`, around its lines.
    """
    if isinstance(location, ir.NameLoc):
        child, name = location.child_loc, location.name_str
        if isinstance(child, ir.FileLineColLoc):
            return name.endswith(BACKWARD) and not os.path.isabs(child.filename)
        return "transpose(" in name or _is_backward(child)
    if isinstance(location, ir.CallSiteLoc):
        return _is_backward(location.callee)
    if isinstance(location, ir.FusedLoc):
        return any(map(_is_backward, location.locations))
    return False
