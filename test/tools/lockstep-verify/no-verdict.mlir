// There is no verdict on a file that cannot be read: status 2, with and without JSON.

// RUN: env LOCKSTEP_CACHE=%t.cache %python %S/Inputs/status.py 2 lockstep-verify %s --replicas=2 2>&1 | FileCheck %s
// RUN: env LOCKSTEP_CACHE=%t.cache %python %S/Inputs/status.py 2 lockstep-verify %s --replicas=2 --json 2>%t.log | FileCheck %s --check-prefix=JSON
// CHECK: no-verdict.mlir:[[@LINE+10]]:{{.*}}error:
// CHECK: lockstep-verify: error: lockstep-compile failed with status 1 (see above)

// JSON:      "verdict": null,
// JSON-NEXT: "programs": [],
// JSON-NEXT: "errors": [
// JSON:      "line": [[@LINE+4]],
// JSON:      "message":

replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "r"}) {
  %r = no such operation
  replica.return %r : tensor<f32>
}
