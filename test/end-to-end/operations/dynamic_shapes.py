"""Operations on shapes that are known at run time only, and on quantized
numbers.
"""

import numpy as np

from operations.element_types import like
from operations.emitted import emit, emit_body
from operations.forms import Group, operation
from operations.special_values import distinct

F32 = ("f32",)


def _with(shape, *others):
    """An array of this shape and others, integers of which are i64."""
    return lambda dtype: [
        distinct(dtype, shape),
        *(
            np.asarray(other, dtype if isinstance(other, float) else np.int64)
            for other in others
        ),
    ]


def _of(*shape):
    return lambda first, *_: like(shape, first.dtype)


GATHER = "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
CONVOLUTION = "batch_group_count = 1 : i64, feature_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"


def _convolved(dtype):
    return [
        distinct(dtype, (1, 5, 1)),
        distinct(dtype, (3, 1, 1)),
        np.array([[1, 1]]),
    ]


DYNAMIC = Group(
    "Dynamic shapes",
    "JAX makes them of programs with symbolic dimensions only, which a step cannot have. Sizes are operands here; results are of static shape.",
    [
        *operation(
            "dynamic_broadcast_in_dim",
            F32,
            _with((3,), [2, 3]),
            (
                "static result",
                emit(
                    "dynamic_broadcast_in_dim",
                    _of(2, 3),
                    "broadcast_dimensions = array<i64: 1>",
                ),
            ),
        ),
        *operation(
            "dynamic_conv",
            F32,
            _convolved,
            ("static result", emit("dynamic_conv", _of(1, 5, 1), CONVOLUTION)),
        ),
        *operation(
            "dynamic_gather",
            F32,
            _with((3, 4), [[1], [2]], [1, 4]),
            (
                "static result",
                emit(
                    "dynamic_gather", _of(2, 4), f"dimension_numbers = {GATHER}"
                ),
            ),
        ),
        *operation(
            "dynamic_iota",
            F32,
            lambda dtype: [np.array([4])],
            (
                "static result",
                emit(
                    "dynamic_iota",
                    like((4,), np.float32),
                    "iota_dimension = 0 : i64",
                ),
            ),
        ),
        *operation(
            "dynamic_pad",
            F32,
            _with((3,), 0.0, [1], [1], [0]),
            ("static result", emit("dynamic_pad", _of(5))),
        ),
        *operation(
            "dynamic_reshape",
            F32,
            _with((3, 4), [4, 3]),
            ("static result", emit("dynamic_reshape", _of(4, 3))),
        ),
        *operation(
            "get_dimension_size",
            F32,
            _with((3, 4)),
            (
                "static size",
                emit(
                    "get_dimension_size",
                    like((), np.int32),
                    "dimension = 1 : i64",
                ),
            ),
        ),
        *operation(
            "real_dynamic_slice",
            F32,
            _with((5,), [1], [4], [1]),
            (
                "static result",
                emit("real_dynamic_slice", _of(3)),
                {"reference": lambda x, *_: x[1:4]},
            ),
        ),
        *operation(
            "set_dimension_size",
            F32,
            lambda dtype: [distinct(dtype, (5,)), np.array(3, np.int32)],
            (
                "size from an operand",
                emit("set_dimension_size", _of(5), "dimension = 0 : i64"),
            ),
        ),
    ],
)

_QUANTIZED = "tensor<5x!quant.uniform<i8:f32, 5.000000e-01>>"
_ROUND_TRIP = f'%q = "stablehlo.uniform_quantize"(%a0) : (T) -> {_QUANTIZED} %r = "stablehlo.uniform_dequantize"(%q) : ({_QUANTIZED}) -> T'

QUANTIZATION = Group(
    "Quantization",
    "JAX has no quantized types: jaxlib itself refuses operations on them.",
    [
        form
        for name in ("uniform_dequantize", "uniform_quantize")
        for form in operation(
            name,
            F32,
            _with((5,)),
            (
                "per tensor",
                emit_body(name, _of(5), _ROUND_TRIP),
                {"error": "quant"},
            ),
        )
    ],
)
