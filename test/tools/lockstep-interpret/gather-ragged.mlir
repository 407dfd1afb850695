// Gathers of values whose sizes differ between replicas: every replica gets the concatenation in the order of replicas.

// RUN: split-file %s %t
// RUN: %python %S/Inputs/npz.py %t/axis0.npz x@0=f32[2,1]:1,2 x@1=f32[1,1]:3 x@2=f32[3,1]:4,5,6
// RUN: lockstep-interpret %t/axis0.mlir --replicas=3 --inputs=%t/axis0.npz | FileCheck %s --check-prefix=AXIS0
// RUN: %python %S/Inputs/npz.py %t/axis1.npz x@0=f32[1,2,3]:0,1,2,3,4,5 x@1=f32[1,3,3]:10,11,12,13,14,15,16,17,18
// RUN: lockstep-interpret %t/axis1.mlir --replicas=2 --inputs=%t/axis1.npz | FileCheck %s --check-prefix=AXIS1
// RUN: %python %S/Inputs/npz.py %t/nest.npz a@0=i32[1]:0 a@1=i32[1]:1 b@0=i32[1,2]:0,1 b@1=i32[2,2]:2,3,4,5
// RUN: lockstep-interpret %t/nest.mlir --replicas=2 --inputs=%t/nest.npz | FileCheck %s --check-prefix=NEST
// RUN: %python %S/Inputs/npz.py %t/wrong.npz x@0=f32[1,2,3]:0,1,2,3,4,5 x@1=f32[1,2,3]:0,1,2,3,4,5
// RUN: not lockstep-interpret %t/static.mlir --replicas=2 --inputs=%t/wrong.npz 2>&1 | FileCheck %s --check-prefix=STATIC
// RUN: %python %S/Inputs/npz.py %t/one.npz x=f32[1,4,3]:0,1,2,3,4,5,6,7,8,9,10,11
// RUN: not lockstep-interpret %t/static.mlir --replicas=1 --inputs=%t/one.npz 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: %python %S/Inputs/npz.py %t/slices.npz v=f32[2,1]:1,2 i=i32[2]:0,1
// RUN: not lockstep-interpret %t/slices.mlir --replicas=1 --inputs=%t/slices.npz 2>&1 | FileCheck %s --check-prefix=SLICES

//--- axis0.mlir
// AXIS0: {"result":"y","replica":0,"type":"f32","shape":[6,1],"values":[1,2,3,4,5,6]}
// AXIS0: {"result":"y","replica":1,"type":"f32","shape":[6,1],"values":[1,2,3,4,5,6]}
// AXIS0: {"result":"y","replica":2,"type":"f32","shape":[6,1],"values":[1,2,3,4,5,6]}
replica.step @step(%x: tensor<?x1xf32> {replica.batch = "x"}) -> (tensor<?x1xf32> {replica.result = "y"}) {
  %y = replica.all_gather %x axis 0 : tensor<?x1xf32> -> tensor<?x1xf32>
  replica.return %y : tensor<?x1xf32>
}

//--- axis1.mlir
// AXIS1: {"result":"y","replica":0,"type":"f32","shape":[1,5,3],"values":[0,1,2,3,4,5,10,11,12,13,14,15,16,17,18]}
// AXIS1: {"result":"y","replica":1,"type":"f32","shape":[1,5,3],"values":[0,1,2,3,4,5,10,11,12,13,14,15,16,17,18]}
replica.step @step(%x: tensor<1x?x3xf32> {replica.batch = "x"}) -> (tensor<1x?x3xf32> {replica.result = "y"}) {
  %y = replica.all_gather %x axis 1 : tensor<1x?x3xf32> -> tensor<1x?x3xf32>
  replica.return %y : tensor<1x?x3xf32>
}

//--- nest.mlir
// NEST: {"result":"a","replica":0,"type":"i32","shape":[2],"values":[0,1]}
// NEST: {"result":"a","replica":1,"type":"i32","shape":[2],"values":[0,1]}
// NEST: {"result":"b","replica":0,"type":"i32","shape":[3,2],"values":[0,1,2,3,4,5]}
// NEST: {"result":"b","replica":1,"type":"i32","shape":[3,2],"values":[0,1,2,3,4,5]}
replica.step @step(%a: tensor<1xi32> {replica.batch = "a"}, %b: tensor<?x2xi32> {replica.batch = "b"})
    -> (tensor<2xi32> {replica.result = "a"}, tensor<?x2xi32> {replica.result = "b"}) {
  %y:2 = replica.all_gather %a, %b axis 0 : tensor<1xi32>, tensor<?x2xi32> -> tensor<2xi32>, tensor<?x2xi32>
  replica.return %y#0, %y#1 : tensor<2xi32>, tensor<?x2xi32>
}

//--- static.mlir
// The result type has a static number of rows, which is not that of the replicas together.
// ONE: static.mlir:[[#]]:{{[0-9]+}}: error: expected 5 rows in the result, found 4 from 1 replica [E_SHAPE_MISMATCH]
// STATIC: static.mlir:[[#]]:{{[0-9]+}}: error: expected 5 rows in the result, found 4 from 2 replicas [E_SHAPE_MISMATCH]
replica.step @step(%x: tensor<1x?x3xf32> {replica.batch = "x"}) -> (tensor<1x5x3xf32> {replica.result = "y"}) {
  %y = replica.all_gather %x axis 1 : tensor<1x?x3xf32> -> tensor<1x5x3xf32>
  replica.return %y : tensor<1x5x3xf32>
}

//--- slices.mlir
// SLICES: slices.mlir:[[#]]:{{[0-9]+}}: error: expected 3 rows in the result, found 2 from 1 replica [E_SHAPE_MISMATCH]
replica.step @step(%v: tensor<2x1xf32> {replica.batch = "v"}, %i: tensor<2xi32> {replica.batch = "i"})
    -> (tensor<3x1xf32> {replica.result = "y"}, tensor<3xi32> {replica.result = "j"}) {
  %y, %j = replica.all_reduce_slices sum %v at %i : tensor<2x1xf32>, tensor<2xi32> -> tensor<3x1xf32>, tensor<3xi32>
  replica.return %y, %j : tensor<3x1xf32>, tensor<3xi32>
}
