//===- Html.cpp - the inspection as a page --------------------------------===//

#include "tools/lockstep-inspect/Sections.h"

#include <string_view>

namespace lockstep::inspect {

/// The files in page/, converted to a string by the build.
extern const char *const pageTemplate;

std::string toHtml(const Inspection &inspection) {
  constexpr std::string_view marker = "@INSPECTION@";
  std::string page = pageTemplate;
  std::string json = toJson(inspection);
  // In a script element "</" would end it, and "<!--" begin a comment; in JSON
  // strings "\u003c" is the same character.
  for (size_t at = json.find('<'); at != std::string::npos;
       at = json.find('<', at))
    json.replace(at, 1, "\\u003c");
  return page.replace(page.find(marker), marker.size(), json);
}

} // namespace lockstep::inspect
