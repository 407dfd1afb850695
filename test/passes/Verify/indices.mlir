// RUN: lockstep-opt %s --verify-indices --split-input-file --verify-diagnostics -o /dev/null

// Constant indices that are out of range are errors where they are certainly executed.

replica.step @elements(%x: tensor<4x3xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %below = arith.constant -1 : index
  %f = arith.constant 1.0 : f32
  %last = tensor.extract %x[%c3, %c0] : tensor<4x3xf32>
  // expected-error@+1 {{expected an index in [0, 3) for dimension 1 of 'tensor<4x3xf32>', found 3}}
  %a = tensor.extract %x[%c3, %c3] : tensor<4x3xf32>
  // expected-error@+1 {{expected an index in [0, 4) for dimension 0 of 'tensor<4x3xf32>', found -1}}
  %b = tensor.insert %f into %x[%below, %c0] : tensor<4x3xf32>
  replica.return
}

// -----

replica.step @slices(%x: tensor<8xf32> {replica.batch = "x"}, %y: tensor<2xf32> {replica.batch = "y"}) {
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %fits = tensor.extract_slice %x[%c6] [2] [1] : tensor<8xf32> to tensor<2xf32>
  // expected-error@+1 {{expected a slice inside of size 8 of dimension 0 of 'tensor<8xf32>', found offset 7, size 2 and stride 1}}
  %a = tensor.extract_slice %x[%c7] [2] [1] : tensor<8xf32> to tensor<2xf32>
  // expected-error@+1 {{expected a slice inside of size 8 of dimension 0 of 'tensor<8xf32>', found offset 6, size 2 and stride 6}}
  %b = tensor.insert_slice %y into %x[%c6] [2] [%c6] : tensor<2xf32> into tensor<8xf32>
  replica.return
}

// -----

// Loops and branches that are certainly executed.
replica.step @inside(%x: tensor<4xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %true = arith.constant true
  scf.for %i = %c0 to %c2 step %c1 {
    // expected-error@+1 {{expected an index in [0, 4) for dimension 0 of 'tensor<4xf32>', found 4}}
    %a = tensor.extract %x[%c4] : tensor<4xf32>
  }
  scf.if %true {
    // expected-error@+1 {{expected an index in [0, 4) for dimension 0 of 'tensor<4xf32>', found 4}}
    %a = tensor.extract %x[%c4] : tensor<4xf32>
  } else {
    %a = tensor.extract %x[%c4] : tensor<4xf32>
  }
  %d = tensor.generate {
  ^bb0(%i: index):
    // expected-error@+1 {{expected an index in [0, 4) for dimension 0 of 'tensor<4xf32>', found 4}}
    %a = tensor.extract %x[%c4] : tensor<4xf32>
    tensor.yield %a : f32
  } : tensor<2xf32>
  %r = replica.merge_call (%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%each: !replica.per_replica<tensor<4xf32>>):
    %sum = replica.reduce sum %each : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
    %five = arith.constant 5 : index
    // expected-error@+1 {{expected an index in [0, 4) for dimension 0 of 'tensor<4xf32>', found 5}}
    %b = tensor.extract %sum[%five] : tensor<4xf32>
    replica.yield %sum : tensor<4xf32>
  }
  replica.return
}

// -----

// These accesses need not be executed, so there is no error.
replica.step @perhaps(%x: tensor<4xf32> {replica.batch = "x"}, %s: tensor<i1> {replica.scalar = "s"}, %n: tensor<index> {replica.scalar = "n"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %false = arith.constant false
  %c = tensor.extract %s[] : tensor<i1>
  %turns = tensor.extract %n[] : tensor<index>
  scf.if %c {
    %a = tensor.extract %x[%c4] : tensor<4xf32>
  }
  scf.if %false {
    %a = tensor.extract %x[%c4] : tensor<4xf32>
  }
  scf.for %i = %c0 to %turns step %c1 {
    %a = tensor.extract %x[%c4] : tensor<4xf32>
  }
  scf.for %i = %c4 to %c0 step %c1 {
    %a = tensor.extract %x[%c4] : tensor<4xf32>
  }
  %w = scf.while (%go = %c) : (i1) -> i1 {
    scf.condition(%go) %go : i1
  } do {
  ^bb0(%go: i1):
    %a = tensor.extract %x[%c4] : tensor<4xf32>
    scf.yield %go : i1
  }
  cf.cond_br %c, ^there, ^end
^there:
  %b = tensor.extract %x[%c4] : tensor<4xf32>
  cf.br ^end
^end:
  replica.return
}

// -----

// There is no error for sizes that are not known, nor for slices without elements.
replica.step @open(%x: tensor<?xf32> {replica.batch = "x", replica.bounds = array<i64: 4>}, %y: tensor<4xf32> {replica.batch = "y"}) {
  %c9 = arith.constant 9 : index
  %c0 = arith.constant 0 : index
  %a = tensor.extract %x[%c9] : tensor<?xf32>
  %b = tensor.extract_slice %y[%c9] [%c0] [1] : tensor<4xf32> to tensor<?xf32>
  replica.return
}
