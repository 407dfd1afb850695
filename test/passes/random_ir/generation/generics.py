"""Random `linalg.generic`s: their operands, indexing maps, and bodies."""

from ..facts import Invalid
from ..operations.elements import Extract
from ..operations.generic import Axis, Generic, LoopIndex, Output, plain_axes
from ..operations.scalar_table import BITWISE, COMBINERS, domain_of
from ..program import Known
from ..types import Type
from .scalars import as_element, scalar_operation


def draw_axis(builder, size, loops):
    """An index of a dimension of that size by loops that are there."""
    random = builder.random
    plain = [dim for dim, extent in enumerate(loops) if extent == size]
    if plain and builder.chance(0.6):
        return Axis(((random.choice(plain), 1),))
    if size == 0 or 0 in loops:
        raise Invalid("no index of a dimension without elements")
    kind = random.choice(["constant", "reversed", "strided", "sum", "shifted"])
    fitting = [dim for dim, extent in enumerate(loops) if extent <= size]
    if kind == "constant" or not fitting:
        return Axis((), random.randrange(size))
    dim = random.choice(fitting)
    extent, room = loops[dim], size - loops[dim]
    if kind == "reversed":
        return Axis(((dim, -1),), extent - 1 + random.randint(0, room))
    if kind == "shifted" and room:
        return Axis(((dim, 1),), random.randint(1, room))
    if kind == "sum":
        others = [
            other
            for other in range(len(loops))
            if other != dim and loops[other] - 1 <= room
        ]
        if others:
            return Axis(((dim, 1), (random.choice(others), 1)))
    stride = random.choice([2, 3])
    if (extent - 1) * stride < size:
        return Axis(
            ((dim, stride),),
            random.randint(0, size - 1 - (extent - 1) * stride),
        )
    return Axis(((dim, -1),), extent - 1)


def draw_accesses(builder):
    """Inputs with their maps, and the sizes of the loops: those of a first
    tensor, and sometimes of another one.
    """
    random = builder.random
    first = builder.tensor()
    loops = list(builder.type(first).shape)
    order = list(range(len(loops)))
    if builder.chance(0.4):
        random.shuffle(order)
    sizes = [0] * len(loops)
    for dim, loop in enumerate(order):
        sizes[loop] = loops[dim]
    inputs, maps = [first], [plain_axes(*order)]
    for _ in range(random.choices([0, 1, 2], [3, 5, 2])[0]):
        value = first if builder.chance(0.25) else builder.tensor()
        axes, more = [], list(sizes)
        for size in builder.type(value).shape:
            if builder.chance(0.12):
                more.append(size)
                axes.append(Axis(((len(more) - 1, 1),)))
            else:
                axes.append(draw_axis(builder, size, more))
        points = 1
        for size in more:
            points *= max(size, 1)
        if points > 20000 or len(more) > 5:
            continue
        sizes = more
        inputs.append(value)
        maps.append(tuple(axes))
    if builder.chance(0.12):
        # Every element of the result is repeated.
        sizes.append(random.choice([2, 3, *builder.sizes]))
    return inputs, maps, sizes


def draw_body(builder, inputs, loops, num_outputs):
    """The region, with a number for each output."""
    elements = [
        Known(
            Type(builder.type(value).element),
            builder.known(value).facts,
            builder.known(value).is_uniform,
        )
        for value in inputs
    ]
    outside = builder.visible
    # Scalars of the step may be operands, too, but the body should mostly
    # use its arguments.
    scalars = [
        value
        for value in outside
        if builder.type(value).is_scalar and builder.chance(0.2)
    ]
    outer, builder.context.loops = builder.context.loops, tuple(loops)
    with builder.block(elements, scalars) as (arguments, end):
        if builder.chance(0.3) and loops and 0 not in loops:
            counter = builder.add(
                LoopIndex(builder.random.randrange(len(loops))), is_hidden=True
            )
            element = builder.random.choice(
                [
                    e
                    for e in ("i32", "i64", *builder.elements)
                    if e not in ("i1", "i8")
                ]
            )
            builder.visible.append(as_element(builder, counter, element))
        if builder.chance(0.2):
            builder.attempt(lambda _: gather(builder, outside, loops))
        for _ in range(builder.random.choices(range(6), [2, 4, 4, 3, 2, 1])[0]):
            builder.attempt(scalar_operation)
        own = [
            value
            for value in builder.visible
            if value >= arguments[0] and builder.type(value).element != "index"
        ]
        if not own:
            raise Invalid("nothing to yield")
        region = end(
            [builder.random.choice(own[-3:]) for _ in range(num_outputs)]
        )
    builder.context.loops = outer
    return region


def gather(builder, outside, loops):
    """An element of another tensor at indices that are computed."""
    tensors = [
        value
        for value in outside
        if not builder.type(value).is_scalar
        and 0 not in builder.type(value).shape
    ]
    if not tensors or 0 in loops:
        raise Invalid("nothing to gather from")
    source = builder.random.choice(tensors)
    if loops:
        builder.visible.append(
            builder.add(
                LoopIndex(builder.random.randrange(len(loops))), is_hidden=True
            )
        )
    indices = [
        builder.clamped_index(size) for size in builder.type(source).shape
    ]
    builder.add(Extract(), source, *indices)


def draw_reduction_loops(builder, maps, sizes):
    """The loops that are reductions: of those whose size an input has."""
    sized = {
        axis.terms[0][0] for axes in maps for axis in axes if axis.is_plain
    }
    return (
        [
            dim
            for dim in range(len(sizes))
            if dim in sized and builder.chance(0.5)
        ]
        if builder.chance(0.45)
        else []
    )


def draw_output(builder, element, parallel, reduces):
    """An output whose elements have a loop of `parallel` for each dimension.
    `reduces`: whether there are other loops.
    """
    order = list(parallel)
    if builder.chance(0.4):
        builder.random.shuffle(order)
    if not reduces and builder.chance(0.8):
        return Output(plain_axes(*order), has_init=builder.chance(0.3))
    names = BITWISE if element == "i1" else COMBINERS[domain_of(element)]
    combiner = names[0] if builder.chance(0.5) else builder.random.choice(names)
    return Output(
        plain_axes(*order),
        combiner,
        is_swapped=builder.chance(0.4),
        has_init=True,
    )


def generic(builder):
    """A `linalg.generic` with one to three outputs."""
    inputs, maps, sizes = draw_accesses(builder)
    reductions = draw_reduction_loops(builder, maps, sizes)
    parallel = [dim for dim in range(len(sizes)) if dim not in reductions]
    builder.check_size([sizes[dim] for dim in parallel])
    body = draw_body(
        builder, inputs, sizes, builder.random.choices([1, 2, 3], [6, 3, 1])[0]
    )
    outputs, inits = [], []
    for value in body.yields:
        element = builder.type(value).element
        output = draw_output(builder, element, parallel, bool(reductions))
        outputs.append(output)
        if output.has_init:
            type = Type(element, tuple(sizes[dim] for dim in output.dims))
            inits.append(
                builder.initial(type)
                if output.combiner
                else builder.overwritten(type)
            )
    builder.add(
        Generic(tuple(sizes), tuple(maps), tuple(outputs), body),
        *inputs,
        *inits,
    )
