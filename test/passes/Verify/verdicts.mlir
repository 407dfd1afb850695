// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity=find-examples=true --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Each error says whether the step is wrong, with an example, or not provable, with the reason.

// Two replicas are known to take different paths.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %n = tensor.extract %id[] : tensor<i32>
  %zero = arith.constant 0 : i32
  %first = arith.cmpi eq, %n, %zero : i32
  scf.if %first {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: replicas 0 and 1 take different paths)}}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// There is an input with which replicas take different paths.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}) {
  %c = tensor.extract %b[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: batch argument 'b' can lead replicas along different paths, for example b = false on replica 0 and true on replica 1)}}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// It is not known whether the copies of a variable differ.
replica.variable @n : tensor<i1> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<only_first_replica>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %v = replica.read @n : tensor<i1>
  %c = tensor.extract %v[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{ differs could not be decided: it follows from variable 'n')}}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The branch is nested in another one, whose condition is an input of its own and can be true.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}, %s: tensor<i1> {replica.scalar = "s"}) {
  %h = tensor.extract %s[] : tensor<i1>
  %c = tensor.extract %b[] : tensor<i1>
  scf.if %h {
    scf.if %c {
      // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: batch argument 'b' can lead replicas along different paths, for example b = true on replica 0 and false on replica 2)}}
      %r = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// A replica that does not issue the first all_reduce issues the second one.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %t = arith.constant true
  %not = arith.xori %c, %t : i1
  scf.if %c {
    // expected-error@+1 {{decide alike could not be decided)}}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  scf.if %not {
    // expected-error@+1 {{decide alike could not be decided)}}
    %q = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The same with the number of the replica.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %n = tensor.extract %id[] : tensor<i32>
  %zero = arith.constant 0 : i32
  %first = arith.cmpi eq, %n, %zero : i32
  %t = arith.constant true
  %not = arith.xori %first, %t : i1
  scf.if %first {
    // expected-error@+1 {{decide alike could not be decided)}}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  scf.if %not {
    // expected-error@+1 {{decide alike could not be decided)}}
    %q = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// Branches on different inputs do not compensate for each other.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}, %d: tensor<i1> {replica.batch = "d"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %e = tensor.extract %d[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: batch argument 'b' can lead replicas along different paths, for example b = }}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  scf.if %e {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: batch argument 'd' can lead replicas along different paths, for example d = }}
    %q = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// No replica reaches the collective: the inner condition is the negation of the outer one.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %t = arith.constant true
  %not = arith.xori %c, %t : i1
  scf.if %c {
    scf.if %not {
      // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (not provable: }}
      %r = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// The trip counts of two loops may be equal, but need not be.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}, %s: tensor<index> {replica.scalar = "s"}, %t: tensor<index> {replica.scalar = "t"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i0 = tensor.extract %s[] : tensor<index>
  %i1 = tensor.extract %t[] : tensor<index>
  scf.if %c {
    scf.for %i = %c0 to %i0 step %c1 {
      // expected-error@+1 {{(wrong: batch argument 'b' can lead replicas along different paths, for example b = }}
      %r = replica.all_reduce sum %x : tensor<4xf32>
    }
  } else {
    scf.for %i = %c0 to %i1 step %c1 {
      %q = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// The trip count of a loop is an input of each replica.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %s: tensor<index> {replica.batch = "s"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i0 = tensor.extract %s[] : tensor<index>
    scf.for %i = %c0 to %i0 step %c1 {
      // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: batch argument 's' can lead replicas along different paths, for example s = }}
      %r = replica.all_reduce sum %x : tensor<4xf32>
    }
  replica.return
}

// -----

// The assigned value is an input of each replica.
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{[E_AGG_NONE] (wrong: batch argument 'x' can make it different, for example x = [3, 3, 3, 3] on replica 0 and [0.5, 0.5, 0.5, 0.5] on replica 1)}}
  replica.assign @w, %x : tensor<4xf32>
  replica.return
}

// -----

// The number of a replica is known to differ.
replica.variable @n : tensor<i32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  // expected-error@+1 {{[E_AGG_NONE] (wrong: replicas 0 and 1 have different values)}}
  replica.assign @n, %id : tensor<i32>
  replica.return
}

// -----

// Only some replicas assign the variable.
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %v = arith.constant dense<1.0> : tensor<4xf32>
  scf.if %c {
    // expected-error@+1 {{[E_AGG_NONE] (wrong: batch argument 'b' can lead replicas along different paths, for example b = }}
    replica.assign @w, %v : tensor<4xf32>
  }
  replica.return
}

// -----

// A later assignment replaces the varying value by a uniform one.
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{[E_AGG_NONE] (not provable: whether 'replica.assign'}}
  replica.assign @w, %x : tensor<4xf32>
  %v = replica.all_reduce sum %x : tensor<4xf32>
  replica.assign @w, %v : tensor<4xf32>
  replica.return
}

// -----

// The size of a batch differs between replicas.
replica.step @step(%y: tensor<?xf32> {replica.batch = "y", replica.bounds = array<i64: 8>}) {
  // expected-error@+1 {{[E_SHAPE_MISMATCH] (wrong: batch argument 'y' can make it different, for example y = }}
  %r = replica.all_reduce sum %y : tensor<?xf32>
  replica.return
}

// -----

// A batch of a program is each replica's own.
replica.program @main(%data: !replica.iterator<tensor<4xf32>, tensor<i1>> {replica.batches = ["x", "b"]}) {
  %xs, %bs = replica.next %data : !replica.iterator<tensor<4xf32>, tensor<i1>>
  replica.run (%xs, %bs : !replica.per_replica<tensor<4xf32>>, !replica.per_replica<tensor<i1>>) {
  ^bb0(%x: tensor<4xf32>, %b: tensor<i1>):
    %c = tensor.extract %b[] : tensor<i1>
    scf.if %c {
      // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: a batch of 'replica.next' can lead replicas along different paths, for example b = }}
      %r = replica.all_reduce sum %x : tensor<4xf32>
    }
    replica.yield
  }
  replica.return
}

// -----

// The condition depends on the same input as the value, which can still differ.
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %zero = arith.constant 0 : index
  %s = replica.all_reduce sum %x : tensor<4xf32>
  %e = tensor.extract %s[%zero] : tensor<4xf32>
  %limit = arith.constant 1.0 : f32
  %c = arith.cmpf olt, %e, %limit : f32
  scf.if %c {
    // expected-error@+1 {{[E_AGG_NONE] (wrong: batch argument 'x' can make it different, for example x = }}
    replica.assign @w, %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The loop has no iterations where it is, whatever its later conditions are: a condition that shares an input with another one may be
// decided by that one.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}, %s: tensor<i1> {replica.scalar = "s"}) {
  %h = tensor.extract %s[] : tensor<i1>
  %c = tensor.extract %b[] : tensor<i1>
  scf.if %h {
  } else {
    %r = scf.while (%go = %h) : (i1) -> i1 {
      scf.condition(%go) %go : i1
    } do {
    ^bb0(%go: i1):
      // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (not provable: whether 'scf.while'}}
      %q = replica.all_reduce sum %x : tensor<4xf32>
      scf.yield %c : i1
    }
  }
  replica.return
}

// -----

// The first condition is false, so later ones are not evaluated.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %false = arith.constant false
  %r = scf.while (%go = %false) : (i1) -> i1 {
    scf.condition(%go) %go : i1
  } do {
  ^bb0(%go: i1):
    // expected-error@+1 {{(not provable: whether batch argument 'b' can lead replicas along different paths could not be decided: no example was found in 200 runs)}}
    %q = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield %c : i1
  }
  replica.return
}

// -----

// A condition that depends on an input, but always has the same value.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %n: tensor<i32> {replica.batch = "n"}) {
  %i = tensor.extract %n[] : tensor<i32>
  %seven = arith.constant 7 : i32
  %low = arith.andi %i, %seven : i32
  %c = arith.cmpi sle, %low, %seven : i32
  scf.if %c {
    // expected-error@+1 {{(not provable: whether batch argument 'n' can lead replicas along different paths could not be decided: no example was found in 200 runs)}}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// Numbers that are compared in a condition are tried as inputs.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %n: tensor<i32> {replica.batch = "n"}) {
  %i = tensor.extract %n[] : tensor<i32>
  %limit = arith.constant 123456 : i32
  %c = arith.cmpi sge, %i, %limit : i32
  scf.if %c {
    // expected-error-re@+1 {{(wrong: batch argument 'n' can lead replicas along different paths, for example n = {{-?[0-9]+ on replica [012] and -?[0-9]+}} on replica}}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// A large example is not printed, unless all of its elements are equal.
replica.step @step(%x: tensor<2x4xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = tensor.extract %x[%c0, %c0] : tensor<2x4xf32>
  %second = tensor.extract %x[%c1, %c1] : tensor<2x4xf32>
  %c = arith.cmpf olt, %first, %second : f32
  scf.if %c {
    // expected-error@+1 {{(wrong: batch argument 'x' can lead replicas along different paths)}}
    %r = replica.all_reduce sum %x : tensor<2x4xf32>
  }
  replica.return
}

// -----

// The number of the replica decides, if an input allows it.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %s: tensor<i1> {replica.scalar = "s"}) {
  %id = replica.id : tensor<i32>
  %n = tensor.extract %id[] : tensor<i32>
  %zero = arith.constant 0 : i32
  %first = arith.cmpi eq, %n, %zero : i32
  %h = tensor.extract %s[] : tensor<i1>
  %c = arith.andi %first, %h : i1
  scf.if %c {
    // expected-error@+1 {{(wrong: replicas 0 and 1 take different paths, for example where s = true)}}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// Unused values cost nothing, however large they are; a condition that takes too many operations to compute is not tried.
replica.variable @w : tensor<40000x40000xf32> {aggregation = #replica.aggregation<mean>}
replica.step @step(%x: tensor<40000x40000xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %w = replica.read @w : tensor<40000x40000xf32>
  %zero = arith.constant dense<0.0> : tensor<40000x40000xf32>
  %y = linalg.matmul ins(%x, %w : tensor<40000x40000xf32>, tensor<40000x40000xf32>) outs(%zero : tensor<40000x40000xf32>) -> tensor<40000x40000xf32>
  replica.assign @w, %y : tensor<40000x40000xf32>
  scf.if %c {
    // expected-error@+1 {{(wrong: batch argument 'b' can lead replicas along different paths, for example b = }}
    %r = replica.all_reduce sum %y : tensor<40000x40000xf32>
  }
  replica.return
}

// -----

replica.step @step(%x: tensor<1000x1000xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %zero = arith.constant dense<0.0> : tensor<1000x1000xf32>
  %y = linalg.matmul ins(%x, %x : tensor<1000x1000xf32>, tensor<1000x1000xf32>) outs(%zero : tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %e = tensor.extract %y[%c0, %c0] : tensor<1000x1000xf32>
  %c = arith.cmpf olt, %e, %one : f32
  scf.if %c {
    // expected-error@+1 {{(not provable: whether batch argument 'x' can lead replicas along different paths could not be decided: what it is computed from takes too many operations to try)}}
    %r = replica.all_reduce sum %x : tensor<1000x1000xf32>
  }
  replica.return
}

// -----

// Elements that the interpreter does not support.
replica.step @step(%x: tensor<f8E4M3FN> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}) {
  %c = tensor.extract %b[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{(not provable: whether batch argument 'b' can lead replicas along different paths could not be decided: it cannot be interpreted)}}
    %r = replica.all_reduce sum %x : tensor<f8E4M3FN>
  }
  replica.return
}

// -----

// The first two errors do not block the replicas: each replica issues one of the two all_reduces, and continues.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}, %d: tensor<i1> {replica.batch = "d"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %e = tensor.extract %d[] : tensor<i1>
  %t = arith.constant true
  %not = arith.xori %c, %t : i1
  scf.if %c {
    // expected-error@+1 {{(not provable: }}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  scf.if %not {
    // expected-error@+1 {{(not provable: }}
    %q = replica.all_reduce sum %x : tensor<4xf32>
  }
  scf.if %e {
    // expected-error@+1 {{(wrong: batch argument 'd' can lead replicas along different paths, for example d = }}
    %p = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// All replicas have the same trip count: the branch in the loop blocks them.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}, %n: tensor<i32> {replica.batch = "n"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %i = tensor.extract %n[] : tensor<i32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %none = arith.muli %i, %zero : i32
  %turns = arith.index_cast %none : i32 to index
  %more = arith.addi %turns, %c1 : index
  scf.for %j = %c0 to %more step %c1 {
    scf.if %c {
      // expected-error@+1 {{is in a loop whose trip count may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: batch argument 'b' can lead replicas along different paths in 'scf.if' (}}
      %r = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// A later assign_add does not replace the varying value.
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{[E_AGG_NONE] (wrong: batch argument 'x' can make it different, for example x = }}
  replica.assign @w, %x : tensor<4xf32>
  %v = replica.all_reduce sum %x : tensor<4xf32>
  replica.assign_add @w, %v : tensor<4xf32>
  replica.return
}

// -----

// A later assignment in a branch replaces the value only if the branch is taken.
replica.variable @n : tensor<i32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %s: tensor<i1> {replica.scalar = "s"}) {
  %id = replica.id : tensor<i32>
  %c = tensor.extract %s[] : tensor<i1>
  %one = arith.constant dense<1> : tensor<i32>
  // expected-error@+1 {{[E_AGG_NONE] (wrong: replicas have different values)}}
  replica.assign @n, %id : tensor<i32>
  scf.if %c {
    replica.assign @n, %one : tensor<i32>
  }
  replica.return
}

// -----

// The copies differ at the end, but not because of the first assignment.
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %y: tensor<4xf32> {replica.batch = "y"}) {
  // expected-error@+1 {{[E_AGG_NONE] (not provable: whether 'replica.assign' (}}
  replica.assign @w, %x : tensor<4xf32>
  // expected-error@+1 {{[E_AGG_NONE] (wrong: batch argument 'y' can make it different, for example y = }}
  replica.assign @w, %y : tensor<4xf32>
  replica.return
}

// -----

// A trial does not execute collectives whose results are not used, so that many of them do not prevent it.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}) {
  %c = tensor.extract %b[] : tensor<i1>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 100000 : index
  scf.for %i = %c0 to %many step %c1 {
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  scf.if %c {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: batch argument 'b' can lead replicas along different paths, for example b = }}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// A result that is declared to be one value is compared between the replicas.
replica.program @main(%x: !replica.per_replica<tensor<2xf32>> {replica.batch = "x"}) -> (tensor<2xf32> {replica.result = "y"}) {
  // expected-error@+1 {{result 0 of 'replica.run' may differ between replicas; expected type '!replica.per_replica<tensor<2xf32>>', found 'tensor<2xf32>' (wrong: batch argument 'x' can make it different, for example x = }}
  %y = replica.run (%x : !replica.per_replica<tensor<2xf32>>) -> tensor<2xf32> {
  ^bb0(%mine: tensor<2xf32>):
    %s = arith.addf %mine, %mine : tensor<2xf32>
    replica.yield %s : tensor<2xf32>
  }
  replica.return %y : tensor<2xf32>
}
