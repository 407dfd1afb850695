//===- Schema.cpp ---------------------------------------------------------===//

#include "Schema.h"

#include <flatbuffers/util.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace lockstep::runtime::mutation {

Schema::Schema() {
  parser.opts.strict_json = true;
  parser.opts.indent_step = -1;
  parser.opts.output_default_scalars_in_json = true;
  parser.opts.output_enum_identifiers = false;
  parser.opts.allow_non_utf8 = true;
  std::string text;
  if (!flatbuffers::LoadFile(LOCKSTEP_SCHEMA, /*binary=*/false, &text) ||
      !parser.Parse(text.c_str())) {
    fmt::print(stderr, "cannot read {}: {}\n", LOCKSTEP_SCHEMA, parser.error_);
    std::exit(1);
  }
}

Json Schema::toJson(std::span<const std::byte> buffer) {
  std::string text;
  [[maybe_unused]] bool hasText =
      flatbuffers::GenerateText(parser, buffer.data(), &text);
  assert(hasText && "tables that have been verified");
  return Json::parse(text);
}

Expected<std::vector<std::byte>> Schema::toBuffer(const Json &tables) {
  if (!parser.ParseJson(
          tables.dump(-1, ' ', false, Json::error_handler_t::replace).c_str()))
    return invalidArgument(parser.error_);
  auto bytes = std::as_bytes(
      std::span(parser.builder_.GetBufferPointer(), parser.builder_.GetSize()));
  return std::vector(bytes.begin(), bytes.end());
}

bool Schema::isFixed(const flatbuffers::StructDef &definition,
                     const flatbuffers::FieldDef &field) {
  return field.deprecated ||
         field.value.type.base_type == flatbuffers::BASE_TYPE_UTYPE ||
         (definition.name == "Artifact" && field.name == "digest");
}

/// The table that a union holds; null for none.
static const flatbuffers::StructDef *
unionTable(const Json &object, const flatbuffers::FieldDef &field) {
  auto type = object.find(field.name + "_type");
  if (type == object.end())
    return nullptr;
  const flatbuffers::EnumVal *value =
      field.value.type.enum_def->ReverseLookup(type->get<int64_t>());
  return value ? value->union_type.struct_def : nullptr;
}

template <typename Object>
static void collect(Object &object, const flatbuffers::StructDef &definition,
                    const std::string &path, TablesOf<Object> &tables) {
  tables[definition.name].push_back({&object, &definition, path});
  for (const flatbuffers::FieldDef *field : definition.fields.vec) {
    auto found = object.find(field->name);
    if (found == object.end() || field->deprecated)
      continue;
    const flatbuffers::Type &type = field->value.type;
    std::string place = path.empty() ? field->name : path + "." + field->name;
    if (type.base_type == flatbuffers::BASE_TYPE_STRUCT) {
      if (!type.struct_def->fixed)
        collect(*found, *type.struct_def, place, tables);
    } else if (type.base_type == flatbuffers::BASE_TYPE_UNION) {
      if (const flatbuffers::StructDef *held = unionTable(object, *field))
        collect(*found, *held, place, tables);
    } else if (type.base_type == flatbuffers::BASE_TYPE_VECTOR &&
               type.element == flatbuffers::BASE_TYPE_STRUCT) {
      for (size_t i = 0; i < found->size(); ++i)
        collect((*found)[i], *type.struct_def, fmt::format("{}[{}]", place, i),
                tables);
    }
  }
}

Tables Schema::tablesOf(Json &artifact) const {
  Tables tables;
  collect(artifact, *parser.root_struct_def_, "", tables);
  return tables;
}

ConstTables Schema::tablesOf(const Json &artifact) const {
  ConstTables tables;
  collect(artifact, *parser.root_struct_def_, "", tables);
  return tables;
}

const flatbuffers::StructDef &
Schema::definition(const std::string &name) const {
  const flatbuffers::StructDef *found =
      parser.structs_.Lookup("lockstep.artifact." + name);
  assert(found && "a table of the schema");
  return *found;
}

std::vector<std::string> Schema::fields() const {
  std::vector<std::string> names;
  for (const flatbuffers::StructDef *definition : parser.structs_.vec)
    for (const flatbuffers::FieldDef *field : definition->fields.vec)
      if (!definition->fixed && !isFixed(*definition, *field))
        names.push_back(definition->name + "." + field->name);
  return names;
}

} // namespace lockstep::runtime::mutation
