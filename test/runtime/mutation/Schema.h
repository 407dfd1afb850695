//===- Schema.h - the tables of an artifact as JSON -------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_MUTATION_SCHEMA_H
#define LOCKSTEP_TEST_RUNTIME_MUTATION_SCHEMA_H

#include "runtime/support/Status.h"

#include <flatbuffers/idl.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime::mutation {

using Json = nlohmann::json;

/// A table of the schema in an artifact: a JSON object and its fields.
template <typename Object> struct TableOf {
  Object *object = nullptr;
  const flatbuffers::StructDef *definition = nullptr;
  /// Where it is: "programs[0].commands[3].body".
  std::string path;
};
using Table = TableOf<Json>;
using ConstTable = TableOf<const Json>;

/// Tables by the names of their definitions.
template <typename Object>
using TablesOf = std::map<std::string, std::vector<TableOf<Object>>>;
using Tables = TablesOf<Json>;
using ConstTables = TablesOf<const Json>;

/// The schema of artifacts (artifact.fbs): converts between a buffer and JSON
/// with all numbers explicit, and finds tables in that. Not thread-safe.
class Schema {
public:
  /// Ends the process if the schema cannot be read, which is in the source
  /// tree.
  Schema();

  Json toJson(std::span<const std::byte> buffer);
  /// Error: required fields are not there, numbers do not fit.
  Expected<std::vector<std::byte>> toBuffer(const Json &tables);

  /// All tables of an artifact. They are valid until something is put in or
  /// taken out.
  Tables tablesOf(Json &artifact) const;
  ConstTables tablesOf(const Json &artifact) const;
  /// By name, without the namespace.
  const flatbuffers::StructDef &definition(const std::string &name) const;
  /// Every field of every table that a change can be made to, as "Table.field".
  std::vector<std::string> fields() const;

  /// Whether a field is not to be changed: it is the type of a union, which
  /// must match its value; it is obsolete; or it is the digest of an artifact,
  /// which is computed.
  static bool isFixed(const flatbuffers::StructDef &definition,
                      const flatbuffers::FieldDef &field);

private:
  flatbuffers::Parser parser;
};

} // namespace lockstep::runtime::mutation

#endif // LOCKSTEP_TEST_RUNTIME_MUTATION_SCHEMA_H
