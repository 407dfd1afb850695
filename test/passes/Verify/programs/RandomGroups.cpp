//===- RandomGroups.cpp - random programs of groups -----------------------===//

#include "RandomGroups.h"

#include "ProgramWriter.h"

#include <algorithm>
#include <vector>

namespace lockstep::test {
namespace {

/// Ranks, one bit each.
using Ranks = uint32_t;

struct Group {
  std::string name;
  Ranks ranks = 0;
};

/// A tensor<i32>, and the ranks among which it is equal; its value on other
/// ranks is arbitrary.
struct Number {
  std::string name;
  Ranks equal = 0;
};

using Numbers = std::vector<Number>;

class GroupGenerator : ProgramWriter {
public:
  GroupGenerator(uint64_t seed, int64_t replicas)
      : ProgramWriter(seed), replicas(replicas), all((1u << replicas) - 1) {}

  RandomProgram generate() {
    declare();
    Numbers scope = {{"%k", all}, {"%s", all}, {"%n", 0}, {"%b", 0}};
    for (const char *constant :
         {"%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index",
          "%one = arith.constant 1 : i32", "%three = arith.constant 3 : i32",
          "%me = tensor.extract %rank[] : tensor<i32>"})
      line(constant);
    block(scope, all, 3 + below(5), 0);
    line("return");
    return {text + "}\n", isMutated};
  }

private:
  void declare() {
    text += "replica.strategy @strategy {kind = #replica.kind<mirrored>, "
            "replicas = " +
            std::to_string(replicas) + " : i64}\n";
    groups.push_back({"all", all});
    Ranks low = (1u << (1 + below(replicas - 1))) - 1;
    groups.push_back({"low", low});
    groups.push_back({"high", all & ~low});
    for (int i = 0; i < 2; ++i)
      if (Ranks some = static_cast<Ranks>(1 + below(all)); some != all)
        groups.push_back({"some" + std::to_string(i), some});
    text += "collective.group @all\n";
    for (const Group &group : groups) {
      if (group.ranks == all)
        continue;
      text += "collective.group @" + group.name + " {ranks = array<i64: ";
      bool first = true;
      for (int64_t rank = 0; rank < replicas; ++rank)
        if (group.ranks >> rank & 1) {
          text += (first ? "" : ", ") + std::to_string(rank);
          first = false;
        }
      text += ">}\n";
    }
    auto argument = [](const std::string &name, const std::string &binding) {
      return name + ": tensor<i32> {device.binding = #device.binding<" +
             binding + ">}";
    };
    text += "func.func @step(" + argument("%rank", "rank \"\"") + ", " +
            argument("%n", "batch \"n\"") + ", " +
            argument("%b", "batch \"b\"") + ",\n    " +
            argument("%k", "scalar \"k\"") + ", " +
            argument("%s", "scalar \"s\"") + ") {\n";
  }

  /// A number that is equal among `ranks`, or, in a mutated program, one that
  /// is not.
  std::string equal(const Numbers &scope, Ranks ranks, uint64_t percent) {
    bool wrong = mutatesHere(percent);
    std::vector<std::string> names;
    for (const Number &number : scope)
      if (((number.equal & ranks) == ranks) != wrong)
        names.push_back(number.name);
    return any(names);
  }

  std::string flag(const std::string &number) {
    std::string i = value("tensor.extract " + number + "[] : tensor<i32>");
    static const std::vector<std::string> predicates = {"eq", "ne", "sgt",
                                                        "sle"};
    return value("arith.cmpi " + any(predicates) + ", " + i + ", %one : i32");
  }

  std::string count(const std::string &number) {
    std::string i = value("tensor.extract " + number + "[] : tensor<i32>");
    std::string low = value("arith.andi " + i + ", %three : i32");
    return value("arith.index_cast " + low + " : i32 to index");
  }

  /// Whether a rank is one of `ranks`.
  std::string membership(Ranks ranks) {
    std::string is;
    for (int64_t rank = 0; rank < replicas; ++rank) {
      if (!(ranks >> rank & 1))
        continue;
      std::string number =
          value("arith.constant " + std::to_string(rank) + " : i32");
      std::string equals = value("arith.cmpi eq, %me, " + number + " : i32");
      is = is.empty() ? equals
                      : value("arith.ori " + is + ", " + equals + " : i1");
    }
    return is;
  }

  //===--------------------------------------------------------------------===//
  // The ranks of a block
  //===--------------------------------------------------------------------===//

  void block(Numbers &scope, Ranks ranks, uint64_t length, unsigned nested) {
    std::vector<std::string> pending;
    for (uint64_t i = 0; i < length; ++i) {
      switch (below(nested < 3 ? 11 : 6)) {
      case 0:
      case 1:
      case 2:
      case 3:
        exchange(scope, ranks, pending);
        break;
      case 4:
        scope.push_back(
            {value("arith.addi " + any(scope).name + ", %n : tensor<i32>"), 0});
        break;
      case 5:
        combine(scope);
        break;
      case 6:
      case 7:
        split(scope, ranks, nested);
        break;
      case 8:
      case 9:
        branch(scope, ranks, nested);
        break;
      case 10:
        loop(scope, ranks, nested);
        break;
      }
    }
    std::shuffle(pending.begin(), pending.end(), random);
    for (const std::string &wait : pending)
      line(wait);
  }

  /// A result of two numbers is equal where both are.
  void combine(Numbers &scope) {
    Number x = any(scope), y = any(scope);
    scope.push_back(
        {value("arith.addi " + x.name + ", " + y.name + " : tensor<i32>"),
         x.equal & y.equal});
  }

  /// An exchange or a barrier of a group whose members all execute the block.
  void exchange(Numbers &scope, Ranks ranks,
                std::vector<std::string> &pending) {
    std::vector<Group> here;
    bool wrong = mutatesHere(6);
    for (const Group &group : groups)
      if (((group.ranks & ~ranks) == 0) != wrong)
        here.push_back(group);
    if (here.empty())
      return;
    Group group = any(here);
    bool some = (ranks & ~group.ranks) != 0 && !wrong;
    // Non-members may skip the collective, or branch around it.
    some = some && chance(50);
    if (some)
      open("scf.if " + membership(group.ranks) + " {");
    if (chance(40)) {
      line("collective.barrier @" + group.name);
    } else {
      std::string give = any(scope).name, pend = fresh(), get = fresh();
      bool broadcasts = chance(30);
      std::string kind = broadcasts
                             ? "broadcast none @" + group.name + " root " +
                                   std::to_string(rootOf(group))
                             : "all_reduce sum @" + group.name;
      line(pend + " = collective.start " + kind + " (" + give +
           " : tensor<i32>) -> !collective.pending<tensor<i32>>");
      std::string wait =
          get + " = collective.wait " + pend + " (" + give +
          " : tensor<i32>) : !collective.pending<tensor<i32>> -> tensor<i32>";
      if (chance(30)) {
        // A result that has not arrived cannot be used.
        (some ? line(wait) : pending.push_back(wait));
      } else {
        line(wait);
        if (!some)
          scope.push_back({get, group.ranks});
      }
    }
    if (some)
      close();
  }

  int64_t rootOf(const Group &group) {
    std::vector<int64_t> members;
    for (int64_t rank = 0; rank < replicas; ++rank)
      if (group.ranks >> rank & 1)
        members.push_back(rank);
    return any(members);
  }

  /// Ranks take different paths by their number.
  void split(Numbers &scope, Ranks ranks, unsigned nested) {
    Ranks some = any(groups).ranks & ranks;
    if (some == 0 || some == ranks)
      return;
    open("scf.if " + membership(some) + " {");
    Numbers inner = scope;
    block(inner, some, 1 + below(3), nested + 1);
    if (chance(70)) {
      reopen("} else {");
      inner = scope;
      block(inner, ranks & ~some, 1 + below(3), nested + 1);
    }
    close();
  }

  void branch(Numbers &scope, Ranks ranks, unsigned nested) {
    // Groups may also stay together, each on its own path.
    open("scf.if " + flag(equal(scope, ranks, 20)) + " {");
    Numbers inner = scope;
    block(inner, ranks, 1 + below(3), nested + 1);
    if (chance(50)) {
      reopen("} else {");
      inner = scope;
      block(inner, ranks, 1 + below(2), nested + 1);
    }
    close();
  }

  void loop(Numbers &scope, Ranks ranks, unsigned nested) {
    open("scf.for " + fresh() + " = %c0 to " + count(equal(scope, ranks, 20)) +
         " step %c1 {");
    Numbers inner = scope;
    block(inner, ranks, 1 + below(3), nested + 1);
    close();
  }

  int64_t replicas;
  Ranks all;
  std::vector<Group> groups;
};

} // namespace

RandomProgram randomGroups(uint64_t seed, int64_t replicas) {
  return GroupGenerator(seed * 0x9e3779b97f4a7c15 + 7, replicas).generate();
}

} // namespace lockstep::test
