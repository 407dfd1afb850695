// RUN: lockstep-opt %s --lower-replica --split-input-file | FileCheck %s

// Replicas exchange their numbers of rows, then gather: the result's size is a value. [2.2-ragged]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 3 : i64}
// CHECK-LABEL: replica.step @ragged
replica.step @ragged(%x: tensor<?x3xf32> {replica.batch = "x"}) -> (tensor<?x3xf32> {replica.result = "y"}) {
  // CHECK: %[[DIM:.*]] = tensor.dim %[[X:.*]], %{{.*}} : tensor<?x3xf32>
  // CHECK: %[[ROWS:.*]] = arith.index_cast %[[DIM]] : index to i64
  // CHECK: %[[OWN:.*]] = tensor.from_elements %[[ROWS]] : tensor<1x1xi64>
  // CHECK: %[[H:.*]] = collective.start all_gather none @all axis 0(%[[OWN]] : tensor<1x1xi64>) -> <tensor<3x1xi64>>
  // CHECK: %[[ALL:.*]] = collective.wait %[[H]]
  // CHECK: %[[SUM:.*]] = linalg.reduce ins(%[[ALL]] : tensor<3x1xi64>)
  // CHECK: %[[E:.*]] = tensor.extract %[[SUM]]
  // CHECK: %[[TOTAL:.*]] = arith.index_cast %[[E]] : i64 to index
  // CHECK: %[[G:.*]] = collective.start all_gather none @all axis 0(%[[X]] : tensor<?x3xf32>) sizes(%[[TOTAL]]) -> <tensor<?x3xf32>>
  // CHECK: %[[Y:.*]] = collective.wait %[[G]]
  // CHECK: replica.return %[[Y]]
  %y = replica.all_gather %x axis 0 : tensor<?x3xf32> -> tensor<?x3xf32>
  replica.return %y : tensor<?x3xf32>
}

// -----

// The sizes of all operands are exchanged together; an operand that is static along the axis takes no part in it.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// CHECK-LABEL: replica.step @several
replica.step @several(%a: tensor<?xf32> {replica.batch = "a"}, %b: tensor<4xf32> {replica.batch = "b"}, %c: tensor<?xi32> {replica.batch = "c"})
    -> (tensor<?xf32> {replica.result = "a"}, tensor<8xf32> {replica.result = "b"}, tensor<?xi32> {replica.result = "c"}) {
  // CHECK: all_gather none @all axis 0(%{{.*}} : tensor<1x2xi64>) -> <tensor<2x2xi64>>
  // CHECK-COUNT-3: collective.start all_gather
  // CHECK-NOT: collective.start
  %y:3 = replica.all_gather %a, %b, %c axis 0 : tensor<?xf32>, tensor<4xf32>, tensor<?xi32> -> tensor<?xf32>, tensor<8xf32>, tensor<?xi32>
  replica.return %y#0, %y#1, %y#2 : tensor<?xf32>, tensor<8xf32>, tensor<?xi32>
}

// -----

// A result with a static number of rows needs no exchange of sizes.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// CHECK-LABEL: replica.step @promised
replica.step @promised(%x: tensor<?xf32> {replica.batch = "x"}) -> (tensor<5xf32> {replica.result = "y"}) {
  // CHECK-NOT: tensor.dim
  // CHECK: collective.start all_gather none @all axis 0(%{{.*}} : tensor<?xf32>) -> <tensor<5xf32>>
  %y = replica.all_gather %x axis 0 : tensor<?xf32> -> tensor<5xf32>
  replica.return %y : tensor<5xf32>
}

// -----

// With one replica there is nothing to exchange.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 1 : i64}
// CHECK-LABEL: replica.step @alone
replica.step @alone(%x: tensor<?xf32> {replica.batch = "x"}) -> (tensor<?xf32> {replica.result = "y"}) {
  // CHECK-NEXT: replica.return %{{.*}} : tensor<?xf32>
  %y = replica.all_gather %x axis 0 : tensor<?xf32> -> tensor<?xf32>
  replica.return %y : tensor<?xf32>
}
