"""Products, convolutions, normalization, linear algebra and Fourier transforms."""

import numpy as np
from jax import lax

from operations.element_types import (
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    like,
)
from operations.emitted import emit
from operations.forms import Group, operation
from operations.special_values import numbers, random_of_shape
from operations.tolerances import ACCUMULATED

REAL = (*INTEGERS, *FLOATS)


def _small(*shapes):
    """Numbers at random: integers from -3 to 3, so that few sums overflow."""
    return lambda dtype: [
        numbers(dtype, shape, seed, -0.3, 0.3)
        if dtype.kind in "iu"
        else numbers(dtype, shape, seed, -1, 1)
        for seed, shape in enumerate(shapes)
    ]


def _ones(*shapes):
    return lambda dtype: [np.ones(shape, dtype) for shape in shapes]


def _dot(contracting, batch=((), ()), **options):
    return lambda x, y: lax.dot_general(x, y, (contracting, batch), **options)


def _algorithm(preset, dtype=np.float32):
    """A form with an algorithm; XLA's CPU backend does not have all of them, so
    NumPy is the reference.
    """
    attributes = {
        "types": (preset.name.split("_")[0].lower(),),
        "reference": lambda x, y: (
            x.astype(np.float64) @ y.astype(np.float64)
        ).astype(dtype),
    }
    return (
        f"algorithm {preset.name}",
        _dot(((1,), (0,)), precision=preset, preferred_element_type=dtype),
        attributes,
    )


MATMUL = ((1,), (0,))
ALGORITHMS = lax.DotAlgorithmPreset


def _convolution(
    strides=(1, 1), padding="VALID", layout=("NHWC", "HWIO", "NHWC"), **options
):
    return lambda x, w: lax.conv_general_dilated(
        x, w, strides, padding, dimension_numbers=layout, **options
    )


def _reversed_window(x, w):
    """A convolution proper, which JAX writes as a reversal and a correlation."""
    attributes = """
        batch_group_count = 1 : i64, feature_group_count = 1 : i64, window_reversal = array<i1: true, true>,
        dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"""
    return emit("convolution", like((2, 5, 5, 4), x.dtype), attributes)(x, w)


IMAGE, KERNEL = (2, 7, 6, 3), (3, 2, 3, 4)

PRODUCTS = Group(
    "Products and convolutions",
    "Those of f16 and bf16 accumulate in f32 and round once ([numerics](../numerics.md)).",
    [
        *operation(
            "dot",
            NUMBERS,
            _small((5, 7), (7, 3)),
            ("matrices", emit("dot", lambda x, _: like((5, 3), x.dtype))),
            tolerance=ACCUMULATED,
        ),
        *operation(
            "dot_general",
            NUMBERS,
            _small((5, 7), (7, 3)),
            ("matrices", _dot(MATMUL)),
            ("bool", _dot(MATMUL), {"types": BOOL}),
            (
                "larger than a tile",
                _dot(MATMUL),
                {"inputs": _small((67, 129), (129, 35))},
            ),
            (
                "4,096 ones",
                _dot(((1,), (1,))),
                {"types": FLOATS, "inputs": _ones((2, 4096), (3, 4096))},
            ),
            ("vectors", _dot(((0,), (0,))), {"inputs": _small((9,), (9,))}),
            (
                "matrix and vector",
                _dot(((1,), (0,))),
                {"inputs": _small((5, 7), (7,))},
            ),
            (
                "last dimensions",
                _dot(((1,), (1,))),
                {"inputs": _small((5, 7), (3, 7))},
            ),
            (
                "first dimensions",
                _dot(((0,), (0,))),
                {"inputs": _small((7, 5), (7, 3))},
            ),
            (
                "batch dimensions",
                _dot(((2,), (1,)), ((0,), (0,))),
                {"inputs": _small((3, 5, 7), (3, 7, 2))},
            ),
            (
                "batch dimensions at the end",
                _dot(((0,), (1,)), ((2,), (2,))),
                {"inputs": _small((7, 5, 3), (2, 7, 3))},
            ),
            (
                "two contracted dimensions",
                _dot(((1, 2), (0, 1))),
                {"inputs": _small((2, 3, 4), (3, 4, 5))},
            ),
            ("outer product", _dot(((), ())), {"inputs": _small((3,), (4,))}),
            (
                "a contracted dimension of size 0",
                _dot(MATMUL),
                {"inputs": _small((3, 0), (0, 4))},
            ),
            ("no elements", _dot(MATMUL), {"inputs": _small((0, 3), (3, 4))}),
            (
                "result f32",
                _dot(MATMUL, preferred_element_type=np.float32),
                {"types": ("f16", "bf16")},
            ),
            (
                "result i32",
                _dot(MATMUL, preferred_element_type=np.int32),
                {"types": ("i8", "i16")},
            ),
            (
                "precision HIGHEST",
                _dot(MATMUL, precision=lax.Precision.HIGHEST),
                {"types": FLOATS},
            ),
            _algorithm(ALGORITHMS.F32_F32_F32),
            _algorithm(ALGORITHMS.F64_F64_F64, np.float64),
            _algorithm(ALGORITHMS.F16_F16_F32),
            _algorithm(ALGORITHMS.BF16_BF16_F32),
            tolerance=ACCUMULATED,
        ),
        *operation(
            "convolution",
            REAL,
            _small(IMAGE, KERNEL),
            ("two dimensions", _convolution(), {"types": NUMBERS}),
            ("strides", _convolution((2, 3))),
            ("padding", _convolution(padding=((1, 2), (0, 3)))),
            ("negative padding", _convolution(padding=((-1, 2), (0, -1)))),
            ("same padding", _convolution((2, 2), "SAME")),
            ("window dilation", _convolution(rhs_dilation=(2, 3))),
            (
                "base dilation",
                _convolution(padding=((0, 1), (2, 0)), lhs_dilation=(2, 3)),
            ),
            (
                "feature groups",
                _convolution(feature_group_count=3),
                {"inputs": _small(IMAGE, (3, 2, 1, 6))},
            ),
            (
                "batch groups",
                _convolution(batch_group_count=2),
                {"inputs": _small(IMAGE, KERNEL)},
            ),
            ("window reversed", _reversed_window),
            (
                "channels first",
                _convolution(layout=("NCHW", "OIHW", "NCHW")),
                {"inputs": _small((2, 3, 7, 6), (4, 3, 3, 2))},
            ),
            (
                "one dimension",
                _convolution((1,), ((1, 1),), ("NWC", "WIO", "NWC")),
                {"inputs": _small((2, 9, 3), (3, 3, 4))},
            ),
            (
                "three dimensions",
                _convolution((1, 1, 1), "VALID", ("NDHWC", "DHWIO", "NDHWC")),
                {"inputs": _small((1, 4, 5, 4, 2), (2, 3, 2, 2, 3))},
            ),
            (
                "no spatial dimensions",
                _convolution(
                    (), (), lax.ConvDimensionNumbers((0, 1), (1, 0), (0, 1))
                ),
                {"inputs": _small((4, 3), (3, 5))},
            ),
            (
                "no elements",
                _convolution(),
                {"inputs": _small((0, 7, 6, 3), KERNEL)},
            ),
            (
                "result f32",
                _convolution(preferred_element_type=np.float32),
                {"types": ("f16", "bf16")},
            ),
            (
                "result i32",
                _convolution(preferred_element_type=np.int32),
                {"types": ("i8",)},
            ),
            tolerance=ACCUMULATED,
        ),
        *operation(
            "einsum",
            NUMBERS,
            _small((5, 7), (7, 3)),
            (
                "matrices",
                emit(
                    "einsum",
                    lambda x, _: like((5, 3), x.dtype),
                    'einsum_config = "ab,bc->ac"',
                ),
            ),
            tolerance=ACCUMULATED,
        ),
        *operation(
            "unary_einsum",
            NUMBERS,
            _small((5, 7)),
            (
                "sum of rows",
                emit(
                    "unary_einsum",
                    lambda x: like((5,), x.dtype),
                    'einsum_config = "ab->a"',
                ),
            ),
            tolerance=ACCUMULATED,
            reference=lambda x: (
                x.astype(np.float64).sum(axis=1).astype(x.dtype)
            ),
        ),
    ],
)


def _batch_norm(kind):
    attributes = "epsilon = 1.000000e-03 : f32, feature_index = 1 : i64"

    def results(x, scale, *_):
        return x if kind == "inference" else [x, scale, scale]

    return emit(f"batch_norm_{kind}", results, attributes)


def _normalized(*shapes):
    """Arrays of these shapes, positive as variances are."""
    return lambda dtype: [
        numbers(dtype, shape, seed, 0.5, 2) for seed, shape in enumerate(shapes)
    ]


NORMALIZATION = Group(
    "Normalization",
    "",
    [
        *operation(
            "batch_norm_grad",
            FLOATS,
            _normalized((6, 3), (3,), (3,), (3,), (6, 3)),
            ("all", _batch_norm("grad")),
            tolerance=ACCUMULATED,
        ),
        *operation(
            "batch_norm_inference",
            FLOATS,
            _normalized((6, 3), (3,), (3,), (3,), (3,)),
            ("all", _batch_norm("inference")),
            tolerance=ACCUMULATED,
        ),
        *operation(
            "batch_norm_training",
            FLOATS,
            _normalized((6, 3), (3,), (3,)),
            ("all", _batch_norm("training")),
            tolerance=ACCUMULATED,
        ),
    ],
)


def _definite(dtype):
    """A symmetric matrix with positive eigenvalues."""
    root = numbers(np.dtype(np.float64), (4, 4))
    return [(root @ root.T + 4 * np.eye(4)).astype(dtype)]


def _triangular(dtype):
    return [np.tril(_definite(dtype)[0]), numbers(dtype, (4, 2))]


def _fft(kind, length=8):
    return lambda x: lax.fft(x, kind, (length,))


LINEAR_ALGEBRA = Group(
    "Linear algebra and Fourier transforms",
    "",
    [
        *operation(
            "cholesky",
            ("f32", "f64", *COMPLEX),
            _definite,
            ("lower", lambda x: lax.linalg.cholesky(x)),
            tolerance=ACCUMULATED,
        ),
        *operation(
            "triangular_solve",
            ("f32", "f64", *COMPLEX),
            _triangular,
            (
                "lower, from the left",
                lambda a, b: lax.linalg.triangular_solve(
                    a, b, left_side=True, lower=True
                ),
            ),
            tolerance=ACCUMULATED,
        ),
        *operation(
            "fft",
            COMPLEX,
            random_of_shape((3, 8)),
            ("FFT", _fft(lax.FftType.FFT)),
            ("IFFT", _fft(lax.FftType.IFFT), {"types": COMPLEX}),
            ("RFFT", _fft(lax.FftType.RFFT), {"types": ("f32", "f64")}),
            ("IRFFT", _fft(lax.FftType.IRFFT, 14), {"types": COMPLEX}),
            tolerance=ACCUMULATED,
        ),
    ],
)
