// RUN: lockstep-opt %s --generate-code="targets=x86-64-v3,x86-64-v4" > %t.first
// RUN: FileCheck %s < %t.first
// RUN: mkdir -p %t.folder && cd %t.folder && lockstep-opt %s --generate-code="targets=x86-64-v3,x86-64-v4" > %t.second
// RUN: diff %t.first %t.second
// RUN: lockstep-opt %s --generate-code="targets=x86-64-v3 level=O0" | FileCheck %s --check-prefix=O0

// The module has an object for each target, whose bytes do not depend on the folder in which it was compiled.
// CHECK: device.kernel @twice
// CHECK-SAME: bytes = 64 : i64
// CHECK-SAME: flops = 8 : i64
// A kernel that is equal to an earlier one shares its code.
// CHECK: device.kernel @twice_again
// CHECK-SAME: code = "twice"
// CHECK: device.binary @x86_64_v3 target "x86-64-v3" {object = dense<"0x7F454C46
// CHECK: device.binary @x86_64_v4 target "x86-64-v4" {object = dense<"0x7F454C46
// O0: device.binary @x86_64_v3
// O0-NOT: device.binary
#id = affine_map<(i) -> (i)>
device.kernel @twice(%a: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  device.yield %r : tensor<8xf32>
}
device.kernel @twice_again(%a: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  device.yield %r : tensor<8xf32>
}
