// What the code for GPUs needs: the grids of each kernel, and with ptxas the registers of their threads. Here, a script takes its place.

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=2 --target=sm_80,sm_90,x86-64-v3 -o %t.lockstep
// RUN: lockstep-inspect %t.lockstep --show=kernels | FileCheck %s --implicit-check-not=registers{{$}}
// CHECK: kernels (flops and bytes are of one launch)
// CHECK: grids of kernels for sm_80
// CHECK-NEXT: grid blocks threads shared memory
// CHECK: step_0_logits_matmul$0 {{[0-9]+}} 256 5.00 KiB
// CHECK: step_9_elementwise$0 {{[0-9]+}} {{[0-9]+}} 0 B
// CHECK: grids of kernels for sm_90
// CHECK-NOT: grids

// RUN: lockstep-inspect %t.lockstep --format=json | FileCheck %s --check-prefix=JSON
// JSON: "gpu_code": [
// JSON: "target": "sm_80",
// JSON-NEXT: "grids": [
// JSON: "function": "step_0_logits_matmul$0",
// JSON-NEXT: "blocks": {{[0-9]+}},
// JSON-NEXT: "threads": 256,
// JSON-NEXT: "shared_bytes": 5120,
// JSON-NEXT: "registers": null,
// JSON-NEXT: "spilled_bytes": null,
// JSON-NEXT: "occupancy": null
// JSON: "target": "sm_90",

// The script says 40 registers of one function, and is called once for each target.
// RUN: lockstep-inspect %t.lockstep --show=kernels --ptxas=%S/Inputs/ptxas.sh | FileCheck %s --check-prefix=PTXAS
// PTXAS: grids of kernels for sm_80 (shared memory is of a block, registers and what they spill are of a thread)
// PTXAS-NEXT: grid blocks threads shared memory registers spilled occupancy
// PTXAS: step_0_logits_matmul$0 {{[0-9]+}} 256 5.00 KiB - - -
// PTXAS: step_1_logits_matmul$0 {{[0-9]+}} 128 512 B 40 8 B 75.0 %
// PTXAS: grids of kernels for sm_90
// PTXAS: step_1_logits_matmul$0 {{[0-9]+}} 128 512 B 40 8 B 75.0 %

// RUN: not lockstep-inspect %t.lockstep --ptxas=%t.absent 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: lockstep-inspect: error: --ptxas: cannot start '{{.*}}.absent': No such file or directory
// RUN: not lockstep-inspect %t.lockstep --ptxas=%S/Inputs/ptxas-fails.sh 2>&1 | FileCheck %s --check-prefix=FAILS
// FAILS: lockstep-inspect: error: --ptxas: ptxas-fails.sh failed with status 255: ptxas fatal : something is missing
// RUN: not lockstep-inspect %t.lockstep --ptxas=false --code=sm_80 2>&1 | FileCheck %s --check-prefix=WITH
// WITH: lockstep-inspect: error: --ptxas: expected no --code and --compare
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=2 --target=x86-64-v3 -O0 -o %t.cpu.lockstep
// RUN: not lockstep-inspect %t.cpu.lockstep --ptxas=false 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: lockstep-inspect: error: --ptxas: expected code for GPUs in the artifact, found none
