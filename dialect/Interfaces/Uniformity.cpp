//===- Uniformity.cpp - Which values are equal on all replicas ------------===//

#include "dialect/Interfaces/Uniformity.h"

using namespace lockstep;

#include "dialect/Interfaces/Uniformity.cpp.inc"
