// The tool's output for the examples agrees with their lists of commands.

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --target=x86-64-v3 -o %t.mlp.lockstep
// RUN: lockstep-inspect %t.mlp.lockstep --format=json -o %t.mlp.json
// RUN: %python %S/Inputs/check.py %t.mlp.json step 1
// RUN: lockstep-compile %examples/digits-cnn/step.mlir --replicas=3 --target=x86-64-v3 -O0 -o %t.cnn.lockstep
// RUN: lockstep-inspect %t.cnn.lockstep --format=json > %t.cnn.json
// RUN: %python %S/Inputs/check.py %t.cnn.json step 2
// RUN: lockstep-compile %examples/language-model/step.mlir --replicas=2 --target=x86-64-v3 --bucket=bytes:262144 -o %t.lm.lockstep
// RUN: lockstep-inspect %t.lm.lockstep --format=json > %t.lm.json
// RUN: %python %S/Inputs/check.py %t.lm.json step 5

// RUN: lockstep-inspect %t.mlp.lockstep | FileCheck %s

// CHECK:      artifact  digits_mlp ({{.*}}.mlp.lockstep, {{.*}} KiB, format version 3)
// CHECK-NEXT: digest    sha256 {{[0-9a-f]+$}}
// CHECK-NEXT: signed    no
// CHECK-NEXT: replicas  4
// CHECK-NEXT: targets   x86-64-v3 (
// CHECK:      variables
// CHECK:        params/w1 64x128xf32 32.0 KiB {{.*}} by --init
// CHECK:      scalars
// CHECK:        lr f32 0.1
// CHECK-NEXT:   seed u32 given by the host
// CHECK:      program 'step' (role worker)
// CHECK:        input x : 16x64xf32
// CHECK:        output metric loss : f32
// CHECK:      collectives of 'step'
// CHECK:        0 all_reduce sum all {{.*}} model.py:55
// CHECK:      schedule of 'step'
// CHECK:        ┌ start all_reduce sum channel 0 {{.*}} model.py:55
// CHECK:        └ wait channel 0 model.py:55
// CHECK:      memory of 'step'
// CHECK:        params/w1
// CHECK:      program 'evaluate' (role worker)
// CHECK:        output sum accuracy : f32
// CHECK:        output count accuracy : f32
// CHECK:      kernels

// Only the requested sections are printed.
// RUN: lockstep-inspect %t.mlp.lockstep --show=collectives,kernels | FileCheck %s --check-prefix=SHOW
// SHOW-NOT: artifact
// SHOW: collectives of 'step'
// SHOW-NOT: schedule
// SHOW: kernels
