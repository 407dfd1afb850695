"""Runs mathematical functions and conversions as compiled code, and compares
them with NumPy, on every target of this machine.
"""

import numpy as np
import pytest

import kernels
from kernels import LEVELS, tensor

TARGETS = kernels.all_targets()
RANDOM = np.random.default_rng(0)


FUNCTIONS = {
    "exp": (np.exp, -80, 80),
    "log": (np.log, 1e-6, 1e6),
    "tanh": (np.tanh, -10, 10),
    "sin": (np.sin, -1e4, 1e4),
    "cos": (np.cos, -1e4, 1e4),
    "log1p": (np.log1p, -0.9, 100),
    "expm1": (np.expm1, -5, 5),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-3, 1e3),
    "sqrt": (np.sqrt, 0, 1e3),
    "cbrt": (np.cbrt, -1e3, 1e3),
    "atan": (np.arctan, -10, 10),
    "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), -100, 100),
}


@pytest.mark.parametrize(
    "element, dtype, units",
    [("f32", np.float32, 4), ("f64", np.float64, 4), ("f16", np.float16, 1)],
)
def test_functions_are_exact_to_a_few_units_in_the_last_place(
    element, dtype, units
):
    text = ""
    for name in FUNCTIONS:
        t = tensor(5000, element=element)
        text += f"""device.kernel @{name}(%x: {t}) -> {t} {{
  %e = tensor.empty() : {t}
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x : {t}) outs(%e : {t}) {{
  ^bb0(%a: {element}, %b: {element}):
    %0 = math.{name} %a : {element}
    linalg.yield %0 : {element}
  }} -> {t}
  device.yield %r : {t}
}}
"""
    module = kernels.Module(text)
    for name, (reference, low, high) in FUNCTIONS.items():
        if element == "f16":
            low, high = max(low, -10), min(high, 10)
        x = np.linspace(low, high, 5000).astype(dtype)
        exact = reference(x.astype(np.longdouble))
        for target in TARGETS:
            error = np.abs(
                module[target][name](x).astype(np.longdouble) - exact
            ) / np.spacing(np.abs(exact).astype(dtype)).astype(np.longdouble)
            assert np.nanmax(error) <= units, (
                name,
                target,
                x[np.nanargmax(error)],
            )


def functions(element, body, count, size, before=""):
    """One kernel `f` of `count` vectors, element by element."""
    t = tensor(size, element=element)
    arguments = ", ".join(f"%x{i}: {t}" for i in range(count))
    inputs, types = (
        ", ".join(f"%x{i}" for i in range(count)),
        ", ".join([t] * count),
    )
    maps = ", ".join(["affine_map<(i) -> (i)>"] * (count + 1))
    scalars = ", ".join(f"%a{i}: {element}" for i in range(count))
    return kernels.Module(f"""device.kernel @f({arguments}) -> {t} {{
  %e = tensor.empty() : {t}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}} ins({inputs} : {types}) outs(%e : {t}) {{
  ^bb0({scalars}, %o: {element}):
    {before}
    %0 = {body}
    linalg.yield %0 : {element}
  }} -> {t}
  device.yield %r : {t}
}}
""")


def units(found, exact, dtype):
    """The error in units in the last place."""
    spacing = np.spacing(np.abs(exact).astype(dtype)).astype(np.longdouble)
    return np.abs(found.astype(np.longdouble) - exact) / spacing


def test_exp_has_results_below_the_normal_numbers():
    x = np.linspace(-104, -86, 5000).astype(np.float32)
    x[:4] = -np.inf, -1e30, -110, np.nan
    exact = np.exp(x.astype(np.longdouble))
    assert (exact[np.isfinite(x)] < np.finfo(np.float32).tiny).sum() > 4000
    module = functions("f32", "math.exp %a0 : f32", 1, x.size)
    for target in TARGETS:
        found = module[target]["f"](x)
        np.testing.assert_array_equal(found[:3], 0)
        assert np.isnan(found[3])
        assert units(found[4:], exact[4:], np.float32).max() <= 2


def test_powers_are_exact_to_two_units_in_the_last_place():
    x = np.exp(RANDOM.uniform(-40, 40, 20000))
    # Powers all over the range of f64, of numbers far from 1 and near to it.
    x[::2] = 1 + RANDOM.uniform(-1e-3, 1e-3, 10000)
    y = RANDOM.uniform(-700, 700, x.size) / np.log(x)
    exact = np.power(x.astype(np.longdouble), y)
    module = functions("f64", "math.powf %a0, %a1 : f64", 2, x.size)
    for target in TARGETS:
        assert units(module[target]["f"](x, y), exact, np.float64).max() <= 2


@pytest.mark.parametrize(
    "element, dtype, largest",
    [("f32", np.float32, 127), ("f64", np.float64, 1023)],
)
@pytest.mark.parametrize(
    "name, reference", [("sin", np.sin), ("cos", np.cos), ("tan", np.tan)]
)
def test_angles_of_any_size(name, reference, element, dtype, largest):
    x = np.ldexp(
        RANDOM.uniform(-2, 2, 20000), RANDOM.integers(-2, largest, 20000)
    ).astype(dtype)
    # The number of f64 that is nearest to a multiple of pi/2; and vectors of
    # which only one number is large.
    x[0] = np.ldexp(6381956970095103.0, 797 if dtype == np.float64 else 60)
    x[-4000:] = RANDOM.uniform(-10, 10, 4000)
    x[-4000::50] = np.finfo(dtype).max
    exact = reference(x.astype(np.longdouble))
    module = functions(element, f"math.{name} %a0 : {element}", 1, x.size)
    for target in TARGETS:
        error = units(module[target]["f"](x), exact, dtype)
        assert error.max() <= (4 if dtype == np.float64 else 1), (
            target,
            x[error.argmax()],
        )


SPECIAL = [
    0,
    -0.0,
    1,
    -1,
    2,
    -2,
    0.5,
    -0.5,
    3,
    -3,
    1e30,
    -1e30,
    1e-30,
    np.inf,
    -np.inf,
    np.nan,
]


@pytest.mark.parametrize(
    "element, dtype", [("f32", np.float32), ("f64", np.float64)]
)
@pytest.mark.parametrize(
    "name, reference", [("atan2", np.arctan2), ("powf", np.power)]
)
def test_functions_of_two_special_numbers(name, reference, element, dtype):
    x, y = (
        grid.ravel()
        for grid in np.meshgrid(
            np.array(SPECIAL, dtype), np.array(SPECIAL, dtype)
        )
    )
    with np.errstate(all="ignore"):
        expected = reference(x, y)
    module = functions(element, f"math.{name} %a0, %a1 : {element}", 2, x.size)
    for target in TARGETS:
        found = module[target]["f"](x, y)
        np.testing.assert_allclose(
            found, expected, rtol=4 * np.finfo(dtype).eps, atol=0
        )
        np.testing.assert_array_equal(
            np.signbit(found[expected == 0]),
            np.signbit(expected[expected == 0]),
        )


@pytest.mark.parametrize(
    "element, dtype", [("f32", np.float32), ("f64", np.float64)]
)
@pytest.mark.parametrize(
    "name", ["sin", "tan", "log1p", "cbrt", "atan", "tanh", "expm1"]
)
def test_functions_keep_the_sign_of_zero(name, element, dtype):
    module = functions(element, f"math.{name} %a0 : {element}", 1, 2)
    for target in TARGETS:
        found = module[target]["f"](np.array([0.0, -0.0], dtype))
        np.testing.assert_array_equal(found, 0)
        np.testing.assert_array_equal(np.signbit(found), [False, True])


@pytest.mark.parametrize(
    "element, dtype", [("f32", np.float32), ("f64", np.float64)]
)
@pytest.mark.parametrize(
    "name, reference", [("maximumf", np.maximum), ("minimumf", np.minimum)]
)
def test_the_greater_of_two_zeros_has_no_sign(name, reference, element, dtype):
    numbers = np.array(SPECIAL, dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    expected = reference(x, y)
    zeros = (x == 0) & (y == 0)
    both, either = np.signbit(x) & np.signbit(y), np.signbit(x) | np.signbit(y)
    module = functions(element, f"arith.{name} %a0, %a1 : {element}", 2, x.size)
    for target in TARGETS:
        found = module[target]["f"](x, y)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(
            np.signbit(found[zeros]),
            (both if name == "maximumf" else either)[zeros],
        )


def test_conversions_round_once():
    text = """device.kernel @narrow(%x: tensor<1000xf64>) -> tensor<1000xf16> {
  %e = tensor.empty() : tensor<1000xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<1000xf64>) outs(%e : tensor<1000xf16>) {
  ^bb0(%a: f64, %b: f16):
    %0 = arith.truncf %a : f64 to f16
    linalg.yield %0 : f16
  } -> tensor<1000xf16>
  device.yield %r : tensor<1000xf16>
}
"""
    x = RANDOM.standard_normal(1000)
    x[:4] = [1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40, 1e300, 1 + 2**-11]
    module = kernels.Module(text)
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    for target in TARGETS:
        np.testing.assert_array_equal(module[target]["narrow"](x), expected)


INTEGERS = [0, 1, -1, 2, -7, 5, 63, 64, 100, -(2**31), 2**31 - 1]


def test_integer_operations_are_defined_for_all_operands():
    """Division by zero and of the least number by -1, and shifts by the width
    or more.
    """
    x, y = (
        grid.ravel().astype(np.int32)
        for grid in np.meshgrid(INTEGERS, INTEGERS)
    )
    a, b, unsigned = (
        x.astype(np.int64),
        y.astype(np.int64),
        y.view(np.uint32).astype(np.int64),
    )
    safe = np.where(b == 0, 1, b)
    quotient = (np.abs(a) // np.abs(safe)) * np.sign(a) * np.sign(safe)
    in_range = unsigned < 32
    amount = np.where(in_range, unsigned, 0)
    bits = a & 0xFFFFFFFF
    expected = {
        "divsi": np.where(b == 0, -1, quotient),
        "remsi": np.where(b == 0, a, a - quotient * safe),
        "divui": np.where(b == 0, -1, bits // np.where(b == 0, 1, unsigned)),
        "remui": np.where(b == 0, bits, bits % np.where(b == 0, 1, unsigned)),
        "shli": np.where(in_range, bits << amount, 0),
        "shrui": np.where(in_range, bits >> amount, 0),
        "shrsi": np.where(in_range, a >> amount, np.where(a < 0, -1, 0)),
    }
    for name, wide in expected.items():
        module = functions("i32", f"arith.{name} %a0, %a1 : i32", 2, x.size)
        for target in TARGETS:
            np.testing.assert_array_equal(
                module[target]["f"](x, y),
                wide.astype(np.uint32).view(np.int32),
                err_msg=name,
            )


@pytest.mark.parametrize(
    "element, dtype",
    [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)],
)
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("sign", ["s", "u"])
@pytest.mark.parametrize("level", LEVELS)
def test_conversions_to_integers_saturate(level, sign, bits, element, dtype):
    limits = np.iinfo(f"{'int' if sign == 's' else 'uint'}{bits}")
    numbers = [
        0.0,
        -0.0,
        0.9,
        -0.9,
        1.5,
        -1.5,
        100.7,
        -100.7,
        2.0**7,
        2.0**8,
        2.0**31,
        -(2.0**31),
        2.0**32,
        2.0**63,
        -(2.0**63),
        2.0**64,
        1e30,
    ]
    with np.errstate(over="ignore"):
        x = np.array(
            [*numbers, -1e30, np.inf, -np.inf, np.nan] * 3, np.float64
        ).astype(dtype)
    expected = [
        0
        if np.isnan(v)
        else limits.max
        if v >= limits.max
        else limits.min
        if v <= limits.min
        else int(v)
        for v in x.tolist()
    ]
    a, r = tensor(x.size, element=element), tensor(x.size, element=f"i{bits}")
    module = kernels.Module(
        f"""device.kernel @f(%x: {a}) -> {r} {{
  %e = tensor.empty() : {r}
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x : {a}) outs(%e : {r}) {{
  ^bb0(%a: {element}, %o: i{bits}):
    %0 = arith.fpto{sign}i %a : {element} to i{bits}
    linalg.yield %0 : i{bits}
  }} -> {r}
  device.yield %r : {r}
}}
""",
        level=level,
    )
    for target in TARGETS:
        np.testing.assert_array_equal(
            module[target]["f"](x).view(limits.dtype),
            np.array(expected, limits.dtype),
        )


@pytest.mark.parametrize(
    "element, dtype", [("f32", np.float32), ("f64", np.float64)]
)
def test_remainders_of_floats_are_exact(element, dtype):
    numbers = np.array(
        [
            0,
            -0.0,
            1,
            -1,
            0.3,
            -0.7,
            1e30,
            -1e30,
            1e-30,
            np.finfo(dtype).tiny / 8,
            5,
            3,
            np.inf,
            -np.inf,
            np.nan,
        ],
        dtype,
    )
    x, y = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    x = np.concatenate([x, np.exp(RANDOM.uniform(-60, 60, 2000)).astype(dtype)])
    y = np.concatenate([y, np.exp(RANDOM.uniform(-60, 60, 2000)).astype(dtype)])
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    module = functions(element, f"arith.remf %a0, %a1 : {element}", 2, x.size)
    for target in TARGETS:
        np.testing.assert_array_equal(module[target]["f"](x, y), expected)


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    "element, dtype",
    [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)],
)
def test_signs_of_computed_numbers(element, dtype, size):
    """LLVM takes the sign of a number before it is rounded, for which it calls
    a function where that is an f64; of variables and of constants."""
    x, y = (RANDOM.uniform(-10, 10, size).astype(dtype) for _ in range(2))
    if size > 7:
        x[:7] = 0, -0.0, np.inf, -np.inf, np.nan, 1, -1
    sign = np.sin(np.sin(y))
    for magnitude, expected in ("%a0", x), ("%two", np.full_like(x, 2)):
        expected = np.copysign(expected, sign)
        module = functions(
            element,
            f"math.copysign {magnitude}, %c : {element}",
            2,
            x.size,
            before=f"""%two = arith.constant 2.0 : {element}
    %s = math.sin %a1 : {element}
    %c = math.sin %s : {element}""",
        )
        for target in TARGETS:
            found = module[target]["f"](x, y)
            np.testing.assert_array_equal(found, expected)
            is_number = ~np.isnan(expected)
            np.testing.assert_array_equal(
                np.signbit(found)[is_number], np.signbit(expected)[is_number]
            )
