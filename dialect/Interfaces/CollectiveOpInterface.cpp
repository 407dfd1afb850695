//===- CollectiveOpInterface.cpp - What all exchanges share ---------------===//

#include "dialect/Interfaces/CollectiveOpInterface.h"

using namespace lockstep;

#include "dialect/Interfaces/CollectiveOpInterface.cpp.inc"
