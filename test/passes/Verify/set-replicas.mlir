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
// RUN: lockstep-opt %t/too-many.mlir --set-replicas=replicas=1000000 -verify-diagnostics
// RUN: lockstep-opt %t/none.mlir --set-replicas="strategy=parameter_server_sync replicas=4 servers=2 partitioner='min_size bytes 16 shards 2'" | FileCheck %t/none.mlir --check-prefix=SERVERS
// RUN: lockstep-opt %t/none.mlir --set-replicas="strategy=parameter_server servers=2" | FileCheck %t/none.mlir --check-prefix=ALONE
// RUN: lockstep-opt %t/servers.mlir --set-replicas="replicas=2 servers=3 partitioner='fixed 3'" | FileCheck %t/servers.mlir
// RUN: lockstep-opt %t/unknown-strategy.mlir --set-replicas="strategy=mirorred replicas=2" -verify-diagnostics
// RUN: lockstep-opt %t/other-strategy.mlir --set-replicas="strategy=central_storage" -verify-diagnostics
// RUN: lockstep-opt %t/no-servers.mlir --set-replicas="strategy=parameter_server_sync replicas=2" -verify-diagnostics
// RUN: lockstep-opt %t/negative-servers.mlir --set-replicas="strategy=parameter_server servers=-1" -verify-diagnostics
// RUN: lockstep-opt %t/servers-of-mirrored.mlir --set-replicas="servers=2" -verify-diagnostics
// RUN: lockstep-opt %t/partitioner-of-mirrored.mlir --set-replicas="partitioner='fixed 2'" -verify-diagnostics
// RUN: lockstep-opt %t/other-servers.mlir --set-replicas="servers=3" -verify-diagnostics
// RUN: lockstep-opt %t/other-partitioner.mlir --set-replicas="partitioner='fixed 3'" -verify-diagnostics
// RUN: lockstep-opt %t/bad-partitioner.mlir --set-replicas="partitioner='fixed 0'" -verify-diagnostics
// RUN: lockstep-opt %t/captured.mlir --set-replicas | FileCheck %t/captured.mlir
// RUN: lockstep-opt %t/captured.mlir --set-replicas=replicas=3 | FileCheck %t/captured.mlir
// RUN: not lockstep-opt %t/captured.mlir --set-replicas=replicas=2 2>&1 | FileCheck %t/captured.mlir --check-prefix=TWO
// RUN: not lockstep-opt %t/captured.mlir --set-replicas=strategy=one_device 2>&1 | FileCheck %t/captured.mlir --check-prefix=ONE
// RUN: lockstep-opt %t/groups.mlir --set-replicas=replicas=3 --split-input-file -verify-diagnostics

//--- open.mlir
// A strategy without a number of replicas gets it from the option; the rest of the strategy does not change.
// CHECK: replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
replica.strategy @dp {kind = #replica.kind<mirrored>}

//--- fixed.mlir
// A number of replicas in the module is kept, whether the option is absent or equal to it.
// CHECK: replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3 : i64}
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3}

//--- captured.mlir
// A step that was traced for a number of replicas has no other one.
// CHECK: replica.strategy @strategy {kind = #replica.kind<mirrored>, replicas = 3 : i64}
// TWO: model.py:5:1: error: the step was captured for 3 replicas, found a strategy with 2; capture it for that number, or without one
// ONE: model.py:5:1: error: the step was captured for 3 replicas, found a strategy with 1; capture it for that number, or without one
module attributes {replica.captured_replicas = 3 : i64} {
replica.step @step() {
  replica.return
} loc("model.py":5:1)
}

//--- one-device.mlir
// A strategy that always has one replica needs no option. [1.3-one-replica-kinds]
// CHECK: replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1 : i64}
replica.strategy @one {kind = #replica.kind<one_device>}

//--- none.mlir
// A module without a strategy gets one that fits the number of replicas; its step does not change. [1.3-none-given]
// MANY: replica.strategy @strategy {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// MANY: replica.step @step
// MANY-NEXT: replica.num_in_sync
// ONE: replica.strategy @strategy {kind = #replica.kind<one_device>, replicas = 1 : i64}
// SERVERS: replica.strategy @strategy {kind = #replica.kind<parameter_server_sync>, partitioner = #replica.partitioner<min_size bytes 16 shards 2>, replicas = 4 : i64, servers = 2 : i64}
// ALONE: replica.strategy @strategy {kind = #replica.kind<parameter_server>, replicas = 1 : i64, servers = 2 : i64}
replica.step @step() -> (tensor<i32> {replica.metric = "n"}) {
  %n = replica.num_in_sync : tensor<i32>
  replica.return %n : tensor<i32>
}

//--- differs.mlir
// expected-error@+1 {{the strategy has 3 replicas, but --replicas asks for 4}}
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3}

//--- one-device-differs.mlir
// expected-error@+1 {{the strategy has 1 replica, but --replicas asks for 2}}
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

//--- too-many.mlir
// expected-error@+1 {{expected at most 131072 replicas and servers together, found 1000000 and 0}}
replica.strategy @dp {kind = #replica.kind<mirrored>}

//--- servers.mlir
// Options complete a strategy with servers. [1.3-parameter-server]
// CHECK: replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, partitioner = #replica.partitioner<fixed 3>, replicas = 2 : i64, servers = 3 : i64}
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>}

//--- unknown-strategy.mlir
// expected-error@+1 {{expected a strategy among default, one_device, mirrored, multi_worker_mirrored, central_storage, parameter_server, parameter_server_sync; found 'mirorred'}}
module {
}

//--- other-strategy.mlir
// expected-error@+1 {{the strategy is 'mirrored', but --strategy asks for 'central_storage'}}
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}

//--- no-servers.mlir
// expected-error@+1 {{expected a number of servers, in the strategy or by --servers [E_CLUSTER]}}
module {
}

//--- negative-servers.mlir
// expected-error@+1 {{expected a number of servers that is positive, found -1 [E_CLUSTER]}}
module {
}

//--- servers-of-mirrored.mlir
// expected-error@+1 {{strategy 'mirrored' has no servers, but --servers asks for 2 [E_CLUSTER]}}
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}

//--- partitioner-of-mirrored.mlir
// expected-error@+1 {{strategy 'mirrored' has no servers, but --partitioner asks for 'fixed 2'}}
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}

//--- other-servers.mlir
// expected-error@+1 {{the strategy has 2 servers, but --servers asks for 3 [E_CLUSTER]}}
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2, servers = 2}

//--- other-partitioner.mlir
// expected-error@+1 {{the strategy has the partitioner #replica.partitioner<fixed 2>, but --partitioner asks for #replica.partitioner<fixed 3>}}
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2, servers = 2, partitioner = #replica.partitioner<fixed 2>}

//--- bad-partitioner.mlir
// expected-error@+1 {{--partitioner: expected 'fixed N', 'min_size [bytes B] [shards M]' or 'max_size bytes B [shards M]', found 'fixed 0': expected a positive 'num_shards', found 0 [E_OPTION_VALUE]}}
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2, servers = 2}

//--- groups.mlir
// The ranks of groups, and roots, are below the number of replicas.
collective.group @most {ranks = array<i64: 0, 2>}
// expected-error@+1 {{'collective.group' op expected ranks below 3, found 9}}
collective.group @some {ranks = array<i64: 0, 9>}

// -----

collective.group @all
func.func @step(%x: tensor<4xf32>) {
  // expected-error@+1 {{'collective.start' op expected a root below 3, found 3}}
  %h = collective.start broadcast none @all root 3 (%x : tensor<4xf32>) -> <tensor<4xf32>>
  %g = collective.wait %h (%x : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  return
}
