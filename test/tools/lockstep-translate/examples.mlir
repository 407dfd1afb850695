// The module that is read from the artifact of an example is the one from which it was written, and is written to the same bytes again.

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 -o %t.mlp.lockstep
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --stop-after=memory | lockstep-opt --mlir-elide-elementsattrs-if-larger=64 -o %t.mlp.expected
// RUN: lockstep-translate --import-artifact %t.mlp.lockstep --mlir-print-debuginfo=false | lockstep-opt --mlir-elide-elementsattrs-if-larger=64 -o %t.mlp.found
// RUN: diff %t.mlp.expected %t.mlp.found
// RUN: lockstep-translate --import-artifact %t.mlp.lockstep -o %t.mlp.mlir
// RUN: lockstep-translate --emit-artifact %t.mlp.mlir -o %t.mlp.again
// RUN: cmp %t.mlp.lockstep %t.mlp.again

// RUN: lockstep-compile %examples/digits-cnn/step.mlir --replicas=4 --target=x86-64-v3 -O0 -o %t.cnn.lockstep
// RUN: lockstep-compile %examples/digits-cnn/step.mlir --replicas=4 --target=x86-64-v3 -O0 --stop-after=memory | lockstep-opt --mlir-elide-elementsattrs-if-larger=64 -o %t.cnn.expected
// RUN: lockstep-translate --import-artifact %t.cnn.lockstep --mlir-print-debuginfo=false | lockstep-opt --mlir-elide-elementsattrs-if-larger=64 -o %t.cnn.found
// RUN: diff %t.cnn.expected %t.cnn.found
// RUN: lockstep-translate --import-artifact %t.cnn.lockstep -o %t.cnn.mlir
// RUN: lockstep-translate --emit-artifact %t.cnn.mlir -o %t.cnn.again
// RUN: cmp %t.cnn.lockstep %t.cnn.again

// A module with roles for workers and servers.
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --strategy=parameter_server_sync --servers=2 --partitioner="fixed 2" -o %t.ps.lockstep
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --strategy=parameter_server_sync --servers=2 --partitioner="fixed 2" --stop-after=memory | lockstep-opt --mlir-elide-elementsattrs-if-larger=64 -o %t.ps.expected
// RUN: lockstep-translate --import-artifact %t.ps.lockstep --mlir-print-debuginfo=false | lockstep-opt --mlir-elide-elementsattrs-if-larger=64 -o %t.ps.found
// RUN: diff %t.ps.expected %t.ps.found
// RUN: lockstep-translate --import-artifact %t.ps.lockstep -o %t.ps.mlir
// RUN: lockstep-translate --emit-artifact %t.ps.mlir -o %t.ps.again
// RUN: cmp %t.ps.lockstep %t.ps.again

// A module with a loop.
// RUN: lockstep-compile %examples/language-model/step.mlir --replicas=2 --target=x86-64-v3 -o %t.lm.lockstep
// RUN: lockstep-compile %examples/language-model/step.mlir --replicas=2 --target=x86-64-v3 --stop-after=memory | lockstep-opt --mlir-elide-elementsattrs-if-larger=64 -o %t.lm.expected
// RUN: lockstep-translate --import-artifact %t.lm.lockstep --mlir-print-debuginfo=false | lockstep-opt --mlir-elide-elementsattrs-if-larger=64 -o %t.lm.found
// RUN: diff %t.lm.expected %t.lm.found
// RUN: lockstep-translate --import-artifact %t.lm.lockstep -o %t.lm.mlir
// RUN: lockstep-translate --emit-artifact %t.lm.mlir -o %t.lm.again
// RUN: cmp %t.lm.lockstep %t.lm.again
// RUN: FileCheck %s < %t.lm.expected

// CHECK: module @language_model attributes {device.replicas = 2 : i64} {
// CHECK: collective.group @all
// CHECK: device.variable @count
// CHECK: device.scalar "lr"
// CHECK: device.constants
// CHECK: device.entry @step_0_{{.*}} grid {{[0-9]+}} flops {{[0-9]+}} bytes {{[0-9]+}}
// CHECK: device.binary @x86_64_v3 target "x86-64-v3"
// CHECK: device.program @step
// CHECK: device.branch_ge
// CHECK: device.program @evaluate
// CHECK: device.remark "kernels" "passed"
