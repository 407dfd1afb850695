// For a damaged file, the error is that of the artifact verifier; IR that an artifact cannot represent is an error at its line.

// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=2 --target=x86-64-v3 -O0 -o %t.lockstep
// RUN: %python -c "import sys; b = bytearray(open(sys.argv[1], 'rb').read()); b[-1] ^= 1; open(sys.argv[2], 'wb').write(b); open(sys.argv[3], 'wb').write(b[:1000])" %t.lockstep %t.flipped %t.truncated
// RUN: not lockstep-translate --import-artifact %t.flipped 2>&1 | FileCheck %s --check-prefix=FLIPPED
// FLIPPED: .flipped:0:0: error: artifact: corrupted: its bytes do not have the SHA-256 digest it names
// RUN: not lockstep-translate --import-artifact %t.truncated 2>&1 | FileCheck %s --check-prefix=TRUNCATED
// TRUNCATED: .truncated:0:0: error: artifact: truncated
// RUN: not lockstep-translate --import-artifact %s 2>&1 | FileCheck %s --check-prefix=FOREIGN
// FOREIGN: error: artifact: not a Lockstep artifact: expected identifier 'LKST', found

// RUN: not lockstep-translate --emit-artifact %s 2>&1 | FileCheck %s --check-prefix=REPLICAS
// REPLICAS: error: expected a 'replica.strategy' with a replica count
module {
}
