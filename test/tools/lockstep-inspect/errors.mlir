// What cannot be shown is an error that says why, with a status that is not zero.

// RUN: not lockstep-inspect %t.absent 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: lockstep-inspect: error: cannot open artifact '{{.*}}.absent': No such file or directory

// RUN: not lockstep-inspect %s 2>&1 | FileCheck %s --check-prefix=FOREIGN
// FOREIGN: lockstep-inspect: error: artifact '{{.*}}': not a Lockstep artifact: expected identifier 'LKST', found 'hat '

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=2 --target=x86-64-v3 -O0 -o %t.lockstep
// RUN: %python -c "import sys; b = bytearray(open(sys.argv[1], 'rb').read()); b[-1] ^= 1; open(sys.argv[2], 'wb').write(b)" %t.lockstep %t.flipped
// RUN: not lockstep-inspect %t.flipped 2>&1 | FileCheck %s --check-prefix=FLIPPED
// FLIPPED: corrupted: its bytes do not have the SHA-256 digest it names

// RUN: not lockstep-inspect %t.lockstep --shows=lanes 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: lockstep-inspect: error: the following argument was not expected: --shows=lanes (see --help)
// RUN: not lockstep-inspect %t.lockstep --format=xml 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: lockstep-inspect: error: --format: xml not in {text,json,html}
// RUN: not lockstep-inspect %t.lockstep --show=lanes 2>&1 | FileCheck %s --check-prefix=SHOW
// SHOW: lockstep-inspect: error: --show: {{.*}}lanes
// RUN: not lockstep-inspect %t.lockstep --code=sm_90 2>&1 | FileCheck %s --check-prefix=CODE
// CODE: lockstep-inspect: error: --code: expected a target of the artifact ('x86-64-v3'), found 'sm_90'
// RUN: not lockstep-inspect %t.lockstep --code=x86-64-v3 --format=json 2>&1 | FileCheck %s --check-prefix=WITH
// WITH: lockstep-inspect: error: --code: expected no --format, --show and --compare
// RUN: not lockstep-inspect %t.lockstep -o %t.absent/file 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: lockstep-inspect: error: cannot write '{{.*}}.absent/file': No such file or directory

// The tool does not need LLVM: an artifact can be read where it runs.
// RUN: %python -c "import shutil, subprocess; print(subprocess.run(['readelf', '-d', shutil.which('lockstep-inspect')], capture_output=True, text=True, check=True).stdout)" | FileCheck %s --check-prefix=LINKED
// LINKED-NOT: {{libLLVM|libMLIR|libpython}}
// LINKED: NEEDED
// LINKED-NOT: {{libLLVM|libMLIR|libpython}}
