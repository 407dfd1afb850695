// RUN: lockstep-compile %s --replicas=2 --topology=ethernet-25g --stop-after=schedule -o %t.short.mlir
// RUN: FileCheck %s --input-file %t.short.mlir
// RUN: lockstep-compile %s --replicas=2 --topology=ethernet-25g --stop-after=schedule --locations=none | FileCheck %s --check-prefix=NONE
// RUN: lockstep-compile %s --replicas=2 --topology=ethernet-25g --stop-after=schedule --locations=full | FileCheck %s --check-prefix=FULL

// The parser reads the same module, whichever locations are printed.
// RUN: lockstep-opt %t.short.mlir -o %t.parsed-short.mlir
// RUN: lockstep-compile %s --replicas=2 --topology=ethernet-25g --stop-after=schedule --locations=full | lockstep-opt -o %t.parsed-full.mlir
// RUN: cmp %t.parsed-short.mlir %t.parsed-full.mlir

// No line is wider than 120 columns.
// RUN: not grep -E '.{121}' %t.short.mlir

// Arguments, exchanged values and new values are named after variables, other values after their kernels. Each member of a bucket is on a line
// with its variable, bytes and source line. The velocity and the parameter share a gradient, whose name is the common part of theirs.
// CHECK-LABEL: func.func @step(
// CHECK-NEXT:     %params_w: tensor<40xf32> {device.binding = #device.binding<variable "params/w">}{{,?$}}
// CHECK:          ) -> (
// CHECK:          ) {
// CHECK:          %grad_w = device.invoke @step_{{[0-9]}}_elementwise(%params_w, %x)
// CHECK:          %pending = collective.start all_reduce sum @all channel 0(  // model.py:4
// CHECK-NEXT:         %grad_w,          // w, 160 B, model.py:3
// CHECK-NEXT:         %grad_line_break  // line break, 160 B, model.py:4
// CHECK-NEXT:         : tensor<40xf32>, tensor<40xf32>) -> <tensor<40xf32>, tensor<40xf32>>
// CHECK:          %all_reduce:2 = collective.wait %pending(%grad_w, %grad_line_break
// CHECK:          %new_line_break = device.invoke

// NONE: %pending = collective.start all_reduce sum @all channel 0({{$}}
// NONE-NEXT: %grad_w,
// NONE-NOT: loc(
// FULL: func.func @step(%arg0
// FULL: collective.start all_reduce sum @all channel 0({{.*}} loc(#loc
// FULL: = loc("model.py":3:3)
replica.variable @"params/w" : tensor<40xf32>
replica.variable @"velocity/w" : tensor<40xf32>
replica.variable @"line\0Abreak" : tensor<40xf32>
replica.step @step(%x: tensor<40xf32> {replica.batch = "x"}, %y: tensor<40xf32> {replica.batch = "y"}) {
  %w = replica.read @"params/w" : tensor<40xf32> loc("model.py":1:3)
  %m = replica.read @"line\0Abreak" : tensor<40xf32> loc("model.py":2:3)
  %p = arith.mulf %w, %x : tensor<40xf32> loc("model.py":3:3)
  %q = arith.mulf %m, %y : tensor<40xf32> loc("model.py":4:3)
  %g = replica.all_reduce sum %p : tensor<40xf32> loc("model.py":4:3)
  %h = replica.all_reduce sum %q : tensor<40xf32> loc("model.py":4:3)
  replica.assign_add @"velocity/w", %g : tensor<40xf32> loc("model.py":5:3)
  %v = replica.read @"velocity/w" : tensor<40xf32> loc("model.py":5:3)
  replica.assign_sub @"params/w", %v : tensor<40xf32> loc("model.py":5:3)
  replica.assign_sub @"line\0Abreak", %h : tensor<40xf32> loc("model.py":6:3)
  replica.return
}
