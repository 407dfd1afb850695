// The code of the kernels for each target of an artifact: a shared object for processors, PTX for GPUs.

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=2 --target=x86-64-v3,sm_80 -o %t.lockstep
// RUN: lockstep-inspect %t.lockstep --code=x86-64-v3 -o %t.so
// RUN: readelf -h %t.so | FileCheck %s --check-prefix=OBJECT
// OBJECT: Type: {{.*}}Shared object file
// RUN: lockstep-inspect %t.lockstep --code=sm_80 | FileCheck %s --check-prefix=PTX
// PTX: .target sm_80
// PTX: .visible .global .align 8 .u64 step_0_logits_matmul$arguments
// PTX: .visible .global .align 8 .b8 step_0_logits_matmul$launches[16]
// PTX: .visible .entry step_0_logits_matmul$0(
// PTX: .reqntid 256
