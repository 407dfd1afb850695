// RUN: lockstep-opt %s --bound-inputs --split-input-file -verify-diagnostics | FileCheck %s

// A batch of dynamic size becomes a tensor of its largest size, and an input for the actual size of each dynamic dimension. [1.3-static-shapes]
// CHECK-LABEL: replica.step @train(
// CHECK-SAME:    %[[X:.*]]: tensor<8x2x5xf32> {replica.batch = "x"}, %[[Y:.*]]: tensor<4xi32> {replica.batch = "y"}
// CHECK-SAME:    %[[N:.*]]: tensor<i64> {replica.batch = "x.dim0"}, %[[M:.*]]: tensor<i64> {replica.batch = "x.dim2"})
replica.step @train(%x: tensor<?x2x?xf32> {replica.batch = "x", replica.bounds = array<i64: 8, 5>}, %y: tensor<4xi32> {replica.batch = "y"})
    -> (tensor<?x2x?xf32> {replica.result = "z"}) {
  // CHECK-DAG: %[[N0:.*]] = tensor.extract %[[N]][] : tensor<i64>
  // CHECK-DAG: %[[N1:.*]] = arith.index_cast %[[N0]] : i64 to index
  // CHECK-DAG: %[[M0:.*]] = tensor.extract %[[M]][] : tensor<i64>
  // CHECK-DAG: %[[M1:.*]] = arith.index_cast %[[M0]] : i64 to index
  // CHECK: %[[S:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [%[[N1]], 2, %[[M1]]] [1, 1, 1] : tensor<8x2x5xf32> to tensor<?x2x?xf32>
  // CHECK: arith.addf %[[S]], %[[S]] : tensor<?x2x?xf32>
  %z = arith.addf %x, %x : tensor<?x2x?xf32>
  replica.return %z : tensor<?x2x?xf32>
}

// -----

// Steps of static shapes are left alone.
// CHECK-LABEL: replica.step @static(%{{.*}}: tensor<4xf32> {replica.batch = "x"}) {
replica.step @static(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.return
}

// -----

// A dynamic size needs a bound. [1.3-static-shapes]
// expected-error@+1 {{expected a batch tensor with 'replica.bounds', a bound for each of 1 dynamic dimensions of 'tensor<?xf32>', found none}}
replica.step @unbounded(%x: tensor<?xf32> {replica.batch = "x"}) {
  replica.return
}

// -----

// expected-error@+1 {{a bound for each of 2 dynamic dimensions of 'tensor<?x?xf32>', found another number of them}}
replica.step @bounds(%x: tensor<?x?xf32> {replica.batch = "x", replica.bounds = array<i64: 3>}) {
  replica.return
}

// -----

// A dimension of size 0 has size 1 in memory: an empty tensor has no slices.
// CHECK-LABEL: replica.step @nothing(
// CHECK-SAME: %[[X:.*]]: tensor<4x1xf32> {replica.batch = "x"}, %[[N:.*]]: tensor<i64> {replica.batch = "x.dim0"}, %{{.*}}: tensor<i64> {replica.batch = "x.dim1"})
// CHECK: tensor.extract_slice %[[X]][0, 0] [%{{.*}}, 0] [1, 1] : tensor<4x1xf32> to tensor<?x0xf32>
replica.step @nothing(%x: tensor<?x0xf32> {replica.batch = "x", replica.bounds = array<i64: 4>}) -> tensor<?x0xf32> {
  replica.return %x : tensor<?x0xf32>
}
