// The compiler's tools allocate with mimalloc, which reports itself on request.

// RUN: env MIMALLOC_VERBOSE=1 lockstep-compile --version 2>&1 | FileCheck %s
// RUN: env MIMALLOC_VERBOSE=1 lockstep-opt --version 2>&1 | FileCheck %s

// CHECK: mimalloc: process init
