// Two roles have two barriers in opposite order: the reason names both of them, and the program is not executed.

// RUN: lockstep-translate --emit-artifact --allow-unproven %s -o %t.lockstep
// RUN: not lockstep-verify %t.lockstep | FileCheck %s
// RUN: not lockstep-verify --json %t.lockstep | FileCheck %s --check-prefix=JSON
// RUN: lockstep-inspect %t.lockstep --show=summary | FileCheck %s --check-prefix=INSPECT
// RUN: not lockstep-run %t.lockstep --steps=1 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not lockstep-translate --emit-artifact %s -o %t.none 2>&1 | FileCheck %s --check-prefix=EMIT

// CHECK:      program 'step': not provable
// CHECK-NEXT:   reason       roles start exchanges in different orders: role 'worker' at train.py:10: barrier on channel 0 before train.py:11: barrier on channel 1; role 'server' at train.py:20: barrier on channel 1 before train.py:21: barrier on channel 0
// CHECK-NEXT:   method       projections

// JSON:      "verdict": "not provable"
// JSON-NEXT: "method": "projections"
// JSON-NEXT: "reason": "roles start exchanges in different orders:

// INSPECT:      replicas never wait for each other forever
// INSPECT-NEXT:   program  verdict       method
// INSPECT-NEXT:   step     not provable  projections

// REFUSED: could not prove that its ranks do not wait for each other forever: roles start exchanges in different orders: role 'worker' at train.py:10: barrier on channel 0 before train.py:11: barrier on channel 1; role 'server' at train.py:20: barrier on channel 1 before train.py:21: barrier on channel 0 [E_NOT_PROVABLE]
// EMIT: error: could not prove that the replicas of program 'step' do not wait for each other forever: roles start exchanges in different orders

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
