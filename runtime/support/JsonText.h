//===- JsonText.h - JSON as text --------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_JSONTEXT_H
#define LOCKSTEP_RUNTIME_SUPPORT_JSONTEXT_H

#include <nlohmann/json.hpp>

#include <string>

namespace lockstep::runtime {

/// `json` on one line, or indented by `indent` spaces for each level. Names and
/// locations are bytes of the user's files and need not be UTF-8: invalid ones
/// become U+FFFD, where `dump` would throw.
template <typename Json>
std::string jsonText(const Json &json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_JSONTEXT_H
