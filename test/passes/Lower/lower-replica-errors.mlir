// RUN: lockstep-opt %s --lower-replica --split-input-file -verify-diagnostics

// expected-error@+1 {{expected a 'replica.strategy' with a replica count; run 'set-replicas' first}}
module {
}

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @rows(%v: tensor<2x3xf32> {replica.batch = "v"}) -> (tensor<6x3xf32> {replica.metric = "m"}) {  // [2.2-other-dims]
  // expected-error@+1 {{expected 4 rows from 2 replicas, found a result of type 'tensor<6x3xf32>' [E_SHAPE_MISMATCH]}}
  %r = replica.all_gather %v axis 0 : tensor<2x3xf32> -> tensor<6x3xf32>
  replica.return %r : tensor<6x3xf32>
}

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 1}
replica.step @captured_for_three(%v: tensor<3xf32> {replica.batch = "v"}) -> (tensor<9xf32> {replica.metric = "m"}) {
  // expected-error@+1 {{expected 3 rows from 1 replica, found a result of type 'tensor<9xf32>' [E_SHAPE_MISMATCH]}}
  %r = replica.all_gather %v axis 0 : tensor<3xf32> -> tensor<9xf32>
  replica.return %r : tensor<9xf32>
}

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @slices(%v: tensor<2x3xf32> {replica.batch = "v"}, %i: tensor<2xi32> {replica.batch = "i"})
    -> (tensor<6x3xf32> {replica.metric = "v"}, tensor<6xi32> {replica.metric = "i"}) {
  // expected-error@+1 {{expected 4 rows from 2 replicas, found a result of type 'tensor<6x3xf32>' [E_SHAPE_MISMATCH]}}
  %all, %rows = replica.all_reduce_slices sum %v at %i : tensor<2x3xf32>, tensor<2xi32> -> tensor<6x3xf32>, tensor<6xi32>
  replica.return %all, %rows : tensor<6x3xf32>, tensor<6xi32>
}
