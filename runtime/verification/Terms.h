//===- Terms.h - symbolic values --------------------------------*- C++ -*-===//
//
// A value is a term: a constant, something unknown with a name, or an operation
// on terms. Equal terms have one number (hash-consing), so two ranks hold equal
// values if they hold the same number. That is all that is known of kernels:
// the same one, given the same, returns the same. So do operations of formulas,
// in whichever kernel.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_TERMS_H
#define LOCKSTEP_RUNTIME_VERIFICATION_TERMS_H

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace lockstep::runtime::verification {

using TermId = uint32_t;

enum class TermKind : uint8_t {
  /// Never written, or never read again.
  nothing,
  /// numbers: the value.
  constant,
  /// numbers: a name. What memory holds before anything is written.
  initial,
  /// numbers: a serial number. Not known to be equal to anything.
  fresh,
  /// numbers: a serial number. An input, which may be anything.
  given,
  /// numbers: a serial number. A value of which only is known who else holds
  /// it.
  same,
  /// A counter of a loop whose turns are not followed one by one.
  counter,
  /// numbers: what is added to the operand.
  plus,
  sum,
  /// operands[0] >= numbers, or operands[0] - operands[1] >= numbers.
  atLeast,
  /// numbers: offset, size and size of the whole.
  part,
  tuple,
  /// numbers: kernel and result.
  kernel,
  /// numbers: its name.
  operation,
  /// An integer without a sign, as a register holds it.
  zeroExtended,
  /// numbers: role, branch, slot. What a local branch leaves behind.
  summary,
  /// First element.
  first,
  /// numbers: kind, reduction, axis, result.
  collective,
  /// numbers: place of the member. What a collective gives to one member.
  portion,
};

struct Term {
  TermKind kind;
  /// Made from something that only one rank has.
  bool isPrivate = false;
  uint32_t depth = 0;
  std::vector<int64_t> numbers;
  std::vector<TermId> operands;
};

class Terms {
public:
  Terms();

  static constexpr TermId nothing = 0;

  TermId make(TermKind kind, std::initializer_list<int64_t> numbers,
              std::vector<TermId> operands, bool isPrivate = false);
  TermId make(Term term);
  TermId constant(int64_t value) {
    return make(TermKind::constant, {value}, {});
  }
  TermId fresh(bool isPrivate) {
    return make(TermKind::fresh, {serial++}, {}, isPrivate);
  }
  TermId given() {
    return make(TermKind::given, {serial++}, {}, /*isPrivate=*/true);
  }
  /// Wraps around, as registers do; keeps the form x + c.
  TermId add(TermId left, TermId right);

  const Term &operator[](TermId id) const { return *terms[id]; }
  std::optional<int64_t> value(TermId id) const {
    if (terms[id]->kind != TermKind::constant)
      return std::nullopt;
    return terms[id]->numbers[0];
  }
  size_t size() const { return terms.size(); }
  /// That they take, about.
  uint64_t bytes() const { return taken; }

private:
  struct Hash {
    size_t operator()(const Term &term) const;
  };
  struct Equal {
    bool operator()(const Term &left, const Term &right) const;
  };
  std::unordered_map<Term, TermId, Hash, Equal> ids;
  std::vector<const Term *> terms;
  int64_t serial = 0;
  uint64_t taken = 0;
};

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_TERMS_H
