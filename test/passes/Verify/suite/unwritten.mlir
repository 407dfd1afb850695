// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// What nobody has written. The format of these files is in ../SuiteTest.cpp.

// wrong, copies differ: half of a new value is never written
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) {
  %mean = replica.all_reduce mean %x : tensor<2xf32>
  %empty = tensor.empty() : tensor<4xf32>
  // expected-note@+1 {{'tensor.insert_slice' gives elements that nobody has written, which may be different on each replica}}
  %new = tensor.insert_slice %mean into %empty[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  // expected-error@+1 {{variable 'w' is assigned a value that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE] (wrong: replicas have different values)}}
  replica.assign @w, %new : tensor<4xf32>
  replica.return
}

// -----

// correct: a new value of two halves
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) {
  %mean = replica.all_reduce mean %x : tensor<2xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %half = tensor.insert_slice %mean into %empty[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %new = tensor.insert_slice %mean into %half[2] [2] [1] : tensor<2xf32> into tensor<4xf32>
  replica.assign @w, %new : tensor<4xf32>
  replica.return
}

// -----

// wrong, results differ: a sum that begins with what nobody has written
#map = affine_map<(d0) -> (d0)>
#sum = affine_map<(d0) -> ()>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "m"}) {
  %mean = replica.all_reduce mean %x : tensor<2xf32>
  // expected-note@+1 {{'tensor.empty' gives elements that nobody has written, which may be different on each replica}}
  %empty = tensor.empty() : tensor<f32>
  // expected-error@+1 {{metric 'm' may differ between replicas, expected a value that is equal on all of them; all_reduce it first (wrong: replicas have different values)}}
  %m = linalg.generic {indexing_maps = [#map, #sum], iterator_types = ["reduction"]} ins(%mean : tensor<2xf32>) outs(%empty : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  replica.return %m : tensor<f32>
}

// -----

// correct: a sum that begins with zero
#map = affine_map<(d0) -> (d0)>
#sum = affine_map<(d0) -> ()>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "m"}) {
  %mean = replica.all_reduce mean %x : tensor<2xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %m = linalg.generic {indexing_maps = [#map, #sum], iterator_types = ["reduction"]} ins(%mean : tensor<2xf32>) outs(%start : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  replica.return %m : tensor<f32>
}
