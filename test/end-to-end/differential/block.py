"""Statements under construction: productions choose operands from them and add
results.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

from differential import inference
from differential.builder import (
    FLOATS,
    INTEGERS,
    LARGE,
    LARGEST,
    NUMBERS_AND_BOOL,
    Builder,
    Draft,
    RejectedError,
    Value,
    width,
)
from differential.facts import BITS, CAP, NUMBERS, ROUNDED, Facts
from differential.program import NAME, Function, Program, Statement, Type, texts
from differential.table import choose
from differential.values import FLOAT_KINDS, INTEGER_KINDS, KINDS


class Block:
    """The body of a step or of a function in it, under construction.

    Attributes:
      builder: the program's.
      random: source of all choices.
      outer: the block around this one, whose values are visible too.
      differentiated: whether derivatives are taken of it; what has kinks then
        needs operands that no rounding has touched, and what JAX does not
        differentiate is left out.
      depth: number of blocks around it.
      values, statements: those so far.
    """

    def __init__(
        self,
        builder: Builder,
        outer: "Block | None" = None,
        differentiated: bool = False,
    ):
        self.builder, self.outer = builder, outer
        self.random = builder.random
        self.depth = outer.depth + 1 if outer else 0
        self.differentiated = differentiated or bool(
            outer and outer.differentiated
        )
        self.parameters: list[Value] = []
        self.values: list[Value] = []
        self.statements: list[Statement] = []

    floats = property(lambda self: self.builder.floats)
    integers = property(lambda self: self.builder.integers)
    dtypes = property(lambda self: self.builder.dtypes)

    @property
    def kink(self) -> int:
        """Level of exactness that a continuous function needs which is not
        differentiable everywhere.
        """
        return NUMBERS if self.differentiated else ROUNDED

    # Choices

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def shape(
        self, ranks: tuple[int, int] = (0, 4), largest: int = LARGEST
    ) -> tuple[int, ...]:
        """A random shape, of more than `LARGE` elements now and then.

        Raises:
          RejectedError: if the extents of the program are too large.
        """
        weights = [
            weight * (ranks[0] <= rank <= ranks[1])
            for rank, weight in enumerate((1, 3, 4, 2, 1))
        ]
        for _ in range(20):
            rank = self.random.choices(range(5), weights)[0]
            shape = tuple(
                self.random.choice(self.builder.extents) for _ in range(rank)
            )
            if Type(shape, "bool").size <= (
                largest if self.chance(0.05) else min(largest, LARGE)
            ):
                return shape
        raise RejectedError("no shape is small enough")

    def axis(self, value: Value) -> int:
        """A dimension of a value; counted from its end now and then."""
        axis = self.random.randrange(value.rank)
        return axis - value.rank if self.chance(0.2) else axis

    def axes(self, value: Value) -> tuple[int, ...]:
        """One or more dimensions of a value, all of them being likely."""
        if self.chance(0.3):
            return tuple(range(value.rank))
        return tuple(
            sorted(
                self.random.sample(
                    range(value.rank), self.random.randint(1, value.rank)
                )
            )
        )

    # Operands

    def array(
        self,
        dtypes: Sequence[str] = NUMBERS_AND_BOOL,
        ranks: tuple[int, int] = (0, 4),
        level: int = ROUNDED,
        limit: float = math.inf,
        largest: int = LARGEST,
        where: Callable[[Type], bool] = lambda type_: True,
    ) -> Value:
        """Chooses a value, or adds an input.

        Args:
          dtypes: allowed dtypes.
          ranks: lowest and highest number of dimensions.
          level: least level of exactness.
          limit: bound on the magnitude of floats; others are brought into it.
          largest: most elements.
          where: what else must hold for the type.

        Raises:
          RejectedError: if no value is suited.
        """

        def suits(type_):
            return (
                type_.dtype in dtypes
                and ranks[0] <= len(type_.shape) <= ranks[1]
                and type_.size <= largest
                and where(type_)
            )

        known = [
            v
            for v in self.visible()
            if suits(v.type) and v.facts.level >= level
        ]
        if known and not self.chance(0.12):
            # What has been computed late is used more often.
            value = known[int(len(known) * self.random.random() ** 0.5)]
        else:
            value = self._fresh(suits, dtypes, ranks, largest, level)
        return self.bounded(value, limit, level)

    def visible(self) -> list[Value]:
        """The values that an expression may use, those of outer blocks first."""
        return (self.outer.visible() if self.outer else []) + self.values

    def _fresh(self, suits, dtypes, ranks, largest, level) -> Value:
        dtypes = [dtype for dtype in self.dtypes if dtype in dtypes]
        if not dtypes:
            raise RejectedError("no dtype of the program is allowed")
        for _ in range(20):
            type_ = Type(self.shape(ranks, largest), self.random.choice(dtypes))
            if suits(type_):
                return self.input(type_, level)
        raise RejectedError("no input is suited")

    def input(
        self, type_: Type, level: int = ROUNDED, kinds: Sequence[str] = ()
    ) -> Value:
        """Adds an input to the program, of a kind of at least this level of
        exactness.
        """
        if not kinds:
            kinds, weights = FLOAT_KINDS, (5, 1, 6, 3, 0.7, 0.5)
            if type_.dtype == "bool":
                kinds, weights = ("flags",), (1,)
            elif type_.dtype not in FLOATS:
                kinds, weights = INTEGER_KINDS, (5, 3, 1, 1)
            weights = [
                w if KINDS[kind].facts.level >= level else 0
                for kind, w in zip(kinds, weights, strict=True)
            ]
        else:
            weights = [1] * len(kinds)
        value = self.builder.input(
            type_, self.random.choices(kinds, weights)[0]
        )
        block = self
        while block.outer:
            block = block.outer
        block.values.append(value)
        return value

    def bounded(
        self, value: Value, limit: float, level: int = ROUNDED
    ) -> Value:
        """The value, or a function of it with elements of a magnitude of at
        most `limit`.

        Raises:
          RejectedError: if a level of exactness is asked for that would be
            lost.
        """
        if value.dtype not in FLOATS or value.facts.bound <= limit:
            return value
        if value.facts.bound <= limit * 2.0**20:
            factor = 2.0 ** math.ceil(math.log2(value.facts.bound / limit))
            facts = value.facts.scaled(1 / factor).computed(value.dtype)
            if facts.level >= level:
                return dataclasses.replace(
                    value, text=f"({value} / {factor})", facts=facts
                )
        if level > ROUNDED:
            raise RejectedError("the elements are not bounded")
        text = (
            f"jnp.tanh({value})"
            if limit >= 1
            else f"({limit} * jnp.tanh({value}))"
        )
        return dataclasses.replace(
            value, text=text, facts=Facts(ROUNDED, min(limit, 1))
        )

    def like(
        self, value: Value, dtypes: Sequence[str] = (), **options
    ) -> Value:
        """A value of the same shape, of the same dtype unless others are
        allowed.
        """
        return self.array(
            dtypes or (value.dtype,),
            (value.rank,) * 2,
            where=lambda type_: type_.shape == value.shape,
            **options,
        )

    def matching(
        self, shape: tuple[int, ...], dtypes: Sequence[str], **options
    ) -> Value:
        """A value of this shape: one that is there, one that is there in
        another shape, or an input.
        """
        dtypes = [dtype for dtype in self.dtypes if dtype in dtypes]
        if not dtypes:
            raise RejectedError("no dtype of the program is allowed")
        size = Type(shape, "bool").size
        level, limit = (
            options.get("level", ROUNDED),
            options.get("limit", math.inf),
        )
        same = [
            v
            for v in self.visible()
            if v.dtype in dtypes and v.size == size and v.facts.level >= level
        ]
        exact = [value for value in same if value.shape == shape]
        if exact and self.chance(0.8):
            return self.bounded(self.random.choice(exact), limit, level)
        if same and self.chance(0.5):
            value = self.bounded(self.random.choice(same), limit, level)
            return dataclasses.replace(
                value,
                text=f"{value}.reshape({shape})",
                type=Type(shape, value.dtype),
            )
        return self.bounded(
            self.input(Type(shape, self.random.choice(dtypes)), level),
            limit,
            level,
        )

    def fitting(
        self, value: Value, dtypes: Sequence[str] = (), **options
    ) -> Value:
        """A value whose shape broadcasts with that of `value`."""
        dtypes = dtypes or (value.dtype,)
        if self.chance(0.75):
            try:
                return self.array(
                    dtypes,
                    where=lambda type_: _broadcast(type_.shape, value.shape),
                    **options,
                )
            except RejectedError:
                pass
        shape = tuple(
            1 if self.chance(0.2) else extent
            for extent in value.shape[self.random.choice((0, 0, 0, 1)) :]
        )
        options = {"level": ROUNDED, "limit": math.inf} | options
        dtype = self.random.choice(
            [dtype for dtype in self.dtypes if dtype in dtypes] or [value.dtype]
        )
        return self.bounded(
            self.input(Type(shape, dtype), options["level"]),
            options["limit"],
            options["level"],
        )

    def index(self, extent: int) -> str:
        """An index into a dimension; out of its range now and then."""
        if self.chance(0.3):
            return str(self.random.randint(-1, extent))
        choices = [
            v for v in self.visible() if v.dtype in INTEGERS and v.rank == 0
        ]
        if choices and self.chance(0.7):
            return str(self.random.choice(choices))
        dtype = self.random.choice(self.integers)
        return str(self.input(Type((), dtype), kinds=("small", "natural")))

    def special(self, shape: tuple[int, ...]) -> Value:
        """An input with infinities, NaNs and zeros of both signs."""
        return self.input(
            Type(shape, self.random.choice(self.floats)), kinds=("special",)
        )

    # Results

    def add(self, draft: Draft) -> list[Value]:
        """Adds a statement.

        Raises:
          RejectedError: if JAX does not accept it, its result is too large, or
            of a dtype that is not supported.
        """
        types = self.infer(draft)
        if isinstance(types, Type):
            types = [types]
        elif len(types) == 1:
            draft = dataclasses.replace(draft, text=f"{draft.text}[0]")
        elif not types:
            raise RejectedError("no result")
        operands = self._operands(draft)
        facts = (
            draft.facts
            if isinstance(draft.facts, tuple)
            else (draft.facts,) * len(types)
        )
        facts = [
            self._known(draft, *entry, operands)
            for entry in zip(types, facts, strict=True)
        ]
        text = draft.text
        if (
            len(types) == 1
            and types[0].dtype in FLOATS
            and CAP[types[0].dtype] < facts[0].bound < math.inf
        ):
            factor = 2.0 ** (math.frexp(facts[0].bound)[1] - 3)
            text, facts = (
                f"({text}) / {factor}",
                [facts[0].scaled(1 / factor).computed(types[0].dtype)],
            )
        uniform = (
            all(value.uniform for value in operands)
            if draft.uniform is None
            else draft.uniform
        )
        values = [
            Value(self.builder.name("v"), *entry, uniform)
            for entry in zip(types, facts, strict=True)
        ]
        names, exact = (
            tuple(value.text for value in values),
            tuple(value.facts.level > ROUNDED for value in values),
        )
        self.statements.append(
            Statement(names, text, tuple(types), draft.functions, exact)
        )
        self.values += values
        return values

    def _known(
        self, draft: Draft, type_: Type, facts: Facts, operands: list[Value]
    ) -> Facts:
        """The facts of a result of a type."""
        if type_.size > LARGEST or type_.dtype not in NUMBERS_AND_BOOL:
            raise RejectedError(f"a result of {type_}")
        if type_.dtype in FLOATS:
            return facts.computed(type_.dtype) if draft.arithmetic else facts
        if facts.level == ROUNDED and any(
            value.facts.level == ROUNDED for value in operands
        ):
            raise RejectedError(f"roundings would show in a result of {type_}")
        return Facts(BITS, min(facts.bound, 2.0 ** (8 * width(type_.dtype))), 1)

    def infer(self, draft: Draft) -> Type | list[Type]:
        """Type of an expression, a list for a tuple."""
        environment = {value.text: value.type for value in self.visible()}
        try:
            return inference.infer(
                Statement(("v0",), draft.text, (), draft.functions), environment
            )
        except inference.NotTypedError as error:
            raise RejectedError(str(error)) from error

    def _operands(self, draft: Draft) -> list[Value]:
        statement = Statement(("v0",), draft.text, (), draft.functions)
        mentioned = {
            name for text in texts([statement]) for name in NAME.findall(text)
        }
        return [value for value in self.visible() if value.text in mentioned]

    def grow(self, count: int):
        """Adds statements by random productions."""
        for _ in range(count):
            choose(self)

    # Functions

    def inner(
        self,
        parameters: Sequence[tuple[Type, Facts, bool]],
        differentiated: bool = False,
    ) -> "Block":
        """A block for the body of a function: parameters are given by type,
        facts, and whether they are uniform.
        """
        block = Block(self.builder, self, differentiated)
        block.parameters = [
            Value(self.builder.name("a"), *parameter)
            for parameter in parameters
        ]
        block.values = list(block.parameters)
        return block

    def finish(self, *results: object) -> Function:
        """The function with this block as its body and expressions as its
        results.
        """
        names = tuple(value.text for value in self.parameters)
        return Function(
            self.builder.name("f"),
            names,
            tuple(self.statements),
            ", ".join(map(str, results)),
        )


def program(block: Block, results: Sequence[str]) -> Program:
    """The program whose body is `block`."""
    builder = block.builder
    return Program(
        builder.seed,
        builder.x64,
        builder.rows,
        tuple(builder.inputs),
        tuple(block.statements),
        tuple(results),
    )


def _broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether arrays of these shapes can be operands of one element-wise
    operation, with a result as large as the larger one.
    """
    return all(
        x == y or 1 in (x, y)
        for x, y in zip(reversed(first), reversed(second), strict=False)
    )
