// A bound on the memory of a process with one replica: the fastest schedule that needs no more, or an error. Without a bound, this step needs
// 168640 bytes on ethernet-25g and on the host.

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=ethernet-25g -o %t.plain.lockstep
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=ethernet-25g --memory-bound=168640 --remarks=bound, -o %t.bound.lockstep 2>&1 | FileCheck %s --check-prefix=NONE --allow-empty
// RUN: cmp %t.plain.lockstep %t.bound.lockstep
// NONE-NOT: remark

// Divided variables need least memory, but whole ones are faster with small buckets on some networks.
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=ethernet-25g --memory-bound=120000 --remarks=bound, -o %t.divided.lockstep 2>&1 | FileCheck %s --check-prefix=DIVIDED
// RUN: lockstep-inspect %t.divided.lockstep --show remarks | FileCheck %s --check-prefix=KEPT
// RUN: lockstep-simulate %t.divided.lockstep --format=json | FileCheck %s --check-prefix=DIVIDED-BYTES
// DIVIDED: model.py:47: remark [schedule]: without a bound, the schedule needs 168640 bytes in a process with one replica, more than 120000; one with optimal buckets, divided variables needs 110208, and by the model of 'ethernet-25g' a step takes {{.*}} us instead of {{.*}} us
// DIVIDED-BYTES: "memory_bytes": 110208
// KEPT: schedule analysis model.py:47 without a bound, the schedule needs 168640 bytes

// The sizes of buckets that are compared depend on what the step exchanges.
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=ethernet-25g --memory-bound=110144 --remarks=bound, -o %t.small.lockstep 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: one with buckets of at most 16.0 KiB, divided variables, no overlap needs 108928, and

// What the user has chosen stays.
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=ethernet-25g --shard-update=off --memory-bound=167000 --remarks=bound, -o %t.whole.lockstep 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: lockstep-simulate %t.whole.lockstep --format=json | FileCheck %s --check-prefix=WHOLE-BYTES
// WHOLE: one with buckets of at most 16.0 KiB needs 166400, and
// WHOLE-BYTES: "memory_bytes": 166400
// RUN: not lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --bucket=bytes:100000 --memory-bound=167000 -o %t.lockstep 2>&1 | FileCheck %s --check-prefix=GIVEN
// GIVEN: model.py:47:1: error: expected at most 167000 bytes in a process with one replica, found 168640 (165 KiB) with the schedule that needs least

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=ethernet-25g --shard-update=on --split=params/w1:2 --memory-bound=115000 --remarks=bound, -o %t.split.lockstep 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: lockstep-inspect %t.split.lockstep | FileCheck %s --check-prefix=PIECES
// SPLIT: one with optimal buckets, no overlap needs 113024, and
// PIECES: params/w1.piece1

// The IR of earlier stages is that of the chosen schedule.
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=ethernet-25g --memory-bound=120000 --stop-after=simplify | FileCheck %s --check-prefix=PARTS
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --memory-bound=167000 --stop-after=bucket | FileCheck %s --check-prefix=SINGLE
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --memory-bound=167000 --stop-after=schedule | FileCheck %s --check-prefix=SINGLE
// PARTS: whole_shape = array<i64: 64, 128>
// SINGLE-COUNT-2: collective.start all_reduce

// RUN: not lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --topology=ethernet-25g --memory-bound=100000 -o %t.lockstep 2>&1 | FileCheck %s --check-prefix=LEAST
// LEAST: model.py:47:1: error: expected at most 100000 bytes in a process with one replica, found 108864 (106 KiB) with the schedule that needs least
// RUN: not lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 -O0 --memory-bound=176832 -o %t.lockstep 2>&1 | FileCheck %s --check-prefix=O0
// O0: model.py:47:1: error: expected at most 176832 bytes in a process with one replica, found 459392 (449 KiB) with the schedule that needs least

// RUN: not lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --memory-bound=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --memory-bound=-5 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --memory-bound=1MiB 2>&1 | FileCheck %s --check-prefix=TEXT
// ZERO: lockstep-compile: error: expected --memory-bound with a number of bytes that is positive, found 0
// NEGATIVE: lockstep-compile: error: expected --memory-bound with a number of bytes that is positive, found -5
// TEXT: lockstep-compile: error: --memory-bound: expected a number, found '1MiB' (see --help)
