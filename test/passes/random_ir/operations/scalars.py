"""Operations of `arith` and `math` on scalars or, element by element, on
tensors.
"""

from dataclasses import dataclass

from ..facts import Facts, is_representable, of_integer
from ..program import Known, Operation
from ..types import FLOATS, INTEGERS, Type, integer_range
from .scalar_rules import comparison, require, selection, test_of_float
from .scalar_table import (
    ARITHMETIC,
    BITWISE,
    CONVERSIONS,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
    domain_of,
)


def known(operands, type, facts):
    return [Known(type, facts, all(operand.is_uniform for operand in operands))]


class ScalarOperation(Operation):
    """An operation on scalars that is one on tensors too, element by element."""

    def text(self, names, types, result):
        """The operation on values of these names and types."""
        raise NotImplementedError

    def render(self, statement, printer):
        (value,) = statement.results
        result, types = (
            printer.type(value),
            [printer.type(operand) for operand in statement.operands],
        )
        names = [printer.name(operand) for operand in statement.operands]
        if result.is_scalar or not printer.generalizes:
            printer.line(
                f"{printer.name(value)} = {self.text(names, types, result)}"
            )
            return
        # The same with scalars, inside of a `linalg.generic`. What is a scalar
        # already is taken from outside.
        base = printer.name(value)
        inputs = [
            operand
            for operand, type in zip(statement.operands, types, strict=True)
            if not type.is_scalar
        ]
        elements = [
            name if type.is_scalar else f"{base}_in{number}"
            for number, (name, type) in enumerate(
                zip(names, types, strict=True)
            )
        ]
        arguments = [
            f"{name}: {type.element}"
            for name, type in zip(elements, types, strict=True)
            if not type.is_scalar
        ]
        dims = ", ".join(f"d{dim}" for dim in range(result.rank))
        maps = ", ".join(
            f"affine_map<({dims}) -> ({dims})>" for _ in range(len(inputs) + 1)
        )
        iterators = ", ".join('"parallel"' for _ in result.shape)
        printer.line(f"{base}_empty = tensor.empty() : {result}")
        printer.line(
            f"{base} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}"
        )
        printer.line(
            f"    ins({printer.typed(inputs)}) outs({base}_empty : {result}) {{"
        )
        printer.line(
            f"^bb0({', '.join([*arguments, f'{base}_out: {result.element}'])}):"
        )
        scalars = [Type(type.element) for type in types]
        printer.line(
            f"  {base}_element = {self.text(elements, scalars, Type(result.element))}"
        )
        printer.line(f"  linalg.yield {base}_element : {result.element}")
        printer.line(f"}} -> {result}")


@dataclass(frozen=True)
class Arithmetic(ScalarOperation):
    """An operation of the table `ARITHMETIC`."""

    name: str

    def infer(self, operands, context):
        entry = ARITHMETIC[self.name]
        types = {operand.type for operand in operands}
        require(
            len(types) == 1 and len(operands) == entry.arity,
            "operands of different types",
        )
        type = types.pop()
        require(domain_of(type.element) == entry.domain, "other elements")
        require(
            type.element != "i1" or self.name in BITWISE,
            "arithmetic with booleans",
        )
        return known(
            operands,
            type,
            entry.rule(type.element, *(operand.facts for operand in operands)),
        )

    def text(self, names, types, result):
        return f"{self.name} {', '.join(names)} : {result}"


@dataclass(frozen=True)
class Compare(ScalarOperation):
    """`arith.cmpf` or `arith.cmpi`."""

    predicate: str

    def infer(self, operands, context):
        type = operands[0].type
        require(operands[1].type == type, "operands of different types")
        require(
            self.predicate
            in (FLOAT_PREDICATES if type.is_float else INTEGER_PREDICATES),
            "a predicate of other elements",
        )
        return known(
            operands,
            type.of("i1"),
            comparison(type.element, *(operand.facts for operand in operands)),
        )

    def text(self, names, types, result):
        return f"{'arith.cmpf' if types[0].is_float else 'arith.cmpi'} {self.predicate}, {', '.join(names)} : {types[0]}"


@dataclass(frozen=True)
class Test(ScalarOperation):
    """Whether a float is a NaN, infinite or finite."""

    name: str

    def infer(self, operands, context):
        (operand,) = operands
        require(operand.type.is_float, "other elements")
        return known(
            operands,
            operand.type.of("i1"),
            test_of_float(operand.type.element, operand.facts),
        )

    def text(self, names, types, result):
        return f"{self.name} {names[0]} : {types[0]}"


@dataclass(frozen=True)
class Convert(ScalarOperation):
    """A conversion of the table `CONVERSIONS`."""

    name: str
    element: str

    def infer(self, operands, context):
        (operand,) = operands
        source = operand.type.element
        conversion = CONVERSIONS[self.name]
        require(
            conversion.fits(source, self.element),
            "a conversion between other types",
        )
        facts = conversion.rule(source, self.element, operand.facts)
        return known(operands, operand.type.of(self.element), facts)

    def text(self, names, types, result):
        return f"{self.name} {names[0]} : {types[0]} to {result}"


@dataclass(frozen=True)
class Select(ScalarOperation):
    """`arith.select`, by one condition or by one for each element."""

    def infer(self, operands, context):
        condition, a, b = operands
        require(
            a.type == b.type and condition.type.element == "i1",
            "operands of different types",
        )
        require(
            condition.type.is_scalar or condition.type.shape == a.type.shape,
            "operands of different shapes",
        )
        return known(
            operands,
            a.type,
            selection(a.type.element, condition.facts, a.facts, b.facts),
        )

    def text(self, names, types, result):
        condition = "" if types[0].is_scalar else f"{types[0]}, "
        return f"arith.select {', '.join(names)} : {condition}{result}"


@dataclass(frozen=True)
class Number(Operation):
    """A constant scalar."""

    element: str
    number: float

    def infer(self, operands, context):
        if self.element in INTEGERS:
            low, high = integer_range(self.element)
            require(
                low <= self.number <= high,
                "a number that the type does not have",
            )
            return [
                Known(
                    Type(self.element),
                    of_integer(self.element, self.number, self.number),
                )
            ]
        require(
            is_representable(self.element, abs(self.number), 0.125),
            "a number that the type does not have",
        )
        return [
            Known(Type(self.element), Facts(self.number, self.number, 0.125))
        ]

    def render(self, statement, printer):
        name = printer.name(statement.results[0])
        if self.element == "i1":
            printer.line(
                f"{name} = arith.constant {str(bool(self.number)).lower()}"
            )
        else:
            number = (
                float(self.number) if self.element in FLOATS else self.number
            )
            printer.line(f"{name} = arith.constant {number} : {self.element}")
