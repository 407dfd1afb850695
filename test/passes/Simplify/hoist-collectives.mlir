// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(hoist-collectives))' | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(hoist-collectives))' \
// RUN:   --remark-format=emitRemark --remarks-filter=simplify -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

// The first two collectives are hoisted out of both loops, with the negation that the second needs. The addition and the last collective stay.
// REMARK: model.py:4:3: remark: [Passed] Hoisted | Category:simplify | Function=invariant |
// REMARK-SAME: all_reduce sum of 4xf32 (16 B) has the same operands in each iteration of the loop (model.py:2): it is executed once, before the loop
// REMARK: model.py:5:3: remark: [Passed] Hoisted
// REMARK: model.py:4:3: remark: [Passed] Hoisted
// REMARK: model.py:5:3: remark: [Passed] Hoisted
// CHECK-LABEL: func.func @invariant(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>
// CHECK: %[[H:.*]] = collective.start all_reduce sum @all(%[[X]]
// CHECK-NEXT: %[[S:.*]] = collective.wait %[[H]]
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[S]]
// CHECK-NEXT: %[[K:.*]] = collective.start all_reduce max @all(%[[N]]
// CHECK-NEXT: %[[M:.*]] = collective.wait %[[K]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.addf %{{.*}}, %[[M]]
// CHECK: collective.start all_reduce min
func.func @invariant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<4xf32> {
    %q = scf.for %j = %c0 to %c3 step %c1 iter_args(%b = %a) -> tensor<4xf32> {
      %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":4:3)
      %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
      %n = arith.negf %s : tensor<4xf32>
      %k = collective.start all_reduce max @all (%n : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":5:3)
      %m = collective.wait %k (%n : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
      %t = arith.addf %b, %m : tensor<4xf32>
      %l = collective.start all_reduce min @all (%t : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":6:3)
      %u = collective.wait %l (%t : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
      scf.yield %u : tensor<4xf32>
    } loc("model.py":2:3)
    scf.yield %q : tensor<4xf32>
  } loc("model.py":1:3)
  return %r : tensor<4xf32>
}

// A collective is not hoisted out of a loop that may have no iterations.
// REMARK: model.py:9:3: remark: [Missed] NotHoisted | Category:simplify | Function=perhaps |
// REMARK-SAME: all_reduce sum of 4xf32 (16 B) has the same operands in each iteration of the loop (model.py:8), but the loop may have no iterations
// CHECK-LABEL: func.func @perhaps(
// CHECK: scf.for
// CHECK: collective.start
func.func @perhaps(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<4xf32> {
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":9:3)
    %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  } loc("model.py":8:3)
  return %r : tensor<4xf32>
}

// A collective is not hoisted out of a branch, which may not be taken in any iteration.
// CHECK-LABEL: func.func @branch(
// CHECK: scf.for
// CHECK: scf.if
// CHECK: collective.start
func.func @branch(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<4xf32> {
    %taken = arith.cmpi eq, %i, %n : index
    %b = scf.if %taken -> tensor<4xf32> {
      %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
      %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
      scf.yield %s : tensor<4xf32>
    } else {
      scf.yield %a : tensor<4xf32>
    }
    scf.yield %b : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

collective.group @all

// An attention is computed before the loop with the collective that needs it.
// REMARK: remark: [Passed] Hoisted {{.*}}Function=attention
// CHECK-LABEL: func.func @attention(
// CHECK: device.attention
// CHECK: collective.start all_reduce sum
// CHECK: scf.for
// CHECK-NOT: collective.start
func.func @attention(%x: tensor<1x4x1x8xf32>, %y: tensor<1x4x1x8xf32>) -> tensor<1x4x1x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<1x4x1x8xf32>
  %f = tensor.empty() : tensor<1x1x4xf32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %y) -> tensor<1x4x1x8xf32> {
    %o:2 = device.attention scale 1.000000e+00 ins(%x, %x, %x : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>)
        outs(%e, %f : tensor<1x4x1x8xf32>, tensor<1x1x4xf32>) -> tensor<1x4x1x8xf32>, tensor<1x1x4xf32>
    %h = collective.start all_reduce sum @all (%o#0 : tensor<1x4x1x8xf32>) -> !collective.pending<tensor<1x4x1x8xf32>> loc("model.py":8:3)
    %s = collective.wait %h (%o#0 : tensor<1x4x1x8xf32>) : !collective.pending<tensor<1x4x1x8xf32>> -> tensor<1x4x1x8xf32>
    %t = arith.addf %a, %s : tensor<1x4x1x8xf32>
    scf.yield %t : tensor<1x4x1x8xf32>
  } loc("model.py":7:3)
  return %r : tensor<1x4x1x8xf32>
}
