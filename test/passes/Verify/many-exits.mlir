// RUN: not lockstep-opt %s --verify-uniformity --split-input-file -o /dev/null 2>&1 | FileCheck %s

// A sequence of early exits, each after the same collective, so that all paths issue the same. For few exits this is proven. Many are
// refused, as the proof would take time that is quadratic in their number.

// CHECK-NOT: error:
// CHECK: many-exits.mlir:127:10: error: 'replica.all_reduce' is under a condition that may differ between replicas

replica.step @few(%ok: tensor<i1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %c = tensor.extract %ok[] : tensor<i1>
  cf.br ^b0
^b0:
  cf.cond_br %c, ^b1, ^e0
^e0:
  %v0 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b1:
  cf.cond_br %c, ^b2, ^e1
^e1:
  %v1 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b2:
  cf.cond_br %c, ^b3, ^e2
^e2:
  %v2 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b3:
  cf.cond_br %c, ^b4, ^e3
^e3:
  %v3 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b4:
  cf.cond_br %c, ^b5, ^e4
^e4:
  %v4 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b5:
  %v5 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^join:
  replica.return
}

// -----

replica.step @many(%ok: tensor<i1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %c = tensor.extract %ok[] : tensor<i1>
  cf.br ^b0
^b0:
  cf.cond_br %c, ^b1, ^e0
^e0:
  %v0 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b1:
  cf.cond_br %c, ^b2, ^e1
^e1:
  %v1 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b2:
  cf.cond_br %c, ^b3, ^e2
^e2:
  %v2 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b3:
  cf.cond_br %c, ^b4, ^e3
^e3:
  %v3 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b4:
  cf.cond_br %c, ^b5, ^e4
^e4:
  %v4 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b5:
  cf.cond_br %c, ^b6, ^e5
^e5:
  %v5 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b6:
  cf.cond_br %c, ^b7, ^e6
^e6:
  %v6 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b7:
  cf.cond_br %c, ^b8, ^e7
^e7:
  %v7 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b8:
  cf.cond_br %c, ^b9, ^e8
^e8:
  %v8 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b9:
  cf.cond_br %c, ^b10, ^e9
^e9:
  %v9 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b10:
  cf.cond_br %c, ^b11, ^e10
^e10:
  %v10 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b11:
  cf.cond_br %c, ^b12, ^e11
^e11:
  %v11 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b12:
  cf.cond_br %c, ^b13, ^e12
^e12:
  %v12 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b13:
  cf.cond_br %c, ^b14, ^e13
^e13:
  %v13 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b14:
  cf.cond_br %c, ^b15, ^e14
^e14:
  %v14 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b15:
  cf.cond_br %c, ^b16, ^e15
^e15:
  %v15 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b16:
  cf.cond_br %c, ^b17, ^e16
^e16:
  %v16 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b17:
  cf.cond_br %c, ^b18, ^e17
^e17:
  %v17 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b18:
  cf.cond_br %c, ^b19, ^e18
^e18:
  %v18 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b19:
  cf.cond_br %c, ^b20, ^e19
^e19:
  %v19 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b20:
  %v20 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^join:
  replica.return
}
