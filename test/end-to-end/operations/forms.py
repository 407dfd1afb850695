"""A case: an operation in one form, for some element types."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from operations.tolerances import EXACT, Tolerance

#: Element types of each kind and each width.
REPRESENTATIVE = ("i1", "i8", "ui16", "i64", "bf16", "f32")

Inputs = Callable[[np.dtype], Sequence[np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Form:
    """One form of an operation.

    Attributes:
      operation: its name with the dialect's, such as "stablehlo.slice".
      name: what distinguishes the form, such as "strides".
      types: names of the element types that it is tried with.
      function: JAX function whose lowering has the operation. It is given
        arrays like `inputs`, and returns an array or a tuple of them.
      inputs: makes the arguments of `function` from an element type's dtype.
      tolerance: how results may differ from the reference.
      error: what the error says if the form is refused; the operation's name,
        without the dialect's, if None.
      reference: computes the results in NumPy from `inputs` where XLA's CPU
        backend does not have the operation; None for JAX.
    """

    operation: str
    name: str
    types: tuple[str, ...]
    function: Callable
    inputs: Inputs
    tolerance: Tolerance = EXACT
    reference: Callable | None = None
    error: str | None = None


@dataclasses.dataclass(frozen=True)
class Case:
    """A form with one element type."""

    form: Form
    type: str

    def __str__(self):
        return f"{self.form.operation}, {self.form.name}, {self.type}"


@dataclasses.dataclass(frozen=True)
class Group:
    """Operations in one section of the reference page.

    Attributes:
      title: heading of the group.
      about: common text, in Markdown; may be empty.
      forms: in the order of the page.
    """

    title: str
    about: str
    forms: list[Form]

    def cases(self):
        return [
            Case(form, type_) for form in self.forms for type_ in form.types
        ]


def operation(name, types, inputs, *forms, tolerance=EXACT, reference=None):
    """Lists the forms of one operation.

    Args:
      name: without the dialect's, unless that is not StableHLO.
      types, inputs, tolerance, reference: what the forms have unless they say
        otherwise. The first form is tried with all of the types, the others
        with those that are in `REPRESENTATIVE`.
      forms: (name, function) or (name, function, dict of the form's own
        attributes).
    """
    full = name if "." in name else f"stablehlo.{name}"
    found = []
    for form, function, *own in forms:
        attributes = {
            "types": types,
            "inputs": inputs,
            "tolerance": tolerance,
            "reference": reference,
            **(own[0] if own else {}),
        }
        found.append(
            Form(operation=full, name=form, function=function, **attributes)
        )
        types = tuple(type_ for type_ in types if type_ in REPRESENTATIVE)
    return found
