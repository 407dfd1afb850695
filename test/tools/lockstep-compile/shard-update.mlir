// On a network, the compiler makes a schedule with variables that are divided among the replicas, and one with whole variables, and takes the
// one whose step takes less time by the model. On the host there is nothing to decide.

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=dgx-h100 --stop-after=schedule --remarks=simplify -o %t.divided.mlir 2>&1 | FileCheck %s --check-prefix=DIVIDED
// RUN: FileCheck %s --check-prefix=PARTS --input-file=%t.divided.mlir
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=ethernet-25g --stop-after=schedule --remarks=simplify -o %t.whole.mlir 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: FileCheck %s --check-prefix=SUMS --input-file=%t.whole.mlir
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --stop-after=schedule --remarks=simplify -o %t.host.mlir 2>&1 | FileCheck %s --check-prefix=HOST --allow-empty
// RUN: FileCheck %s --check-prefix=SUMS --input-file=%t.host.mlir
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=dgx-h100 --shard-update=off --stop-after=schedule | FileCheck %s --check-prefix=SUMS
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --shard-update=on --stop-after=schedule | FileCheck %s --check-prefix=PARTS
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=dgx-h100 --stop-after=lower | FileCheck %s --check-prefix=SUMS

// Each remark is there once, though the steps have been scheduled four times. The biases of the last layer would need padding.
// DIVIDED: model.py:55: remark [simplify]: by the model of 'dgx-h100', a step takes {{.*}} us with variables divided among the replicas, and {{.*}} us with whole ones
// DIVIDED-COUNT-6: is divided: each of 4 replicas stores
// DIVIDED-NOT: is divided: each of 4 replicas stores
// PARTS: whole_shape = array<i64: 64, 128>
// PARTS: collective.start reduce_scatter

// WHOLE: model.py:55: remark [simplify]: by the model of 'ethernet-25g', a step takes {{.*}} us with variables divided among the replicas, and {{.*}} us with whole ones
// WHOLE-NOT: is divided
// SUMS-NOT: whole_shape
// SUMS-NOT: reduce_scatter
// SUMS: collective.start all_reduce

// HOST-NOT: divided
