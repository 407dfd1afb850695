// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(carry-tensors))" --split-input-file -verify-diagnostics

// Counters are in registers, which are compared as signed numbers of 64 bits.
collective.group @all
func.func @unsigned(%n: i64) {
  %from = arith.constant 0 : i64
  %by = arith.constant 1 : i64
  // expected-error@+1 {{expected a counter that is compared as a signed number, or one of less than 64 bits, found an unsigned 'i64'}}
  scf.for unsigned %i = %from to %n step %by : i64 {
    collective.barrier @all
  }
  return
}

// -----

collective.group @all
func.func @unsigned_index(%n: index) {
  %from = arith.constant 0 : index
  %by = arith.constant 1 : index
  // expected-error@+1 {{found an unsigned 'index'}}
  scf.for unsigned %i = %from to %n step %by {
    collective.barrier @all
  }
  return
}

// -----

collective.group @all
func.func @wide(%n: i128) {
  %from = arith.constant 0 : i128
  %by = arith.constant 1 : i128
  // expected-error@+1 {{expected a counter of at most 64 bits, found 'i128'}}
  scf.for %i = %from to %n step %by : i128 {
    collective.barrier @all
  }
  return
}
