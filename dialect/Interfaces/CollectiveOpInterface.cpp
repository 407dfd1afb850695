//===- CollectiveOpInterface.cpp - The interface of collectives -----------===//

#include "dialect/Interfaces/CollectiveOpInterface.h"

using namespace lockstep;

#include "dialect/Interfaces/CollectiveOpInterface.cpp.inc"
