"""Arithmetic."""

from operations.kernel_writer import (
    FLOAT_BINARY,
    FLOAT_INTRINSICS,
    FLOAT_UNARY,
    FLOATS,
    INTEGER_BINARY,
    INTEGER_INTRINSICS,
    INTEGERS,
    VECTORS,
    bits,
    mangled,
    splat,
)


def write_arithmetic(writer):
    for kind in INTEGERS + ["<2 x i16>", "<4 x i8>", "i128"]:
        for name in INTEGER_BINARY:
            if (
                kind == "i128"
                and "div" in name
                or kind == "i128"
                and "rem" in name
            ):
                continue

            # Defined for all operands: amounts below the width, divisors that
            # are neither 0 nor -1.
            lines = [
                f"%x = load {kind}, ptr addrspace(1) %a",
                f"%y = load {kind}, ptr addrspace(1) %b",
            ]
            if name in ("shl", "lshr", "ashr"):
                lines.append(f"%z = and {kind} %y, {splat(kind, 7)}")
            elif "div" in name or "rem" in name:
                lines += [
                    f"%w = and {kind} %y, {splat(kind, -3)}",
                    f"%z = or {kind} %w, {splat(kind, 1)}",
                ]
            else:
                lines.append(f"%z = add {kind} %y, {splat(kind, 0)}")
            writer.kernel(
                lines
                + [
                    f"%r = {name} {kind} %x, %z",
                    f"store {kind} %r, ptr addrspace(1) %out",
                ]
            )
    for kind in INTEGERS + ["<2 x i16>"]:
        for name in INTEGER_INTRINSICS:
            writer.value(
                [kind] * 2,
                kind,
                f"call {kind} @llvm.{name}.{mangled(kind)}({kind} %x, {kind} %y)",
            )
        for name in ["ctpop", "bitreverse"]:
            writer.value(
                [kind],
                kind,
                f"call {kind} @llvm.{name}.{mangled(kind)}({kind} %x)",
            )
        for name in ["ctlz", "cttz", "abs"]:
            writer.value(
                [kind],
                kind,
                f"call {kind} @llvm.{name}.{mangled(kind)}({kind} %x, i1 false)",
            )
        for name in ["fshl", "fshr"]:
            writer.value(
                [kind] * 3,
                kind,
                f"call {kind} @llvm.{name}.{mangled(kind)}({kind} %x, {kind} %y, {kind} %z)",
            )
    for kind in ["i16", "i32", "i64"]:
        writer.value([kind], kind, f"call {kind} @llvm.bswap.{kind}({kind} %x)")
    for kind in FLOATS + VECTORS:
        element = kind.strip("<>").split()[-1]
        if element not in FLOATS:
            continue
        for name in FLOAT_BINARY:
            if name == "frem" and kind.startswith("<"):
                continue
            writer.value([kind] * 2, kind, f"{name} {kind} %x, %y")
        writer.value([kind], kind, f"fneg {kind} %x")
        writer.value(
            [kind] * 3,
            kind,
            f"call {kind} @llvm.fma.{mangled(kind)}({kind} %x, {kind} %y, {kind} %z)",
        )
        writer.value(
            [kind] * 3,
            kind,
            f"call {kind} @llvm.fmuladd.{mangled(kind)}({kind} %x, {kind} %y, {kind} %z)",
        )
        for name in FLOAT_INTRINSICS:
            writer.value(
                [kind] * 2,
                kind,
                f"call {kind} @llvm.{name}.{mangled(kind)}({kind} %x, {kind} %y)",
            )
        for name in FLOAT_UNARY:
            writer.value(
                [kind],
                kind,
                f"call {kind} @llvm.{name}.{mangled(kind)}({kind} %x)",
            )
    for name in ["exp2", "sin", "cos", "tanh"]:
        for kind in ["half", "float"]:
            writer.value(
                [kind],
                kind,
                f"call afn {kind} @llvm.{name}.{mangled(kind)}({kind} %x)",
            )
    writer.value(
        ["float"], "float", "call float @llvm.nvvm.rsqrt.approx.f(float %x)"
    )
    writer.value(
        ["double"], "double", "call double @llvm.nvvm.rsqrt.approx.d(double %x)"
    )
    for name in [
        "ex2.approx.f",
        "lg2.approx.f",
        "sin.approx.f",
        "cos.approx.f",
        "ex2.approx.ftz.f",
        "rcp.approx.ftz.f",
        "sqrt.approx.f",
        "rcp.rn.f",
        "rcp.rz.f",
        "sqrt.rz.f",
        "saturate.f",
    ]:
        writer.value(
            ["float"], "float", f"call float @llvm.nvvm.{name}(float %x)"
        )
    for name in [
        "add.rz.f",
        "mul.rm.f",
        "div.rp.f",
        "div.approx.f",
        "mul.rz.ftz.f",
        "add.rn.ftz.f",
        "div.rn.ftz.f",
    ]:
        writer.value(
            ["float"] * 2,
            "float",
            f"call float @llvm.nvvm.{name}(float %x, float %y)",
        )
    for name in ["fma.rz.f", "fma.rn.ftz.f"]:
        writer.value(
            ["float"] * 3,
            "float",
            f"call float @llvm.nvvm.{name}(float %x, float %y, float %z)",
        )
    writer.value(
        ["i32"] * 3, "i32", "call i32 @llvm.nvvm.prmt(i32 %x, i32 %y, i32 %z)"
    )
    for name in ["mulhi.i", "mulhi.ui", "mul24.i"][:2]:
        writer.value(
            ["i32"] * 2, "i32", f"call i32 @llvm.nvvm.{name}(i32 %x, i32 %y)"
        )
    # Relu, a multiplication of halves of words, and a chain of logic.
    for kind in ["half", "float", "bfloat", "<2 x half>"]:
        writer.value(
            [kind],
            kind,
            f"call {kind} @llvm.maxnum.{mangled(kind)}({kind} %x, {kind} zeroinitializer)"
            if kind.startswith("<")
            else f"call {kind} @llvm.maxnum.{mangled(kind)}({kind} %x, {kind} 0.0)",
        )
    for first, second in [("and", "or"), ("xor", "and"), ("or", "xor")]:
        writer.kernel(
            [
                "%x = load i32, ptr addrspace(1) %a",
                "%y = load i32, ptr addrspace(1) %b",
                "%z = load i32, ptr addrspace(1) %c",
                f"%s = {first} i32 %x, %y",
                f"%r = {second} i32 %s, %z",
                "store i32 %r, ptr addrspace(1) %out",
            ]
        )
    for sign in "su":
        extend = "sext" if sign == "s" else "zext"
        for narrow, wide in [("i16", "i32"), ("i32", "i64"), ("i64", "i128")]:
            for shift in [0, bits(narrow)]:
                writer.kernel(
                    [
                        f"%x = load {narrow}, ptr addrspace(1) %a",
                        f"%y = load {narrow}, ptr addrspace(1) %b",
                        f"%z = load {wide}, ptr addrspace(1) %c",
                        f"%p = {extend} {narrow} %x to {wide}",
                        f"%q = {extend} {narrow} %y to {wide}",
                        f"%m = mul {wide} %p, %q",
                        f"%s = add {wide} %m, %z",
                        f"%r = lshr {wide} %s, {shift}",
                        f"store {wide} %r, ptr addrspace(1) %out",
                    ]
                )
