// The compiler does not search for examples: an error that only an example proves is not provable. `lockstep-verify` searches.

// RUN: lockstep-opt %s --set-replicas=replicas=2 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null
// RUN: split-file %s %t
// RUN: not lockstep-compile %t/step.mlir --replicas=2 -o %t.lockstep 2>&1 | FileCheck %s --check-prefix=COMPILE
// RUN: not lockstep-compile %t/step.mlir --replicas=2 --find-examples -o %t.lockstep 2>&1 | FileCheck %s --check-prefix=EXAMPLE
// RUN: env LOCKSTEP_CACHE=%t.cache not lockstep-verify %t/step.mlir --replicas=2 2>&1 | FileCheck %s --check-prefix=EXAMPLE

// COMPILE: [E_COLLECTIVE_IN_CONTROL_FLOW] (not provable: whether batch argument 'x' can lead replicas along different paths could not be decided: lockstep-verify searches for an example)
// EXAMPLE: [E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: batch argument 'x' can lead replicas along different paths, for example x = {{.*}} on replica 0 and {{.*}} on replica 1)

// The path depends on an input.
//--- step.mlir
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) {
  %n = tensor.extract %x[] : tensor<f32>
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %n, %zero : f32
  scf.if %positive {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (not provable: whether batch argument 'x' can lead replicas along different paths could not be decided: lockstep-verify searches for an example)}}
    %sum = replica.all_reduce sum %x : tensor<f32>
  }
  replica.return
}

// -----

// The path depends on the numbers of the replicas, which needs no example.
//--- rank.mlir
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %n = tensor.extract %id[] : tensor<i32>
  %zero = arith.constant 0 : i32
  %first = arith.cmpi eq, %n, %zero : i32
  scf.if %first {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: replicas 0 and 1 take different paths)}}
    %sum = replica.all_reduce sum %x : tensor<f32>
  }
  replica.return
}
