//===- TestVariables.h - variables without a session ------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_CHECKPOINT_TESTVARIABLES_H
#define LOCKSTEP_TEST_RUNTIME_CHECKPOINT_TESTVARIABLES_H

#include "runtime/checkpoint/Variables.h"

#include <cstring>
#include <deque>

namespace lockstep::runtime::test {

/// An on_read variable with these elements for each replica.
template <typename T> class OnReadVariable {
public:
  OnReadVariable(artifact::ElementType element,
                 artifact::Aggregation aggregation,
                 std::vector<std::vector<T>> values)
      : memory(std::move(values)) {
    uint64_t count = memory.front().size();
    view = {
        "v",        {element, {static_cast<int64_t>(count)}, count * sizeof(T)},
        false,      true,
        {},         artifact::Synchronization::on_read,
        aggregation};
    for (std::vector<T> &own : memory)
      view.values.emplace_back(std::as_writable_bytes(std::span(own)));
  }
  OnReadVariable(const OnReadVariable &) = delete;

  std::span<const VariableView> views() const { return {&view, 1}; }

  std::vector<std::vector<T>> memory;
  VariableView view;
};

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_CHECKPOINT_TESTVARIABLES_H
