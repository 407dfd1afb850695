// The proof for a step with workers and servers: the roles are projections of one program. All of them take the trip count of a loop from
// one scalar, and test a condition that the replicas have sent.

// RUN: env LOCKSTEP_CACHE=%t.cache lockstep-verify %S/../../end-to-end/Inputs/merge-call-loop.mlir --replicas=3 -O0 --strategy=parameter_server_sync --servers=2 --partitioner="fixed 2" | FileCheck %s
// RUN: lockstep-compile %S/../../end-to-end/Inputs/merge-call-loop.mlir --replicas=3 -O0 --strategy=parameter_server_sync --servers=2 --partitioner="fixed 2" -o %t.lockstep
// RUN: lockstep-verify %t.lockstep | FileCheck %s
// RUN: lockstep-verify --json %t.lockstep | FileCheck %s --check-prefix=JSON

// CHECK:      program 'step': proven
// CHECK-NEXT:   method       projections
// CHECK-DAG:    group        replicas_and_server0: ranks 0, 1, 2, 3
// CHECK-DAG:    group        replicas_and_server1: ranks 0, 1, 2, 4
// CHECK:        decided when it runs: role worker, {{.*}}merge-call-loop.mlir:10: branch
// CHECK:      sequence of role worker (ranks 0 to 2, {{[0-9]+}} commands)
// CHECK-NEXT:   command  channel  collective{{ +}}group{{ +}}bytes  line
// CHECK:        broadcast root 3 replicas_and_server0 4 B {{.*}}merge-call-loop.mlir:2
// CHECK:        reduce sum root 3 replicas_and_server0
// CHECK:      sequence of role server0 (rank 3, {{[0-9]+}} commands)
// CHECK-NOT:    replicas_and_server1
// CHECK:      sequence of role server1 (rank 4,

// JSON:      "verdict": "proven"
// JSON-NEXT: "method": "projections"
// JSON:      "name": "worker"
// JSON-NEXT: "first_rank": 0
// JSON-NEXT: "ranks": 3
// JSON:      "kind": "broadcast"
// JSON-NEXT: "channel": {{[0-9]+}}
// JSON-NEXT: "group": "replicas_and_server
// JSON-NEXT: "root": 3
// JSON-NEXT: "bytes": 4
// JSON-NEXT: "line": "{{.*}}merge-call-loop.mlir:2"
// JSON:      "dynamic": [
// JSON:      "text": "{{.*}}merge-call-loop.mlir:10: branch"
