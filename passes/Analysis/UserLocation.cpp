//===- UserLocation.cpp - Locations as the user knows them ----------------===//

#include "passes/Analysis/UserLocation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

std::optional<FileLineColLoc> lockstep::findUserLocation(Location location) {
  using Result = std::optional<FileLineColLoc>;
  return TypeSwitch<Location, Result>(location)
      .Case([](FileLineColRange range) -> Result {
        return FileLineColLoc::get(range.getFilename(), range.getStartLine(),
                                   range.getStartColumn());
      })
      .Case([](NameLoc name) { return findUserLocation(name.getChildLoc()); })
      .Case([](CallSiteLoc call) {
        Result callee = findUserLocation(call.getCallee());
        return callee ? callee : findUserLocation(call.getCaller());
      })
      .Case([](FusedLoc fused) -> Result {
        for (Location part : fused.getLocations())
          if (Result found = findUserLocation(part))
            return found;
        return std::nullopt;
      })
      .Case([](OpaqueLoc opaque) {
        return findUserLocation(opaque.getFallbackLocation());
      })
      .Default([](Location) { return std::nullopt; });
}

Location lockstep::getUserLocation(Location location) {
  std::optional<FileLineColLoc> found = findUserLocation(location);
  return found ? Location(*found) : location;
}

/// The first name in a location: of a captured variable or input, or, for
/// `ofFunction`, of the function of a line.
static StringRef findName(Location location, bool ofFunction) {
  return TypeSwitch<Location, StringRef>(location)
      .Case([&](NameLoc name) {
        bool isLine = isa<FileLineColRange>(name.getChildLoc());
        return !ofFunction || isLine ? name.getName().getValue()
                                     : findName(name.getChildLoc(), ofFunction);
      })
      .Case([&](CallSiteLoc call) {
        StringRef callee = findName(call.getCallee(), ofFunction);
        return callee.empty() ? findName(call.getCaller(), ofFunction) : callee;
      })
      .Case([&](FusedLoc fused) {
        for (Location part : fused.getLocations())
          if (StringRef found = findName(part, ofFunction); !found.empty())
            return found;
        return StringRef();
      })
      .Default([](Location) { return StringRef(); });
}

std::string lockstep::userLocation(Location location) {
  std::optional<FileLineColLoc> found = findUserLocation(location);
  return found
             ? (found->getFilename().getValue() + ":" + Twine(found->getLine()))
                   .str()
             : std::string();
}

std::string lockstep::userLocationOrName(Location location) {
  std::string line = userLocation(location);
  return line.empty() ? findName(location, /*ofFunction=*/false).str() : line;
}

StringRef lockstep::findUserFunction(Location location) {
  return findName(location, /*ofFunction=*/true);
}
