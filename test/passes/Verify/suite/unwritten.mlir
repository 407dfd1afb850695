// RUN: lockstep-opt %s --fill-unwritten --set-replicas=replicas=3 --apply-strategy --verify-uniformity=find-examples=true --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Elements that are never written are zeros, on all replicas. The format of these files is in ../programs/SuiteTest.cpp.

// correct: half of a new value is never written
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) {
  %mean = replica.all_reduce mean %x : tensor<2xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %new = tensor.insert_slice %mean into %empty[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  replica.assign @w, %new : tensor<4xf32>
  replica.return
}

// -----

// wrong, results differ: the written half is each replica's own
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
  %empty = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{metric 'm' may differ between replicas, expected a value that is equal on all of them; all_reduce it first (wrong: batch argument 'x' can make it different}}
  %new = tensor.insert_slice %x into %empty[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  replica.return %new : tensor<4xf32>
}

// -----

// correct: the initial value of a sum is never written
#map = affine_map<(d0) -> (d0)>
#sum = affine_map<(d0) -> ()>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "m"}) {
  %mean = replica.all_reduce mean %x : tensor<2xf32>
  %empty = tensor.empty() : tensor<f32>
  %m = linalg.generic {indexing_maps = [#map, #sum], iterator_types = ["reduction"]} ins(%mean : tensor<2xf32>) outs(%empty : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  replica.return %m : tensor<f32>
}

// -----

// wrong, results differ: the initial value of a sum is each replica's own
#map = affine_map<(d0) -> (d0)>
#sum = affine_map<(d0) -> ()>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %b: tensor<f32> {replica.batch = "b"}) -> (tensor<f32> {replica.metric = "m"}) {
  %mean = replica.all_reduce mean %x : tensor<2xf32>
  // expected-error@+1 {{metric 'm' may differ between replicas, expected a value that is equal on all of them; all_reduce it first (wrong: batch argument 'b' can make it different}}
  %m = linalg.generic {indexing_maps = [#map, #sum], iterator_types = ["reduction"]} ins(%mean : tensor<2xf32>) outs(%b : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  replica.return %m : tensor<f32>
}

// -----

// correct: the result of a loop that may have no iterations decides
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %k: tensor<i32> {replica.scalar = "k"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %count = tensor.extract %k[] : tensor<i32>
  %trips = arith.index_cast %count : i32 to index
  %empty = tensor.empty() : tensor<2xf32>
  %t = scf.for %j = %c0 to %trips step %c1 iter_args(%held = %empty) -> (tensor<2xf32>) {
    %place = arith.remui %j, %c1 : index
    %next = tensor.insert %one into %held[%place] : tensor<2xf32>
    scf.yield %next : tensor<2xf32>
  }
  %e = tensor.extract %t[%c1] : tensor<2xf32>
  %c = arith.cmpf olt, %e, %one : f32
  scf.if %c {
    %sum = replica.all_reduce sum %x : tensor<2xf32>
  }
  replica.return
}

// -----

// wrong, blocks: the result of a loop decides, but each replica has its own trip count
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %k: tensor<i32> {replica.batch = "k"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %count = tensor.extract %k[] : tensor<i32>
  %trips = arith.index_cast %count : i32 to index
  %empty = tensor.empty() : tensor<2xf32>
  %t = scf.for %j = %c0 to %trips step %c1 iter_args(%held = %empty) -> (tensor<2xf32>) {
    %place = arith.minui %j, %c1 : index
    %next = tensor.insert %one into %held[%place] : tensor<2xf32>
    scf.yield %next : tensor<2xf32>
  }
  %e = tensor.extract %t[%c1] : tensor<2xf32>
  %c = arith.cmpf olt, %e, %one : f32
  scf.if %c {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas}}
    %sum = replica.all_reduce sum %x : tensor<2xf32>
  }
  replica.return
}
