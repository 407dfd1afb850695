// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity=find-examples=true --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Each error says whether the program is wrong, or only not provable, and which condition that depends on.

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

// There is data with which they do.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}) {
  %c = tensor.extract %b[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: batch argument 'b' can lead replicas along different paths, for example b = false on replica 0 and true on replica 1)}}
    %r = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// Whether the copies of a variable differ is not known.
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

// Around the branch there is another one, on an input of its own: it can be true.
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

// Who does not meet the others in the first branch meets them in the second.
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

// The same by the rank.
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

// Branches on inputs of their own do not make good for each other.
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

// Nobody comes there: the inner condition is the opposite of the outer one.
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

// Two loops may have equally many turns, but need not.
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

// A loop that goes on as long as the data of each replica says.
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

// What one replica has others do not have.
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

// Only some of them assign.
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

// What differs may be replaced by something that does not.
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{[E_AGG_NONE] (not provable: whether 'replica.assign'}}
  replica.assign @w, %x : tensor<4xf32>
  %v = replica.all_reduce sum %x : tensor<4xf32>
  replica.assign @w, %v : tensor<4xf32>
  replica.return
}

// -----

// Sizes of a batch differ from replica to replica.
replica.step @step(%y: tensor<?xf32> {replica.batch = "y", replica.bounds = array<i64: 8>}) {
  // expected-error@+1 {{[E_SHAPE_MISMATCH] (wrong: batch argument 'y' can make it different, for example y = }}
  %r = replica.all_reduce sum %y : tensor<?xf32>
  replica.return
}

// -----

// A batch that a program takes is each replica's own.
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

// The condition depends on the same input as the value, which leaves it enough room to differ.
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

// The loop is not entered where it stands, whatever the batches say later: a condition that has one input in common with another may
// be decided by that one.
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

// The first condition is false, whatever later ones would be.
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

// A condition that depends on an input and has one outcome.
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

// Numbers that a condition asks for are tried.
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

// What is large is not told, if it does not consist of one number.
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

// The number of the replica decides, where an input lets it.
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

// What nobody asks for costs nothing, however large it is, and what it takes a long time to compute is not tried.
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

// Elements that the interpreter does not have.
replica.step @step(%x: tensor<f8E4M3FN> {replica.batch = "x"}, %b: tensor<i1> {replica.batch = "b"}) {
  %c = tensor.extract %b[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{(not provable: whether batch argument 'b' can lead replicas along different paths could not be decided: it cannot be interpreted)}}
    %r = replica.all_reduce sum %x : tensor<f8E4M3FN>
  }
  replica.return
}

// -----

// Of two errors one has nothing to do with it that replicas block each other: who meets in the first two branches goes on.
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

// All replicas that come into the loop have as many turns: what blocks them is the branch inside.
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

// What is added later replaces nothing.
replica.variable @w : tensor<4xf32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{[E_AGG_NONE] (wrong: batch argument 'x' can make it different, for example x = }}
  replica.assign @w, %x : tensor<4xf32>
  %v = replica.all_reduce sum %x : tensor<4xf32>
  replica.assign_add @w, %v : tensor<4xf32>
  replica.return
}

// -----

// What another branch assigns later replaces it only if that is gone through.
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

// Replicas do not wait for each other where nobody needs what they meet for: many collectives around it do not keep it from being tried.
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

// What is said to be one value for all replicas is what each of them ends with.
replica.program @main(%x: !replica.per_replica<tensor<2xf32>> {replica.batch = "x"}) -> (tensor<2xf32> {replica.result = "y"}) {
  // expected-error@+1 {{result 0 of 'replica.run' may differ between replicas; expected type '!replica.per_replica<tensor<2xf32>>', found 'tensor<2xf32>' (wrong: batch argument 'x' can make it different, for example x = }}
  %y = replica.run (%x : !replica.per_replica<tensor<2xf32>>) -> tensor<2xf32> {
  ^bb0(%mine: tensor<2xf32>):
    %s = arith.addf %mine, %mine : tensor<2xf32>
    replica.yield %s : tensor<2xf32>
  }
  replica.return %y : tensor<2xf32>
}
