// A dynamic dimension has the bound that it has in a compiled program.

// RUN: %python %S/Inputs/npz.py %t.npz x=f32[4,1]:1,2,3,4
// RUN: not lockstep-interpret %s --replicas=2 --inputs=%t.npz 2>&1 | FileCheck %s
// CHECK: array 'x': expected at most 3x1xf32, found 4x1xf32

// RUN: %python %S/Inputs/npz.py %t.npz x=f32[3,1]:1,2,3
// RUN: lockstep-interpret %s --replicas=2 --inputs=%t.npz | FileCheck %s --check-prefix=FITS
// FITS: "shape":[6,1]

replica.step @step(%x: tensor<?x1xf32> {replica.batch = "x", replica.bounds = array<i64: 3>}) -> (tensor<?x1xf32> {replica.result = "y"}) {
  %y = replica.all_gather %x axis 0 : tensor<?x1xf32> -> tensor<?x1xf32>
  replica.return %y : tensor<?x1xf32>
}
