// RUN: lockstep-opt %s --convert-elementwise | FileCheck %s

// A select on a scalar condition becomes an element-wise loop only for static shapes: operands of dynamic shape may have different sizes.
// CHECK-LABEL: func.func @select
func.func @select(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf32>, %a: tensor<?xf32>, %b: tensor<?xf32>, %e: tensor<?xi1>)
    -> (tensor<4xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : i1, tensor<4xf32>, tensor<4xf32>)
  %0 = arith.select %c, %x, %y : tensor<4xf32>
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<?xf32>
  %1 = arith.select %c, %a, %b : tensor<?xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?xi1>, tensor<?xf32>, tensor<?xf32>)
  %2 = arith.select %e, %a, %b : tensor<?xi1>, tensor<?xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?xf32>)
  %3 = arith.addf %a, %b : tensor<?xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
