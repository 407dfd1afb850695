// RUN: lockstep-opt %s --apply-strategy --split-input-file | FileCheck %s

// Variables are synchronized on write by default, or on read if they say so; literals become constants. [1.3-kinds, 5.1-auto]
// CHECK-LABEL: replica.strategy @mirrored
// CHECK: replica.variable @auto : tensor<f32>{{$}}
// CHECK: replica.variable @seen : tensor<f32> {{{.*}}synchronization = #replica.synchronization<on_read>}
replica.strategy @mirrored {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @auto : tensor<f32> {synchronization = #replica.synchronization<auto>}
replica.variable @seen : tensor<f32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.step @s() {
  // CHECK: %[[C:.*]] = arith.constant dense<5.000000e+00> : tensor<f32>
  %five = replica.literal dense<5.0> : tensor<f32>
  // CHECK: replica.assign_add @seen, %[[C]]
  replica.assign_add @seen, %five : tensor<f32>
  replica.return
}

// -----

// With a single copy of each variable, the synchronization is ignored. [5.1-none, 5.2-central]
// CHECK-LABEL: replica.strategy @central
// CHECK: replica.variable @seen : tensor<f32> {aggregation = #replica.aggregation<sum>}
// CHECK: replica.variable @none : tensor<f32>{{$}}
replica.strategy @central {kind = #replica.kind<central_storage>, replicas = 2}
replica.variable @seen : tensor<f32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.variable @none : tensor<f32> {synchronization = #replica.synchronization<none>}

// -----

// A single copy takes the slices of all replicas one after the other, for all kinds of scatter. [5.2-scatter-other]
// CHECK-LABEL: replica.strategy @central_rows
// CHECK: replica.scatter min @v
// CHECK: replica.scatter update @m
replica.strategy @central_rows {kind = #replica.kind<central_storage>, replicas = 2}
replica.variable @v : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
replica.variable @m : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.step @rows(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  replica.scatter min @v, %i, %v : tensor<2xi64>, tensor<2xf32>
  replica.scatter update @m, %i, %v : tensor<2xi64>, tensor<2xf32>
  replica.return
}

// -----

// One device: nothing is aggregated, means keep their type, gathers need no axis. [2.1-single, 2.2-single]
// CHECK-LABEL: replica.strategy @one
// CHECK: replica.variable @n : tensor<i32>{{$}}
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
replica.variable @n : tensor<i32> {aggregation = #replica.aggregation<mean>, synchronization = #replica.synchronization<none>}
replica.step @s(%x: tensor<f32> {replica.batch = "x"}, %n: tensor<i32> {replica.batch = "n"}) {
  %0 = replica.all_gather %x axis 3 : tensor<f32> -> tensor<f32>
  %1 = replica.all_reduce mean %n : tensor<i32> -> tensor<i32>
  %five = replica.literal dense<5> : tensor<i32>
  replica.assign_add @n, %five : tensor<i32>
  replica.return
}

// -----

// With one replica, values are returned as they are, whatever the strategy: a mean of integers keeps its type. [2.1-one-replica]
// CHECK-LABEL: replica.step @single
// CHECK: replica.all_reduce mean %{{.*}} : tensor<i32> -> tensor<i32>
replica.strategy @central {kind = #replica.kind<central_storage>, replicas = 1}
replica.step @single(%n: tensor<i32> {replica.batch = "n"}) {
  %0 = replica.all_reduce mean %n : tensor<i32> -> tensor<i32>
  replica.return
}

// -----

// A sum of zeros is zero for any number of replicas, so it is not an error. [3.1-none-plain-sum]
// CHECK-LABEL: replica.program @zero
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @zero() -> (tensor<f32> {replica.result = "r"}) {
  %zero = replica.literal dense<0.0> : tensor<f32>
  %0 = replica.reduce sum %zero : tensor<f32> -> tensor<f32>
  replica.return %0 : tensor<f32>
}
