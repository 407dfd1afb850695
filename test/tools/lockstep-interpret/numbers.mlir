// Numbers on the command line are decimal, and errors in them are reported before the program is read.

// RUN: not lockstep-interpret %t.absent --steps=ten 2>&1 | FileCheck %s --check-prefix=STEPS
// STEPS: lockstep-interpret: error: --steps: expected a number, found 'ten' (see --help)
// RUN: not lockstep-interpret %t.absent --seed=-1 2>&1 | FileCheck %s --check-prefix=SEED
// SEED: lockstep-interpret: error: --seed: expected a number of at least 0, found -1 (see --help)
// RUN: not lockstep-interpret %t.absent --global-batch=18446744073709551616 2>&1 | FileCheck %s --check-prefix=BATCH
// BATCH: lockstep-interpret: error: --global-batch: expected a number of at most 18446744073709551615, found 18446744073709551616 (see --help)
// RUN: not lockstep-interpret %t.absent --replicas=2.0 --servers=x --schedule-seed=0x1 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: lockstep-interpret: error: --replicas: expected a number, found '2.0' (see --help)
// ALL-NEXT: lockstep-interpret: error: --servers: expected a number, found 'x' (see --help)
// ALL-NEXT: lockstep-interpret: error: --schedule-seed: expected a number, found '0x1' (see --help)
// ALL-NOT: error
