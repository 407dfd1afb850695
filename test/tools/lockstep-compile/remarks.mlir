// Remarks are printed one per line, at the user's line, in the order of the stages; and stored in the artifact.

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --target=x86-64-v3 -o %t.lockstep --remarks 2>&1 | FileCheck %s
// CHECK:     model.py:{{[0-9]+}}: remark [kernels]: {{.*}} operation{{s?}} in kernel @step_
// CHECK:     model.py:55: remark [bucket]: {{.*}} in one bucket, all_reduce sum of {{.*}} tensors
// CHECK:     model.py:55: {{missed|remark}} [schedule]: all_reduce sum of {{.*}} starts at {{.*}} its first use is @step_
// CHECK:     <unknown>: remark [codegen]: x86-64-v3: {{[0-9]+}} kernels, {{[0-9]+}} of them different
// CHECK:     model.py:47: remark [memory]: a replica's memory: {{.*}} in use at one time
// CHECK-NOT: remark [codegen]

// Only the remarks of one stage, or those that match a regular expression, are printed.
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --target=x86-64-v3 -o %t.bucket --remarks=bucket 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STAGE --implicit-check-not=[
// STAGE: model.py:55: remark [bucket]:
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --target=x86-64-v3 -o %t.copies --remarks='missed.*no kernel hides it' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MATCH --implicit-check-not=remark
// MATCH: model.py:55: missed [schedule]: all_reduce sum of {{.*}} no kernel hides it
// RUN: not lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --target=x86-64-v3 -o %t.bad --remarks='(' 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: lockstep-compile: error: --remarks: parentheses not balanced

// The artifact has all remarks, whatever was printed.
// RUN: cmp %t.lockstep %t.bucket
// RUN: cmp %t.lockstep %t.copies
// RUN: lockstep-inspect %t.lockstep --show=remarks | FileCheck %s --check-prefix=INSPECT
// INSPECT: remarks
// INSPECT: bucket passed step model.py:55 {{.*}} in one bucket
// INSPECT: schedule missed step model.py:55 all_reduce sum of

// Artifacts have the same bytes in each run, although passes work on several functions in parallel.
// RUN: lockstep-compile %examples/digits-cnn/step.mlir --replicas=4 --target=x86-64-v3 -O0 -o %t.0a
// RUN: lockstep-compile %examples/digits-cnn/step.mlir --replicas=4 --target=x86-64-v3 -O0 -o %t.0b
// RUN: cmp %t.0a %t.0b
// RUN: lockstep-compile %examples/digits-cnn/step.mlir --replicas=4 --target=x86-64-v3 -O2 --bucket=bytes:4096 -o %t.2a
// RUN: lockstep-compile %examples/digits-cnn/step.mlir --replicas=4 --target=x86-64-v3 -O2 --bucket=bytes:4096 -o %t.2b
// RUN: cmp %t.2a %t.2b
