// RUN: lockstep-opt %s --fill-unwritten --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// What nobody has written is zero, on all replicas. The format of these files is in ../SuiteTest.cpp.

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

// correct: a sum that begins with what nobody has written
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

// correct: a loop that may have no iterations decides by what it has written
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

// correct: a while loop without iterations, a part written in parallel, every other element, a diagonal, an allocation
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %go: tensor<i1> {replica.scalar = "go"})
    -> (tensor<2xf32> {replica.metric = "while"}, tensor<2xf32> {replica.metric = "forall"}, tensor<4xf32> {replica.metric = "strided"},
        tensor<2x2xf32> {replica.metric = "diagonal"}, tensor<2xf32> {replica.metric = "allocated"}) {
  %c0 = arith.constant 0 : index
  %false = arith.constant false
  %sum = replica.all_reduce sum %x : tensor<2xf32>
  %first = tensor.extract_slice %sum[0] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %flag = tensor.extract %go[] : tensor<i1>
  %empty = tensor.empty() : tensor<2xf32>
  %a:2 = scf.while (%goes = %flag, %held = %empty) : (i1, tensor<2xf32>) -> (i1, tensor<2xf32>) {
    scf.condition(%goes) %goes, %held : i1, tensor<2xf32>
  } do {
  ^bb0(%goes: i1, %held: tensor<2xf32>):
    scf.yield %false, %sum : i1, tensor<2xf32>
  }
  %b = scf.forall (%i) in (1) shared_outs(%held = %empty) -> (tensor<2xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %first into %held[%i] [1] [1] : tensor<1xf32> into tensor<2xf32>
    }
  }
  %four = tensor.empty() : tensor<4xf32>
  %c = tensor.insert_slice %sum into %four[0] [2] [2] : tensor<2xf32> into tensor<4xf32>
  %matrix = tensor.empty() : tensor<2x2xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, i)>], iterator_types = ["parallel"]}
      ins(%sum : tensor<2xf32>) outs(%matrix : tensor<2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2xf32>
  %allocated = bufferization.alloc_tensor() : tensor<2xf32>
  %e = tensor.insert_slice %first into %allocated[1] [1] [1] : tensor<1xf32> into tensor<2xf32>
  replica.return %a#1, %b, %c, %d, %e : tensor<2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>
}

// -----

// wrong, results differ: the part that is written is each replica's own
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
  %empty = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{metric 'm' may differ between replicas, expected a value that is equal on all of them; all_reduce it first (wrong: batch argument 'x' can make it different}}
  %new = tensor.insert_slice %x into %empty[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  replica.return %new : tensor<4xf32>
}
