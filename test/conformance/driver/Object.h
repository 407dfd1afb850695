//===- Object.h - values of the case language -------------------*- C++ -*-===//
//
// As in Python: a nest of lists, tuples and dictionaries whose leaves are
// numbers of the host, tensors, variables or nothing. Objects have an identity,
// since the result of `run` depends on it: one object on all replicas is
// returned unchanged, different ones as a per-replica value, even if they are
// equal.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_OBJECT_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_OBJECT_H

#include "test/conformance/driver/Tensor.h"

#include "mlir/IR/Value.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::conformance::driver {

struct Frame;

/// How the objects of the replicas relate. In replica context, `Plain` is one
/// object on all replicas and `PerReplica` one on each.
enum class Spread { Plain, PerReplica, Mirrored };

struct Leaf {
  enum class Kind {
    None,
    /// A number, string or boolean of the host.
    Host,
    /// A tensor; with `indices`, the values of slices.
    Tensor,
    Variable,
    /// Something of a graph that has no value.
    Operation,
    /// What replicas hold does not fit together; an error where it is used.
    Mismatch,
    /// Each replica has a leaf of another kind or type.
    Differing,
  };
  Kind kind = Kind::None;
  Spread spread = Spread::Plain;
  /// Equal for the same Python object.
  uint64_t identity = 0;

  /// Host: one value, or one for each replica.
  std::vector<Json> host;

  /// Where `value` is defined: its type there is T in replica context, and T,
  /// per_replica<T> or mirrored<T> in the other.
  Frame *frame = nullptr;
  mlir::Value value, indices;
  std::optional<std::vector<int64_t>> denseShape;
  /// Of a per-replica or mirrored value, or of a variable: the component of
  /// this local replica, a plain object.
  std::optional<int64_t> component;

  /// An index into the program's variables.
  size_t variable = 0;

  /// Differing: the value of each replica. A tensor is valid on this replica
  /// only and not read on others.
  std::vector<Leaf> ofReplica;

  /// Mismatch: the message.
  std::string message;

  bool isTensor() const { return kind == Kind::Tensor; }
  bool isSlices() const { return kind == Kind::Tensor && indices; }
  bool isHost() const { return kind == Kind::Host; }
  bool isVariable() const { return kind == Kind::Variable; }
  bool isDiffering() const { return kind == Kind::Differing; }
};

struct Object {
  enum class Structure { Leaf, List, Tuple, Dict };
  Structure structure = Structure::Leaf;
  Leaf leaf;
  std::vector<Object> items;
  /// Of a dictionary, sorted.
  std::vector<std::string> keys;

  Object() = default;
  Object(Leaf leaf) : leaf(std::move(leaf)) {}
  Object(Structure structure, std::vector<Object> items)
      : structure(structure), items(std::move(items)) {}
  bool isLeaf() const { return structure == Structure::Leaf; }
};

Leaf makeHost(Json value);
/// A value for each replica; one, if they are equal.
Leaf makeHost(std::vector<Json> values);

/// The same object, or numbers of the host that are equal.
bool areSame(const Leaf &a, const Leaf &b);
/// A replica's part of a leaf that may differ between replicas.
Leaf partOf(const Leaf &leaf, size_t replica);
/// The leaf itself, or each replica's part of a differing one.
void forEachPart(const Leaf &leaf,
                 const std::function<void(const Leaf &)> &visit);
Leaf mapParts(const Leaf &leaf, const std::function<Leaf(const Leaf &)> &map);

/// True if lists, tuples and dictionaries nest alike, whatever the leaves are.
bool haveSameStructure(const Object &a, const Object &b);
void forEachLeaf(const Object &object,
                 const std::function<void(const Leaf &)> &visit);
/// The same nest with other leaves, from left to right, dictionaries in the
/// order of their keys.
Object mapLeaves(const Object &object,
                 const std::function<Object(const Leaf &)> &map);
/// The same for two nests of one structure.
Object mapLeaves(const Object &a, const Object &b,
                 const std::function<Object(const Leaf &, const Leaf &)> &map);

} // namespace lockstep::conformance::driver

#endif
