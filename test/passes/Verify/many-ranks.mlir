// RUN: lockstep-opt %s --verify-uniformity --verify-diagnostics -o /dev/null

// For so many ranks, no partitions are kept: a varying value is not known to be uniform within any group.
replica.strategy @strategy {kind = #replica.kind<mirrored>, replicas = 5000}
collective.group @pair {ranks = array<i64: 0, 1>}
// expected-note@+1 {{is different on each replica}}
func.func @step(%x: tensor<f32> {device.binding = #device.binding<batch "x">}, %c: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  // expected-note@+1 {{makes it from a value that may differ}}
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %b {
    // expected-error@+1 {{is under a condition that may differ}}
    %0 = collective.start all_reduce sum @pair (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
    %1 = collective.wait %0 (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  }
  return
}
