// RUN: lockstep-opt %s --pass-pipeline='builtin.module(llvm.func(bfloats-as-bits))' | FileCheck %s

// Values of bf16, scalars and vectors, are selected, passed to blocks and stored as integers.
// CHECK-LABEL: llvm.func @moves(
// CHECK-SAME: %[[C:.*]]: i1, %[[P:.*]]: !llvm.ptr
llvm.func @moves(%c: i1, %p: !llvm.ptr) {
  // CHECK: %[[ONE:.*]] = llvm.mlir.constant(16256 : i16) : i16
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  // CHECK: llvm.mlir.constant(dense<[16256, 16384]> : vector<2xi16>) : vector<2xi16>
  %two = llvm.mlir.constant(dense<[1.0, 2.0]> : vector<2xbf16>) : vector<2xbf16>
  // CHECK: %[[X:.*]] = llvm.load %[[P]] : !llvm.ptr -> i16
  %x = llvm.load %p : !llvm.ptr -> bf16
  // CHECK-NEXT: %[[S:.*]] = llvm.select %[[C]], %[[X]], %[[ONE]] : i1, i16
  %s = llvm.select %c, %x, %one : i1, bf16
  %i = llvm.bitcast %s : bf16 to i16
  // CHECK-NEXT: llvm.br ^bb1(%[[S]] : i16)
  %f = llvm.bitcast %i : i16 to bf16
  llvm.br ^bb1(%f : bf16)
  // CHECK: ^bb1(%[[Y:.*]]: i16):
^bb1(%y: bf16):
  // CHECK-NEXT: llvm.store %[[Y]], %[[P]] : i16, !llvm.ptr
  llvm.store %y, %p : bf16, !llvm.ptr
  // CHECK-NEXT: llvm.store %{{.*}}, %[[P]] : vector<2xi16>, !llvm.ptr
  llvm.store %two, %p : vector<2xbf16>, !llvm.ptr
  llvm.return
}

// Elements of small buffers are integers too, since LLVM promotes such buffers to registers of their declared type.
// CHECK-LABEL: llvm.func @buffer(
llvm.func @buffer(%i: i64) {
  %n = llvm.mlir.constant(4 : i64) : i64
  // CHECK: %[[M:.*]] = llvm.alloca %{{.*}} x i16
  %m = llvm.alloca %n x bf16 : (i64) -> !llvm.ptr
  // CHECK: llvm.getelementptr %[[M]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i16
  %p = llvm.getelementptr %m[%i] : (!llvm.ptr, i64) -> !llvm.ptr, bf16
  llvm.return
}
