// RUN: not lockstep-opt %s --generate-code="targets=pentium" 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not lockstep-opt %s --generate-code="level=O9" 2>&1 | FileCheck %s --check-prefix=LEVEL

// TARGET: error: unknown target 'pentium', expected one of 'x86-64-v3', 'x86-64-v4', 'sm_80', 'sm_90', 'sm_90a', 'sm_100'
// LEVEL: error: expected level 'O0' or 'O2', found 'O9'
device.kernel @same(%a: tensor<8xf32>) -> tensor<8xf32> {
  device.yield %a : tensor<8xf32>
}
