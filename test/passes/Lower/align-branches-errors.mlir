// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(align-branches))' --split-input-file -verify-diagnostics

// The two loops are not known to have the same bounds.
collective.group @all
func.func @loops(%id: tensor<i1> {device.binding = #device.binding<batch "c">}, %n: tensor<i32> {device.binding = #device.binding<scalar "n">}) {
  %c = tensor.extract %id[] : tensor<i1>
  %from = arith.constant 0 : index
  %to = arith.constant 4 : index
  %by = arith.constant 1 : index
  %number = tensor.extract %n[] : tensor<i32>
  %turns = arith.index_cast %number : i32 to index
  scf.if %c {
    scf.for %i = %from to %to step %by {
      // expected-error@+1 {{expected the same loop, of the same bounds, on both sides of a branch that replicas may take differently}}
      collective.barrier @all
    }
  } else {
    scf.for %i = %from to %turns step %by {
      collective.barrier @all
    }
  }
  return
}

// -----

// An earlier pass refuses collectives that only some replicas issue; this pass does not rely on it.
collective.group @all
func.func @missing(%id: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  %c = tensor.extract %id[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{expected the same collectives on both sides of a branch that replicas may take differently}}
    collective.barrier @all
  }
  return
}
