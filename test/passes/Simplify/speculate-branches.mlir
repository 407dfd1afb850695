// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(speculate-branches))' --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(speculate-branches))' --split-input-file \
// RUN:   --remark-format=emitRemark --remarks-filter=simplify -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

// Each result is selected; one that both sides have in common is not.
// REMARK: model.py:3:1: remark: [Passed] Speculated | Category:simplify | Function=update |
// REMARK-SAME: both sides of the branch (model.py:3) are computed element by element, and its results (8.00 KiB) are selected
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %[[W:.*]]: tensor<32x32xf32>, %[[V:.*]]: tensor<32x32xf32>, %[[G:.*]]: tensor<32x32xf32>, %[[N:.*]]: i32, %[[C:.*]]: i1)
// CHECK-NOT: scf.if
// CHECK: %[[NEW:.*]] = arith.addf %[[V]], %[[G]]
// CHECK: %[[P:.*]] = linalg.generic
// CHECK: %[[W1:.*]] = arith.select %[[C]], %[[P]], %[[W]] : tensor<32x32xf32>
// CHECK: %[[V1:.*]] = arith.select %[[C]], %[[NEW]], %[[V]] : tensor<32x32xf32>
// CHECK: return %[[W1]], %[[V1]], %[[G]], %{{.*}} :
#id = affine_map<(i, j) -> (i, j)>
func.func @update(%w: tensor<32x32xf32>, %v: tensor<32x32xf32>, %g: tensor<32x32xf32>, %n: i32, %c: i1)
    -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, i32) {
  %one = arith.constant 1 : i32
  %r:4 = scf.if %c -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, i32) {
    %new = arith.addf %v, %g : tensor<32x32xf32>
    %e = tensor.empty() : tensor<32x32xf32>
    %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%w, %new : tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.subf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<32x32xf32>
    %m = arith.addi %n, %one : i32
    scf.yield %p, %new, %g, %m : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, i32
  } else {
    scf.yield %w, %v, %g, %n : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, i32
  } loc("model.py":3:1)
  return %r#0, %r#1, %r#2, %r#3 : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, i32
}

// -----

// A branch in a branch, and one in a loop around steps, which have collectives.
// REMARK-COUNT-3: remark: [Passed] Speculated
// CHECK-LABEL: func.func @nested(
// CHECK-NOT: scf.if
// CHECK: arith.select
// CHECK: arith.select
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: arith.select
collective.group @all
func.func @nested(%x: tensor<1024xf32>, %c: i1, %d: i1) -> tensor<1024xf32> {
  %r = scf.if %c -> tensor<1024xf32> {
    %s = scf.if %d -> tensor<1024xf32> {
      %y = math.sqrt %x : tensor<1024xf32>
      scf.yield %y : tensor<1024xf32>
    } else {
      scf.yield %x : tensor<1024xf32>
    }
    %t = arith.negf %s : tensor<1024xf32>
    scf.yield %t : tensor<1024xf32>
  } else {
    scf.yield %x : tensor<1024xf32>
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %q = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %r) -> tensor<1024xf32> {
    %h = collective.start all_reduce sum @all (%a : tensor<1024xf32>) -> !collective.pending<tensor<1024xf32>>
    %s = collective.wait %h (%a : tensor<1024xf32>) : !collective.pending<tensor<1024xf32>> -> tensor<1024xf32>
    %u = scf.if %d -> tensor<1024xf32> {
      %t = arith.negf %s : tensor<1024xf32>
      scf.yield %t : tensor<1024xf32>
    } else {
      scf.yield %a : tensor<1024xf32>
    }
    scf.yield %u : tensor<1024xf32>
  }
  return %q : tensor<1024xf32>
}

// -----

// Scalars, and tensors of few elements: here, more operations for each are cheap, too.
// REMARK: model.py:8:1: remark: [Passed] Speculated
// CHECK-LABEL: func.func @small(
// CHECK-NOT: scf.if
// CHECK-COUNT-2: arith.select
func.func @small(%x: tensor<2xf32>, %n: i32, %c: i1) -> (tensor<2xf32>, i32) {
  %r:2 = scf.if %c -> (tensor<2xf32>, i32) {
    %1 = math.sqrt %x : tensor<2xf32>
    %2 = math.sqrt %1 : tensor<2xf32>
    %3 = math.sqrt %2 : tensor<2xf32>
    %4 = math.sqrt %3 : tensor<2xf32>
    %5 = math.sqrt %4 : tensor<2xf32>
    %6 = math.sqrt %5 : tensor<2xf32>
    %7 = math.sqrt %6 : tensor<2xf32>
    %8 = math.sqrt %7 : tensor<2xf32>
    %9 = math.sqrt %8 : tensor<2xf32>
    %10 = math.sqrt %9 : tensor<2xf32>
    %11 = math.sqrt %10 : tensor<2xf32>
    %12 = math.sqrt %11 : tensor<2xf32>
    %13 = math.sqrt %12 : tensor<2xf32>
    %14 = math.sqrt %13 : tensor<2xf32>
    %15 = math.sqrt %14 : tensor<2xf32>
    %16 = math.sqrt %15 : tensor<2xf32>
    %17 = math.sqrt %16 : tensor<2xf32>
    %m = arith.addi %n, %n : i32
    scf.yield %17, %m : tensor<2xf32>, i32
  } else {
    scf.yield %x, %n : tensor<2xf32>, i32
  } loc("model.py":8:1)
  return %r#0, %r#1 : tensor<2xf32>, i32
}

// -----

// Branches that stay: of products; what may fail, or access elements that only the condition knows to exist; what takes longer than to read and
// write the results; in a loop.
// CHECK-LABEL: func.func @product(
// CHECK: scf.if
func.func @product(%x: tensor<32x32xf32>, %c: i1) -> tensor<32x32xf32> {
  %r = scf.if %c -> tensor<32x32xf32> {
    %p = linalg.matmul ins(%x, %x : tensor<32x32xf32>, tensor<32x32xf32>) outs(%x : tensor<32x32xf32>) -> tensor<32x32xf32>
    scf.yield %p : tensor<32x32xf32>
  } else {
    scf.yield %x : tensor<32x32xf32>
  }
  return %r : tensor<32x32xf32>
}
// CHECK-LABEL: func.func @division(
// CHECK: scf.if
#one = affine_map<(i) -> (i)>
func.func @division(%x: tensor<1024xi32>, %n: i32, %c: i1) -> tensor<1024xi32> {
  %r = scf.if %c -> tensor<1024xi32> {
    %p = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : tensor<1024xi32>) outs(%x : tensor<1024xi32>) {
    ^bb0(%a: i32, %o: i32):
      %q = arith.divsi %a, %n : i32
      linalg.yield %q : i32
    } -> tensor<1024xi32>
    scf.yield %p : tensor<1024xi32>
  } else {
    scf.yield %x : tensor<1024xi32>
  }
  return %r : tensor<1024xi32>
}
// CHECK-LABEL: func.func @element(
// CHECK: scf.if
func.func @element(%x: tensor<1024xf32>, %t: tensor<4xf32>, %i: index, %c: i1) -> tensor<1024xf32> {
  %r = scf.if %c -> tensor<1024xf32> {
    %v = tensor.extract %t[%i] : tensor<4xf32>
    %e = tensor.empty() : tensor<1024xf32>
    %f = linalg.fill ins(%v : f32) outs(%e : tensor<1024xf32>) -> tensor<1024xf32>
    scf.yield %f : tensor<1024xf32>
  } else {
    scf.yield %x : tensor<1024xf32>
  }
  return %r : tensor<1024xf32>
}
// CHECK-LABEL: func.func @long(
// CHECK: scf.if
func.func @long(%x: tensor<1024xf32>, %c: i1) -> tensor<1024xf32> {
  %r = scf.if %c -> tensor<1024xf32> {
    %1 = math.sqrt %x : tensor<1024xf32>
    %2 = math.sqrt %1 : tensor<1024xf32>
    %3 = math.sqrt %2 : tensor<1024xf32>
    %4 = math.sqrt %3 : tensor<1024xf32>
    %5 = math.sqrt %4 : tensor<1024xf32>
    %6 = math.sqrt %5 : tensor<1024xf32>
    %7 = math.sqrt %6 : tensor<1024xf32>
    %8 = math.sqrt %7 : tensor<1024xf32>
    %9 = math.sqrt %8 : tensor<1024xf32>
    %10 = math.sqrt %9 : tensor<1024xf32>
    %11 = math.sqrt %10 : tensor<1024xf32>
    %12 = math.sqrt %11 : tensor<1024xf32>
    %13 = math.sqrt %12 : tensor<1024xf32>
    %14 = math.sqrt %13 : tensor<1024xf32>
    %15 = math.sqrt %14 : tensor<1024xf32>
    %16 = math.sqrt %15 : tensor<1024xf32>
    %17 = math.sqrt %16 : tensor<1024xf32>
    scf.yield %17 : tensor<1024xf32>
  } else {
    scf.yield %x : tensor<1024xf32>
  }
  return %r : tensor<1024xf32>
}
// CHECK-LABEL: func.func @check(
// CHECK: scf.if
func.func @check(%x: tensor<2048xf32>, %c: i1, %d: i1) -> tensor<2048xf32> {
  %r = scf.if %c -> tensor<2048xf32> {
    %t = arith.negf %x : tensor<2048xf32>
    cf.assert %d, "expected true"
    scf.yield %t : tensor<2048xf32>
  } else {
    scf.yield %x : tensor<2048xf32>
  }
  return %r : tensor<2048xf32>
}
// CHECK-LABEL: func.func @gather(
// CHECK: scf.if
func.func @gather(%x: tensor<1024xf32>, %i: tensor<1024xindex>, %c: i1) -> tensor<1024xf32> {
  %r = scf.if %c -> tensor<1024xf32> {
    %p = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%i : tensor<1024xindex>) outs(%x : tensor<1024xf32>) {
    ^bb0(%k: index, %o: f32):
      %v = tensor.extract %x[%k] : tensor<1024xf32>
      linalg.yield %v : f32
    } -> tensor<1024xf32>
    scf.yield %p : tensor<1024xf32>
  } else {
    scf.yield %x : tensor<1024xf32>
  }
  return %r : tensor<1024xf32>
}
// CHECK-LABEL: func.func @cast(
// CHECK: scf.if
func.func @cast(%x: tensor<?xf32>, %y: tensor<1024xf32>, %c: i1) -> tensor<1024xf32> {
  %r = scf.if %c -> tensor<1024xf32> {
    %p = tensor.cast %x : tensor<?xf32> to tensor<1024xf32>
    scf.yield %p : tensor<1024xf32>
  } else {
    scf.yield %y : tensor<1024xf32>
  }
  return %r : tensor<1024xf32>
}
// CHECK-LABEL: func.func @iterations(
// CHECK: scf.if
func.func @iterations(%x: tensor<1024xf32>, %c: i1) -> tensor<1024xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 32 : index
  %r = scf.if %c -> tensor<1024xf32> {
    %p = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : tensor<1024xf32>) outs(%x : tensor<1024xf32>) {
    ^bb0(%a: f32, %o: f32):
      %q = scf.for %k = %c0 to %many step %c1 iter_args(%s = %a) -> f32 {
        %t = math.sqrt %s : f32
        scf.yield %t : f32
      }
      linalg.yield %q : f32
    } -> tensor<1024xf32>
    scf.yield %p : tensor<1024xf32>
  } else {
    scf.yield %x : tensor<1024xf32>
  }
  return %r : tensor<1024xf32>
}
// CHECK-LABEL: func.func @loop(
// CHECK: scf.if
func.func @loop(%x: tensor<1024xf32>, %c: i1) -> tensor<1024xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %q = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<1024xf32> {
    %u = scf.if %c -> tensor<1024xf32> {
      %t = arith.negf %a : tensor<1024xf32>
      scf.yield %t : tensor<1024xf32>
    } else {
      scf.yield %a : tensor<1024xf32>
    }
    scf.yield %u : tensor<1024xf32>
  }
  return %q : tensor<1024xf32>
}

// -----

// A result of dynamic size stays, with what only it needs.
// REMARK: model.py:9:1: remark: [Passed] Speculated
// REMARK-SAME: of the branch (model.py:9), 1 of 2 results are computed element by element on both sides, and (8.00 KiB) are selected
// CHECK-LABEL: func.func @some(
// CHECK: %[[S:.*]] = math.sqrt %[[X:.*]] : tensor<2048xf32>
// CHECK: %[[N:.*]] = arith.negf %[[S]] : tensor<2048xf32>
// CHECK: %[[Y:.*]] = arith.select %[[C:.*]], %[[N]], %[[X]] : tensor<2048xf32>
// CHECK: %[[D:.*]] = scf.if %[[C]] -> (tensor<?xf32>) {
// CHECK-NEXT: tensor.extract_slice %[[S]]
// CHECK-NEXT: scf.yield
// CHECK: return %[[D]], %[[Y]]
func.func @some(%x: tensor<2048xf32>, %z: tensor<?xf32>, %n: index, %c: i1) -> (tensor<?xf32>, tensor<2048xf32>) {
  %r:2 = scf.if %c -> (tensor<?xf32>, tensor<2048xf32>) {
    %s = math.sqrt %x : tensor<2048xf32>
    %t = arith.negf %s : tensor<2048xf32>
    %p = tensor.extract_slice %s[0] [%n] [1] : tensor<2048xf32> to tensor<?xf32>
    scf.yield %p, %t : tensor<?xf32>, tensor<2048xf32>
  } else {
    scf.yield %z, %x : tensor<?xf32>, tensor<2048xf32>
  } loc("model.py":9:1)
  return %r#0, %r#1 : tensor<?xf32>, tensor<2048xf32>
}
