// RUN: split-file %s %t
// RUN: lockstep-opt %t/steps.mlir --propagate-slices | FileCheck %t/steps.mlir
// RUN: lockstep-opt %t/dense.mlir --propagate-slices | FileCheck %t/dense.mlir
// RUN: lockstep-opt %t/remarks.mlir --propagate-slices --remark-format=emitRemark --remarks-filter=lower -o /dev/null 2>&1 | FileCheck %t/remarks.mlir --implicit-check-not=remark:

//--- steps.mlir
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
replica.variable @table : tensor<100x2xf32>
replica.variable @sum : tensor<100x2xf32> {aggregation = #replica.aggregation<sum>}
replica.variable @w : tensor<2xf32>

// The rows of all replicas are scaled and subtracted; no gradient of the table's size is left. [8-sparse-gradient]
// CHECK-LABEL: replica.step @descend
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<6xi32> {replica.batch = "ids"}, %[[ROWS:[^:]*]]: tensor<6x2xf32>
// CHECK-SAME: %[[LR:[^:]*]]: tensor<f32>
// CHECK-NOT: replica.slices_to_dense
// CHECK: %[[V:.*]], %[[I:.*]] = replica.all_reduce_slices mean %[[ROWS]] at %[[IDS]] : tensor<6x2xf32>, tensor<6xi32> -> tensor<24x2xf32>, tensor<24xi32>
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[V]], %[[LR]] : tensor<24x2xf32>, tensor<f32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.mulf
// CHECK-NOT: replica.all_reduce mean
// CHECK-NOT: arith.subf
// CHECK: replica.scatter sub @table, %[[I]], %[[SCALED]] : tensor<24xi32>, tensor<24x2xf32>
// CHECK-NEXT: replica.return
replica.step @descend(%ids: tensor<6xi32> {replica.batch = "ids"}, %rows: tensor<6x2xf32> {replica.batch = "rows"},
                      %lr: tensor<f32> {replica.scalar = "lr"}) {
  %table = replica.read @table : tensor<100x2xf32>
  %dense = replica.slices_to_dense %rows at %ids : tensor<6x2xf32>, tensor<6xi32> -> tensor<100x2xf32>
  %mean = replica.all_reduce mean %dense : tensor<100x2xf32>
  %empty = tensor.empty() : tensor<100x2xf32>
  %rate = linalg.broadcast ins(%lr : tensor<f32>) outs(%empty : tensor<100x2xf32>) dimensions = [0, 1]
  %change = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%mean, %rate : tensor<100x2xf32>, tensor<100x2xf32>) outs(%empty : tensor<100x2xf32>) {
    ^bb0(%g: f32, %r: f32, %o: f32):
      %p = arith.mulf %g, %r : f32
      linalg.yield %p : f32
  } -> tensor<100x2xf32>
  %new = arith.subf %table, %change : tensor<100x2xf32>
  replica.assign @table, %new : tensor<100x2xf32>
  replica.return
}

// A reduction of rows and of dense operands becomes two reductions, and each user reads the result of its own operand.
// CHECK-LABEL: replica.step @mixed
// CHECK: replica.all_reduce_slices sum
// CHECK: %[[W:.*]] = replica.all_reduce sum %{{.*}} {bytes_per_pack = 64 : i64} : tensor<2xf32>
// CHECK: replica.scatter add @table
// CHECK: replica.assign @w, %[[W]]
replica.step @mixed(%ids: tensor<?xi64> {replica.batch = "ids"}, %rows: tensor<?x2xf32> {replica.batch = "rows"}, %w: tensor<2xf32> {replica.batch = "w"}) {
  %table = replica.read @table : tensor<100x2xf32>
  %dense = replica.slices_to_dense %rows at %ids : tensor<?x2xf32>, tensor<?xi64> -> tensor<100x2xf32>
  %sum:2 = replica.all_reduce sum %dense, %w {bytes_per_pack = 64 : i64} : tensor<100x2xf32>, tensor<2xf32>
  %new = arith.addf %sum#0, %table : tensor<100x2xf32>
  replica.assign @table, %new : tensor<100x2xf32>
  replica.assign @w, %sum#1 : tensor<2xf32>
  replica.return
}

// Two lookups yield two sets of rows; signs and constant factors are applied to the rows.
// CHECK-LABEL: replica.step @twice
// CHECK: %[[HALF:.*]] = linalg.generic {{.*}} ins(%[[A:.*]] : tensor<6x2xf32>)
// CHECK: %[[C:.*]] = arith.constant 5.000000e-01 : f32
// CHECK: arith.divf %{{.*}}, %[[C]]
// CHECK: %[[MINUS:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<3x2xf32>)
// CHECK: arith.negf
// CHECK: replica.scatter sub @table, %{{.*}}, %[[HALF]] : tensor<6xi32>, tensor<6x2xf32>
// CHECK: replica.scatter add @table, %{{.*}}, %[[MINUS]] : tensor<3xi32>, tensor<3x2xf32>
replica.step @twice(%a: tensor<6xi32> {replica.scalar = "a"}, %b: tensor<3xi32> {replica.scalar = "b"},
                    %ra: tensor<6x2xf32> {replica.scalar = "ra"}, %rb: tensor<3x2xf32> {replica.scalar = "rb"}) {
  %half = arith.constant dense<5.0e-01> : tensor<100x2xf32>
  %table = replica.read @table : tensor<100x2xf32>
  %da = replica.slices_to_dense %ra at %a : tensor<6x2xf32>, tensor<6xi32> -> tensor<100x2xf32>
  %db = replica.slices_to_dense %rb at %b : tensor<3x2xf32>, tensor<3xi32> -> tensor<100x2xf32>
  %ha = arith.divf %da, %half : tensor<100x2xf32>
  %mb = arith.negf %db : tensor<100x2xf32>
  %both = arith.subf %ha, %mb : tensor<100x2xf32>
  %new = arith.subf %table, %both : tensor<100x2xf32>
  replica.assign @table, %new : tensor<100x2xf32>
  replica.return
}

// An assignment that adds is replaced by a scatter, which aggregates the rows in the same way.
// CHECK-LABEL: replica.step @aggregated
// CHECK-NEXT: replica.scatter sub @sum
replica.step @aggregated(%ids: tensor<6xi32> {replica.batch = "ids"}, %rows: tensor<6x2xf32> {replica.batch = "rows"}) {
  %dense = replica.slices_to_dense %rows at %ids : tensor<6x2xf32>, tensor<6xi32> -> tensor<100x2xf32>
  replica.assign_sub @sum, %dense : tensor<100x2xf32>
  replica.return
}

//--- dense.mlir
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
replica.variable @table : tensor<100x2xf32>
replica.variable @momentum : tensor<100x2xf32>
replica.variable @sum : tensor<100x2xf32> {aggregation = #replica.aggregation<sum>}

// A square is not linear: it is computed on the dense tensor.
// CHECK-LABEL: replica.step @square
// CHECK: %[[D:.*]] = replica.slices_to_dense
// CHECK: arith.mulf %[[D]], %[[D]] : tensor<100x2xf32>
replica.step @square(%ids: tensor<6xi32> {replica.scalar = "ids"}, %rows: tensor<6x2xf32> {replica.scalar = "rows"}) {
  %dense = replica.slices_to_dense %rows at %ids : tensor<6x2xf32>, tensor<6xi32> -> tensor<100x2xf32>
  %square = arith.mulf %dense, %dense : tensor<100x2xf32>
  replica.assign @table, %square : tensor<100x2xf32>
  replica.return
}

// Momentum changes all rows: the rows are still exchanged as rows, and their dense sum is added.
// CHECK-LABEL: replica.step @momentum_step
// CHECK: %[[V:.*]], %[[I:.*]] = replica.all_reduce_slices sum
// CHECK: %[[D:.*]] = replica.slices_to_dense %[[V]] at %[[I]]
// CHECK: arith.addf %{{.*}}, %[[D]] : tensor<100x2xf32>
// CHECK-NOT: replica.scatter
replica.step @momentum_step(%ids: tensor<6xi32> {replica.batch = "ids"}, %rows: tensor<6x2xf32> {replica.batch = "rows"}) {
  %decay = arith.constant dense<9.0e-01> : tensor<100x2xf32>
  %old = replica.read @momentum : tensor<100x2xf32>
  %dense = replica.slices_to_dense %rows at %ids : tensor<6x2xf32>, tensor<6xi32> -> tensor<100x2xf32>
  %sum = replica.all_reduce sum %dense : tensor<100x2xf32>
  %decayed = arith.mulf %old, %decay : tensor<100x2xf32>
  %new = arith.addf %decayed, %sum : tensor<100x2xf32>
  replica.assign @momentum, %new : tensor<100x2xf32>
  replica.return
}

// A dense value is assigned to a variable that has changed since it was read, to another variable, or to one whose assignments are aggregated.
// CHECK-LABEL: replica.step @not_its_own
// CHECK-NOT: replica.scatter
// CHECK: replica.return
replica.step @not_its_own(%ids: tensor<6xi32> {replica.scalar = "ids"}, %rows: tensor<6x2xf32> {replica.scalar = "rows"}) {
  %table = replica.read @table : tensor<100x2xf32>
  %sum = replica.read @sum : tensor<100x2xf32>
  %dense = replica.slices_to_dense %rows at %ids : tensor<6x2xf32>, tensor<6xi32> -> tensor<100x2xf32>
  %new = arith.subf %table, %dense : tensor<100x2xf32>
  replica.assign @momentum, %new : tensor<100x2xf32>
  %aggregated = arith.subf %sum, %dense : tensor<100x2xf32>
  replica.assign @sum, %aggregated : tensor<100x2xf32>
  replica.assign @table, %sum : tensor<100x2xf32>
  %late = arith.addf %table, %dense : tensor<100x2xf32>
  replica.assign @table, %late : tensor<100x2xf32>
  replica.return
}

//--- remarks.mlir
// Remarks on what is changed by rows, and on which operations need a dense tensor. [8-sparse-gradient]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
replica.variable @table : tensor<100x2xf32>
replica.variable @norm : tensor<100x2xf32>
// CHECK-DAG: model.py:2:1: remark: [Missed] Dense {{.*}}100x2xf32 (model.py:2) is made of rows, and made dense: 'arith.mulf' (model.py:3) needs all of it
// CHECK-DAG: model.py:5:1: remark: [Passed] Rows {{.*}}variable 'table' is changed by the rows 24x2xf32 (model.py:2), not by all of 100x2xf32
replica.step @step(%ids: tensor<6xi32> {replica.batch = "ids"}, %rows: tensor<6x2xf32> {replica.batch = "rows"}) {
  %table = replica.read @table : tensor<100x2xf32> loc("model.py":1:1)
  %dense = replica.slices_to_dense %rows at %ids : tensor<6x2xf32>, tensor<6xi32> -> tensor<100x2xf32> loc("model.py":1:1)
  %sum = replica.all_reduce sum %dense : tensor<100x2xf32> loc("model.py":2:1)
  %square = arith.mulf %sum, %table : tensor<100x2xf32> loc("model.py":3:1)
  %new = arith.subf %table, %sum : tensor<100x2xf32> loc("model.py":4:1)
  replica.assign @norm, %square : tensor<100x2xf32> loc("model.py":3:1)
  replica.assign @table, %new : tensor<100x2xf32> loc("model.py":5:1)
  replica.return
}
