"""Named operations of `linalg` that sum products or combine windows."""

from dataclasses import dataclass, replace
from math import prod

from ..program import Operation
from .combiners import combined, multiply_accumulated
from .named import render_named
from .scalar_rules import require
from .scalar_table import WIDTHS, domain_of
from .scalars import known

#: Dimensions of the operands and of the result, by letters; dimensions absent
#: from the result are summed.
PRODUCTS = {
    "matmul": ("mk", "kn", "mn"),
    "batch_matmul": ("bmk", "bkn", "bmn"),
    "matvec": ("mk", "k", "m"),
    "vecmat": ("k", "kn", "n"),
    "batch_matvec": ("bmk", "bk", "bm"),
    "batch_vecmat": ("bk", "bkn", "bn"),
    "dot": ("k", "k", ""),
}

#: Dimensions of input, filter and result; d, h and w are those that windows
#: slide along.
CONVOLUTIONS = {
    "conv_1d_nwc_wcf": ("nwc", "wcf", "nwf"),
    "conv_1d_ncw_fcw": ("ncw", "fcw", "nfw"),
    "conv_2d_nhwc_hwcf": ("nhwc", "hwcf", "nhwf"),
    "conv_2d_nhwc_fhwc": ("nhwc", "fhwc", "nhwf"),
    "conv_2d_nchw_fchw": ("nchw", "fchw", "nfhw"),
    "conv_3d_ndhwc_dhwcf": ("ndhwc", "dhwcf", "ndhwf"),
    "depthwise_conv_1d_nwc_wc": ("nwc", "wc", "nwc"),
    "depthwise_conv_2d_nhwc_hwc": ("nhwc", "hwc", "nhwc"),
    "pooling_nhwc_sum": ("nhwc", "hw", "nhwc"),
    "pooling_nhwc_max": ("nhwc", "hw", "nhwc"),
    "pooling_nhwc_min": ("nhwc", "hw", "nhwc"),
    "pooling_nchw_sum": ("nchw", "hw", "nchw"),
    "pooling_nchw_max": ("nchw", "hw", "nchw"),
    "pooling_nwc_max": ("nwc", "w", "nwc"),
}
WINDOW_DIMENSIONS = "dhw"


def extended(element, operand):
    """Facts about an operand in the type of the result, which may be wider."""
    source = operand.type.element
    is_wider = (
        domain_of(source) == domain_of(element)
        and WIDTHS[source] < WIDTHS[element]
        and source != "i1"
    )
    require(source == element or is_wider, "operands wider than the result")
    return operand.facts


def bind(letters, shape, sizes):
    """Adds the sizes of the dimensions that `letters` name to `sizes`."""
    require(len(letters) == len(shape), "a tensor of another rank")
    for letter, size in zip(letters, shape, strict=True):
        require(
            sizes.setdefault(letter, size) == size,
            "operands of different sizes",
        )


@dataclass(frozen=True)
class Product(Operation):
    """An operation of the table `PRODUCTS`. Operands: both factors, and the
    initial value.
    """

    name: str

    def infer(self, operands, context):
        left, right, init = operands
        letters, sizes = PRODUCTS[self.name], {}
        bind(letters[0], left.type.shape, sizes)
        bind(letters[1], right.type.shape, sizes)
        bind(letters[2], init.type.shape, sizes)
        element = init.type.element
        require(element != "i1", "arithmetic with booleans")
        count = prod(
            size for letter, size in sizes.items() if letter not in letters[2]
        )
        facts = multiply_accumulated(
            element,
            extended(element, left),
            extended(element, right),
            init.facts,
            count,
        )
        return known(operands, init.type, facts)

    def render(self, statement, printer):
        render_named(statement, printer, self.name, 2)


@dataclass(frozen=True)
class Convolution(Operation):
    """An operation of the table `CONVOLUTIONS`. Operands: input, filter or
    window, and the initial value.
    """

    name: str
    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    @staticmethod
    def result_shape(name, input, filter, strides, dilations):
        """The shape for so large operands, and the number of elements that are
        combined for each of the result.
        """
        letters, sizes, windows = CONVOLUTIONS[name], {}, {}
        require(
            len(input) == len(letters[0]) and len(filter) == len(letters[1]),
            "a tensor of another rank",
        )
        for letter, size in zip(letters[1], filter, strict=True):
            (windows if letter in WINDOW_DIMENSIONS else sizes)[letter] = size
        steps = dict(
            zip(windows, zip(strides, dilations, strict=True), strict=False)
        )
        for letter, size in zip(letters[0], input, strict=True):
            if letter in windows:
                stride, dilation = steps[letter]
                covered = (windows[letter] - 1) * dilation + 1
                require(
                    windows[letter] > 0 and size >= covered,
                    "a window larger than the input",
                )
                sizes[letter] = (size - covered) // stride + 1
            else:
                require(
                    sizes.setdefault(letter, size) == size,
                    "operands of different sizes",
                )
        summed = prod(windows.values()) * (
            sizes["c"] if "c" not in letters[2] else 1
        )
        return tuple(sizes[letter] for letter in letters[2]), summed

    def infer(self, operands, context):
        input, filter, init = operands
        shape, count = self.result_shape(
            self.name,
            input.type.shape,
            filter.type.shape,
            self.strides,
            self.dilations,
        )
        element = init.type.element
        require(
            init.type.shape == shape
            and 0 not in input.type.shape
            and element != "i1",
            "an initial tensor of another shape",
        )
        if self.name.startswith("pooling"):
            require(
                input.type.element == filter.type.element == element,
                "operands of different types",
            )
            combiner = {
                "sum": ("arith.addf", "arith.addi"),
                "max": ("arith.maximumf", "arith.maxsi"),
                "min": ("arith.minimumf", "arith.minsi"),
            }
            combine = combiner[self.name.rsplit("_", 1)[1]][
                domain_of(element) == "int"
            ]
            facts = combined(element, combine, input.facts, init.facts, count)
        else:
            facts = multiply_accumulated(
                element,
                extended(element, input),
                extended(element, filter),
                init.facts,
                count,
            )
        return known(operands, init.type, facts)

    def simpler(self):
        ones = tuple(1 for _ in self.strides)
        if self.strides != ones:
            yield replace(self, strides=ones)
        if self.dilations != ones:
            yield replace(self, dilations=ones)

    def render(self, statement, printer):
        def dense(numbers):
            return f"dense<{list(numbers)}> : tensor<{len(numbers)}xi64>"

        render_named(
            statement,
            printer,
            self.name,
            2,
            f" {{dilations = {dense(self.dilations)}, strides = {dense(self.strides)}}}",
        )
