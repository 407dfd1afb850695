// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=2 --target=x86-64-v3 -o %t.two.lockstep
// RUN: lockstep-benchmark --calibrate %t.two.lockstep -o %t.json --replicas=2,3 | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json

// CHECK:      {{.*}}, {{[0-9]+}} core{{s?}}, {{.*}} of cache each
// CHECK-NEXT:   operations {{.*}} Gflop/s by kernels on one core
// CHECK-NEXT:   bytes {{.*}} GB/s by kernels on one core, {{.*}} GB/s in its cache
// CHECK-NEXT:   launch {{.*}} ns
// CHECK-NEXT:   memory {{.*}} GB/s copied by one core, {{.*}} GB/s by all
// CHECK-NEXT:   step {{.*}} without commands
// CHECK-NEXT:   collective {{.*}} and {{.*}} for each replica, {{.*}} GB/s
// CHECK:      steps
// CHECK-NEXT:   measured  simulated  ratio  by profile  ratio  replicas  artifact
// CHECK:      two.lockstep
// CHECK:      collectives
// CHECK-NEXT:   measured  simulated  ratio  replicas     bytes
// CHECK:        2 4 B
// CHECK:        3 4.00 MiB

// JSON:      "name": "calibrated"
// JSON:      "sources": [
// JSON-NEXT:   "measured by lockstep-benchmark --calibrate on {{.*}}"
// JSON-NEXT: ]

// The compiler and the simulator read the calibrated topology.
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=8 --target=x86-64-v3 --topology=%t.json -o %t.eight.lockstep
// RUN: lockstep-simulate %t.eight.lockstep | FileCheck %s --check-prefix=EIGHT
// EIGHT: program 'step' of 8 replicas on 'calibrated'

// RUN: not lockstep-benchmark --calibrate %t.none -o %t.json 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: lockstep-benchmark: error: cannot open artifact '{{.*}}.none': No such file or directory
// RUN: not lockstep-benchmark --calibrate %t.two.lockstep -o %t.folder/x.json 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: lockstep-benchmark: error: {{.*}}x.json{{.*}}No such file or directory
// RUN: not lockstep-benchmark %t.two.lockstep -o %t.json 2>&1 | FileCheck %s --check-prefix=WHAT
// WHAT: lockstep-benchmark: error: --calibrate is required (see --help)
// RUN: not lockstep-benchmark --calibrate -o %t.json 2>&1 | FileCheck %s --check-prefix=ARTIFACTS
// ARTIFACTS: lockstep-benchmark: error: artifacts is required (see --help)
// RUN: not lockstep-benchmark --calibrate %t.two.lockstep -o %t.json --replicas=1 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: lockstep-benchmark: error: --replicas:
// RUN: not lockstep-benchmark --calibrate %t.two.lockstep -o %t.json --transport=threads 2>&1 | FileCheck %s --check-prefix=TRANSPORT
// TRANSPORT: lockstep-benchmark: error: --transport: expected --separate, too (see --help)
// RUN: not lockstep-benchmark --calibrate %t.two.lockstep -o %t.json --separate --transport=pigeons 2>&1 | FileCheck %s --check-prefix=PIGEONS
// PIGEONS: lockstep-benchmark: error: {{.*}}pigeons
// RUN: not lockstep-benchmark --calibrate %t.two.lockstep -o %t.json --separate 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: lockstep-benchmark: error: {{.*}}two.lockstep: expected an artifact of one replica, whose kernels have a device for themselves, found 2 replicas
