// RUN: lockstep-opt %s --partition-variables --lower-replica | FileCheck %s

// Rows of a table on a server: replicas send the ids of the rows that they need, and receive those rows; the amount of exchanged data
// depends on the number of rows.
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 1 : i64}
replica.variable @table : tensor<7x3xf32> {aggregation = #replica.aggregation<mean>}

// CHECK-LABEL: replica.step @look_up(
// CHECK-SAME: %[[IDS:.*]]: tensor<4xi64>
replica.step @look_up(%ids: tensor<4xi64> {replica.batch = "ids"}) -> (tensor<4x3xf32> {replica.result = "rows"}) {
  // Ids that are in the table are moved to the front, and counted.
  // CHECK: %[[TABLE:.*]] = replica.read @table
  // CHECK: %[[LOOP:.*]]:3 = scf.for
  // CHECK: %[[C:.*]] = tensor.extract %[[LOOP]]#2[]
  // CHECK: %[[COUNT:.*]] = arith.index_cast %[[C]]
  // CHECK: %[[OWN:.*]] = tensor.extract_slice %[[LOOP]]#0[0] [%[[COUNT]]] [1] : tensor<4xi64> to tensor<?xi64>
  // CHECK: collective.start gather none @all root 2 axis 0(%{{.*}} : tensor<1xi64>) -> <tensor<2xi64>>
  // CHECK: %[[COUNTS:.*]] = collective.wait
  // CHECK: collective.start gather none @all root 2 axis 0(%[[OWN]] : tensor<?xi64>) sizes(%{{.*}}) {bounds = array<i64: 8>} -> <tensor<?xi64>>
  // CHECK: %[[ASKED:.*]] = collective.wait
  // CHECK: %[[FOUND:.*]] = linalg.generic {{.*}} ins(%[[ASKED]] : tensor<?xi64>)
  // CHECK: collective.start scatter none @all root 2 axis 0(%[[FOUND]], %[[COUNTS]] : tensor<?x3xf32>, tensor<2xi64>) sizes(%[[COUNT]]) {bounds = array<i64: 4>} -> <tensor<?x3xf32>>
  // CHECK: %[[GIVEN:.*]] = collective.wait
  // Each row is placed where its id is; rows are zero for ids that are not in the table. Without any row, none is read.
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x3xf32>)
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ult
  // CHECK: scf.if %[[INSIDE]] -> (f32)
  // CHECK-NEXT: tensor.extract %[[GIVEN]][
  // CHECK: } else {
  %rows = replica.lookup @table, %ids : tensor<4xi64> -> tensor<4x3xf32>
  replica.return %rows : tensor<4x3xf32>
}

// CHECK-LABEL: replica.step @change(
replica.step @change(%ids: tensor<4xi64> {replica.batch = "ids"}, %rows: tensor<4x3xf32> {replica.batch = "rows"}) {
  // CHECK: collective.start gather none @all root 2 axis 0(%{{.*}} : tensor<1xi64>)
  // CHECK: collective.start gather none @all root 2 axis 0(%{{.*}} : tensor<?x3xf32>) sizes(%{{.*}}) {bounds = array<i64: 8>}
  // CHECK: collective.start gather none @all root 2 axis 0(%{{.*}} : tensor<?xi64>) sizes(%{{.*}}) {bounds = array<i64: 8>}
  // The mean is computed after the gathers, where the rows are needed.
  // CHECK: arith.mulf
  // CHECK: scf.for
  // CHECK: replica.assign @table
  replica.scatter sub @table, %ids, %rows : tensor<4xi64>, tensor<4x3xf32>
  replica.return
}
