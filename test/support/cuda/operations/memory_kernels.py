"""Memory, special registers, barriers and warps."""

from operations.kernel_writer import (
    ATOMICS,
    FLOATS,
    INTEGERS,
    VECTORS,
    bits,
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
