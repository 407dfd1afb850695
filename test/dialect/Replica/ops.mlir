// RUN: lockstep-opt %s | lockstep-opt | FileCheck %s
// RUN: lockstep-opt --mlir-print-op-generic %s | lockstep-opt | FileCheck %s

// CHECK-LABEL: replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
