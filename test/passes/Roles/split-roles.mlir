// RUN: lockstep-opt %s --split-roles --split-input-file | FileCheck %s

#all = affine_map<(i) -> (i)>
#one = affine_map<(i) -> ()>

// Replicas compute gradients, the server sums them and updates its variable.
// CHECK-DAG: collective.group @replicas_and_server0 {ranks = array<i64: 2>, with_replicas}
collective.group @all
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 1 : i64}
replica.variable @w : tensor<4xf32> {device.role = @server0}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %{{.*}}: tensor<f32> {device.binding = #device.binding<scalar "lr">})
// CHECK-SAME: attributes {device.role = @worker, device.shared_channels = 2 : i64}
// CHECK: %[[H0:.*]] = collective.start broadcast none @replicas_and_server0 root 2 channel 0() -> <tensor<4xf32>>
// CHECK: %[[W:.*]] = collective.wait %[[H0]]() : <tensor<4xf32>> -> tensor<4xf32>
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%[[W]], %[[X]]
// CHECK: %[[H1:.*]] = collective.start reduce sum @replicas_and_server0 root 2 channel 1(%[[G]] : tensor<4xf32>) -> <>
// CHECK: collective.wait %[[H1]](%[[G]] : tensor<4xf32>) : <>
// CHECK: return
// CHECK-LABEL: func.func @step.server0(
// CHECK-SAME: %[[W:.*]]: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %[[LR:.*]]: tensor<f32> {device.binding = #device.binding<scalar "lr">})
// CHECK-SAME: attributes {device.role = @server0, device.shared_channels = 2 : i64, device.step = "step"}
// CHECK: %[[H0:.*]] = collective.start broadcast none @replicas_and_server0 root 2 channel 0(%[[W]] : tensor<4xf32>) -> <>
// CHECK: collective.wait %[[H0]](%[[W]] : tensor<4xf32>) : <>
// CHECK: %[[H1:.*]] = collective.start reduce sum @replicas_and_server0 root 2 channel 1() -> <tensor<4xf32>>
// CHECK: %[[S:.*]] = collective.wait %[[H1]]() : <tensor<4xf32>> -> tensor<4xf32>
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%[[W]], %[[S]], %[[LR]]
// CHECK: return %[[N]]
func.func @step(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">},
                %lr: tensor<f32> {device.binding = #device.binding<scalar "lr">}) -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %e = tensor.empty() : tensor<4xf32>
  %g = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%w, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %h = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> <tensor<4xf32>>
  %s = collective.wait %h (%g : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  %n = linalg.generic {indexing_maps = [#all, #all, #one, #all], iterator_types = ["parallel"]}
      ins(%w, %s, %lr : tensor<4xf32>, tensor<4xf32>, tensor<f32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %b, %c : f32
    %1 = arith.subf %a, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// A loop is in both roles: the server carries the variable, and sends it to the replicas in each iteration.
#all = affine_map<(i) -> (i)>
collective.group @all
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 1 : i64}
replica.variable @w : tensor<4xf32> {device.role = @server0}
// CHECK-LABEL: func.func @loop(
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:   collective.start broadcast none @replicas_and_server0 root 2 channel 0()
// CHECK:   collective.start reduce sum @replicas_and_server0 root 2 channel 1(
// CHECK: }
// CHECK-LABEL: func.func @loop.server0(
// CHECK: scf.for {{.*}} iter_args(%[[C:.*]] = %{{.*}}) -> (tensor<4xf32>) {
// CHECK:   collective.start broadcast none @replicas_and_server0 root 2 channel 0(%[[C]] : tensor<4xf32>)
// CHECK:   collective.start reduce sum @replicas_and_server0 root 2 channel 1()
// CHECK:   %[[N:.*]] = linalg.generic {{.*}} ins(%[[C]], %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK:   scf.yield %[[N]]
// CHECK: }
func.func @loop(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %from = arith.constant 0 : index
  %to = arith.constant 3 : index
  %by = arith.constant 1 : index
  %last = scf.for %i = %from to %to step %by iter_args(%c = %w) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %g = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
        ins(%c, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.mulf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<4xf32>
    %h = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> <tensor<4xf32>>
    %s = collective.wait %h (%g : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
    %n = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
        ins(%c, %s : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.subf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}

// -----

// The condition is computed from values that only the replicas have. They send it to the server, which tests it.
#all = affine_map<(i) -> (i)>
collective.group @all
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 1 : i64}
replica.variable @w : tensor<4xf32> {device.role = @server0}
// CHECK-DAG: collective.group @worker_and_server0 {ranks = array<i64: 0, 2>}
// CHECK-LABEL: func.func @skip(
// CHECK: %[[M:.*]] = tensor.from_elements
// CHECK: collective.start broadcast none @worker_and_server0 root 0 channel {{.*}}(%[[M]] : tensor<i1>) -> <>
// CHECK-LABEL: func.func @skip.server0(
// CHECK: %[[H:.*]] = collective.start broadcast none @worker_and_server0 root 0 channel {{.*}}() -> <tensor<i1>>
// CHECK: %[[M:.*]] = collective.wait %[[H]]
// CHECK: %[[C:.*]] = tensor.extract %[[M]][] : tensor<i1>
// CHECK: arith.select %[[C]], %{{.*}}, %{{.*}} : tensor<4xf32>
func.func @skip(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<i1> {device.binding = #device.binding<metric "good">}) {
  %h = collective.start all_reduce max @all (%x : tensor<4xf32>) -> <tensor<4xf32>>
  %s = collective.wait %h (%x : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  %h2 = collective.start all_gather none @all axis 0 (%x : tensor<4xf32>) -> <tensor<8xf32>>
  %all = collective.wait %h2 (%x : tensor<4xf32>) : <tensor<8xf32>> -> tensor<8xf32>
  %e = tensor.empty() : tensor<i1>
  %slice = tensor.extract_slice %all[0] [1] [1] : tensor<8xf32> to tensor<f32>
  %zero = arith.constant 0.0 : f32
  %good = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%slice : tensor<f32>) outs(%e : tensor<i1>) {
  ^bb0(%a: f32, %o: i1):
    %0 = arith.cmpf olt, %a, %zero : f32
    linalg.yield %0 : i1
  } -> tensor<i1>
  %c = tensor.extract %good[] : tensor<i1>
  %n = scf.if %c -> tensor<4xf32> {
    scf.yield %s : tensor<4xf32>
  } else {
    scf.yield %w : tensor<4xf32>
  }
  return %n, %good : tensor<4xf32>, tensor<i1>
}

// -----

// A module without roles stays as it is.
// CHECK-LABEL: func.func @alone(
// CHECK-NOT: device.role
// CHECK: return
func.func @alone(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<4xf32> {device.binding = #device.binding<result "x">}) {
  return %x : tensor<4xf32>
}

// -----

// Each server adds up the squares of its own gradient; the servers exchange a single scalar.
#all = affine_map<(i) -> (i)>
#one = affine_map<(i) -> ()>
collective.group @all
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
device.role @server1 ranks 3 count 1
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 2 : i64}
replica.variable @a : tensor<4xf32> {device.role = @server0}
replica.variable @b : tensor<6xf32> {device.role = @server1}
// CHECK-LABEL: func.func @norm.server0(
// CHECK-NOT: @server0_and_server1 {{.*}}tensor<6xf32>
// CHECK: collective.start broadcast none @server0_and_server1 root 3 channel {{[0-9]+}}() -> <tensor<f32>>
// CHECK-LABEL: func.func @norm.server1(
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}} : tensor<6xf32>)
// CHECK: collective.start broadcast none @server0_and_server1 root 3 channel {{[0-9]+}}(%{{.*}} : tensor<f32>) -> <>
func.func @norm(%a: tensor<4xf32> {device.binding = #device.binding<variable "a">}, %b: tensor<6xf32> {device.binding = #device.binding<variable "b">},
                %x: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %y: tensor<6xf32> {device.binding = #device.binding<batch "y">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "a">}, tensor<6xf32> {device.binding = #device.binding<variable "b">}) {
  %ha = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> <tensor<4xf32>>
  %ga = collective.wait %ha (%x : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  %hb = collective.start all_reduce sum @all (%y : tensor<6xf32>) -> <tensor<6xf32>>
  %gb = collective.wait %hb (%y : tensor<6xf32>) : <tensor<6xf32>> -> tensor<6xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sa = linalg.generic {indexing_maps = [#all, #one], iterator_types = ["reduction"]} ins(%ga : tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%in: f32, %sum: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#all, #one], iterator_types = ["reduction"]} ins(%gb : tensor<6xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%in: f32, %sum: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  %norm = arith.addf %sa, %sum : tensor<f32>
  %na = linalg.generic {indexing_maps = [#all, #all, #one, #all], iterator_types = ["parallel"]}
      ins(%a, %ga, %norm : tensor<4xf32>, tensor<4xf32>, tensor<f32>) outs(%a : tensor<4xf32>) {
  ^bb0(%old: f32, %g: f32, %n: f32, %out: f32):
    %0 = arith.divf %g, %n : f32
    %1 = arith.subf %old, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %nb = linalg.generic {indexing_maps = [#all, #all, #one, #all], iterator_types = ["parallel"]}
      ins(%b, %gb, %norm : tensor<6xf32>, tensor<6xf32>, tensor<f32>) outs(%b : tensor<6xf32>) {
  ^bb0(%old: f32, %g: f32, %n: f32, %out: f32):
    %0 = arith.divf %g, %n : f32
    %1 = arith.subf %old, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<6xf32>
  return %na, %nb : tensor<4xf32>, tensor<6xf32>
}

// -----

// A value that a loop of the server carries is sent to the replicas after the loop.
#all = affine_map<(i) -> (i)>
collective.group @all
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 1 : i64}
replica.variable @w : tensor<4xf32> {device.role = @server0}
// CHECK-LABEL: func.func @carried(
// CHECK: scf.for
// CHECK: }
// CHECK: collective.start broadcast none @replicas_and_server0 root 2 channel {{[0-9]+}}() -> <tensor<4xf32>>
// CHECK: %[[V:.*]] = collective.wait
// CHECK: return %[[V]]
// CHECK-LABEL: func.func @carried.server0(
// CHECK: %[[R:.*]]:2 = scf.for
// CHECK: }
// CHECK: collective.start broadcast none @replicas_and_server0 root 2 channel {{[0-9]+}}(%[[R]]#1 : tensor<4xf32>)
// CHECK: return %[[R]]#0
func.func @carried(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<result "v">}) {
  %from = arith.constant 0 : index
  %to = arith.constant 3 : index
  %by = arith.constant 1 : index
  %r:2 = scf.for %i = %from to %to step %by iter_args(%c = %w, %v = %w) -> (tensor<4xf32>, tensor<4xf32>) {
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> <tensor<4xf32>>
    %s = collective.wait %h (%x : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
    %v2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
        ins(%v, %s : tensor<4xf32>, tensor<4xf32>) outs(%v : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<4xf32>
    %c2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
        ins(%c, %v2 : tensor<4xf32>, tensor<4xf32>) outs(%c : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %0 = arith.subf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<4xf32>
    scf.yield %c2, %v2 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The operands of one collective are exchanged separately if different roles need their results.
collective.group @all
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 1 : i64}
replica.variable @w : tensor<4xf32> {device.role = @server0}
// CHECK-LABEL: func.func @bundle(
// CHECK: collective.start reduce sum @replicas_and_server0 root 2 channel 0(%{{.*}} : tensor<4xf32>)
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<2xf32>)
func.func @bundle(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %y: tensor<2xf32> {device.binding = #device.binding<batch "y">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<2xf32> {device.binding = #device.binding<metric "y">}) {
  %h = collective.start all_reduce sum @all (%x, %y : tensor<4xf32>, tensor<2xf32>) -> <tensor<4xf32>, tensor<2xf32>>
  %s:2 = collective.wait %h (%x, %y : tensor<4xf32>, tensor<2xf32>) : <tensor<4xf32>, tensor<2xf32>> -> tensor<4xf32>, tensor<2xf32>
  return %s#0, %s#1 : tensor<4xf32>, tensor<2xf32>
}

// -----

// A condition that is computed from constants and host scalars is computed by the replicas, which send it to the server.
module {
  device.role @worker ranks 0 count 2
  device.role @server0 ranks 2 count 1
  collective.group @all
  replica.variable @w : tensor<2xf32> {device.role = @server0}
  // CHECK-LABEL: func.func @loop_decides(
  // CHECK: %[[N:.*]] = scf.for
  // CHECK: %[[MANY:.*]] = arith.cmpi sgt, %[[N]]
  // CHECK: %[[SENT:.*]] = tensor.from_elements %[[MANY]] : tensor<i1>
  // CHECK: collective.start broadcast none @replicas_and_server0 root 0 channel {{.*}}(%[[SENT]] : tensor<i1>) -> <tensor<i1>>
  // CHECK: scf.if
  // CHECK-LABEL: func.func @loop_decides.server0(
  // CHECK-NOT: scf.for
  // CHECK-NOT: arith.cmpi
  // CHECK: %[[GOT:.*]] = collective.wait %{{.*}}() : <tensor<i1>> -> tensor<i1>
  // CHECK: %[[MANY:.*]] = tensor.extract %[[GOT]][]
  // CHECK: scf.if %[[MANY]]
  func.func @loop_decides(%w: tensor<2xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<2xf32> {device.binding = #device.binding<batch "x">},
                          %k: tensor<i32> {device.binding = #device.binding<scalar "k">}) -> (tensor<2xf32> {device.binding = #device.binding<variable "w">}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %limit = arith.constant 7 : i32
    %start = tensor.extract %k[] : tensor<i32>
    %n = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %start) -> i32 {
      %b = arith.muli %a, %a : i32
      scf.yield %b : i32
    }
    %many = arith.cmpi sgt, %n, %limit : i32
    %new = scf.if %many -> tensor<2xf32> {
      %h = collective.start all_reduce sum @all (%x : tensor<2xf32>) -> <tensor<2xf32>>
      %g = collective.wait %h (%x : tensor<2xf32>) : <tensor<2xf32>> -> tensor<2xf32>
      %s = arith.addf %w, %g : tensor<2xf32>
      scf.yield %s : tensor<2xf32>
    } else {
      scf.yield %w : tensor<2xf32>
    }
    return %new : tensor<2xf32>
  }
}
