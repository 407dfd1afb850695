// The data that collectives send over the link of the busiest rank if each rank is in an executor of its own, and the lower bound.

// RUN: lockstep-translate --emit-artifact %s -o %t.lockstep
// RUN: lockstep-inspect %t.lockstep --format=json | FileCheck %s

// Three other ranks receive 64 bytes each, one after the other; rings and trees need less of a link.
// CHECK:      "kind": "all_reduce"
// CHECK:      "sources": null
// CHECK:      "traffic": {
// CHECK-NEXT:   "messages": 3,
// CHECK-NEXT:   "bytes": 192,
// CHECK-NEXT:   "least_messages": 2,
// CHECK-NEXT:   "least_bytes": 96

// Elements of 16 bits are sent as the 32 bits in which they are added.
// CHECK:      "kind": "reduce_scatter"
// CHECK:      "traffic": {
// CHECK-NEXT:   "messages": 3,
// CHECK-NEXT:   "bytes": 48,
// CHECK-NEXT:   "least_messages": 2,
// CHECK-NEXT:   "least_bytes": 48

// Each rank keeps one part of four.
// CHECK:      "kind": "all_to_all"
// CHECK:      "traffic": {
// CHECK-NEXT:   "messages": 3,
// CHECK-NEXT:   "bytes": 48,
// CHECK-NEXT:   "least_messages": 2,
// CHECK-NEXT:   "least_bytes": 48

// Each rank sends to one other rank.
// CHECK:      "kind": "permute"
// CHECK:      "sources": [
// CHECK-NEXT:   3,
// CHECK-NEXT:   0,
// CHECK-NEXT:   1,
// CHECK-NEXT:   2
// CHECK-NEXT: ]
// CHECK:      "traffic": {
// CHECK-NEXT:   "messages": 1,
// CHECK-NEXT:   "bytes": 64,
// CHECK-NEXT:   "least_messages": 1,
// CHECK-NEXT:   "least_bytes": 64

// CHECK:      "kind": "barrier"
// CHECK:      "traffic": {
// CHECK-NEXT:   "messages": 3,
// CHECK-NEXT:   "bytes": 0,
// CHECK-NEXT:   "least_messages": 2,
// CHECK-NEXT:   "least_bytes": 0
module attributes {device.replicas = 4 : i64} {
  collective.group @all
  device.program @step role "worker" replica 512 shared 0 input 0 registers 0 channels 5 {
    %a = device.slice replica[0] : <tensor<16xf32>>
    %b = device.slice replica[64] : <tensor<16xf32>>
    %c = device.slice replica[128] : <tensor<16xbf16>>
    %d = device.slice replica[192] : <tensor<4xbf16>>
    device.start all_reduce sum @all channel 0 (%a : !device.buffer<tensor<16xf32>>) to(%b : !device.buffer<tensor<16xf32>>)
    device.wait channel 0
    device.start reduce_scatter sum @all channel 1 (%c : !device.buffer<tensor<16xbf16>>) to(%d : !device.buffer<tensor<4xbf16>>)
    device.wait channel 1
    device.start all_to_all none @all channel 2 (%a : !device.buffer<tensor<16xf32>>) to(%b : !device.buffer<tensor<16xf32>>)
    device.wait channel 2
    device.start permute none @all channel 3 (%a : !device.buffer<tensor<16xf32>>) to(%b : !device.buffer<tensor<16xf32>>) {sources = array<i64: 3, 0, 1, 2>}
    device.wait channel 3
    device.barrier @all channel 4
    device.return
  }
}
