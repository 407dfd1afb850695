//===- Tables.h - reading the tables of an artifact -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SCHEMA_TABLES_H
#define LOCKSTEP_RUNTIME_SCHEMA_TABLES_H

#include <cstdint>

namespace lockstep::artifact {

/// Elements of a vector, which is absent if it is empty.
template <typename Vector> uint32_t count(const Vector *vector) {
  return vector ? vector->size() : 0;
}

} // namespace lockstep::artifact

#endif // LOCKSTEP_RUNTIME_SCHEMA_TABLES_H
