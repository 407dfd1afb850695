//===- Mutator.cpp --------------------------------------------------------===//

#include "Mutator.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/support/Checked.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace lockstep::runtime::mutation {

using flatbuffers::BaseType;
using flatbuffers::FieldDef;
using flatbuffers::StructDef;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Status Mutator::add(std::span<const std::byte> file) {
  // The signature of an artifact is not one of its mutants.
  Expected<std::shared_ptr<const Artifact>> artifact =
      Artifact::fromMemory(file);
  if (!artifact)
    return artifact.status();
  std::span<const std::byte> content = (*artifact)->content();
  Base base;
  base.tables = schema.toJson(content);
  constexpr uint64_t room = 64 << 10;
  std::vector<Json *> offsets;
  if (base.tables.contains("segments"))
    for (Json &segment : base.tables["segments"])
      offsets.push_back(&segment["offset"]);
  uint64_t first = content.size();
  for (const Json *offset : offsets)
    first = std::min(first, offset->get<uint64_t>());
  base.segments.assign(content.begin() + ptrdiff_t(first), content.end());
  base.segmentsOffset = alignUp(first + room, largeSegmentAlignment) +
                        first % largeSegmentAlignment;
  for (Json *offset : offsets)
    *offset = offset->get<uint64_t>() - first + base.segmentsOffset;
  base.tables["file_size"] = base.segmentsOffset + base.segments.size();
  bases.push_back(std::move(base));
  bases.back().rows = schema.tablesOf(std::as_const(bases.back().tables));
  return Status::success();
}

Expected<std::vector<std::byte>> Mutator::assemble(const Base &base,
                                                   const Json &tables) {
  Expected<std::vector<std::byte>> buffer = schema.toBuffer(tables);
  if (!buffer)
    return buffer;
  if (buffer->size() > base.segmentsOffset)
    return unsupported(fmt::format("expected tables of {} bytes, found {}",
                                   base.segmentsOffset, buffer->size()));
  std::vector<std::byte> file = std::move(*buffer);
  file.resize(base.segmentsOffset);
  file.insert(file.end(), base.segments.begin(), base.segments.end());
  const auto *digest = reinterpret_cast<const std::byte *>(
      artifact::GetArtifact(file.data())->digest());
  auto offset = size_t(digest - file.data());
  std::array<uint8_t, 32> hash = artifactDigest(file, offset);
  std::memcpy(file.data() + offset, hash.data(), hash.size());
  return file;
}

std::vector<std::byte> Mutator::unchanged(size_t base) {
  return *assemble(bases[base], bases[base].tables);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static uint64_t below(Random &random, uint64_t limit) {
  return random() % limit;
}

template <typename T, typename Random> auto &anyOf(T &list, Random &random) {
  return list[below(random, list.size())];
}

/// The least and the greatest value of a type of numbers.
static std::pair<__int128, __int128> rangeOf(BaseType type) {
  auto of = []<typename T>(T) -> std::pair<__int128, __int128> {
    return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  };
  switch (type) {
  case flatbuffers::BASE_TYPE_BOOL:
    return {0, 1};
  case flatbuffers::BASE_TYPE_CHAR:
    return of(int8_t());
  case flatbuffers::BASE_TYPE_UCHAR:
    return of(uint8_t());
  case flatbuffers::BASE_TYPE_SHORT:
    return of(int16_t());
  case flatbuffers::BASE_TYPE_USHORT:
    return of(uint16_t());
  case flatbuffers::BASE_TYPE_INT:
    return of(int32_t());
  case flatbuffers::BASE_TYPE_UINT:
    return of(uint32_t());
  case flatbuffers::BASE_TYPE_LONG:
    return of(int64_t());
  default:
    assert(type == flatbuffers::BASE_TYPE_ULONG && "no floats in the schema");
    return of(uint64_t());
  }
}

static __int128 numberOf(const Json &value) {
  if (value.is_boolean())
    return value.get<bool>();
  return value.is_number_unsigned() ? __int128(value.get<uint64_t>())
                                    : __int128(value.get<int64_t>());
}

/// A number of the type that is likely to matter.
static Json otherNumber(const Json &old, BaseType type, Random &random) {
  auto [least, greatest] = rangeOf(type);
  __int128 value = numberOf(old);
  switch (below(random, 8)) {
  case 0:
    value = __int128(below(random, 3)) - 1;
    break;
  case 1:
    value += below(random, 2) ? 1 : -1;
    break;
  case 2:
    value += __int128(below(random, 129)) - 64;
    break;
  case 3:
    value = below(random, 2) ? value * 2 : value / 2;
    break;
  case 4:
    value = below(random, 2) ? least : greatest;
    break;
  case 5:
    value = __int128(1) << below(random, 64);
    break;
  case 6:
    value = -value;
    break;
  default:
    value = __int128(below(random, 17));
  }
  value = std::clamp(value, least, greatest);
  if (type == flatbuffers::BASE_TYPE_BOOL)
    return value != 0;
  return value < 0 ? Json(int64_t(value)) : Json(uint64_t(value));
}

static std::string otherString(std::string old, Random &random) {
  switch (below(random, 4)) {
  case 0:
    return "";
  case 1:
    return old + "x";
  case 2:
    return old.substr(0, old.size() / 2);
  default:
    return std::string(300, 'a');
  }
}

/// Changes which elements a list has, or one of them if they are numbers or
/// strings. `other` may be the list of another table, or null.
static Json otherList(Json list, const Json *other,
                      const flatbuffers::Type &type, Random &random) {
  auto place = [&](const Json &of) {
    return of.begin() + ptrdiff_t(below(random, of.size()));
  };
  auto *elements = list.get_ptr<Json::array_t *>();
  auto any = [&] {
    return elements->begin() + ptrdiff_t(below(random, elements->size()));
  };
  bool isEmpty = elements->empty();
  switch (below(random, 7)) {
  case 0:
    if (!isEmpty)
      elements->erase(any());
    break;
  case 1:
    if (!isEmpty) {
      Json copy = *any();
      elements->insert(any(), std::move(copy));
    }
    break;
  case 2:
    if (!isEmpty)
      std::swap(*any(), *any());
    break;
  case 3:
    elements->clear();
    break;
  case 4:
    if (other)
      list = *other;
    break;
  case 5:
    if (other && !other->empty())
      elements->insert(isEmpty ? elements->begin() : any(), *place(*other));
    break;
  default:
    if (type.element == flatbuffers::BASE_TYPE_STRING) {
      if (!isEmpty)
        *any() = otherString(*any(), random);
    } else if (type.element != flatbuffers::BASE_TYPE_STRUCT) {
      if (isEmpty)
        elements->push_back(0);
      auto element = any();
      *element = otherNumber(*element, type.element, random);
    }
  }
  return list;
}

/// For messages: long values are cut.
static std::string shown(const Json *value) {
  if (!value)
    return "nothing";
  std::string text = value->dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr size_t longest = 60;
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

const Json *Mutator::findDonor(const std::string &table,
                               const std::string &field, Random &random) const {
  const ConstTables &rows = anyOf(bases, random).rows;
  auto found = rows.find(table);
  if (found == rows.end())
    return nullptr;
  const Json &object = *anyOf(found->second, random).object;
  return object.contains(field) ? &object : nullptr;
}

std::optional<Change> Mutator::changeField(Tables &tables, Random &random) {
  auto kind =
      std::next(tables.begin(), ptrdiff_t(below(random, tables.size())));
  const Table &table = anyOf(kind->second, random);
  const StructDef &definition = *table.definition;
  std::vector<const FieldDef *> fields;
  for (const FieldDef *field : definition.fields.vec)
    if (!Schema::isFixed(definition, *field))
      fields.push_back(field);
  if (fields.empty())
    return std::nullopt;
  const FieldDef &field = *anyOf(fields, random);
  const flatbuffers::Type &type = field.value.type;

  auto found = table.object->find(field.name);
  std::optional<Json> old;
  if (found != table.object->end())
    old = *found;
  const Json *donor = findDonor(definition.name, field.name, random);
  const Json *given = donor ? &(*donor)[field.name] : nullptr;
  // Optional fields are sometimes omitted; rows of other tables are preferred.
  bool leavesOut = old && !field.IsRequired() &&
                   !flatbuffers::IsScalar(type.base_type) &&
                   below(random, 6) == 0;
  bool copiesOther = given && below(random, 3) == 0;
  std::optional<Json> value;
  if (leavesOut) {
    value = std::nullopt;
  } else if (copiesOther) {
    value = *given;
  } else if (flatbuffers::IsScalar(type.base_type)) {
    // Enumerators, and the next number after them.
    if (type.enum_def)
      value = below(random, type.enum_def->Vals().size() + 1);
    else
      value = otherNumber(*old, type.base_type, random);
  } else if (type.base_type == flatbuffers::BASE_TYPE_STRING) {
    value = otherString(old ? old->get<std::string>() : "", random);
  } else if (type.base_type == flatbuffers::BASE_TYPE_VECTOR) {
    value = otherList(old.value_or(Json::array()), given, type, random);
  } else if (type.base_type == flatbuffers::BASE_TYPE_STRUCT &&
             type.struct_def->fixed && old) {
    // A digest: one of its bytes.
    value = *old;
    Json &byte = anyOf((*value)["bytes"], random);
    byte = otherNumber(byte, flatbuffers::BASE_TYPE_UCHAR, random);
  } else if (given) {
    value = *given;
  } else {
    return std::nullopt;
  }
  if (value == old)
    return std::nullopt;

  std::string place =
      table.path.empty() ? field.name : table.path + "." + field.name;
  Change change = {definition.name + "." + field.name,
                   fmt::format("{}: {} -> {}", place,
                               shown(old ? &*old : nullptr),
                               shown(value ? &*value : nullptr))};
  if (!value) {
    table.object->erase(field.name);
  } else {
    // A union is taken with its type.
    if (type.base_type == flatbuffers::BASE_TYPE_UNION) {
      std::string typeField = field.name + "_type";
      (*table.object)[typeField] = (*donor)[typeField];
    }
    (*table.object)[field.name] = std::move(*value);
  }
  return change;
}

std::optional<Change> Mutator::exchangeRows(Tables &tables, Random &random) {
  auto kind =
      std::next(tables.begin(), ptrdiff_t(below(random, tables.size())));
  Table &first = anyOf(kind->second, random);
  if (below(random, 2)) {
    Table &second = anyOf(kind->second, random);
    if (*first.object == *second.object)
      return std::nullopt;
    std::swap(*first.object, *second.object);
    return Change{kind->first,
                  fmt::format("{} <-> {}", first.path, second.path)};
  }
  // The row of another artifact.
  size_t base = below(random, bases.size());
  auto found = bases[base].rows.find(kind->first);
  if (found == bases[base].rows.end())
    return std::nullopt;
  const ConstTable &second = anyOf(found->second, random);
  // Replacing the root would leave nothing of the artifact.
  if (first.path.empty() || *first.object == *second.object)
    return std::nullopt;
  Change change = {kind->first, fmt::format("{}: {} -> {} (of artifact {})",
                                            first.path, shown(first.object),
                                            shown(second.object), base)};
  *first.object = *second.object;
  return change;
}

std::optional<Change> Mutator::change(Json &artifact, Random &random) {
  Tables tables = schema.tablesOf(artifact);
  return below(random, 4) == 0 ? exchangeRows(tables, random)
                               : changeField(tables, random);
}

Mutant Mutator::mutate(uint64_t seed) {
  Random random(seed);
  // Repeats until a change has been made that can be written.
  while (true) {
    Mutant mutant;
    mutant.base = below(random, bases.size());
    const Base &base = bases[mutant.base];
    Json tables = base.tables;
    do {
      if (std::optional<Change> made = change(tables, random))
        mutant.changes.push_back(std::move(*made));
    } while (mutant.changes.empty() || below(random, 4) == 0);
    if (Expected<std::vector<std::byte>> file = assemble(base, tables)) {
      mutant.file = std::move(*file);
      return mutant;
    }
  }
}

} // namespace lockstep::runtime::mutation
