"""Conversions and comparisons."""

import re

from operations.kernel_writer import (
    FLOAT_COMPARE,
    FLOATS,
    INTEGER_COMPARE,
    INTEGERS,
    bits,
    mangled,
)


def write_conversions(writer):
    for source in INTEGERS:
        for target in INTEGERS:
            if bits(target) < bits(source):
                writer.value([source], target, f"trunc {source} %x to {target}")
            elif bits(target) > bits(source):
                for name in ["sext", "zext"]:
                    writer.value(
                        [source], target, f"{name} {source} %x to {target}"
                    )
        for target in FLOATS:
            for name in ["sitofp", "uitofp"]:
                writer.value(
                    [source], target, f"{name} {source} %x to {target}"
                )
            for name in ["fptosi", "fptoui"]:
                writer.value(
                    [target], source, f"{name} {target} %x to {source}"
                )
                writer.value(
                    [target],
                    source,
                    f"call {source} @llvm.{name}.sat.{source}.{mangled(target)}({target} %x)",
                )
    for source in FLOATS:
        for target in FLOATS:
            if bits(target) < bits(source):
                writer.value(
                    [source], target, f"fptrunc {source} %x to {target}"
                )
            elif bits(target) > bits(source):
                writer.value([source], target, f"fpext {source} %x to {target}")
    writer.kernel(
        [
            "%x = load i8, ptr addrspace(1) %a",
            "%p = trunc i8 %x to i1",
            "%r = uitofp i1 %p to float",
            "store float %r, ptr addrspace(1) %out",
        ]
    )
    for vector in ["<2 x half>", "<2 x bfloat>", "<4 x half>"]:
        wide = re.sub("half|bfloat", "float", vector)
        writer.value([wide], vector, f"fptrunc {wide} %x to {vector}")
        writer.value([vector], wide, f"fpext {vector} %x to {wide}")
    for name in ["f2i.rn", "f2i.rm", "f2ui.rp", "f2i.rz.ftz"]:
        writer.value(["float"], "i32", f"call i32 @llvm.nvvm.{name}(float %x)")
    for name in ["d2f.rz", "d2f.rn.ftz", "d2f.rp"]:
        writer.value(
            ["double"], "float", f"call float @llvm.nvvm.{name}(double %x)"
        )
    for name in ["i2f.rz", "ui2f.rp"]:
        writer.value(["i32"], "float", f"call float @llvm.nvvm.{name}(i32 %x)")
    writer.value(
        ["float"] * 2,
        "<2 x half>",
        "call <2 x half> @llvm.nvvm.ff2f16x2.rn.relu(float %x, float %y)",
    )
    writer.value(
        ["float"] * 2,
        "<2 x bfloat>",
        "call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rz(float %x, float %y)",
    )


def write_comparisons(writer):
    for kind in INTEGERS:
        for name in INTEGER_COMPARE:
            writer.kernel(
                [
                    f"%x = load {kind}, ptr addrspace(1) %a",
                    f"%y = load {kind}, ptr addrspace(1) %b",
                    f"%p = icmp {name} {kind} %x, %y",
                    f"%r = select i1 %p, {kind} %x, {kind} %y",
                    f"store {kind} %r, ptr addrspace(1) %out",
                ]
            )
    for kind in FLOATS + ["<2 x half>", "<2 x bfloat>"]:
        condition = "<2 x i1>" if kind.startswith("<") else "i1"
        for name in FLOAT_COMPARE:
            writer.kernel(
                [
                    f"%x = load {kind}, ptr addrspace(1) %a",
                    f"%y = load {kind}, ptr addrspace(1) %b",
                    f"%p = fcmp {name} {kind} %x, %y",
                    f"%r = select {condition} %p, {kind} %x, {kind} %y",
                    f"store {kind} %r, ptr addrspace(1) %out",
                ]
            )
    for name in ["and", "or", "xor"]:
        writer.kernel(
            [
                "%x = load float, ptr addrspace(1) %a",
                "%y = load i32, ptr addrspace(1) %b",
                "%p = fcmp olt float %x, 1.0",
                "%q = icmp eq i32 %y, 3",
                f"%s = {name} i1 %p, %q",
                "%t = xor i1 %s, true",
                "%r = zext i1 %t to i8",
                "store i8 %r, ptr addrspace(1) %out",
            ]
        )
    for mask in [3, 0x1F8, 0x204, 0x90, 0x108, 0x3FC, 0x60]:
        for kind in ["float", "double", "half"]:
            writer.kernel(
                [
                    f"%x = load {kind}, ptr addrspace(1) %a",
                    f"%p = call i1 @llvm.is.fpclass.{mangled(kind)}({kind} %x, i32 {mask})",
                    "%r = sext i1 %p to i32",
                    "store i32 %r, ptr addrspace(1) %out",
                ]
            )
