"""Builds a program by statements, and offers its values as operands."""

from contextlib import contextmanager

from ..facts import Invalid
from ..operations.elements import Constant, Empty, Extract, Splat
from ..operations.scalars import Arithmetic, Convert, Number
from ..program import Context, Known, Region, Statement
from ..types import ELEMENTS, FLOATS, Type

#: Sizes: none, one, odd ones, primes, multiples of a vector and their
#: neighbours, larger than a tile.
SIZES = [0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33, 64, 67, 130, 257]
#: Bounds on the elements of an input: of few programs it is so large that
#: several workers share a kernel.
MOST_ELEMENTS = [1200] * 14 + [20000]
#: Sizes of dimensions that are small in real programs: windows, channels, rows
#: of a stack.
SMALL_SIZES = [1, 2, 3, 4, 5, 7]


class Builder:
    """`random`: a `random.Random`. Programs use few sizes and element types, so
    that values fit to each other.

    `productions`: functions of a builder that add statements, for the regions
    of loops and branches. `may_exchange`: whether replicas may exchange values
    at this place.
    """

    def __init__(self, random, replicas, productions, may_exchange):
        self.random = random
        self.productions = productions
        self.may_exchange = may_exchange
        self.context = Context({}, replicas)
        self.blocks = [[]]
        self.visible = []
        self.next_value = 0
        self.depth = 0
        self.sizes = random.sample(SIZES, 3)
        self.elements = random.sample(ELEMENTS, 2)
        self.most_elements = random.choice(MOST_ELEMENTS)

    #
    # Statements
    #

    def define(self, known):
        """A new value."""
        value = self.next_value
        self.next_value += 1
        self.context.known[value] = known
        return value

    def add(self, operation, *operands, is_hidden=False):
        """Adds a statement and returns its result, or a tuple of its results.
        Hidden ones are not chosen as operands later.
        """
        results = operation.infer(
            [self.context[operand] for operand in operands], self.context
        )
        values = tuple(self.define(result) for result in results)
        self.blocks[-1].append(Statement(operation, operands, values))
        if not is_hidden:
            self.visible.extend(values)
        return values[0] if len(values) == 1 else values

    def attempt(self, production):
        """Whether `production(builder)` has succeeded; its additions are undone
        if it has not.
        """
        blocks, statements, visible = (
            len(self.blocks),
            len(self.blocks[-1]),
            list(self.visible),
        )
        depth, may_exchange, loops = (
            self.depth,
            self.may_exchange,
            self.context.loops,
        )
        try:
            production(self)
        except Invalid:
            del self.blocks[blocks:]
            del self.blocks[-1][statements:]
            self.visible, self.depth, self.may_exchange, self.context.loops = (
                visible,
                depth,
                may_exchange,
                loops,
            )
            return False
        return True

    @contextmanager
    def block(self, arguments, visible=None, is_uniform=False):
        """A region whose arguments are of what is known. Yields their values,
        and the function that ends it with what it yields.

        `visible`: the values from outside that are chosen as operands; if not
        given, all. `is_uniform`: whether all replicas execute it equally often.
        After `Invalid`, `attempt` restores what was before.
        """
        outer, may_exchange = self.visible, self.may_exchange
        self.may_exchange = may_exchange and is_uniform
        values = tuple(self.define(known) for known in arguments)
        self.visible = [*(outer if visible is None else visible), *values]
        self.blocks.append([])
        self.depth += 1
        yield (
            values,
            lambda yields: Region(
                values, tuple(self.blocks[-1]), tuple(yields)
            ),
        )
        self.blocks.pop()
        self.depth -= 1
        self.visible, self.may_exchange = outer, may_exchange

    #
    # Operands
    #

    def type(self, value) -> Type:
        return self.context[value].type

    def known(self, value) -> Known:
        return self.context[value]

    def find(self, accepts):
        """A value that `accepts(known)`, most likely one of the last. Invalid:
        there is none.
        """
        found = [
            value for value in self.visible if accepts(self.context[value])
        ]
        if not found:
            raise Invalid("no such value")
        recent = found[-4:]
        return self.random.choice(
            recent if self.random.random() < 0.6 else found
        )

    def tensor(self, accepts=lambda type: True):
        return self.find(
            lambda known: not known.type.is_scalar and accepts(known.type)
        )

    def like(self, value):
        """A value of the same type, which may be the same one."""
        return self.of_type(self.type(value))

    def of_type(self, type):
        return self.find(lambda known: known.type == type)

    def chance(self, probability):
        return self.random.random() < probability

    #
    # New operands
    #

    def shape(self, rank=None):
        """A shape of the program's sizes with a bounded number of elements."""
        rank = (
            self.random.choices(range(5), [1, 5, 8, 4, 2])[0]
            if rank is None
            else rank
        )
        shape, count = [], 1
        for _ in range(rank):
            fitting = [
                size
                for size in self.sizes + SMALL_SIZES[:3]
                if count * size <= self.most_elements
            ]
            shape.append(self.random.choice(fitting or [1]))
            count *= max(shape[-1], 1)
        self.random.shuffle(shape)
        return tuple(shape)

    def check_size(self, shape):
        """Invalid: more elements than executions should take time for."""
        count = 1
        for size in shape:
            count *= size
        if count > 4 * self.most_elements:
            raise Invalid("too many elements")
        return tuple(shape)

    def number(self, element):
        """A constant scalar: small, and exact."""
        if element in FLOATS:
            return self.add(
                Number(
                    element,
                    self.random.choice([0.0, 1.0, -1.0, 0.5, 2.0, -0.0, 3.0]),
                ),
                is_hidden=True,
            )
        choices = [0, 1] if element == "i1" else [0, 1, -1, 2, 5]
        return self.add(
            Number(element, self.random.choice(choices)), is_hidden=True
        )

    def index(self, number):
        return self.add(Number("index", number), is_hidden=True)

    def integer(self):
        """A scalar that is computed: one that there is, or an element of a
        tensor.
        """

        def is_integer(known):
            return not known.type.is_float and known.type.element != "i1"

        if self.chance(0.5):
            source = self.find(
                lambda known: (
                    is_integer(known)
                    and not known.type.is_scalar
                    and 0 not in known.type.shape
                )
            )
            indices = [
                self.index(self.random.randrange(size))
                for size in self.type(source).shape
            ]
            return self.add(Extract(), source, *indices, is_hidden=True)
        return self.find(
            lambda known: is_integer(known) and known.type.is_scalar
        )

    def clamped_index(self, size):
        """A computed index of a dimension."""
        if size == 0:
            raise Invalid("no index")
        value = self.integer()
        if self.type(value).element != "index":
            value = self.add(
                Convert("arith.index_cast", "index"), value, is_hidden=True
            )
        if self.known(value).facts.low < 0:
            value = self.add(
                Arithmetic("arith.maxsi"), value, self.index(0), is_hidden=True
            )
        if self.known(value).facts.high >= size:
            limit = self.index(size if self.chance(0.3) else size - 1)
            name = (
                "arith.remui"
                if self.known(limit).facts.low == size
                else "arith.minsi"
            )
            value = self.add(Arithmetic(name), value, limit, is_hidden=True)
        return value

    def overwritten(self, type):
        """A tensor for an operation that overwrites it: an empty one, or any
        other, of which the old elements may still be needed.
        """
        if self.chance(0.5):
            try:
                return self.of_type(type)
            except Invalid:
                pass
        return self.add(Empty(type), is_hidden=True)

    def initial(self, type, number=None):
        """A tensor that a reduction begins with: zeros, another number, or a
        value that is there.
        """
        draw = self.random.random()
        if draw < 0.3:
            try:
                return self.of_type(type)
            except Invalid:
                pass
        if draw < 0.5:
            return self.add(
                Constant(
                    type,
                    self.random.choice(small_kinds(type.element)),
                    self.random.randrange(2**31),
                )
            )
        zero = (
            self.add(
                Number(type.element, 0.0 if type.is_float else 0),
                is_hidden=True,
            )
            if number is None
            else number
        )
        return self.add(
            Splat(type.shape, is_fill=self.chance(0.8)), zero, is_hidden=True
        )


def small_kinds(element):
    """Kinds of numbers of which sums are exact."""
    return (
        ["whole", "eighths", "positive"]
        if element in FLOATS
        else ["bool"]
        if element == "i1"
        else ["small", "natural"]
    )
