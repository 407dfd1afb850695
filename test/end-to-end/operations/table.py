"""All operations that are tried, in the order of the reference page."""

import inspect

from jaxlib.mlir.dialects import _stablehlo_ops_gen

from operations.communication import COLLECTIVES, HOST, RANDOM
from operations.control_flow import CONTROL_FLOW, GROUPING
from operations.conversions import CONVERSIONS
from operations.dynamic_shapes import DYNAMIC, QUANTIZATION
from operations.elementwise import BINARY, SELECTION, UNARY
from operations.functions import FUNCTIONS
from operations.indexing import INDEXING
from operations.movement import CONSTANTS, SHAPES
from operations.products import LINEAR_ALGEBRA, NORMALIZATION, PRODUCTS
from operations.reductions import REDUCTIONS

GROUPS = [
    CONSTANTS,
    UNARY,
    BINARY,
    SELECTION,
    CONVERSIONS,
    SHAPES,
    INDEXING,
    REDUCTIONS,
    PRODUCTS,
    NORMALIZATION,
    LINEAR_ALGEBRA,
    CONTROL_FLOW,
    RANDOM,
    COLLECTIVES,
    HOST,
    GROUPING,
    DYNAMIC,
    QUANTIZATION,
    FUNCTIONS,
]


def all_operations():
    """The names of all operations that jaxlib's StableHLO dialect has."""
    classes = vars(_stablehlo_ops_gen).values()
    return {
        c.OPERATION_NAME
        for c in classes
        if inspect.isclass(c) and hasattr(c, "OPERATION_NAME")
    }
