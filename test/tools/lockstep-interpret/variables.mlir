// Assignments in replica context, by aggregation and synchronization: replica i assigns i + 1 to variables that hold 10.

// RUN: split-file %s %t
// RUN: %python %S/Inputs/npz.py %t/x.npz x@0=f32[]:1 x@1=f32[]:2
// RUN: lockstep-interpret %t/assign.mlir --replicas=2 --inputs=%t/x.npz | FileCheck %s
// RUN: not lockstep-interpret %t/diverge.mlir --unverified --replicas=2 --inputs=%t/x.npz 2>&1 | FileCheck %s --check-prefix=DIVERGE
// RUN: not lockstep-interpret %t/other.mlir --unverified --replicas=2 --inputs=%t/x.npz 2>&1 | FileCheck %s --check-prefix=OTHER

//--- assign.mlir
// CHECK-DAG: {"result":"read","replica":0,"type":"f32","shape":[],"values":[11]}
// CHECK-DAG: {"result":"read","replica":1,"type":"f32","shape":[],"values":[12]}
// CHECK-DAG: {"result":"combined","replica":0,"type":"f32","shape":[],"values":[23]}
// CHECK-DAG: {"result":"combined","replica":1,"type":"f32","shape":[],"values":[23]}
// CHECK-DAG: {"result":"together","replica":0,"type":"f32","shape":[],"values":[23]}
// CHECK-DAG: {"result":"together","replica":1,"type":"f32","shape":[],"values":[23]}
// CHECK-DAG: {"variable":"sum","replica":0,"type":"f32","shape":[],"values":[3]}
// CHECK-DAG: {"variable":"sum","replica":1,"type":"f32","shape":[],"values":[3]}
// CHECK-DAG: {"variable":"mean","replica":1,"type":"f32","shape":[],"values":[11.5]}
// CHECK-DAG: {"variable":"first","replica":1,"type":"f32","shape":[],"values":[9]}
// CHECK-DAG: {"variable":"own","replica":0,"type":"f32","shape":[],"values":[11]}
// CHECK-DAG: {"variable":"own","replica":1,"type":"f32","shape":[],"values":[12]}
// CHECK-DAG: {"variable":"shared","replica":0,"type":"i32","shape":[],"values":[3]}
// CHECK-DAG: {"variable":"shared","replica":1,"type":"i32","shape":[],"values":[3]}
replica.variable @sum : tensor<f32> {aggregation = #replica.aggregation<sum>, initial = dense<10.0> : tensor<f32>}
replica.variable @mean : tensor<f32> {aggregation = #replica.aggregation<mean>, initial = dense<10.0> : tensor<f32>}
replica.variable @first : tensor<f32> {aggregation = #replica.aggregation<only_first_replica>, initial = dense<10.0> : tensor<f32>}
replica.variable @own : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>,
    initial = dense<10.0> : tensor<f32>}
replica.variable @shared : tensor<i32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>,
    initial = dense<0> : tensor<i32>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "read"}, tensor<f32> {replica.result = "combined"},
    tensor<f32> {replica.result = "together"}) {
  replica.assign @sum, %x : tensor<f32>
  replica.assign_add @mean, %x : tensor<f32>
  replica.assign_sub @first, %x : tensor<f32>
  replica.assign_add @own, %x : tensor<f32>
  %read = replica.read @own : tensor<f32>
  %combined = replica.merge_call -> tensor<f32> {
    %own = replica.read @own : tensor<f32>
    // Each copy is assigned an equal part of 7, which is truncated to 3.
    %seven = arith.constant dense<7> : tensor<i32>
    replica.assign @shared, %seven : tensor<i32>
    replica.yield %own : tensor<f32>
  }
  %together = replica.read @own {aggregated} : tensor<f32>
  replica.return %read, %combined, %together : tensor<f32>, tensor<f32>, tensor<f32>
}

//--- diverge.mlir
// DIVERGE: diverge.mlir:[[#]]:{{[0-9]+}}: error: expected variable 'w' to be equal on all replicas after the step, found another value on replica 1 than on replica 0
replica.variable @w : tensor<f32> {initial = dense<10.0> : tensor<f32>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "y"}) {
  replica.assign @w, %x : tensor<f32>
  replica.return %x : tensor<f32>
}

//--- other.mlir
// The error is at the assignment of the copy, though replica 0 does not execute it.
// OTHER: other.mlir:10:5: error: expected variable 'w' to be equal on all replicas after the step, found another value on replica 1 than on replica 0
replica.variable @w : tensor<f32> {initial = dense<10.0> : tensor<f32>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "y"}) {
  %id = replica.id : tensor<i32>
  %n = tensor.extract %id[] : tensor<i32>
  %zero = arith.constant 0 : i32
  %others = arith.cmpi ne, %n, %zero : i32
  scf.if %others {
    replica.assign_add @w, %x : tensor<f32>
  }
  replica.return %x : tensor<f32>
}
