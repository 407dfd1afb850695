"""Operations between replicas."""

from dataclasses import dataclass, replace

from ..facts import of_integer, product_of, rounded
from ..program import Known, Operation
from ..types import FLOATS, Type
from .scalar_rules import require


def combined_over_replicas(reduction, element, facts, count):
    """Replicas are combined in one order by all executions, f16 and bf16 in
    f32: the bits are the same, even where they are rounded.
    """
    if reduction in ("min", "max"):
        return replace(facts, zero_sign=False)
    if element not in FLOATS:
        is_sum = reduction == "sum"
        return (
            of_integer(element, facts.low * count, facts.high * count)
            if is_sum
            else of_integer(element)
        )
    total = facts
    if reduction == "product":
        for _ in range(count - 1):
            total = product_of(total, facts)
    else:
        total = replace(
            facts,
            low=facts.low * count,
            high=facts.high * count,
            error=facts.error * count,
        )
    return rounded(element, replace(total, zero_sign=False), count + 1)


@dataclass(frozen=True)
class AllReduce(Operation):
    """`replica.all_reduce`. A mean of integers is f64."""

    reduction: str

    def infer(self, operands, context):
        (operand,) = operands
        type, count = operand.type, context.replicas
        require(
            not type.is_scalar
            and (type.element != "i1" or self.reduction in ("min", "max")),
            "elements that are not combined so",
        )
        if count == 1 and (type.is_float or self.reduction != "mean"):
            return [Known(type, operand.facts)]
        if self.reduction != "mean":
            return [
                Known(
                    type,
                    combined_over_replicas(
                        self.reduction, type.element, operand.facts, count
                    ),
                )
            ]
        total = combined_over_replicas(
            "sum", type.element, operand.facts, count
        )
        element = type.element if type.is_float else "f64"
        # The sum of f16 and bf16 is not rounded before it is divided.
        mean = replace(
            total,
            low=float(operand.facts.low),
            high=float(operand.facts.high),
            grain=0.0,
        )
        if not type.is_float and total.low != operand.facts.low * count:
            # The sum wraps around.
            mean = replace(mean, low=total.low / count, high=total.high / count)
        return [Known(type.of(element), rounded(element, mean, 2))]

    def simpler(self):
        if self.reduction != "sum":
            yield AllReduce("sum")

    def render(self, statement, printer):
        (operand,), (result,) = statement.operands, statement.results
        type = printer.type(operand)
        suffix = (
            ""
            if printer.type(result) == type
            else f" -> {printer.type(result)}"
        )
        printer.line(
            f"{printer.name(result)} = replica.all_reduce {self.reduction} {printer.name(operand)} : {type}{suffix}"
        )


@dataclass(frozen=True)
class AllGather(Operation):
    """`replica.all_gather`: the values of all replicas concatenated along an
    axis.
    """

    axis: int

    def infer(self, operands, context):
        (operand,) = operands
        require(
            not operand.type.is_scalar and self.axis < operand.type.rank,
            "a tensor of another rank",
        )
        shape = list(operand.type.shape)
        shape[self.axis] *= context.replicas
        return [Known(Type(operand.type.element, tuple(shape)), operand.facts)]

    def render(self, statement, printer):
        (operand,), (result,) = statement.operands, statement.results
        types = f"{printer.type(operand)} -> {printer.type(result)}"
        printer.line(
            f"{printer.name(result)} = replica.all_gather {printer.name(operand)} axis {self.axis} : {types}"
        )


@dataclass(frozen=True)
class ReplicaId(Operation):
    def infer(self, operands, context):
        return [
            Known(
                Type("i32", ()),
                of_integer("i32", 0, context.replicas - 1),
                context.replicas == 1,
            )
        ]

    def render(self, statement, printer):
        printer.line(
            f"{printer.name(statement.results[0])} = replica.id : tensor<i32>"
        )
