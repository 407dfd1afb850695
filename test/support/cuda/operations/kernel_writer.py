"""Kernels in LLVM IR, for a GPU or for the host."""

import re

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
