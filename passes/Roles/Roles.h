//===- Roles.h - Roles of a module and their groups -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ROLES_ROLES_H
#define LOCKSTEP_PASSES_ROLES_ROLES_H

#include "dialect/Device/DeviceDialect.h"
#include "passes/Roles/RoleHomes.h"

namespace lockstep {

/// The roles of a module, the replicas first, and the groups in which they
/// communicate. Groups are added to the module on first use.
class Roles {
public:
  explicit Roles(mlir::ModuleOp module);

  Role size() const { return roles.size(); }
  device::RoleOp get(Role role) const { return roles[role]; }
  int64_t getRank(Role role) const { return get(role).getFirstRank(); }

  /// A group of the ranks of `members`, which are in ascending order. If the
  /// replicas are among them, `allReplicas` selects all or only the first.
  mlir::FlatSymbolRefAttr getGroupOf(llvm::ArrayRef<Role> members,
                                     bool allReplicas);
  /// All replicas and one server.
  mlir::FlatSymbolRefAttr getGroupWithReplicas(Role server) {
    return getGroupOf({kReplicas, server}, /*allReplicas=*/true);
  }
  /// The first ranks of two roles.
  mlir::FlatSymbolRefAttr getPair(Role a, Role b) {
    return getGroupOf({std::min(a, b), std::max(a, b)}, /*allReplicas=*/false);
  }

private:
  mlir::FlatSymbolRefAttr getGroup(const std::string &name,
                                   llvm::ArrayRef<int64_t> ranks,
                                   bool withReplicas);

  mlir::ModuleOp module;
  llvm::SmallVector<device::RoleOp> roles;
};

/// Numbers the exchanges between roles, in the order of the whole step. The
/// parts of all roles use the same numbers.
class Channels {
public:
  int64_t of(mlir::Value value, Role to) {
    return number({value.getAsOpaquePointer(), to, -1});
  }
  /// The channel on which the size of a dimension of a value is sent.
  int64_t of(mlir::Value value, Role to, int64_t dimension) {
    return number({value.getAsOpaquePointer(), to, dimension});
  }
  int64_t of(mlir::Operation *exchange) {
    return number({exchange, kReplicas, -1});
  }

  int64_t size() const { return numbers.size(); }

private:
  using Key = std::tuple<void *, Role, int64_t>;
  int64_t number(Key exchange) {
    return numbers.try_emplace(exchange, static_cast<int64_t>(numbers.size()))
        .first->second;
  }

  llvm::DenseMap<Key, int64_t> numbers;
};

} // namespace lockstep

#endif // LOCKSTEP_PASSES_ROLES_ROLES_H
