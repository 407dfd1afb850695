// RUN: lockstep-opt %s --verify-uniformity --split-input-file --verify-diagnostics -o /dev/null

// A value that depends only on the replica's number is computed for each replica, if the number of replicas is known.

// All of 4 replicas have a number below 8.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4}
replica.step @all_below(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %c8 = arith.constant 8 : i32
  %i = tensor.extract %id[] : tensor<i32>
  %few = arith.cmpi slt, %i, %c8 : i32
  scf.if %few {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// Not all of 16 replicas have one.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 16}
replica.step @not_all_below(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  %c8 = arith.constant 8 : i32
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %id[] : tensor<i32>
  // expected-note@+1 {{'arith.cmpi' makes it from a value that may differ}}
  %few = arith.cmpi slt, %i, %c8 : i32
  // expected-note@+1 {{replica 0 (true)}}
  scf.if %few {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The number of replicas is not known here.
replica.step @unknown_count(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  %c8 = arith.constant 8 : i32
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %id[] : tensor<i32>
  // expected-note@+1 {{'arith.cmpi' makes it from a value that may differ}}
  %few = arith.cmpi slt, %i, %c8 : i32
  // expected-note@+1 {{where it is true}}
  scf.if %few {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// In the form that the importer creates: a generic on tensors of rank 0, with a captured value.
#scalar = affine_map<() -> ()>
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4}
replica.step @generic(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %c8 = arith.constant dense<8> : tensor<i32>
  %empty = tensor.empty() : tensor<i1>
  %t = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%id : tensor<i32>) outs(%empty : tensor<i1>) {
  ^bb0(%in: i32, %out: i1):
    %eight = tensor.extract %c8[] : tensor<i32>
    %c = arith.cmpi slt, %in, %eight : i32
    linalg.yield %c : i1
  } -> tensor<i1>
  %few = tensor.extract %t[] : tensor<i1>
  scf.if %few {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// Each replica takes its own element of a list, which is false for replica 3 only.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4}
replica.step @list(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  %list = arith.constant dense<[true, true, true, false]> : tensor<4xi1>
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %id[] : tensor<i32>
  // expected-note@+1 {{'arith.index_cast' makes it from a value that may differ}}
  %n = arith.index_cast %i : i32 to index
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %c = tensor.extract %list[%n] : tensor<4xi1>
  // expected-note@+1 {{|  replica 3 (false)}}
  scf.if %c {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The result of a branch is computed for the side that each replica takes: here it is true on all replicas.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @through_branch(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tensor.extract %id[] : tensor<i32>
  %first = arith.cmpi eq, %i, %zero : i32
  %c = scf.if %first -> i1 {
    %a = arith.cmpi eq, %i, %zero : i32
    scf.yield %a : i1
  } else {
    %a = arith.cmpi eq, %i, %one : i32
    scf.yield %a : i1
  }
  scf.if %c {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The bounds of the loop differ, but the trip counts are equal.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4}
replica.step @equal_turns(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %c3 = arith.constant 3 : i32
  %c8 = arith.constant 8 : i32
  %i = tensor.extract %id[] : tensor<i32>
  %end = arith.addi %i, %c8 : i32
  scf.for %k = %i to %end step %c3 : i32 {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The induction variable differs between replicas.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4}
replica.step @numbers_differ(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  %c3 = arith.constant 3 : i32
  %c8 = arith.constant 8 : i32
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %id[] : tensor<i32>
  %end = arith.addi %i, %c8 : i32
  // expected-note@+1 {{'scf.for' carries it from a value that may differ}}
  scf.for %k = %i to %end step %c3 : i32 {
    // expected-note@+1 {{'arith.cmpi' makes it from a value that may differ}}
    %c = arith.cmpi eq, %k, %c3 : i32
    // expected-note@+1 {{the condition of this branch may differ}}
    scf.if %c {
      // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// A case that no replica takes does not matter.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @untaken(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %i = tensor.extract %id[] : tensor<i32>
  %n = arith.index_cast %i : i32 to index
  scf.index_switch %n
  case 0 {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield
  }
  case 1 {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield
  }
  default {
  }
  replica.return
}

// -----

// After lowering, the number is an argument, and the role has the number of replicas.
device.role @worker ranks 0 count 4
collective.group @all
func.func @step(%rank: tensor<i32> {device.binding = #device.binding<rank "">}) {
  %i = tensor.extract %rank[] : tensor<i32>
  %four = arith.constant 4 : i32
  %c = arith.cmpi ult, %i, %four : i32
  scf.if %c {
    collective.barrier @all
  }
  return
}

// -----

// A path that no replica takes, because of a constant condition, has no errors, whatever the number of replicas.
replica.variable @w : tensor<4xf32>
replica.step @debug(%x: tensor<4xf32> {replica.batch = "x"}, %y: tensor<?xf32> {replica.batch = "y", replica.bounds = array<i64: 8>},
    %b: tensor<i1> {replica.batch = "b"}, %n: tensor<index> {replica.batch = "n"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %turns = tensor.extract %n[] : tensor<index>
  %debug = arith.constant false
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.if %debug {
    replica.assign @w, %x : tensor<4xf32>
    %0 = replica.all_reduce sum %y : tensor<?xf32>
    scf.if %c {
      %1 = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  scf.for %i = %c1 to %c1 step %c1 {
    scf.for %j = %c0 to %turns step %c1 {
      %2 = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  scf.index_switch %c1
  case 0 {
    replica.assign @w, %x : tensor<4xf32>
    scf.yield
  }
  default {
  }
  // The assignments on these paths do not affect the variable's value.
  %w = replica.read @w : tensor<4xf32>
  %e = tensor.extract %w[%c0] : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %some = arith.cmpf ogt, %e, %zero : f32
  scf.if %some {
    %3 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}
