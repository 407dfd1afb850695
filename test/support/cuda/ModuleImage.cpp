//===- ModuleImage.cpp - modules in the memory of a context ---------------===//

#include "ModuleImage.h"

#include "MemoryTable.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <unordered_map>

namespace lockstep::standin {

PtxText &PtxText::of(std::string_view text) {
  static std::mutex mutex;
  static auto &known =
      *new std::unordered_map<std::string, std::unique_ptr<PtxText>>();
  std::lock_guard lock(mutex);
  std::unique_ptr<PtxText> &entry = known[std::string(text)];
  if (!entry)
    entry.reset(new PtxText(readPtx(text)));
  return *entry;
}

const Kernels &PtxText::sharedKernels() {
  std::call_once(translated, [this] {
    for (const Function &function : ptx.functions)
      if (function.isEntry && function.hasBody)
        try {
          kernels[function.name] =
              std::make_shared<Kernel>(translateKernel(ptx, function, {}));
        } catch (const PtxError &) {
          // It has addresses, or an error that each module reports.
          kernels.erase(function.name);
        }
  });
  return kernels;
}

ModuleImage::ModuleImage(PtxText &text, const void *context) {
  const PtxModule &ptx = text.module();
  try {
    // Each variable is an allocation, so that accesses beyond it are found.
    for (const Variable &variable : ptx.variables) {
      if (variable.space != Space::Global && variable.space != Space::Const)
        continue;
      if (variable.isExtern)
        throw PtxError(variable.line,
                       "the variable '" + variable.name + "' is not defined");
      uint64_t bytes = std::max<uint64_t>(variable.bytes, 1);
      std::optional<uint64_t> address =
          MemoryTable::get().allocate(context, bytes);
      if (!address)
        throw std::bad_alloc();
      addresses[variable.name] = *address;
      variables[variable.name] = {*address, variable.bytes};
      std::memset(MemoryTable::host(*address), 0, bytes);
    }
    // Afterwards, since they may have addresses of each other.
    for (const Variable &variable : ptx.variables)
      if (!variable.initializer.empty())
        initialize(variable);
    kernels = text.sharedKernels();
    for (const Function &function : ptx.functions)
      if (function.isEntry && function.hasBody &&
          !kernels.contains(function.name))
        kernels[function.name] =
            std::make_shared<Kernel>(translateKernel(ptx, function, addresses));
  } catch (...) {
    release();
    throw;
  }
}

ModuleImage::~ModuleImage() { release(); }

void ModuleImage::release() {
  for (const auto &[name, placed] : variables)
    MemoryTable::get().free(placed.address);
}

void ModuleImage::initialize(const Variable &variable) {
  auto found = addresses.find(variable.name);
  if (found == addresses.end())
    throw PtxError(variable.line, "the variable '" + variable.name +
                                      "' cannot have an initializer");
  std::byte *memory = MemoryTable::host(found->second);
  uint64_t element = variable.type.bytes();
  if (variable.initializer.size() * element > variable.bytes)
    throw PtxError(variable.line, "the initializer of '" + variable.name +
                                      "' is larger than it");
  for (const Initializer &part : variable.initializer) {
    uint64_t bits = part.bits;
    if (!part.symbol.empty()) {
      auto symbol = addresses.find(part.symbol);
      if (symbol == addresses.end())
        throw PtxError(variable.line, "unknown variable '" + part.symbol + "'");
      bits += symbol->second;
    }
    if (part.byte)
      bits = bits >> 8 * *part.byte & 0xFF;
    std::memcpy(memory, &bits, std::min<uint64_t>(element, sizeof(bits)));
    memory += element;
  }
}

std::shared_ptr<const Kernel> ModuleImage::kernel(std::string_view name) const {
  auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : found->second;
}

const ModuleImage::Placed *ModuleImage::variable(std::string_view name) const {
  auto found = variables.find(name);
  return found == variables.end() ? nullptr : &found->second;
}

} // namespace lockstep::standin
