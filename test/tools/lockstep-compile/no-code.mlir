// Operations for which there is no code are errors at their line.

// RUN: split-file %s %t
// RUN: not lockstep-compile %t/gather.mlir --replicas=2 --target=x86-64-v3 -o %t.lockstep 2>&1 | FileCheck %s --check-prefix=GATHER
// RUN: not lockstep-compile %t/pack.mlir --replicas=2 --target=x86-64-v3 -o %t.lockstep 2>&1 | FileCheck %s --check-prefix=PACK
// RUN: not lockstep-compile %t/softmax.mlir --replicas=2 --target=x86-64-v3 -o %t.lockstep 2>&1 | FileCheck %s --check-prefix=SOFTMAX

//--- gather.mlir
// GATHER: gather.mlir:5:8: error: no code for 'tensor.gather'
// GATHER-NOT: error:
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %i: tensor<2x1xi64> {replica.batch = "i"})
    -> (tensor<2xf32> {replica.metric = "o"}) {
  %r = tensor.gather %x[%i] gather_dims([0]) : (tensor<4xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  %out = replica.all_reduce sum %r : tensor<2xf32>
  replica.return %out : tensor<2xf32>
}

//--- pack.mlir
// PACK: error: no code for 'linalg.pack'
// PACK-NOT: error:
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<2x2xf32> {replica.metric = "o"}) {
  %e = tensor.empty() : tensor<2x2xf32>
  %r = linalg.pack %x inner_dims_pos = [0] inner_tiles = [2] into %e : tensor<4xf32> -> tensor<2x2xf32>
  %out = replica.all_reduce sum %r : tensor<2x2xf32>
  replica.return %out : tensor<2x2xf32>
}

//--- softmax.mlir
// SOFTMAX: error: no code for 'linalg.softmax'
// SOFTMAX-NOT: error:
replica.step @step(%x: tensor<4x4xf32> {replica.batch = "x"}) -> (tensor<4x4xf32> {replica.metric = "o"}) {
  %e = tensor.empty() : tensor<4x4xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %out = replica.all_reduce sum %r : tensor<4x4xf32>
  replica.return %out : tensor<4x4xf32>
}
