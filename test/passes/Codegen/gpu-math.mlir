// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(expand-math{gpu=true}))' | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(expand-math))' | FileCheck %s --check-prefix=CPU

// A power of two by an instruction, of what is left of x log2(e) without its integer, whose bits are those of the scale.
// CHECK-LABEL: func.func @exp(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-DAG: %[[LARGE:.*]] = arith.constant 0x4B400000 : f32
// CHECK-DAG: %[[BIAS:.*]] = arith.constant 1065353216 : i32
// CHECK: arith.maxnumf
// CHECK: arith.minnumf
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[LARGE]]
// CHECK: %[[N:.*]] = arith.subf %[[SUM]], %[[LARGE]]
// CHECK: %[[MINUS:.*]] = arith.negf %[[N]]
// CHECK: %[[R0:.*]] = math.fma %[[X]], %{{.*}}, %[[MINUS]]
// CHECK: %[[R:.*]] = math.fma %[[X]], %{{.*}}, %[[R0]]
// CHECK: %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[R]])
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : f32 to i32
// CHECK: %[[SHIFTED:.*]] = arith.shli %[[BITS]]
// CHECK: %[[BIASED:.*]] = arith.addi %[[SHIFTED]], %[[BIAS]]
// CHECK: %[[SCALE:.*]] = arith.bitcast %[[BIASED]] : i32 to f32
// CHECK: arith.mulf %[[POWER]], %[[SCALE]]
// CPU-LABEL: func.func @exp(
// CPU-NOT: llvm
func.func @exp(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @extremes(
// CHECK: %[[MAX:.*]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.f"
// CHECK: llvm.call_intrinsic "llvm.nvvm.fmin.nan.f"(%[[MAX]]
// CPU-LABEL: func.func @extremes(
// CPU-NOT: llvm
func.func @extremes(%x: f32, %y: f32) -> f32 {
  %0 = arith.maximumf %x, %y : f32
  %1 = arith.minimumf %0, %y : f32
  return %1 : f32
}

// There is no instruction for f64.
// CHECK-LABEL: func.func @wide(
// CHECK-NOT: llvm
func.func @wide(%x: f64, %y: f64) -> f64 {
  %0 = arith.maximumf %x, %y : f64
  return %0 : f64
}

// CHECK-LABEL: func.func @round(
// CHECK: llvm.inline_asm {{.*}}"cvt.rn.bf16.f32 $0, $1;", "=h,f" %{{.*}} : (f32) -> i16
// CHECK-NEXT: arith.bitcast %{{.*}} : i16 to bf16
// CPU-LABEL: func.func @round(
// CPU-NOT: llvm
func.func @round(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}
