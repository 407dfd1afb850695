// RUN: split-file %s %t
// RUN: lockstep-opt %t/open.mlir --set-replicas=replicas=4 | FileCheck %t/open.mlir
// RUN: lockstep-opt %t/fixed.mlir --set-replicas | FileCheck %t/fixed.mlir
// RUN: lockstep-opt %t/fixed.mlir --set-replicas=replicas=3 | FileCheck %t/fixed.mlir
// RUN: lockstep-opt %t/one-device.mlir --set-replicas | FileCheck %t/one-device.mlir
// RUN: lockstep-opt %t/none.mlir --set-replicas=replicas=2 | FileCheck %t/none.mlir --check-prefix=MANY
// RUN: lockstep-opt %t/none.mlir --set-replicas=replicas=1 | FileCheck %t/none.mlir --check-prefix=ONE
// RUN: lockstep-opt %t/differs.mlir --set-replicas=replicas=4 -verify-diagnostics
// RUN: lockstep-opt %t/one-device-differs.mlir --set-replicas=replicas=2 -verify-diagnostics
// RUN: lockstep-opt %t/unknown.mlir --set-replicas --split-input-file -verify-diagnostics
// RUN: lockstep-opt %t/negative.mlir --set-replicas=replicas=-1 -verify-diagnostics

//--- open.mlir
// A strategy that leaves the count open gets it from the option; nothing else of it changes.
// CHECK: replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
replica.strategy @dp {kind = #replica.kind<mirrored>}

//--- fixed.mlir
// A count in the module is kept, whether the option is absent or says the same.
// CHECK: replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3 : i64}
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3}

//--- one-device.mlir
// A strategy that is not mirrored has one replica without being told.
// CHECK: replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1 : i64}
replica.strategy @one {kind = #replica.kind<one_device>}

//--- none.mlir
// A module without a strategy gets one that fits the count; its step is not touched.
// MANY: replica.strategy @strategy {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// MANY: replica.step @step
// MANY-NEXT: replica.num_in_sync
// ONE: replica.strategy @strategy {kind = #replica.kind<one_device>, replicas = 1 : i64}
replica.step @step() -> (tensor<i32> {replica.metric = "n"}) {
  %n = replica.num_in_sync : tensor<i32>
  replica.return %n : tensor<i32>
}

//--- differs.mlir
// expected-error@+1 {{the strategy has 3 replicas, but --replicas asks for 4}}
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3}

//--- one-device-differs.mlir
// expected-error@+1 {{the strategy has 1 replicas, but --replicas asks for 2}}
replica.strategy @one {kind = #replica.kind<one_device>}

//--- unknown.mlir
// expected-error@+1 {{expected a replica count, in the strategy or by --replicas}}
replica.strategy @dp {kind = #replica.kind<mirrored>}

// -----

// expected-error@+1 {{expected a replica count, by --replicas or a 'replica.strategy'}}
module {
}

//--- negative.mlir
// expected-error@+1 {{expected a replica count that is positive, found -1}}
module {
}
