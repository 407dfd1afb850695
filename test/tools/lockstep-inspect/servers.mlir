// Roles, the rows that each server has, collectives with a root, and the amount of data that all replicas exchange with each server.

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --target=x86-64-v3 --strategy=parameter_server_sync --servers=2 \
// RUN:   --partitioner="fixed 2" -o %t.lockstep
// RUN: lockstep-inspect %t.lockstep | FileCheck %s
// RUN: lockstep-inspect %t.lockstep --format=json -o %t.json
// RUN: %python %S/Inputs/servers.py %t.json
// RUN: lockstep-inspect %t.lockstep --format=html | FileCheck %s --check-prefix=HTML


// Data that a single replica sends to a server is counted too.
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=1 --target=x86-64-v3 --strategy=parameter_server --servers=2 -o %t.own.lockstep
// RUN: lockstep-inspect %t.own.lockstep | FileCheck %s --check-prefix=OWN
// OWN:      program 'step' (role worker)
// OWN:        server0 all replicas give 32.5 KiB to it and get 32.5 KiB from it
// OWN-NEXT:   server1 all replicas give 5.06 KiB to it and get 5.06 KiB from it

// CHECK:      replicas  4
// CHECK:      roles
// CHECK-NEXT:   role     ranks   variables a process  variables a rank  programs
// CHECK-NEXT:   worker   0 to 3 {{.*}} evaluate
// CHECK-NEXT:   server0  4 {{.*}} step
// CHECK-NEXT:   server1  5 {{.*}} step
// CHECK:      variables
// CHECK-DAG:    params/w1{{.*}} 32x128xf32 16.0 KiB {{.*}} server0 0 to 31 of params/w1
// CHECK-DAG:    params/w1{{.*}} 32x128xf32 16.0 KiB {{.*}} server1 32 to 63 of params/w1
// CHECK:      replicas never wait for each other forever
// CHECK-NEXT:   program   verdict  method       decided when it runs
// CHECK-NEXT:   step      proven   projections
// CHECK:      program 'step' (role worker)
// CHECK:        server0 all replicas give {{.*}} KiB to it and get {{.*}} KiB from it
// CHECK-NEXT:   server1 all replicas give {{.*}} KiB to it and get {{.*}} KiB from it
// CHECK:      simulation of 'step'
// CHECK-NEXT:   not simulated: programs of several roles cannot be simulated
// CHECK:      collectives of 'step' of worker
// CHECK-DAG:    broadcast root 4 {{.*}} params/w1
// CHECK-DAG:    reduce sum root 5
// CHECK:      schedule of 'step' of worker
// CHECK:      program 'step' (role server0)
// CHECK-NOT:    all replicas give
// CHECK:      schedule of 'step' of server0

// HTML: <h2>Proof that replicas never wait for each other forever</h2>
// HTML: "name": "server1"
// HTML: "verdict": "proven"
