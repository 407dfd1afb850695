// What kernels compute gets formulas, where several roles may compute the same.

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

  // What is summed only this kernel has, and from the arguments that are summed.
  // CHECK: device.kernel @norm(
  // CHECK-SAME{LITERAL}: steps = [["norm value 0 result 0", 0], ["arith.cmpf {fastmath = #arith.fastmath<none>, predicate = 4 : i64} (f32, f32) -> i1", 2, 1]], value = 3 : i64}]
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

  // A formula that says no more than that the kernel computes it from its arguments is left out.
  // CHECK: device.kernel @whole
  // CHECK-NOT: formulas
  // CHECK: device.yield
  device.kernel @whole(%x: tensor<4xf32>) -> tensor<f32> {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %sum = linalg.reduce ins(%x : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0] (%in: f32, %s: f32) {
      %t = arith.addf %in, %s : f32
      linalg.yield %t : f32
    }
    device.yield %sum : tensor<f32>
  }

  // If only from some of them, or if another result is computed from it, it is there: what is one value has one name. Others have others.
  // CHECK: device.kernel @shared(
  // CHECK-SAME{LITERAL}: {arguments = 2 : i64, result = 0 : i64, steps = [["shared value 0 result 0", 0]], value = 2 : i64}
  // CHECK-SAME{LITERAL}: {arguments = 2 : i64, result = 1 : i64, steps = [["shared value 0 result 0", 0], ["math.sqrt {fastmath = #arith.fastmath<none>} (f32) -> f32", 2]], value = 3 : i64}
  // CHECK-SAME{LITERAL}: {arguments = 2 : i64, result = 2 : i64, steps = [["shared value 1 result 0", 0, 1]], value = 2 : i64}
  // CHECK-SAME{LITERAL}: {arguments = 2 : i64, result = 3 : i64, steps = [["shared value 1 result 0", 0, 1], ["math.sqrt {fastmath = #arith.fastmath<none>} (f32) -> f32", 2]], value = 3 : i64}
  device.kernel @shared(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %first = linalg.dot ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
    %second = linalg.dot ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
    %a = tensor.extract %first[] : tensor<f32>
    %b = math.sqrt %a : f32
    %c = tensor.from_elements %b : tensor<f32>
    %d = tensor.extract %second[] : tensor<f32>
    %e = math.sqrt %d : f32
    %f = tensor.from_elements %e : tensor<f32>
    device.yield %first, %c, %second, %f : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }

  // An element is a function of its tensor and its place.
  // CHECK: device.kernel @element(
  // CHECK-SAME{LITERAL}: steps = [["constant", 2], ["tensor.extract of tensor<4xf32>", 0, 1], ["arith.addf {fastmath = #arith.fastmath<none>} (f32, f32) -> f32", 2, 2]], value = 3 : i64}
  device.kernel @element(%x: tensor<4xf32>) -> tensor<f32> {
    %two = arith.constant 2 : index
    %a = tensor.extract %x[%two] : tensor<4xf32>
    %b = arith.addf %a, %a : f32
    %r = tensor.from_elements %b : tensor<f32>
    device.yield %r : tensor<f32>
  }

  // Which bytes it is of a tensor whose size is not known, the size says.
  // CHECK: device.kernel @of_unknown_size(
  // CHECK-SAME{LITERAL}: steps = [["of_unknown_size value 0 result 0", 0, 2, 3], ["math.absf
  device.kernel @of_unknown_size(%x: tensor<?x?xf32>, %y: tensor<f32>, %rows: index, %columns: index) -> tensor<f32> {
    %one = arith.constant 1 : index
    %a = tensor.extract %x[%one, %one] : tensor<?x?xf32>
    %b = math.absf %a : f32
    %r = tensor.from_elements %b : tensor<f32>
    device.yield %r : tensor<f32>
  }

  // Of what is computed element by element, the tensor has the formula that each element has.
  // CHECK: device.kernel @elementwise(
  // CHECK-SAME{LITERAL}: {arguments = 2 : i64, result = 0 : i64, steps = [["arith.subf {fastmath = #arith.fastmath<none>} (f32, f32) -> f32", 0, 1]], value = 2 : i64}
  // CHECK-SAME{LITERAL}: {arguments = 2 : i64, result = 1 : i64, steps = [["arith.subf {fastmath = #arith.fastmath<none>} (f32, f32) -> f32", 0, 1], ["constant", 0], ["tensor.extract of tensor<4xf32>", 2, 3]], value = 4 : i64}
  device.kernel @elementwise(%x: tensor<4xf32>, %y: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
    %zero = arith.constant 0 : index
    %empty = tensor.empty() : tensor<4xf32>
    %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%x, %y : tensor<4xf32>, tensor<f32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %c = arith.subf %a, %b : f32
      linalg.yield %c : f32
    } -> tensor<4xf32>
    %e = tensor.extract %d[%zero] : tensor<4xf32>
    %r = tensor.from_elements %e : tensor<f32>
    device.yield %d, %r : tensor<4xf32>, tensor<f32>
  }

  // Not if elements go elsewhere, if they are functions that may be computed in other ways where there are more of them, or if all are one
  // number, whose tensor has other bytes than it has.
  // CHECK: device.kernel @not_elementwise(
  // CHECK-SAME{LITERAL}: result = 0 : i64, steps = [["not_elementwise value 0 result 0", 0]],
  // CHECK-SAME{LITERAL}: result = 1 : i64, steps = [["not_elementwise value 1 result 0", 1]],
  // CHECK-SAME{LITERAL}: ["not_elementwise value 2 result 0", 2]],
  device.kernel @not_elementwise(%x: tensor<4x4xf32>, %y: tensor<4xf32>, %z: tensor<f32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %square = tensor.empty() : tensor<4x4xf32>
    %empty = tensor.empty() : tensor<4xf32>
    %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<4x4xf32>) outs(%square : tensor<4x4xf32>) {
    ^bb0(%a: f32, %out: f32):
      linalg.yield %a : f32
    } -> tensor<4x4xf32>
    %e = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%y : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%a: f32, %out: f32):
      %b = math.exp %a : f32
      linalg.yield %b : f32
    } -> tensor<4xf32>
    %f = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%z : tensor<f32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%a: f32, %out: f32):
      %b = arith.addf %a, %a : f32
      linalg.yield %b : f32
    } -> tensor<4xf32>
    device.yield %t, %e, %f : tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>
  }

  // A branch chooses among what its sides give, as a select does.
  // CHECK: device.kernel @branch(
  // CHECK-SAME{LITERAL}: steps = [["constant", 0], ["arith.addi {overflowFlags = #arith.overflow<none>} (i32, i32) -> i32", 1, 1], ["arith.select (i1, i32, i32) -> i32", 0, 2, 3]], value = 4 : i64}
  device.kernel @branch(%c: tensor<i1>, %x: tensor<i32>) -> tensor<i32> {
    %zero = arith.constant 0 : i32
    %b = tensor.extract %c[] : tensor<i1>
    %a = tensor.extract %x[] : tensor<i32>
    %v = scf.if %b -> i32 {
      scf.yield %zero : i32
    } else {
      %s = arith.addi %a, %a : i32
      scf.yield %s : i32
    }
    %r = tensor.from_elements %v : tensor<i32>
    device.yield %r : tensor<i32>
  }

  // CHECK: device.kernel @switch(
  // CHECK-SAME{LITERAL}: steps = [["constant", 7], ["scf.index_switch [2, 5] -> i32", 1, 0, 2, 0]], value = 3 : i64}
  device.kernel @switch(%x: tensor<i32>, %i: index) -> tensor<i32> {
    %seven = arith.constant 7 : i32
    %a = tensor.extract %x[] : tensor<i32>
    %v = scf.index_switch %i -> i32
    case 2 {
      scf.yield %seven : i32
    }
    case 5 {
      scf.yield %a : i32
    }
    default {
      scf.yield %a : i32
    }
    %r = tensor.from_elements %v : tensor<i32>
    device.yield %r : tensor<i32>
  }

  // A conversion need not say what fast-math flags it has.
  // CHECK: device.kernel @narrow(
  // CHECK-SAME{LITERAL}: steps = [["arith.truncf (f32) -> bf16", 0]], value = 1 : i64}
  device.kernel @narrow(%x: tensor<f32>) -> tensor<bf16> {
    %a = tensor.extract %x[] : tensor<f32>
    %b = arith.truncf %a : f32 to bf16
    %r = tensor.from_elements %b : tensor<bf16>
    device.yield %r : tensor<bf16>
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
