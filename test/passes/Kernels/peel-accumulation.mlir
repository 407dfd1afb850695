// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(peel-accumulation))" --split-input-file | FileCheck %s

// Results of a loop are exchanged after a division. The last iteration is peeled, and continues with the sums of the other iterations.
// CHECK-LABEL: func.func @accumulate(
// CHECK: %[[LAST:.*]] = arith.constant 6 : index
// CHECK: %[[G:.*]]:2 = scf.for %{{.*}} = %{{.*}} to %[[LAST]] step
// CHECK: %[[K:.*]] = arith.index_cast %[[LAST]]
// CHECK: %[[I:.*]] = tensor.splat %[[K]]
// CHECK: %[[A:.*]] = arith.addi %[[G]]#0, %[[I]]
// CHECK: %[[B:.*]] = arith.addi %[[G]]#1, %[[A]]
// CHECK: %[[MEAN:.*]] = arith.divsi %[[A]]
// CHECK: collective.start all_reduce sum @all(%[[MEAN]]
// CHECK: return %{{.*}}, %[[B]]
module attributes {device.topology = "ethernet-25g"} {
collective.group @all
func.func @accumulate(%zero: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %g:2 = scf.for %i = %c0 to %c7 step %c2 iter_args(%a = %zero, %b = %zero) -> (tensor<4xi64>, tensor<4xi64>) {
    %k = arith.index_cast %i : index to i64
    %s = tensor.splat %k : tensor<4xi64>
    %a1 = arith.addi %a, %s : tensor<4xi64>
    %b1 = arith.addi %b, %a1 : tensor<4xi64>
    scf.yield %a1, %b1 : tensor<4xi64>, tensor<4xi64>
  }
  %two = arith.constant dense<2> : tensor<4xi64>
  %mean = arith.divsi %g#0, %two : tensor<4xi64>
  %h = collective.start all_reduce sum @all (%mean, %g#1 : tensor<4xi64>, tensor<4xi64>) -> <tensor<4xi64>, tensor<4xi64>>
  %r:2 = collective.wait %h (%mean, %g#1 : tensor<4xi64>, tensor<4xi64>) : <tensor<4xi64>, tensor<4xi64>> -> tensor<4xi64>, tensor<4xi64>
  return %r#0, %g#1 : tensor<4xi64>, tensor<4xi64>
}
}

// -----

// A result of the loop may be a value from outside, or another one of its iteration arguments.
// CHECK-LABEL: func.func @exchanged(
// CHECK: %[[G:.*]]:3 = scf.for
// CHECK: %[[NEW:.*]] = arith.addf %[[G]]#0
// CHECK: collective.start all_reduce sum @all(%[[NEW]]
// CHECK: return %{{.*}}, %[[G]]#0, %arg0
module attributes {device.topology = "ethernet-25g"} {
collective.group @all
func.func @exchanged(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %g:3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %x, %c = %x) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %n = arith.addf %a, %b : tensor<4xf32>
    scf.yield %n, %a, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %h = collective.start all_reduce sum @all (%g#0, %g#2 : tensor<4xf32>, tensor<4xf32>) -> <tensor<4xf32>, tensor<4xf32>>
  %r:2 = collective.wait %h (%g#0, %g#2 : tensor<4xf32>, tensor<4xf32>) : <tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>
  return %r#0, %g#1, %g#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
}

// -----

// Loops that are not peeled: a single iteration, a trip count that is not known, results that are not exchanged, and a loop with a collective,
// although two of its results are exchanged.
// CHECK-LABEL: func.func @not_peeled(
// CHECK-COUNT-4: arith.addf
// CHECK-NOT: arith.addf
module attributes {device.topology = "ethernet-25g"} {
collective.group @all
func.func @not_peeled(%x: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a:2 = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %x, %u = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    %t = arith.addf %s, %u : tensor<4xf32>
    scf.yield %t, %t : tensor<4xf32>, tensor<4xf32>
  }
  %ha = collective.start all_reduce sum @all (%a#0, %a#1 : tensor<4xf32>, tensor<4xf32>) -> <tensor<4xf32>, tensor<4xf32>>
  %ra:2 = collective.wait %ha (%a#0, %a#1 : tensor<4xf32>, tensor<4xf32>) : <tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>
  %b:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x, %u = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    %t = arith.addf %s, %u : tensor<4xf32>
    scf.yield %t, %t : tensor<4xf32>, tensor<4xf32>
  }
  %hb = collective.start all_reduce sum @all (%b#0, %b#1 : tensor<4xf32>, tensor<4xf32>) -> <tensor<4xf32>, tensor<4xf32>>
  %rb:2 = collective.wait %hb (%b#0, %b#1 : tensor<4xf32>, tensor<4xf32>) : <tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>
  %c = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %x) -> (tensor<4xf32>) {
    %t = arith.addf %s, %s : tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  %d:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %x, %u = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    %t = arith.addf %s, %u : tensor<4xf32>
    %ht = collective.start all_reduce sum @all (%t : tensor<4xf32>) -> <tensor<4xf32>>
    %rt = collective.wait %ht (%t : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
    scf.yield %t, %rt : tensor<4xf32>, tensor<4xf32>
  }
  %hd = collective.start all_reduce sum @all (%d#0, %d#1 : tensor<4xf32>, tensor<4xf32>) -> <tensor<4xf32>, tensor<4xf32>>
  %rd:2 = collective.wait %hd (%d#0, %d#1 : tensor<4xf32>, tensor<4xf32>) : <tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>
  return %ra#0, %rb#0, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
}

// -----

// On the host, kernels hide no exchange, so no loop is peeled.
// CHECK-LABEL: func.func @host(
// CHECK-COUNT-1: arith.addf
// CHECK-NOT: arith.addf
collective.group @all
func.func @host(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %x, %u = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    %t = arith.addf %s, %u : tensor<4xf32>
    scf.yield %t, %t : tensor<4xf32>, tensor<4xf32>
  }
  %h = collective.start all_reduce sum @all (%a#0, %a#1 : tensor<4xf32>, tensor<4xf32>) -> <tensor<4xf32>, tensor<4xf32>>
  %r:2 = collective.wait %h (%a#0, %a#1 : tensor<4xf32>, tensor<4xf32>) : <tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>
  return %r#0 : tensor<4xf32>
}

// -----

// A division of what the loop has accumulated is fused with the addition in the peeled iteration, but a sum is not: it reads what is stored
// before the loop, as in the other iterations.
// CHECK-LABEL: func.func @fused(
// CHECK: %[[SCALED:.*]] = linalg.generic
// CHECK: %[[G:.*]]:2 = scf.for
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "reduction"]} ins(%[[SCALED]] : tensor<4x8xf32>) outs(%[[G]]#1
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[G]]#0, %[[SCALED]] :
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: collective.start all_reduce sum @all(%[[MEAN]], %[[SUM]]
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#all = affine_map<(i, j) -> ()>
module attributes {device.topology = "ethernet-25g"} {
collective.group @all
func.func @fused(%x: tensor<8x4xf32>, %zero: tensor<4x8xf32>, %none: tensor<f32>) -> (tensor<4x8xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %2 = arith.addf %a, %a : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  %g:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%b = %zero, %c = %none) -> (tensor<4x8xf32>, tensor<f32>) {
    %sum = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction", "reduction"]} ins(%s : tensor<4x8xf32>) outs(%c : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %2 = arith.addf %o, %a : f32
      linalg.yield %2 : f32
    } -> tensor<f32>
    %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%b, %s : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %d: f32, %o: f32):
      %2 = arith.addf %a, %d : f32
      linalg.yield %2 : f32
    } -> tensor<4x8xf32>
    scf.yield %n, %sum : tensor<4x8xf32>, tensor<f32>
  }
  %three = arith.constant 3.0 : f32
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%g#0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %2 = arith.divf %a, %three : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  %h = collective.start all_reduce sum @all (%m, %g#1 : tensor<4x8xf32>, tensor<f32>) -> <tensor<4x8xf32>, tensor<f32>>
  %r:2 = collective.wait %h (%m, %g#1 : tensor<4x8xf32>, tensor<f32>) : <tensor<4x8xf32>, tensor<f32>> -> tensor<4x8xf32>, tensor<f32>
  return %r#0, %r#1 : tensor<4x8xf32>, tensor<f32>
}
}
