// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(expand-math))' | FileCheck %s

// bf16 is extended to f32 by operations on its bits, and f32 to f64 by arith.extf: no operation extends bf16 to f64 directly.
// CHECK-LABEL: func.func @widen(
// CHECK-NOT: bf16 to f64
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK-NOT: bf16 to f64
// CHECK: arith.extf %{{.*}} : vector<4xf32> to vector<4xf64>
// CHECK-NOT: bf16 to f64
func.func @widen(%x: f32, %v: vector<4xbf16>) -> (f64, vector<4xf64>) {
  %narrow = arith.truncf %x : f32 to bf16
  %wide = arith.extf %narrow : bf16 to f64
  %all = arith.extf %v : vector<4xbf16> to vector<4xf64>
  return %wide, %all : f64, vector<4xf64>
}
