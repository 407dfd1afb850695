// RUN: not lockstep-opt %s --verify-uniformity=broken-rule=no-such-rule -o /dev/null 2>&1 | FileCheck %s

// CHECK: error: unknown rule 'no-such-rule'; expected one of ids-are-equal, arguments-are-equal
module {
}
