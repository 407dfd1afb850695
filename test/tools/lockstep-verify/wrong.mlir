// Two roles take two barriers in opposite order: the counter-example tells how each of them got there.

// RUN: lockstep-translate --emit-artifact --allow-unproven %s -o %t.lockstep
// RUN: not lockstep-verify %t.lockstep | FileCheck %s
// RUN: not lockstep-verify --json %t.lockstep | FileCheck %s --check-prefix=JSON
// RUN: lockstep-inspect %t.lockstep --show=summary | FileCheck %s --check-prefix=INSPECT
// RUN: not lockstep-run %t.lockstep --steps=1 2>&1 | FileCheck %s --check-prefix=REFUSED

// CHECK:      program 'step': wrong
// CHECK-NEXT:   reason       rank 0 (worker) waits at train.py:10: barrier on channel 0 for rank 1, rank 1 (server) waits at train.py:20: barrier on channel 1 for rank 0
// CHECK:        certificate  about these commands
// CHECK:      counter-example: each of these ranks waits for the next
// CHECK-NEXT:   rank 0 (worker)
// CHECK-NEXT:     waits   train.py:10: barrier on channel 0, for rank 1
// CHECK-NEXT:   rank 1 (server)
// CHECK-NEXT:     waits   train.py:20: barrier on channel 1, for rank 0

// JSON:      "verdict": "wrong"
// JSON:      "counter_example": {
// JSON-NEXT:   "chain": [
// JSON-NEXT:     0,
// JSON-NEXT:     1

// INSPECT:      replicas never wait for each other for ever
// INSPECT-NEXT:   program  verdict  method
// INSPECT-NEXT:   step     wrong    {{.*}}about these commands

// REFUSED: its ranks may wait for each other for ever: the verdict of its certificate is wrong [E_DEADLOCK]

module attributes {device.replicas = 1 : i64} {
  collective.group @a {ranks = array<i64: 0, 1>}
  collective.group @b {ranks = array<i64: 0, 1>}
  device.role @worker ranks 0 count 1
  device.role @server ranks 1 count 1
  device.program @step role "worker" replica 64 shared 0 input 0 registers 0 channels 2 {
    device.barrier @a channel 0 loc("train.py":10:0)
    device.barrier @b channel 1 loc("train.py":11:0)
    device.return
  }
  device.program @step.server role "server" replica 64 shared 0 input 0 registers 0 channels 2 attributes {step = "step"} {
    device.barrier @b channel 1 loc("train.py":20:0)
    device.barrier @a channel 0 loc("train.py":21:0)
    device.return
  }
}
