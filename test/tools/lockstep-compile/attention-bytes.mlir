// By default, an attention has at most 16 MiB of scores at a time, or 128 MiB if all targets are GPUs, and all of them without optimization.

// RUN: lockstep-compile %s --replicas=1 --target=x86-64-v3 --stop-after=kernels -o - | FileCheck %s --check-prefix=SLICES
// RUN: lockstep-compile %s --replicas=1 --target=x86-64-v3,sm_90 --stop-after=kernels -o - | FileCheck %s --check-prefix=SLICES
// RUN: lockstep-compile %s --replicas=1 --target=sm_90 --attention-bytes=33554431 --stop-after=kernels -o - | FileCheck %s --check-prefix=SLICES
// RUN: lockstep-compile %s --replicas=1 --target=sm_90 --stop-after=kernels -o - | FileCheck %s --check-prefix=WHOLE
// RUN: lockstep-compile %s --replicas=1 --target=x86-64-v3 --attention-bytes=0 --stop-after=kernels -o - | FileCheck %s --check-prefix=WHOLE
// RUN: lockstep-compile %s --replicas=1 --target=x86-64-v3 -O0 --stop-after=kernels -o - | FileCheck %s --check-prefix=WHOLE
// RUN: not lockstep-compile %s --replicas=1 --attention-bytes=-1 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: for the --attention-bytes option: '-1' value invalid

// SLICES: -> tensor<1x1x2048x2048xf32>
// SLICES: func.func @step
// SLICES: scf.for
// SLICES: device.invoke
// WHOLE: tensor<2x1x2048x2048xf32>
// WHOLE: func.func @step
// WHOLE-NOT: scf.for
replica.step @step(%q: tensor<2x2048x1x8xf32> {replica.batch = "q"}) -> (tensor<2x2048x1x8xf32> {replica.result = "o"}) {
  %e = tensor.empty() : tensor<2x2048x1x8xf32>
  %f = tensor.empty() : tensor<2x1x2048xf32>
  %o:2 = device.attention scale 1.000000e+00 ins(%q, %q, %q : tensor<2x2048x1x8xf32>, tensor<2x2048x1x8xf32>, tensor<2x2048x1x8xf32>)
      outs(%e, %f : tensor<2x2048x1x8xf32>, tensor<2x1x2048xf32>) -> tensor<2x2048x1x8xf32>, tensor<2x1x2048xf32>
  replica.return %o#0 : tensor<2x2048x1x8xf32>
}
