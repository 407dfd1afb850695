// RUN: printf '#!/bin/sh\nshift\nprintf "\\177ELF %%%%s" "$(cat $1)" > $3\n' > %t.ptxas
// RUN: chmod +x %t.ptxas
// RUN: lockstep-opt %s --assemble-gpu-code=ptxas=%t.ptxas | FileCheck %s

// RUN: printf '#!/bin/sh\necho line 3: syntax error >&2\nexit 2\n' > %t.fails
// RUN: chmod +x %t.fails
// RUN: not lockstep-opt %s --assemble-gpu-code=ptxas=%t.fails 2>&1 | FileCheck %s --check-prefix=FAILS
// FAILS: error: assembling kernels for 'sm_90': {{.*}}.fails has failed with status 2: line 3: syntax error

// RUN: printf '#!/bin/sh\n' > %t.empty
// RUN: chmod +x %t.empty
// RUN: not lockstep-opt %s --assemble-gpu-code=ptxas=%t.empty 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: assembling kernels for 'sm_90': expected a cubin from {{.*}}.empty, found 0 bytes of something else

// RUN: printf 'no program' > %t.text
// RUN: chmod +x %t.text
// RUN: not lockstep-opt %s --assemble-gpu-code=ptxas=%t.text 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: assembling kernels for 'sm_90': {{.*}}.text has failed: {{.*}}Exec format error

// RUN: not lockstep-opt %s --assemble-gpu-code=ptxas=%t.none 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: expected the path of NVIDIA's ptxas, found '{{.*}}.none': No such file or directory

// Code for processors stays as it is; the cubin of PTX is added.
// CHECK: device.binary @x86_64_v3 target "x86-64-v3" {object = dense<1> : tensor<2xi8>}
// CHECK-NEXT: device.binary @sm_90 device "cuda" target "sm_90" {cubin = dense<[127, 69, 76, 70, 32, 65, 66]> : tensor<7xi8>, object = dense<[65, 66]> : tensor<2xi8>}
device.binary @x86_64_v3 target "x86-64-v3" {object = dense<1> : tensor<2xi8>}
device.binary @sm_90 device "cuda" target "sm_90" {object = dense<[65, 66]> : tensor<2xi8>}
