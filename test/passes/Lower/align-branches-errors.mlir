// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(align-branches))' --split-input-file -verify-diagnostics

// A loop on each side issues as many, but a loop is not cut.
collective.group @all
func.func @loops(%id: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  %c = tensor.extract %id[] : tensor<i1>
  %from = arith.constant 0 : index
  %to = arith.constant 4 : index
  %by = arith.constant 1 : index
  scf.if %c {
    scf.for %i = %from to %to step %by {
      // expected-error@+1 {{collectives in loops under a condition that may differ between replicas are not supported}}
      collective.barrier @all
    }
  } else {
    scf.for %i = %from to %to step %by {
      collective.barrier @all
    }
  }
  return
}

// -----

// What only some replicas issue has been refused before; the pass does not rely on it.
collective.group @all
func.func @missing(%id: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  %c = tensor.extract %id[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{branches with different collectives under a condition that may differ between replicas are not supported}}
    collective.barrier @all
  }
  return
}
