// Single numbers that kernels compute get formulas, where several roles may compute the same.

// RUN: lockstep-opt %s --split-input-file --record-formulas | FileCheck %s

module {
  device.role @worker ranks 0 count 1
  device.role @server ranks 1 count 1

  // Casts that keep the number are left out, and so is what goes through tensors of one element.
  // CHECK: device.kernel @sum({{.*}}device.formulas = [{arguments = 2 : i64, result = 0 : i64, steps = [
  // CHECK-SAME{LITERAL}: ["arith.addi {overflowFlags = #arith.overflow<none>} (i64, i64) -> i64", 0, 1]], value = 2 : i64}]
  device.kernel @sum(%n: tensor<i32>, %i: index) -> tensor<i64> {
    %a = tensor.extract %n[] : tensor<i32>
    %wide = arith.extsi %a : i32 to i64
    %b = arith.index_cast %i : index to i64
    %c = arith.addi %wide, %b : i64
    %r = tensor.from_elements %c : tensor<i64>
    device.yield %r : tensor<i64>
  }

  // A generic without loops is executed once; constants are numbers.
  // CHECK: device.kernel @test(
  // CHECK-SAME{LITERAL}: steps = [["constant", 3], ["arith.cmpi {predicate = 2 : i64} (i32, i32) -> i1", 0, 1]], value = 2 : i64}]
  device.kernel @test(%n: tensor<i32>) -> tensor<i1> {
    %three = arith.constant 3 : i32
    %empty = tensor.empty() : tensor<i1>
    %r = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
        ins(%n : tensor<i32>) outs(%empty : tensor<i1>) {
    ^bb0(%x: i32, %out: i1):
      %less = arith.cmpi slt, %x, %three : i32
      linalg.yield %less : i1
    } -> tensor<i1>
    device.yield %r : tensor<i1>
  }

  // What is made from a tensor only this kernel has.
  // CHECK: device.kernel @norm(
  // CHECK-SAME{LITERAL}: steps = [["norm value 0 result 0", 0, 1], ["arith.cmpf {fastmath = #arith.fastmath<none>, predicate = 4 : i64} (f32, f32) -> i1", 2, 1]], value = 3 : i64}]
  device.kernel @norm(%x: tensor<4xf32>, %bound: tensor<f32>) -> tensor<i1> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %sum = linalg.reduce ins(%x : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0] (%in: f32, %s: f32) {
      %t = arith.addf %in, %s : f32
      linalg.yield %t : f32
    }
    %a = tensor.extract %sum[] : tensor<f32>
    %b = tensor.extract %bound[] : tensor<f32>
    %less = arith.cmpf olt, %a, %b : f32
    %r = tensor.from_elements %less : tensor<i1>
    device.yield %r : tensor<i1>
  }

  // A formula that says no more than that the kernel computes it is left out; tensors have none.
  // CHECK: device.kernel @whole
  // CHECK-NOT: formulas
  // CHECK: device.yield
  device.kernel @whole(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %sum = linalg.reduce ins(%x : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0] (%in: f32, %s: f32) {
      %t = arith.addf %in, %s : f32
      linalg.yield %t : f32
    }
    device.yield %sum, %x : tensor<f32>, tensor<4xf32>
  }
}

// -----

// One role needs none.
// CHECK: device.kernel @sum
// CHECK-NOT: formulas
device.kernel @sum(%n: tensor<i32>) -> tensor<i32> {
  %a = tensor.extract %n[] : tensor<i32>
  %b = arith.addi %a, %a : i32
  %r = tensor.from_elements %b : tensor<i32>
  device.yield %r : tensor<i32>
}
