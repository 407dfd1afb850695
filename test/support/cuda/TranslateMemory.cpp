//===- TranslateMemory.cpp - loads, stores and atomic operations ----------===//

#include "FunctionTranslator.h"

#include <algorithm>
#include <cstddef>

namespace lockstep::standin {

void FunctionTranslator::addMemoryHandlers(
    std::map<std::string_view, Handler> &handlers) {
  using Self = FunctionTranslator;
  handlers["mov"] = &Self::move;
  for (std::string_view name : {"ld", "ldu"})
    handlers[name] = &Self::load;
  handlers["st"] = &Self::store;
  for (std::string_view name : {"atom", "red"})
    handlers[name] = &Self::atomic;
  handlers["cvta"] = &Self::convertAddress;
  for (std::string_view name : {"membar", "fence"})
    handlers[name] = &Self::fence;
}

Space FunctionTranslator::spaceOf() {
  std::string_view name =
      oneOf({"global", "shared", "shared::cta", "local", "const", "param",
             "param::entry", "param::func"});
  if (name.starts_with("param"))
    return Space::Param;
  return name == "global"             ? Space::Global
         : name.starts_with("shared") ? Space::Shared
         : name == "local"            ? Space::Local
         : name == "const"            ? Space::Const
                                      : Space::Generic;
}

void FunctionTranslator::move() {
  expectOperands(2);
  unsigned bits = type().width();
  write(operand(0), read(1, bits), bits);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// A field of the thread's state. Except for the index, which the loop over the
/// threads of a row changes, it stays the same.
std::string FunctionTranslator::threadField(size_t offset,
                                            std::string_view type) {
  bool isIndex = offset < offsetof(Thread, blockDim);
  std::string pointer = define("getelementptr i8, ptr %thread, i64 {}", offset);
  return define("load {}, ptr {}{}", type, pointer,
                isIndex ? "" : ", !invariant.load !1");
}

/// The address of a shared variable, which gets its place at the first use.
std::optional<std::string>
FunctionTranslator::sharedAddress(const Operand &operand) {
  const Variable *variable = nullptr;
  for (const auto *variables : {&function.variables, &kernel.module.variables})
    for (const Variable &candidate : *variables)
      if (candidate.space == Space::Shared && candidate.name == operand.name)
        variable = &candidate;
  if (!variable)
    return std::nullopt;
  if (variable->alignment > kernel.sharedAlignment)
    kernel.sharedAlignment = variable->alignment;
  if (variable->isDynamic)
    return define("add i64 {}, {}", staticShared,
                  sharedStart + uint64_t(operand.offset));
  auto [found, isNew] = kernel.shared.try_emplace(operand.name, 0);
  if (isNew) {
    uint64_t &end = kernel.code.sharedBytes;
    found->second =
        (end + variable->alignment - 1) & ~(variable->alignment - 1);
    end = found->second + variable->bytes;
  }
  return std::to_string(sharedStart + found->second + uint64_t(operand.offset));
}

/// The address of a variable in its space.
std::string FunctionTranslator::symbolAddress(const Operand &operand) {
  auto withOffset = [&](uint64_t base) {
    return std::to_string(base + uint64_t(operand.offset));
  };
  if (auto found = locals.find(operand.name); found != locals.end())
    return define("add i64 %frame, {}", withOffset(found->second));
  if (std::optional<std::string> found = sharedAddress(operand))
    return *found;
  if (function.isEntry)
    for (size_t i = 0; i < function.parameters.size(); ++i)
      if (function.parameters[i].name == operand.name)
        return withOffset(kernel.code.parameters[i].offset);
  if (auto found = kernel.addresses.find(operand.name);
      found != kernel.addresses.end())
    return withOffset(found->second);
  fail("unknown variable '" + operand.name + "'");
}

std::string FunctionTranslator::address(const Operand &operand) {
  if (operand.kind != Operand::Kind::Address)
    fail("expected an address as operand of '" + instruction->text() + "'");
  if (operand.name.empty())
    return std::to_string(operand.offset);
  Operand base = operand;
  if (!operand.isRegisterBase) {
    base.kind = Operand::Kind::Symbol;
    return symbolAddress(base);
  }
  base.kind = Operand::Kind::Register;
  std::string value = read(base, 64);
  return operand.offset ? define("add i64 {}, {}", value, operand.offset)
                        : value;
}

/// Parameters of calls, and those of functions, are memory of the host. Those
/// of the entry may also be accessed with an address in a register.
std::string FunctionTranslator::parameterPointer(const Operand &operand,
                                                 uint64_t bytes) {
  auto checked = [&](const Variable &variable, const std::string &pointer) {
    if (operand.offset < 0 || uint64_t(operand.offset) + bytes > variable.bytes)
      fail("the access is outside of '" + variable.name + "'");
    return define("getelementptr i8, ptr {}, i64 {}", pointer, operand.offset);
  };
  if (operand.kind == Operand::Kind::Address && !operand.isRegisterBase) {
    for (const Variable &variable : function.variables)
      if (variable.space == Space::Param && variable.name == operand.name)
        return checked(variable, "%P." + variable.name);
    for (const Variable &variable : function.results)
      if (variable.name == operand.name)
        return checked(variable, "%result");
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      const Variable &variable = function.parameters[i];
      if (variable.name != operand.name)
        continue;
      if (auto found = locals.find(variable.name); found != locals.end()) {
        std::string local = threadField(offsetof(Thread, local), "ptr");
        std::string frame =
            define("getelementptr i8, ptr {}, i64 %frame", local);
        return checked(variable, define("getelementptr i8, ptr {}, i64 {}",
                                        frame, found->second));
      }
      if (!function.isEntry)
        return checked(variable, fmt::format("%param{}", i));
      std::string params = threadField(offsetof(Thread, params), "ptr");
      return checked(variable,
                     define("getelementptr i8, ptr {}, i64 {}", params,
                            kernel.code.parameters[i].offset));
    }
    fail("unknown parameter '" + operand.name + "'");
  }
  return resolveWindow(AccessSpace::Param, address(operand), bytes);
}

std::string FunctionTranslator::resolve(Space space, const Operand &operand,
                                        uint64_t bytes) {
  switch (space) {
  case Space::Param:
    return parameterPointer(operand, bytes);
  case Space::Shared:
    return resolveWindow(AccessSpace::Shared, address(operand), bytes);
  case Space::Local:
    return resolveWindow(AccessSpace::Local, address(operand), bytes);
  default:
    return resolveGlobal(space, address(operand), bytes);
  }
}

std::string FunctionTranslator::resolveGlobal(Space space,
                                              const std::string &address,
                                              uint64_t bytes) {
  uint32_t site = kernel.code.sites++;
  std::string sites = threadField(offsetof(Thread, sites), "ptr");
  std::string basePointer = define("getelementptr i8, ptr {}, i64 {}", sites,
                                   site * sizeof(AccessSite));
  std::string limitPointer =
      define("getelementptr i8, ptr {}, i64 {}", sites,
             site * sizeof(AccessSite) + offsetof(AccessSite, limit));
  std::string base = define("load i64, ptr {}", basePointer);
  std::string limit = define("load i64, ptr {}", limitPointer);
  std::string offset = define("sub i64 {}, {}", address, base);
  std::string isBad = define("icmp ugt i64 {}, {}", offset, limit);
  if (bytes > 1) {
    std::string low = define("and i64 {}, {}", address, bytes - 1);
    std::string isMisaligned = define("icmp ne i64 {}, 0", low);
    isBad = define("or i1 {}, {}", isBad, isMisaligned);
  }
  std::string start = newLabel(), slow = newLabel(), done = newLabel();
  emit("br label %{}", start);
  startBlock(start);
  std::string fast = define("sub i64 {}, {}", address, addressBias);
  emit("br i1 {}, label %{}, label %{}, !prof !0", isBad, slow, done);
  startBlock(slow);
  std::string found = define(
      "call i64 @standin_resolve(ptr %thread, i64 {}, i32 {}, i32 {}, i32 {})",
      address, bytes, site,
      uint32_t(space == Space::Generic ? AccessSpace::Generic
                                       : AccessSpace::Global));
  emit("br label %{}", done);
  startBlock(done);
  std::string host =
      define("phi i64 [ {}, %{} ], [ {}, %{} ]", fast, start, found, slow);
  return define("inttoptr i64 {} to ptr", host);
}

std::string FunctionTranslator::resolveWindow(AccessSpace space,
                                              const std::string &address,
                                              uint64_t bytes) {
  bool isShared = space == AccessSpace::Shared;
  size_t memory = isShared                      ? offsetof(Thread, shared)
                  : space == AccessSpace::Local ? offsetof(Thread, local)
                                                : offsetof(Thread, params);
  size_t size = isShared                      ? offsetof(Thread, sharedBytes)
                : space == AccessSpace::Local ? offsetof(Thread, localBytes)
                                              : offsetof(Thread, paramBytes);
  std::string pointer = threadField(memory, "ptr");
  std::string limit = resize(threadField(size, "i32"), 32, 64);
  std::string offset =
      define("sub i64 {}, {}", address, isShared ? sharedStart : 0);
  std::string end = define("add i64 {}, {}", offset, bytes);
  // Near the end of the address space, the sum overflows.
  std::string isPast = define("icmp ugt i64 {}, {}", end, limit);
  std::string isFar = define("icmp ugt i64 {}, {}", offset, limit);
  std::string isBad = define("or i1 {}, {}", isPast, isFar);
  if (bytes > 1) {
    std::string low = define("and i64 {}, {}", address, bytes - 1);
    std::string isMisaligned = define("icmp ne i64 {}, 0", low);
    isBad = define("or i1 {}, {}", isBad, isMisaligned);
  }
  std::string slow = newLabel(), done = newLabel();
  emit("br i1 {}, label %{}, label %{}, !prof !0", isBad, slow, done);
  startBlock(slow);
  // Ends the kernel.
  define("call i64 @standin_resolve(ptr %thread, i64 {}, i32 {}, i32 0, i32 "
         "{})",
         address, bytes, uint32_t(space));
  emit("unreachable");
  startBlock(done);
  return define("getelementptr i8, ptr {}, i64 {}", pointer, offset);
}

void FunctionTranslator::convertAddress() {
  expectOperands(2);
  bool isFromGeneric = has("to");
  Space space = spaceOf();
  type();
  uint64_t window = space == Space::Shared  ? sharedWindow
                    : space == Space::Local ? localWindow
                    : space == Space::Param ? paramWindow
                                            : 0;
  std::string value = read(1, 64);
  if (window)
    value =
        define("{} i64 {}, {}", isFromGeneric ? "sub" : "add", value, window);
  write(operand(0), value, 64);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// Empty for accesses that other threads are not promised to see.
std::string FunctionTranslator::orderOf(bool isLoad) {
  bool isVolatile = !oneOf({"volatile", "mmio"}).empty();
  bool isRelaxed = has("relaxed");
  bool isOrdered = isLoad ? has("acquire") : has("release");
  has("weak");
  oneOf({"cta", "cluster", "gpu", "sys"});
  if (isOrdered)
    return isLoad ? "acquire" : "release";
  return isVolatile || isRelaxed ? "monotonic" : "";
}

unsigned FunctionTranslator::vectorLength() {
  if (has("v2"))
    return 2;
  if (has("v4"))
    return 4;
  return has("v8") ? 8 : 1;
}

/// Whether the function has a parameter of this name.
bool FunctionTranslator::isParameter(std::string_view name) const {
  return std::any_of(
      function.parameters.begin(), function.parameters.end(),
      [&](const Variable &variable) { return variable.name == name; });
}

/// Loads may widen to a larger register, with the sign if the type has one.
void FunctionTranslator::load() {
  expectOperands(2);
  std::string order = orderOf(/*isLoad=*/true);
  Space space = spaceOf();
  ignoreCaching();
  unsigned length = vectorLength();
  Type found = type();
  std::string pointer =
      resolve(space, operand(1), uint64_t(found.bytes()) * length);
  const Operand &to = operand(0);
  if (length > 1 &&
      (to.kind != Operand::Kind::Vector || to.elements.size() != length))
    fail(fmt::format("expected {} results of '{}'", length,
                     instruction->text()));
  unsigned bits = found.width();
  for (unsigned i = 0; i < length; ++i) {
    std::string place = i ? define("getelementptr i8, ptr {}, i64 {}", pointer,
                                   uint64_t(i) * found.bytes())
                          : pointer;
    std::string value = order.empty()
                            ? define("load i{}, ptr {}, align {}", bits, place,
                                     space == Space::Param ? 1 : found.bytes())
                            : define("load atomic i{}, ptr {} {}, align {}",
                                     bits, place, order, found.bytes());
    write(length > 1 ? to.elements[i] : to, value, bits, found.isSigned());
  }
}

void FunctionTranslator::store() {
  expectOperands(2);
  std::string order = orderOf(/*isLoad=*/false);
  Space space = spaceOf();
  ignoreCaching();
  unsigned length = vectorLength();
  Type found = type();
  const Operand &from = operand(1);
  if (length > 1 &&
      (from.kind != Operand::Kind::Vector || from.elements.size() != length))
    fail(fmt::format("expected {} values for '{}'", length,
                     instruction->text()));
  unsigned bits = found.width();
  std::vector<std::string> stored;
  for (unsigned i = 0; i < length; ++i)
    stored.push_back(read(length > 1 ? from.elements[i] : from, bits));
  std::string pointer =
      resolve(space, operand(0), uint64_t(found.bytes()) * length);
  for (unsigned i = 0; i < length; ++i) {
    std::string place = i ? define("getelementptr i8, ptr {}, i64 {}", pointer,
                                   uint64_t(i) * found.bytes())
                          : pointer;
    if (order.empty())
      emit("store i{} {}, ptr {}, align {}", bits, stored[i], place,
           space == Space::Param ? 1 : found.bytes());
    else
      emit("store atomic i{} {}, ptr {} {}, align {}", bits, stored[i], place,
           order, found.bytes());
  }
}

//===----------------------------------------------------------------------===//
// Atomic operations
//===----------------------------------------------------------------------===//

/// All of them are sequentially consistent, which is more than they ask for.
void FunctionTranslator::atomic() {
  bool hasResult = instruction->opcode == "atom";
  unsigned first = hasResult ? 1 : 0;
  oneOf({"relaxed", "acquire", "release", "acq_rel"});
  oneOf({"cta", "cluster", "gpu", "sys"});
  Space space = spaceOf();
  std::string_view name = oneOf(
      {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  has("noftz");
  Type found = type();
  unsigned bits = found.width();
  expectOperands(first + (name == "cas" ? 3 : 2));
  std::string value = read(first + 1, bits);
  std::string other = name == "cas" ? read(first + 2, bits) : "";
  std::string pointer = resolve(space, operand(first), found.bytes());
  std::string old;
  if (name == "cas") {
    std::string both =
        define("cmpxchg ptr {0}, i{1} {2}, i{1} {3} seq_cst seq_cst, align {4}",
               pointer, bits, value, other, found.bytes());
    old = define("extractvalue {{ i{}, i1 }} {}, 0", bits, both);
  } else if (found.isFloat()) {
    if (name != "add")
      fail("unknown operation '" + instruction->text() + "'");
    if (found.bits == 16) {
      Type lane{found.kind, 16};
      old = resize(
          define("call i32 @standin_atomic_add16(ptr {}, i32 {}, i32 "
                 "{}, i32 {})",
                 pointer, resize(value, bits, 32), found.lanes,
                 uint32_t(lane.kind == Type::Kind::BFloat ? Format::BF16
                                                          : Format::F16)),
          32, bits);
    } else if (found.lanes == 1) {
      std::string number = toNumber(value, found);
      old = fromNumber(define("atomicrmw fadd ptr {}, {} {} seq_cst, align {}",
                              pointer, computed(found), number, found.bytes()),
                       found);
    } else {
      fail("unknown type of '" + instruction->text() + "'");
    }
  } else {
    std::string_view operation = name == "exch"  ? "xchg"
                                 : name == "inc" ? "uinc_wrap"
                                 : name == "dec" ? "udec_wrap"
                                                 : name;
    if (operation.empty() || found.isPredicate())
      fail("unknown operation '" + instruction->text() + "'");
    bool isUnsigned = !found.isSigned() && (name == "min" || name == "max");
    old = define("atomicrmw {}{} ptr {}, i{} {} seq_cst, align {}",
                 isUnsigned ? "u" : "", operation, pointer, bits, value,
                 found.bytes());
  }
  if (hasResult)
    write(operand(0), old, bits, found.isSigned());
}

void FunctionTranslator::fence() {
  oneOf({"sc", "acq_rel", "acquire", "release"});
  if (oneOf({"cta", "cluster", "gpu", "sys", "gl"}).empty())
    fail("expected a scope in '" + instruction->text() + "'");
  emit("fence seq_cst");
}

} // namespace lockstep::standin
