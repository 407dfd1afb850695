"""Writes LLVM IR with a kernel for each operation that loop code may have.

llc makes PTX of it for several targets, which the stand-in has to load and
execute: no instruction may be unknown. With --host, writes the same kernels as
functions for the host, without those that only a GPU has or whose results are
approximations; their results have to be equal.

Usage: generate_operations.py [--host] > out.ll
"""

import re
import sys

INTEGERS = ["i8", "i16", "i32", "i64"]
FLOATS = ["half", "bfloat", "float", "double"]
VECTORS = [
    "<2 x half>",
    "<2 x bfloat>",
    "<2 x i16>",
    "<4 x i8>",
    "<2 x float>",
    "<4 x float>",
    "<4 x i32>",
    "<8 x half>",
    "<2 x double>",
    "<2 x i64>",
    "<8 x float>",
]

INTEGER_BINARY = [
    "add",
    "sub",
    "mul",
    "sdiv",
    "udiv",
    "srem",
    "urem",
    "and",
    "or",
    "xor",
    "shl",
    "lshr",
    "ashr",
]
INTEGER_INTRINSICS = [
    "smin",
    "smax",
    "umin",
    "umax",
    "sadd.sat",
    "ssub.sat",
    "uadd.sat",
    "usub.sat",
]
FLOAT_BINARY = [
    "fadd",
    "fsub",
    "fmul",
    "fdiv",
    "fadd contract",
    "fmul contract",
    "fdiv fast",
    "frem",
]
FLOAT_INTRINSICS = [
    "minnum",
    "maxnum",
    "minimum",
    "maximum",
    "minimumnum",
    "maximumnum",
    "copysign",
]
FLOAT_UNARY = [
    "fabs",
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "nearbyint",
    "roundeven",
    "round",
]
INTEGER_COMPARE = [
    "eq",
    "ne",
    "slt",
    "sle",
    "sgt",
    "sge",
    "ult",
    "ule",
    "ugt",
    "uge",
]
FLOAT_COMPARE = [
    "oeq",
    "one",
    "olt",
    "ole",
    "ogt",
    "oge",
    "ueq",
    "une",
    "ult",
    "ule",
    "ugt",
    "uge",
    "ord",
    "uno",
]
ATOMICS = [
    "add",
    "sub",
    "and",
    "or",
    "xor",
    "max",
    "min",
    "umax",
    "umin",
    "xchg",
    "uinc_wrap",
    "udec_wrap",
    "nand",
]


def mangled(type_name):
    if type_name.startswith("<"):
        count, _, element = type_name[1:-1].split()
        return f"v{count}{mangled(element)}"
    return {
        "half": "f16",
        "bfloat": "bf16",
        "float": "f32",
        "double": "f64",
    }.get(type_name, type_name)


def bits(type_name):
    return {"half": 16, "bfloat": 16, "float": 32, "double": 64}.get(
        type_name
    ) or int(type_name[1:])


def splat(kind, number):
    if not kind.startswith("<"):
        return number
    return f"splat ({kind.split()[-1].strip('>')} {number})"


class Writer:
    def __init__(self, is_host):
        self.kernels = 0
        self.is_host = is_host
        if is_host:
            return
        print('target triple = "nvptx64-nvidia-cuda"')
        print(
            "@table = addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4]"
        )
        print(
            "@pointer = addrspace(1) global ptr addrspacecast (ptr "
            "addrspace(1) getelementptr (i8, ptr addrspace(1) @table, "
            "i64 4) to ptr)"
        )
        print(
            "@constants = addrspace(4) constant [4 x float] "
            "[float 1.0, float 2.0, float 3.0, float 4.0]"
        )
        print(
            "@mixed = addrspace(1) global { i8, ptr, double } { i8 7, ptr "
            "addrspacecast (ptr addrspace(1) @table to ptr), double 2.5 }"
        )
        print(
            "@tile = internal addrspace(3) global [64 x float] undef, align 16"
        )
        print("declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()")

    def kernel(self, lines):
        """A kernel with %a, %b, %c and %out, each a pointer to 4 KiB."""
        self.kernels += 1
        if self.is_host:
            self.host_function(lines)
            return
        print(
            f"define ptx_kernel void @k{self.kernels}(ptr addrspace(1) %a, "
            "ptr addrspace(1) %b, ptr addrspace(1) %c, "
            "ptr addrspace(1) %out) {"
        )
        for line in lines:
            print("  " + line)
        print("  ret void\n}")

    def host_function(self, lines):
        text = "\n  ".join(lines)
        if re.search(
            r"nvvm|afn|fast|@tile|@pointer|fence|contract|fmuladd|frem", text
        ):
            return
        # Results are poison out of range, and either zero.
        if re.search(r"= fpto[su]i|minnum|maxnum|fmax|fmin", text):
            return
        text = re.sub(
            r" addrspace\(1\)|\.p1|syncscope\(\S*\) ",
            lambda match: ".p0" if match[0] == ".p1" else "",
            text,
        )
        print(
            f"define void @k{self.kernels}(ptr %a, ptr %b, ptr %c, ptr %out)"
            f" {{\n  {text}\n  ret void\n}}"
        )

    def value(self, operand_types, result_type, operation):
        """A kernel that stores the result of an operation of %x, %y, %z."""
        lines = []
        for name, pointer, kind in zip(
            "xyz", "abc", operand_types, strict=False
        ):
            lines.append(f"%{name} = load {kind}, ptr addrspace(1) %{pointer}")
        lines.append(f"%r = {operation}")
        lines.append(f"store {result_type} %r, ptr addrspace(1) %out")
        self.kernel(lines)


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


def write_memory(writer):
    for kind in (
        INTEGERS + FLOATS + VECTORS + ["i128", "<3 x float>", "<16 x i8>"]
    ):
        writer.kernel(
            [
                f"%x = load {kind}, ptr addrspace(1) %a, align 32",
                f"store {kind} %x, ptr addrspace(1) %out, align 32",
            ]
        )
        writer.kernel(
            [
                f"%x = load {kind}, ptr addrspace(1) %a, align 32, !invariant.load !{{}}",
                f"store {kind} %x, ptr addrspace(1) %out, align 32",
            ]
        )
        writer.kernel(
            [
                f"%s = alloca [8 x {kind}], align 32",
                "%n = load i32, ptr addrspace(1) %b",
                "%i = and i32 %n, 7",
                f"%x = load {kind}, ptr addrspace(1) %a, align 32",
                f"%p = getelementptr {kind}, ptr %s, i32 %i",
                f"store volatile {kind} %x, ptr %p",
                f"%y = load volatile {kind}, ptr %p",
                f"store {kind} %y, ptr addrspace(1) %out, align 32",
            ]
        )
    for kind in ["i16", "i32", "i64", "float"]:
        for order in ["monotonic", "acquire"]:
            writer.kernel(
                [
                    f"%x = load atomic {kind}, ptr addrspace(1) %a {order}, align 8",
                    f"store atomic {kind} %x, ptr addrspace(1) %out "
                    f"{order.replace('acquire', 'release')}, align 8",
                ]
            )
    writer.kernel(
        [
            "%x = load volatile i32, ptr addrspace(1) %a",
            "store volatile i32 %x, ptr addrspace(1) %out",
        ]
    )
    for kind in ["i32", "i64", "i16", "i8"]:
        for name in ATOMICS:
            writer.value(
                [kind],
                kind,
                f"atomicrmw {name} ptr addrspace(1) %b, {kind} %x monotonic",
            )
            if name in ("add", "max", "xchg"):
                writer.value(
                    [kind],
                    kind,
                    f'atomicrmw {name} ptr addrspace(1) %b, {kind} %x syncscope("device") seq_cst',
                )
                writer.kernel(
                    [
                        f"%x = load {kind}, ptr addrspace(1) %a",
                        f"%r = atomicrmw {name} ptr addrspace(3) @tile, {kind} %x monotonic",
                    ]
                )
        writer.kernel(
            [
                f"%x = load {kind}, ptr addrspace(1) %a",
                f"%r = cmpxchg ptr addrspace(1) %b, {kind} %x, {kind} 3 seq_cst seq_cst",
                f"%s = extractvalue {{ {kind}, i1 }} %r, 0",
                f"store {kind} %s, ptr addrspace(1) %out",
            ]
        )
    for kind in FLOATS + ["<2 x half>", "<2 x bfloat>"]:
        for name in ["fadd", "fmax", "fmin", "fsub"]:
            writer.kernel(
                [
                    f"%x = load {kind}, ptr addrspace(1) %a",
                    f"%r = atomicrmw {name} ptr addrspace(1) %b, {kind} %x monotonic, align {4 if kind[0] == '<' else bits(kind) // 8}",
                ]
            )
    for scope in ["", 'syncscope("device") ', 'syncscope("block") ']:
        for order in ["seq_cst", "acq_rel", "acquire", "release"]:
            writer.kernel([f"fence {scope}{order}"])
    writer.kernel(
        [
            "%p = load ptr, ptr addrspace(1) @pointer",
            "%x = load i32, ptr %p",
            "%g = getelementptr {i8, ptr, double}, ptr addrspace(1) @mixed, i32 0, i32 1",
            "%q = load ptr, ptr addrspace(1) %g",
            "%y = load i32, ptr %q",
            "%i = and i32 %y, 3",
            "%h = getelementptr float, ptr addrspace(4) @constants, i32 %i",
            "%f = load float, ptr addrspace(4) %h",
            "%s = add i32 %x, %y",
            "%t = sitofp i32 %s to float",
            "%r = fadd float %f, %t",
            "store float %r, ptr addrspace(1) %out",
        ]
    )
    # Memory that is moved, and vectors at places that are computed.
    writer.kernel(
        [
            "call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %out, ptr addrspace(1) %a, i64 64, i1 false)",
            "call void @llvm.memset.p1.i64(ptr addrspace(1) %out, i8 3, i64 100, i1 false)",
        ]
    )
    writer.kernel(
        [
            "%n = load i64, ptr addrspace(1) %b",
            "%m = and i64 %n, 255",
            "call void @llvm.memmove.p1.p1.i64(ptr addrspace(1) %out, ptr addrspace(1) %a, i64 %m, i1 false)",
        ]
    )
    writer.value(
        ["<4 x float>", "i32"],
        "<4 x float>",
        "insertelement <4 x float> %x, float 1.0, i32 3",
    )
    for kind in ["<4 x float>", "<4 x i8>", "<8 x half>", "<2 x bfloat>"]:
        count = int(kind[1:].split()[0])
        order = ", ".join(f"i32 {count - 1 - i}" for i in range(count))
        writer.value(
            [kind],
            kind,
            f"shufflevector {kind} %x, {kind} %x, <{count} x i32> <{order}>",
        )


def write_threads(writer):
    registers = [
        f"{name}.{axis}"
        for name in ["tid", "ntid", "ctaid", "nctaid"]
        for axis in "xyz"
    ]
    registers += [
        "laneid",
        "warpid",
        "nwarpid",
        "lanemask.lt",
        "lanemask.eq",
        "lanemask.ge",
        "lanemask.gt",
        "lanemask.le",
        "smid",
        "warpsize",
        "clock",
    ]
    for name in registers:
        writer.kernel(
            [
                f"%r = call i32 @llvm.nvvm.read.ptx.sreg.{name}()",
                "store i32 %r, ptr addrspace(1) %out",
            ]
        )
    writer.kernel(
        [
            "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "%i = and i32 %t, 31",
            "%p = getelementptr float, ptr addrspace(3) @tile, i32 %i",
            "store float 1.0, ptr addrspace(3) %p",
            "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
            "%x = load float, ptr addrspace(3) @tile",
            "store float %x, ptr addrspace(1) %out",
            "call void @llvm.nvvm.barrier.cta.sync.all(i32 1)",
            "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 2, i32 32)",
            "call void @llvm.nvvm.bar.warp.sync(i32 -1)",
        ]
    )
    for name in ["down", "up", "bfly", "idx"]:
        writer.value(
            ["i32"] * 2,
            "i32",
            f"call i32 @llvm.nvvm.shfl.sync.{name}.i32(i32 -1, i32 %x, i32 %y, i32 31)",
        )
        writer.value(
            ["float"] * 1,
            "float",
            f"call float @llvm.nvvm.shfl.sync.{name}.f32(i32 -1, float %x, i32 1, i32 31)",
        )
        writer.kernel(
            [
                "%x = load i32, ptr addrspace(1) %a",
                f"%v = call {{i32, i1}} @llvm.nvvm.shfl.sync.{name}.i32p(i32 -1, i32 %x, i32 1, i32 31)",
                "%w = extractvalue {i32, i1} %v, 1",
                "%r = zext i1 %w to i32",
                "store i32 %r, ptr addrspace(1) %out",
            ]
        )
    for name in ["all", "any", "uni"]:
        writer.kernel(
            [
                "%x = load i32, ptr addrspace(1) %a",
                "%p = icmp eq i32 %x, 3",
                f"%q = call i1 @llvm.nvvm.vote.{name}.sync(i32 -1, i1 %p)",
                "%r = zext i1 %q to i32",
                "store i32 %r, ptr addrspace(1) %out",
            ]
        )
    writer.kernel(
        [
            "%x = load i32, ptr addrspace(1) %a",
            "%p = icmp eq i32 %x, 3",
            "%r = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %p)",
            "store i32 %r, ptr addrspace(1) %out",
        ]
    )
    writer.value(
        ["i32"], "i32", "call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %x)"
    )
    writer.value(
        ["i64"], "i32", "call i32 @llvm.nvvm.match.any.sync.i64(i32 -1, i64 %x)"
    )
    writer.kernel(
        [
            "%r = call i32 @llvm.nvvm.activemask()",
            "store i32 %r, ptr addrspace(1) %out",
        ]
    )
    for name in ["add", "umin", "umax", "min", "max", "and", "or", "xor"]:
        writer.value(
            ["i32"],
            "i32",
            f"call i32 @llvm.nvvm.redux.sync.{name}(i32 %x, i32 -1)",
        )
    for name in ["cta", "gl", "sys"]:
        writer.kernel([f"call void @llvm.nvvm.membar.{name}()"])
    for name in ["popc", "and", "or"]:
        result = "i32" if name == "popc" else "i1"
        writer.kernel(
            [
                "%x = load i32, ptr addrspace(1) %a",
                "%p = icmp eq i32 %x, 3",
                f"%q = call {result} @llvm.nvvm.barrier.cta.red.{name}.aligned.all(i32 0, i1 %p)",
                f"%r = {'zext' if result == 'i1' else 'add'} {result} %q{' to i32' if result == 'i1' else ', 0'}",
                "store i32 %r, ptr addrspace(1) %out",
            ]
        )


def main():
    writer = Writer(is_host="--host" in sys.argv)
    write_arithmetic(writer)
    write_conversions(writer)
    write_comparisons(writer)
    write_memory(writer)
    write_threads(writer)


main()
