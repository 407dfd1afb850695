// RUN: lockstep-opt %s --set-replicas=replicas=3 --splice-contexts --lower-replica | FileCheck %s --check-prefixes=CHECK,THREE
// RUN: lockstep-opt %s --set-replicas=replicas=4 --splice-contexts --lower-replica | FileCheck %s --check-prefixes=CHECK,FOUR
// RUN: lockstep-opt %s --set-replicas=replicas=1 --splice-contexts --lower-replica | FileCheck %s --check-prefix=ONE

// A mean of f16 is a sum in f32, a division there, and one rounding; only a division by a power of two is a multiplication. [2.1-narrow]
// CHECK-LABEL: replica.step @mean_of_f16
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<8xf16>) -> <tensor<8xf32>>
// THREE: %[[C:.*]] = arith.constant 3.000000e+00 : f32
// THREE: %[[Q:.*]] = arith.divf %{{.*}}, %[[C]] : f32
// FOUR: %[[C:.*]] = arith.constant 2.500000e-01 : f32
// FOUR: %[[Q:.*]] = arith.mulf %{{.*}}, %[[C]] : f32
// CHECK: arith.truncf %[[Q]] : f32 to f16
// With one replica, the mean is the value itself.
// ONE-LABEL: replica.step @mean_of_f16(%arg0: tensor<8xf16>
// ONE-NEXT: replica.return %arg0
replica.step @mean_of_f16(%x: tensor<8xf16> {replica.batch = "x"}) -> (tensor<8xf16> {replica.result = "y"}) {
  %y = replica.all_reduce mean %x : tensor<8xf16>
  replica.return %y : tensor<8xf16>
}

// A sum is rounded by the collective, since no division follows.
// CHECK-LABEL: replica.step @sum_of_f16
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<8xf16>) -> <tensor<8xf16>>
replica.step @sum_of_f16(%x: tensor<8xf16> {replica.batch = "x"}) -> (tensor<8xf16> {replica.result = "y"}) {
  %y = replica.all_reduce sum %x : tensor<8xf16>
  replica.return %y : tensor<8xf16>
}

// The mean of an integer value that is equal on all replicas is that value as f64, without an exchange.
// CHECK-LABEL: replica.step @mean_of_a_shared_integer
// CHECK-NOT: collective.start
// CHECK: arith.sitofp
replica.step @mean_of_a_shared_integer(%x: tensor<8xi32> {replica.scalar = "x"}) -> (tensor<8xf64> {replica.result = "y"}) {
  %y = replica.merge_call (%x : tensor<8xi32>) -> tensor<8xf64> {
  ^bb0(%all: tensor<8xi32>):
    %m = replica.reduce_to mean %all : tensor<8xi32> -> !replica.mirrored<tensor<8xf64>>
    replica.yield %m : !replica.mirrored<tensor<8xf64>>
  }
  replica.return %y : tensor<8xf64>
}
