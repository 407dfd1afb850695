// Branches and loops; replicas may take different paths as long as these have no collectives.

// RUN: split-file %s %t
// RUN: %python %S/Inputs/npz.py %t/x.npz x@0=i32[]:1 x@1=i32[]:3 x@2=i32[]:2
// RUN: lockstep-interpret %t/varying.mlir --replicas=3 --inputs=%t/x.npz | FileCheck %s
// RUN: not lockstep-interpret %t/blocked.mlir --unverified --replicas=3 --inputs=%t/x.npz 2>&1 | FileCheck %s --check-prefix=BLOCKED
// RUN: not lockstep-interpret %t/blocked.mlir --unverified --schedule-seed=7 --replicas=3 --inputs=%t/x.npz 2>&1 | FileCheck %s --check-prefix=BLOCKED
// RUN: not lockstep-interpret %t/blocked.mlir --replicas=3 --inputs=%t/x.npz 2>&1 | FileCheck %s --check-prefix=VERIFIED
// RUN: not lockstep-interpret %t/crossed.mlir --unverified --replicas=3 --inputs=%t/x.npz 2>&1 | FileCheck %s --check-prefix=CROSSED
// RUN: lockstep-interpret %t/equal.mlir --replicas=3 --inputs=%t/x.npz | FileCheck %s --check-prefix=EQUAL
// RUN: lockstep-interpret %t/equal.mlir --schedule-seed=1 --replicas=3 --inputs=%t/x.npz | FileCheck %s --check-prefix=EQUAL
// RUN: lockstep-interpret %t/equal.mlir --schedule-seed=2 --replicas=3 --inputs=%t/x.npz | FileCheck %s --check-prefix=EQUAL
// RUN: lockstep-interpret %t/limits.mlir --replicas=1 --inputs=%t/x.npz | FileCheck %s --check-prefix=LIMITS

//--- varying.mlir
// for: the sum of i * i for i below x. if: 100 for x = 1, else x. switch: x = 2 is the first case, x = 3 the second.
// CHECK: {"result":"for","replica":0,{{.*}}"values":[0]}
// CHECK: {"result":"for","replica":1,{{.*}}"values":[5]}
// CHECK: {"result":"for","replica":2,{{.*}}"values":[1]}
// CHECK: {"result":"if","replica":0,{{.*}}"values":[100]}
// CHECK: {"result":"if","replica":1,{{.*}}"values":[3]}
// CHECK: {"result":"switch","replica":0,{{.*}}"values":[-1]}
// CHECK: {"result":"switch","replica":1,{{.*}}"values":[31]}
// CHECK: {"result":"switch","replica":2,{{.*}}"values":[20]}
replica.step @step(%x: tensor<i32> {replica.batch = "x"})
    -> (tensor<i32> {replica.result = "for"}, tensor<i32> {replica.result = "if"}, tensor<i32> {replica.result = "switch"}) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %n = tensor.extract %x[] : tensor<i32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> i32 : i32 {
    %square = arith.muli %i, %i : i32
    %t = arith.addi %s, %square : i32
    scf.yield %t : i32
  }
  %is_one = arith.cmpi eq, %n, %c1 : i32
  %if = scf.if %is_one -> i32 {
    %hundred = arith.constant 100 : i32
    scf.yield %hundred : i32
  } else {
    scf.yield %n : i32
  }
  %index = arith.index_cast %n : i32 to index
  %switch = scf.index_switch %index -> i32
  case 2 {
    %v = arith.constant 20 : i32
    scf.yield %v : i32
  }
  case 3 {
    %v = arith.constant 31 : i32
    scf.yield %v : i32
  }
  default {
    %v = arith.constant -1 : i32
    scf.yield %v : i32
  }
  %r0 = tensor.from_elements %sum : tensor<i32>
  %r1 = tensor.from_elements %if : tensor<i32>
  %r2 = tensor.from_elements %switch : tensor<i32>
  replica.return %r0, %r1, %r2 : tensor<i32>, tensor<i32>, tensor<i32>
}

//--- blocked.mlir
// BLOCKED: blocked.mlir:[[#REDUCE:]]:{{[0-9]+}}: error: blocked: replica 0 waits in 'replica.all_reduce' for replica 1, which has ended the step
// BLOCKED: blocked.mlir:[[#REDUCE]]:{{[0-9]+}}: note: replica 0 waits here, in 'replica.all_reduce', for replica 1
// BLOCKED: blocked.mlir:[[#REDUCE+5]]:{{[0-9]+}}: note: replicas 1 and 2 have ended the step here
// VERIFIED: blocked.mlir:[[#]]:{{[0-9]+}}: error: 'replica.all_reduce' is under a condition that may differ between replicas
replica.step @step(%x: tensor<i32> {replica.batch = "x"}) -> (tensor<i32> {replica.result = "y"}) {
  %c1 = arith.constant 1 : i32
  %n = tensor.extract %x[] : tensor<i32>
  %is_one = arith.cmpi eq, %n, %c1 : i32
  %y = scf.if %is_one -> tensor<i32> {
    %s = replica.all_reduce sum %x : tensor<i32>
    scf.yield %s : tensor<i32>
  } else {
    scf.yield %x : tensor<i32>
  }
  replica.return %y : tensor<i32>
}

//--- crossed.mlir
// CROSSED: error: blocked: replica 0 waits in 'replica.all_reduce' for replica 1, which waits in 'replica.all_gather'
// CROSSED: note: replica 0 waits here, in 'replica.all_reduce', for replica 1
// CROSSED: note: replicas 1 and 2 wait here, in 'replica.all_gather', for replica 0
replica.step @step(%x: tensor<i32> {replica.batch = "x"}) -> (tensor<i32> {replica.result = "y"}) {
  %c1 = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %n = tensor.extract %x[] : tensor<i32>
  %is_one = arith.cmpi eq, %n, %c1 : i32
  %y = scf.if %is_one -> tensor<i32> {
    %s = replica.all_reduce sum %x : tensor<i32>
    scf.yield %s : tensor<i32>
  } else {
    %row = tensor.expand_shape %x [] output_shape [1] : tensor<i32> into tensor<1xi32>
    %g = replica.all_gather %row axis 0 : tensor<1xi32> -> tensor<3xi32>
    %e = tensor.extract %g[%c0] : tensor<3xi32>
    %f = tensor.from_elements %e : tensor<i32>
    scf.yield %f : tensor<i32>
  }
  replica.return %y : tensor<i32>
}

//--- equal.mlir
// Both sides issue the same sequence: the replicas rendezvous, though in different operations. (2 + 3 + 2) = 7.
// EQUAL: {"result":"y","replica":0,{{.*}}"values":[7]}
// EQUAL: {"result":"y","replica":1,{{.*}}"values":[7]}
replica.step @step(%x: tensor<i32> {replica.batch = "x"}) -> (tensor<i32> {replica.result = "y"}) {
  %c1 = arith.constant 1 : i32
  %n = tensor.extract %x[] : tensor<i32>
  %is_one = arith.cmpi eq, %n, %c1 : i32
  %y = scf.if %is_one -> tensor<i32> {
    %twice = arith.addi %x, %x : tensor<i32>
    %s = replica.all_reduce sum %twice : tensor<i32>
    scf.yield %s : tensor<i32>
  } else {
    %s = replica.all_reduce sum %x : tensor<i32>
    scf.yield %s : tensor<i32>
  }
  replica.return %y : tensor<i32>
}

//--- limits.mlir
// Bounds at the ends of i64: behind the last iteration the induction variable would overflow; from 2^63 on, a bound is negative unless it is
// unsigned. Odd exponents stay odd, though no float is equal to them. The step depends on x, which is 1, so
// that no loop is folded.
// LIMITS: {"result":"signed",{{.*}}"values":[3]}
// LIMITS: {"result":"unsigned",{{.*}}"values":[3]}
// LIMITS: {"result":"none",{{.*}}"values":[0]}
// LIMITS: {"result":"ipowi",{{.*}}"values":[1]}
// LIMITS: {"result":"fpowi",{{.*}}"values":[-1{{(\.0)?}}]}
replica.step @step(%x: tensor<i32> {replica.batch = "x"}) -> (tensor<i64> {replica.result = "signed"}, tensor<i64> {replica.result = "unsigned"},
    tensor<i64> {replica.result = "none"}, tensor<i64> {replica.result = "ipowi"}, tensor<f32> {replica.result = "fpowi"}) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %minus = arith.constant -1 : i64
  %max = arith.constant 9223372036854775807 : i64
  %min = arith.constant -9223372036854775808 : i64
  %quarter_or_0 = arith.constant 4611686018427387903 : i64
  %given = tensor.extract %x[] : tensor<i32>
  %is_given = arith.extsi %given : i32 to i64
  %quarter = arith.muli %quarter_or_0, %is_given : i64
  %signed = scf.for %i = %zero to %max step %quarter iter_args(%n = %zero) -> i64 : i64 {
    %m = arith.addi %n, %one : i64
    scf.yield %m : i64
  }
  %unsigned = scf.for unsigned %i = %zero to %min step %quarter iter_args(%n = %zero) -> i64 : i64 {
    %m = arith.addi %n, %one : i64
    scf.yield %m : i64
  }
  %none = scf.for %i = %zero to %min step %quarter iter_args(%n = %zero) -> i64 : i64 {
    %m = arith.addi %n, %one : i64
    scf.yield %m : i64
  }
  %power = math.ipowi %minus, %min : i64
  %base = arith.constant -1.0 : f32
  %odd = arith.constant 16777217 : i32
  %float = math.fpowi %base, %odd : f32, i32
  %r0 = tensor.from_elements %signed : tensor<i64>
  %r1 = tensor.from_elements %unsigned : tensor<i64>
  %r2 = tensor.from_elements %none : tensor<i64>
  %r3 = tensor.from_elements %power : tensor<i64>
  %r4 = tensor.from_elements %float : tensor<f32>
  replica.return %r0, %r1, %r2, %r3, %r4 : tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>
}
