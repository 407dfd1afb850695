// RUN: lockstep-opt %s --widen-accumulation --split-input-file | FileCheck %s

// A product of bf16 accumulates in f32 and rounds once; the products of elements are not rounded either.
// CHECK-LABEL: @product(
// CHECK: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<2x3xf32>)
// CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} outs(%[[ZERO]] : tensor<2x3xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: bf16, %[[Y:.*]]: bf16, %[[SUM:.*]]: f32):
// CHECK-DAG: %[[X32:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK-DAG: %[[Y32:.*]] = arith.extf %[[Y]] : bf16 to f32
// CHECK: %[[XY:.*]] = arith.mulf %[[X32]], %[[Y32]] : f32
// CHECK: arith.addf %[[SUM]], %[[XY]] : f32
// CHECK: linalg.generic {{.*}} ins(%[[WIDE]] : tensor<2x3xf32>)
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @product(%a: tensor<2x8xbf16>, %b: tensor<8x3xbf16>) -> tensor<2x3xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x3xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %p = linalg.matmul ins(%a, %b : tensor<2x8xbf16>, tensor<8x3xbf16>) outs(%f : tensor<2x3xbf16>) -> tensor<2x3xbf16>
  return %p : tensor<2x3xbf16>
}

// -----

// Terms are computed in their own type and then extended; so are initial values that are not a fill.
// CHECK-LABEL: @sum_of_squares_and_more(
// CHECK: %[[START:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<4xf16>)
// CHECK: arith.extf
// CHECK: linalg.generic {{.*}} outs(%[[START]] : tensor<4xf32>)
// CHECK: %[[TERM:.*]] = math.exp %{{.*}} : f16
// CHECK: %[[TERM32:.*]] = arith.extf %[[TERM]] : f16 to f32
// CHECK: arith.addf %{{.*}}, %[[TERM32]] : f32
func.func @sum_of_squares_and_more(%a: tensor<4x8xf16>, %start: tensor<4xf16>) -> tensor<4xf16> {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<4x8xf16>) outs(%start : tensor<4xf16>) {
  ^bb0(%x: f16, %sum: f16):
    %0 = math.exp %x : f16
    %1 = arith.addf %0, %sum : f16
    linalg.yield %1 : f16
  } -> tensor<4xf16>
  return %s : tensor<4xf16>
}

// -----

// A product accumulates in f32 too; a maximum in the same operation is exact in any type, and stays in f16.
// CHECK-LABEL: @product_and_greatest(
// CHECK: linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : tensor<f32>, tensor<f16>)
// CHECK-DAG: arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-DAG: arith.maximumf %{{.*}}, %{{.*}} : f16
func.func @product_and_greatest(%a: tensor<8xf16>, %one: tensor<f16>, %least: tensor<f16>) -> (tensor<f16>, tensor<f16>) {
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%a : tensor<8xf16>) outs(%one, %least : tensor<f16>, tensor<f16>) {
  ^bb0(%x: f16, %product: f16, %greatest: f16):
    %0 = arith.mulf %product, %x : f16
    %1 = arith.maximumf %greatest, %x : f16
    linalg.yield %0, %1 : f16, f16
  } -> (tensor<f16>, tensor<f16>)
  return %r#0, %r#1 : tensor<f16>, tensor<f16>
}

// -----

// Element-wise operations, each of which rounds, and other types are left alone.
// CHECK-LABEL: @untouched(
// CHECK-NOT: arith.extf
// CHECK: return
func.func @untouched(%a: tensor<8xf16>, %b: tensor<8x8xf32>, %c: tensor<8xf32>) -> (tensor<8xf16>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf16>
  %s = linalg.add ins(%a, %a : tensor<8xf16>, tensor<8xf16>) outs(%e : tensor<8xf16>) -> tensor<8xf16>
  %r = linalg.reduce { arith.addf } ins(%b : tensor<8x8xf32>) outs(%c : tensor<8xf32>) dimensions = [1]
  return %s, %r : tensor<8xf16>, tensor<8xf32>
}
