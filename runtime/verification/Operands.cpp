//===- Operands.cpp - operands of commands --------------------------------===//

#include "runtime/verification/Operands.h"

#include "runtime/schema/Tables.h"
#include "runtime/verification/Model.h"

namespace lockstep::runtime::verification {

using artifact::CommandBody;
using artifact::count;

uint32_t conditionBuffer(const Program &program, const Op &op) {
  const auto *branch = program.table(op).body_as_BranchUnless();
  return branch ? branch->condition() : none;
}

void Operands::collect(const Program &program, const Op &op) {
  for (auto *list : {&reads, &writes, &readRegisters, &writtenRegisters})
    list->clear();
  const artifact::Command &table = program.table(op);
  auto append = [](std::vector<uint32_t> &list, const auto *values) {
    if (values)
      list.insert(list.end(), values->begin(), values->end());
  };
  switch (table.body_type()) {
  case CommandBody::Launch: {
    const artifact::Launch *launch = table.body_as_Launch();
    for (uint32_t i = 0; i < count(launch->buffers()); ++i)
      (i < launch->reads() ? reads : writes)
          .push_back(launch->buffers()->Get(i));
    append(readRegisters, launch->registers());
    break;
  }
  case CommandBody::Copy:
    reads.push_back(table.body_as_Copy()->source());
    writes.push_back(table.body_as_Copy()->destination());
    // A copy of dynamic size may keep some bytes.
    for (uint32_t index : {reads[0], writes[0]})
      if (index < count(program.tables->buffers()))
        forEachSizeRegister(
            *program.tables->buffers()->Get(index),
            [&](uint32_t size) { readRegisters.push_back(size); });
    if (!readRegisters.empty())
      reads.push_back(writes[0]);
    break;
  case CommandBody::Start:
    append(reads, table.body_as_Start()->operands());
    for (uint32_t index : reads)
      if (index < count(program.tables->buffers()))
        forEachSizeRegister(
            *program.tables->buffers()->Get(index),
            [&](uint32_t size) { readRegisters.push_back(size); });
    break;
  case CommandBody::Wait:
    if (uint32_t start = program.starts[table.body_as_Wait()->channel()];
        start != none)
      if (const auto *begun =
              program.tables->commands()->Get(start)->body_as_Start())
        append(writes, begun->results());
    break;
  case CommandBody::BranchUnless:
    reads.push_back(table.body_as_BranchUnless()->condition());
    break;
  case CommandBody::BranchGreaterEqual:
    readRegisters = {table.body_as_BranchGreaterEqual()->lhs(),
                     table.body_as_BranchGreaterEqual()->rhs()};
    break;
  case CommandBody::SetRegister:
    writtenRegisters = {table.body_as_SetRegister()->register_()};
    break;
  case CommandBody::AddRegister:
    readRegisters = {table.body_as_AddRegister()->register_(),
                     table.body_as_AddRegister()->source()};
    writtenRegisters = {table.body_as_AddRegister()->register_()};
    break;
  case CommandBody::LoadRegister:
    reads.push_back(table.body_as_LoadRegister()->buffer());
    writtenRegisters = {table.body_as_LoadRegister()->register_()};
    break;
  default:
    break;
  }
}

} // namespace lockstep::runtime::verification
