"""Operations of `scf`: loops and branches that carry scalars and tensors."""

from dataclasses import dataclass, replace

from ..facts import join, of_integer
from ..program import Known, Operation, Region
from ..types import Type
from .scalar_rules import require


def join_all(alternatives):
    """Facts about values of one of several alternatives."""
    return [
        Known(
            choices[0].type,
            join(*(choice.facts for choice in choices)),
            all(choice.is_uniform for choice in choices),
        )
        for choices in zip(*alternatives, strict=True)
    ]


def check_types(values, expected):
    require(
        [value.type for value in values] == [value.type for value in expected],
        "values of other types",
    )


def varying_unless(is_uniform, values):
    return [
        replace(value, is_uniform=value.is_uniform and is_uniform)
        for value in values
    ]


def uniform_throughout(initial, iterate):
    """The initial values of a loop, uniform only if the carried values are in
    every iteration, for any trip count.

    `iterate`: carried values after an iteration -> carried values after the
    next one.
    """
    while True:
        carried = iterate(initial)
        check_types(carried, initial)
        joined = [
            replace(value, is_uniform=value.is_uniform and after.is_uniform)
            for value, after in zip(initial, carried, strict=True)
        ]
        if joined == initial:
            return initial
        initial = joined


def render_results(statement, printer, text):
    names = printer.names(statement.results)
    printer.line(f"{names} = {text}" if names else text)


def index_of(low, high):
    return Known(Type("index"), of_integer("index", low, high))


@dataclass(frozen=True)
class For(Operation):
    """`scf.for` from `lower` in steps of `step`, for `trips` iterations, or as
    many as the first operand says if `is_counted`.

    The other operands are what the loop carries. Arguments of the body: the
      counter, and what is carried.
    """

    lower: int
    step: int
    trips: int
    is_counted: bool
    body: Region

    def regions(self):
        return (self.body,)

    def with_regions(self, regions):
        return replace(self, body=regions[0])

    def simpler(self):
        if self.trips > 1:
            yield replace(self, trips=1)
            yield replace(self, trips=self.trips - 1)
        if self.lower or self.step > 1:
            yield replace(self, lower=0, step=1)

    def infer(self, operands, context):
        count, *initial = operands if self.is_counted else [None, *operands]
        require(
            len(self.body.yields) == len(initial), "another number of values"
        )
        least = most = self.trips
        if count is not None:
            require(
                count.type == Type("index") and count.facts.low >= 0,
                "no number of iterations",
            )
            least, most = int(count.facts.low), int(count.facts.high)
        require(most <= 12, "too many iterations")
        is_uniform = count is None or count.is_uniform
        first = index_of(self.lower, self.lower)
        initial = uniform_throughout(
            initial,
            lambda carried: context.run_region(self.body, [first, *carried]),
        )
        states, carried = [initial], initial
        for trip in range(max(most, 1)):
            counter = self.lower + trip * self.step
            yielded = context.run_region(
                self.body, [index_of(counter, counter), *carried]
            )
            check_types(yielded, initial)
            carried = varying_unless(
                is_uniform
                and all(
                    value.is_uniform for value in context.captured(self.body)
                ),
                yielded,
            )
            states.append(carried)
        return join_all(states[least : most + 1])

    def render(self, statement, printer):
        count, *initial = (
            statement.operands
            if self.is_counted
            else [None, *statement.operands]
        )
        base = printer.name(self.body.arguments[0])
        lower = printer.index_constant(f"{base}_lower", self.lower)
        step = printer.index_constant(f"{base}_step", self.step)
        if count is None:
            upper = printer.index_constant(
                f"{base}_upper", self.lower + self.trips * self.step
            )
        else:
            upper = f"{base}_upper"
            printer.line(
                f"{base}_length = arith.muli {printer.name(count)}, {step} : index"
            )
            printer.line(f"{upper} = arith.addi {lower}, {base}_length : index")
        pairs = zip(self.body.arguments[1:], initial, strict=True)
        inits = ", ".join(
            f"{printer.name(argument)} = {printer.name(value)}"
            for argument, value in pairs
        )
        carried = (
            f" iter_args({inits}) -> ({printer.types_of(initial)})"
            if initial
            else ""
        )
        render_results(
            statement,
            printer,
            f"scf.for {base} = {lower} to {upper} step {step}{carried} {{",
        )
        printer.region(
            self.body,
            f"scf.yield {printer.typed(self.body.yields)}"
            if initial
            else "scf.yield",
        )
        printer.line("}")


@dataclass(frozen=True)
class While(Operation):
    """`scf.while` of at most `limit` iterations. Operands: the initial carried
    values.

    `before` yields whether there is another iteration, a boolean, and the
    arguments of `after`, which yields the carried values. A counter, which only
    the text has, ends the loop.
    """

    limit: int
    before: Region
    after: Region

    def regions(self):
        return (self.before, self.after)

    def with_regions(self, regions):
        return replace(self, before=regions[0], after=regions[1])

    def simpler(self):
        if self.limit > 1:
            yield replace(self, limit=self.limit - 1)

    def infer(self, operands, context):
        def iterate(carried):
            _, *passed = context.run_region(self.before, carried)
            check_types(passed, operands)
            return context.run_region(self.after, passed)

        carried, ends = uniform_throughout(list(operands), iterate), []
        is_uniform = True
        for _ in range(self.limit + 1):
            condition, *passed = context.run_region(self.before, carried)
            require(condition.type == Type("i1"), "no condition")
            check_types(passed, operands)
            captured = [
                *context.captured(self.before),
                *context.captured(self.after),
            ]
            is_uniform = (
                is_uniform
                and condition.is_uniform
                and all(value.is_uniform for value in captured)
            )
            ends.append(varying_unless(is_uniform, passed))
            carried = context.run_region(self.after, passed)
            check_types(carried, operands)
        return join_all([varying_unless(is_uniform, end) for end in ends])

    def render(self, statement, printer):
        base = f"%loop{self.before.arguments[0]}"
        types = printer.types_of(statement.operands)
        for name, number in (("zero", 0), ("one", 1), ("limit", self.limit)):
            printer.line(f"{base}_{name} = arith.constant {number} : i32")
        pairs = zip(self.before.arguments, statement.operands, strict=True)
        inits = ", ".join(
            [
                f"{base}_i = {base}_zero",
                *(
                    f"{printer.name(argument)} = {printer.name(value)}"
                    for argument, value in pairs
                ),
            ]
        )
        results = ", ".join(
            [f"{base}_count", *map(printer.name, statement.results)]
        )
        printer.line(
            f"{results} = scf.while ({inits}) : (i32, {types}) -> (i32, {types}) {{"
        )
        condition, *passed = self.before.yields
        printer.depth += 1
        printer.statements(self.before.statements)
        printer.line(
            f"{base}_below = arith.cmpi slt, {base}_i, {base}_limit : i32"
        )
        printer.line(
            f"{base}_goes_on = arith.andi {base}_below, {printer.name(condition)} : i1"
        )
        printer.line(
            f"scf.condition({base}_goes_on) {base}_i, {printer.names(passed)} : i32, {types}"
        )
        printer.depth -= 1
        printer.line("} do {")
        arguments = ", ".join(
            f"{printer.name(argument)}: {printer.type(argument)}"
            for argument in self.after.arguments
        )
        printer.line(f"^bb0({base}_j: i32, {arguments}):")
        printer.depth += 1
        printer.statements(self.after.statements)
        printer.line(f"{base}_next = arith.addi {base}_j, {base}_one : i32")
        printer.line(
            f"scf.yield {base}_next, {printer.names(self.after.yields)} : i32, {types}"
        )
        printer.depth -= 1
        printer.line("}")


@dataclass(frozen=True)
class If(Operation):
    """`scf.if`. Operand: the condition. Both regions yield the results."""

    then: Region
    otherwise: Region

    def regions(self):
        return (self.then, self.otherwise)

    def with_regions(self, regions):
        return replace(self, then=regions[0], otherwise=regions[1])

    def infer(self, operands, context):
        (condition,) = operands
        require(condition.type == Type("i1"), "no condition")
        return branch(condition, self.regions(), context)

    def render(self, statement, printer):
        (condition,) = statement.operands
        types = printer.types_of(statement.results)
        render_results(
            statement,
            printer,
            f"scf.if {printer.name(condition)} -> ({types}) {{",
        )
        printer.region(
            self.then, f"scf.yield {printer.typed(self.then.yields)}"
        )
        printer.line("} else {")
        printer.region(
            self.otherwise, f"scf.yield {printer.typed(self.otherwise.yields)}"
        )
        printer.line("}")


@dataclass(frozen=True)
class Switch(Operation):
    """`scf.index_switch`. Operand: an index. `cases`: numbers; the last one of
    `branches` is for all others.
    """

    cases: tuple[int, ...]
    branches: tuple[Region, ...]

    def regions(self):
        return self.branches

    def with_regions(self, regions):
        return replace(self, branches=regions)

    def simpler(self):
        for number in range(len(self.cases)):
            kept = [i for i in range(len(self.cases)) if i != number]
            yield replace(
                self,
                cases=tuple(self.cases[i] for i in kept),
                branches=tuple(self.branches[i] for i in [*kept, -1]),
            )

    def infer(self, operands, context):
        (choice,) = operands
        require(choice.type == Type("index"), "no index")
        return branch(choice, self.branches, context)

    def render(self, statement, printer):
        (choice,) = statement.operands
        render_results(
            statement,
            printer,
            f"scf.index_switch {printer.name(choice)} -> {printer.types_of(statement.results)}",
        )
        for case, region in zip(
            [*self.cases, None], self.branches, strict=True
        ):
            printer.line("default {" if case is None else f"case {case} {{")
            printer.region(region, f"scf.yield {printer.typed(region.yields)}")
            printer.line("}")


def branch(choice, regions, context):
    """Facts about the results of one of several regions."""
    alternatives, is_uniform = [], choice.is_uniform
    for region in regions:
        alternatives.append(context.run_region(region, []))
        is_uniform = is_uniform and all(
            value.is_uniform for value in context.captured(region)
        )
    for alternative in alternatives:
        require(alternative, "a branch without results")
        check_types(alternative, alternatives[0])
    return varying_unless(is_uniform, join_all(alternatives))
