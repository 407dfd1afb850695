// Updates of small variables share kernels, in program order, up to 16,384 iterations in each. The large variable has a kernel of its own, and what
// is exchanged waits for no update. Without the option, each one is a kernel.

// RUN: lockstep-opt %s --form-kernels=merge-updates=true | FileCheck %s
// RUN: lockstep-opt %s --form-kernels | FileCheck %s --check-prefix=ALONE
// CHECK-LABEL: func.func @step(
// CHECK: device.invoke @step_{{[0-9]}}_elementwise(%arg4) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK: device.invoke @{{.*}}(%arg0, %arg1, %arg3) : (tensor<8xf32>, tensor<120x80xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<120x80xf32>, tensor<8xf32>)
// CHECK: device.invoke @{{.*}}(%arg2) : (tensor<300x80xf32>) -> tensor<300x80xf32>
// CHECK: device.invoke @{{.*}}(%arg5) : (tensor<120x80xf32>) -> tensor<120x80xf32>
// ALONE-LABEL: func.func @step(
// ALONE-COUNT-6: device.invoke
#id = affine_map<(i) -> (i)>
#id2 = affine_map<(i, j) -> (i, j)>
collective.group @all
replica.strategy @strategy {kind = #replica.kind<mirrored>, replicas = 2 : i64}
func.func @step(
    %a: tensor<8xf32> {device.binding = #device.binding<variable "a">},
    %b: tensor<120x80xf32> {device.binding = #device.binding<variable "b">},
    %c: tensor<300x80xf32> {device.binding = #device.binding<variable "c">},
    %d: tensor<8xf32> {device.binding = #device.binding<variable "d">},
    %x: tensor<8xf32> {device.binding = #device.binding<batch "x">},
    %e: tensor<120x80xf32> {device.binding = #device.binding<variable "e">})
    -> (tensor<8xf32> {device.binding = #device.binding<variable "a">},
        tensor<120x80xf32> {device.binding = #device.binding<variable "b">},
        tensor<300x80xf32> {device.binding = #device.binding<variable "c">},
        tensor<8xf32> {device.binding = #device.binding<variable "d">},
        tensor<8xf32> {device.binding = #device.binding<result "sum">},
        tensor<120x80xf32> {device.binding = #device.binding<variable "e">}) {
  %small = tensor.empty() : tensor<8xf32>
  %middle = tensor.empty() : tensor<120x80xf32>
  %large = tensor.empty() : tensor<300x80xf32>
  %a1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%small : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %b1 = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<120x80xf32>) outs(%middle : tensor<120x80xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<120x80xf32>
  %c1 = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<300x80xf32>) outs(%large : tensor<300x80xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<300x80xf32>
  %d1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%d : tensor<8xf32>) outs(%small : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%small : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %h = collective.start all_reduce sum @all (%y : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
  %s = collective.wait %h (%y : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  %e1 = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%e : tensor<120x80xf32>) outs(%middle : tensor<120x80xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<120x80xf32>
  return %a1, %b1, %c1, %d1, %s, %e1 : tensor<8xf32>, tensor<120x80xf32>, tensor<300x80xf32>, tensor<8xf32>, tensor<8xf32>, tensor<120x80xf32>
}
