// Names and locations are bytes of the user's files. Those that are not UTF-8 become U+FFFD in JSON, which is UTF-8.

// RUN: lockstep-translate --emit-artifact %s -o %t.lockstep
// RUN: lockstep-inspect %t.lockstep --format=json | FileCheck %s
// RUN: lockstep-inspect %t.lockstep --format=html | FileCheck %s
// RUN: lockstep-inspect %t.lockstep --show=schedule | FileCheck %s --check-prefix=TEXT
// RUN: lockstep-verify %t.lockstep --json | FileCheck %s --check-prefix=VERIFY

// CHECK: "line": "mod�l.py:4"
// TEXT:  start all_reduce sum channel 0 {{.*}} mod{{.}}l.py:4
// VERIFY: mod�l.py:4
module attributes {device.replicas = 2 : i64} {
  collective.group @all
  device.program @step role "worker" replica 128 shared 0 input 0 registers 0 channels 1 {
    %a = device.slice replica[0] : <tensor<16xf32>>
    %b = device.slice replica[64] : <tensor<16xf32>>
    device.start all_reduce sum @all channel 0 (%a : !device.buffer<tensor<16xf32>>) to(%b : !device.buffer<tensor<16xf32>>) loc("mod\E9l.py":4:1)
    device.wait channel 0 loc("mod\E9l.py":4:1)
    device.return
  }
}
