// RUN: lockstep-opt %s --split-roles --split-input-file -verify-diagnostics

// A value that a server needs has sizes with bounds.
collective.group @all
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 1 : i64}
replica.variable @w : tensor<4xf32> {device.role = @server0}
func.func @dynamic(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">},
                   %n: tensor<index> {device.binding = #device.binding<scalar "n">}) -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %size = tensor.extract %n[] : tensor<index>
  %part = tensor.empty(%size) : tensor<?xf32>
  %h = collective.start all_reduce sum @all (%part : tensor<?xf32>) sizes(%size) -> <tensor<?xf32>>
  // expected-error@+1 {{a value of type 'tensor<?xf32>' is needed by another role than the one that computes it, expected sizes with known bounds}}
  %s = collective.wait %h (%part : tensor<?xf32>) : <tensor<?xf32>> -> tensor<?xf32>
  %new = tensor.insert_slice %s into %w[0] [%size] [1] : tensor<?xf32> into tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// A value that a server needs is equal on all replicas.
collective.group @all
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 1 : i64}
replica.variable @w : tensor<4xf32> {device.role = @server0}
// expected-error@+1 {{a value that may differ between replicas is needed by a parameter server}}
func.func @varying(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  return %x : tensor<4xf32>
}
