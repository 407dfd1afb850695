// Exit status: 0 proven, 1 wrong or not provable, 2 anything else.

// RUN: %python %S/Inputs/status.py 2 lockstep-verify 2>&1 | FileCheck %s --check-prefix=USAGE
// USAGE: lockstep-verify: error: file is required (see --help)
// RUN: %python %S/Inputs/status.py 2 lockstep-verify %s --replicas=two 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: lockstep-verify: error: --replicas: expected a number, found 'two' (see --help)
// RUN: %python %S/Inputs/status.py 2 lockstep-verify %s --replica=2 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: lockstep-verify: error: the following argument was not expected: --replica=2 (see --help)
// RUN: %python %S/Inputs/status.py 2 lockstep-verify %t.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: lockstep-verify: error: cannot open artifact '{{.*}}.missing'
// RUN: %python %S/Inputs/status.py 2 lockstep-verify %t.lockstep -O0 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: lockstep-verify: error: expected an .mlir for options of the compiler, found the artifact
// RUN: env LOCKSTEP_CACHE=%t.cache %python %S/Inputs/status.py 1 lockstep-verify %s --replicas=2 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: errors.mlir:[[@LINE+19]]:{{.*}}[E_COLLECTIVE_IN_CONTROL_FLOW]
// REFUSED: lockstep-verify: error: lockstep-compile failed with status 1 (see above)
// RUN: env LOCKSTEP_CACHE=%t.cache %python %S/Inputs/status.py 1 lockstep-verify %s --replicas=2 --json 2>%t.log | FileCheck %s --check-prefix=JSON
// JSON:      "verdict": "refused by the compiler",
// JSON-NEXT: "programs": []
// JSON-NEXT: "errors": [
// JSON:      "class": "E_COLLECTIVE_IN_CONTROL_FLOW"
// JSON-NEXT: "column": {{[0-9]+}}
// JSON-NEXT: "condition": "{{.*}}errors.mlir:[[@LINE+10]]"
// JSON-NEXT: "file": "{{.*}}errors.mlir"
// JSON:      "message": "'replica.all_reduce' is under a condition that may differ
// JSON:      "notes": [
// JSON:      "reason": "batch argument 'c' can lead replicas along different paths, for example c = true on replica 0 and false on replica 1"
// JSON-NEXT: "verdict": "wrong"
// RUN: env LOCKSTEP_CACHE=%t.cache %python %S/Inputs/status.py 0 lockstep-verify %S/../../end-to-end/Inputs/merge-call-loop.mlir --replicas=2

replica.step @step(%x: tensor<f32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) -> (tensor<f32> {replica.result = "r"}) {
  %go = tensor.extract %c[] : tensor<i1>
  %r = scf.if %go -> tensor<f32> {
    %s = replica.all_reduce sum %x : tensor<f32>
    scf.yield %s : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  replica.return %r : tensor<f32>
}
