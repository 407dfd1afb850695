//===- RandomProgram.cpp - random programs --------------------------------===//

#include "RandomProgram.h"

#include "RandomStatements.h"

#include <algorithm>
#include <vector>

namespace lockstep::test {
namespace {

/// One collective to be issued on both sides of a branch: how, and with which
/// attributes.
struct Issue {
  int kind = 0;
  bool flag = false;
};

class ProgramGenerator : RandomStatements {
public:
  explicit ProgramGenerator(uint64_t seed) : RandomStatements(seed) {}

  RandomProgram generate() {
    declare();
    Scope scope;
    begin(scope);
    block(scope, 3 + below(5), 0);
    finish(scope);
    return {text, isMutated};
  }

private:
  /// Statements that all replicas reach.
  void block(Scope &scope, uint64_t length, unsigned nested) {
    for (uint64_t i = 0; i < length; ++i) {
      switch (below(nested < 3 ? 15 : 9)) {
      case 0:
        computeEqual(scope);
        break;
      case 1:
        computeOwn(scope, /*inside=*/false);
        break;
      case 2:
      case 3:
        communicate(scope);
        break;
      case 4:
        gather(scope);
        break;
      case 5:
        merge(scope);
        break;
      case 6:
        assign(scope);
        break;
      case 7:
        local(scope, nested);
        break;
      case 8:
        computePartly(scope);
        break;
      case 9:
      case 10:
        branch(scope, nested);
        break;
      case 11:
        loop(scope, nested);
        break;
      case 12:
        iterate(scope, nested);
        break;
      case 13:
        bothSides(scope);
        break;
      case 14:
        choose(scope, nested);
        break;
      }
    }
  }

  //===--------------------------------------------------------------------===//
  // Statements on different paths
  //===--------------------------------------------------------------------===//

  /// Control flow without exchanges. A mutation adds an exchange.
  void local(Scope &scope, unsigned nested) {
    Scope inner = scope;
    bool loops = chance(40);
    open(loops ? "scf.for " + fresh() + " = %c0 to " + any(scope.own.counts) +
                     " step %c1 {"
               : "scf.if " + any(scope.own.flags) + " {");
    for (uint64_t i = 1 + below(3); i--;)
      computeOwn(inner, /*inside=*/true);
    line("replica.assign_add @own, " + anyNumber(inner) + " : tensor<i32>");
    if (nested < 3 && chance(30))
      local(inner, nested + 1);
    if (mutatesHere(40))
      commonStatement(inner);
    if (!loops && chance(40)) {
      reopen("} else {");
      inner = scope;
      line("replica.assign @own, " + anyNumber(inner) + " : tensor<i32>");
      if (mutatesHere(40))
        commonStatement(inner);
    }
    close();
  }

  /// A statement that all replicas must execute.
  void commonStatement(Scope &scope) {
    switch (below(6)) {
    case 0:
    case 1:
      return communicate(scope);
    case 2:
      return gather(scope);
    case 3:
      return merge(scope);
    case 4:
      return line("replica.assign_add @count, %one : tensor<i32>");
    default:
      line("replica.assign_add @total, " + anyVector(scope) +
           " : tensor<2xf32>");
    }
  }

  /// A branch with a varying condition and the same collectives on both sides.
  void bothSides(Scope &scope) {
    std::vector<Issue> issues(1 + below(3));
    for (Issue &issue : issues)
      issue = {int(below(5)), chance(50)};
    std::vector<Issue> others = issues;
    if (mutatesHere(50)) {
      switch (below(4)) {
      case 0:
        others.pop_back();
        break;
      case 1:
        others.push_back({int(below(5)), chance(50)});
        break;
      case 2:
        others[below(others.size())].flag ^= true;
        break;
      default:
        std::reverse(others.begin(), others.end());
        if (others.size() > 1)
          break;
        others[0].kind = (others[0].kind + 1) % 5;
      }
    }
    // Equal statements on both sides match, including loops and branches.
    std::string around = chance(30)
                             ? "scf.for " + fresh() + " = %c0 to " +
                                   any(scope.equal.counts) + " step %c1 {"
                             : "";
    std::string inside =
        chance(20) ? "scf.if " + any(scope.equal.flags) + " {" : "";
    open("scf.if " + any(scope.own.flags) + " {");
    side(scope, issues, around, inside);
    reopen("} else {");
    if (!around.empty() && mutatesHere(20))
      around = "scf.for " + fresh() + " = %c0 to " + any(scope.own.counts) +
               " step %c1 {";
    if (!inside.empty() && mutatesHere(20))
      inside = "scf.if " + any(scope.own.flags) + " {";
    side(scope, others, around, inside);
    close();
  }

  void side(const Scope &outer, const std::vector<Issue> &issues,
            const std::string &around, const std::string &inside) {
    Scope scope = outer;
    if (!around.empty())
      open(around);
    if (chance(50))
      computeOwn(scope, /*inside=*/true);
    if (!inside.empty())
      open(inside);
    for (const Issue &issue : issues)
      emit(scope, issue);
    if (!inside.empty())
      close();
    if (!around.empty())
      close();
  }

  void emit(Scope &scope, const Issue &issue) {
    switch (issue.kind) {
    case 0:
      return line(fresh() + " = replica.all_reduce " +
                  (issue.flag ? "sum " : "mean ") + anyVector(scope) +
                  " : tensor<2xf32>");
    case 1:
      return line(fresh() + " = replica.all_reduce sum " +
                  (issue.flag ? anyNumber(scope) + " : tensor<i32>"
                              : anyVector(scope) + " : tensor<2xf32>"));
    case 2:
      return line(fresh() + " = replica.all_gather " + anyVector(scope) +
                  " axis 0 : tensor<2xf32> -> tensor<?xf32>");
    case 3:
      return line("replica.assign" + std::string(issue.flag ? "_add" : "") +
                  " @total, " + anyVector(scope) + " : tensor<2xf32>");
    default:
      open(fresh() + " = replica.merge_call (" + anyVector(scope) +
           " : tensor<2xf32>) -> tensor<2xf32> {");
      label("^bb0(%each: !replica.per_replica<tensor<2xf32>>):");
      line("%sum = replica.reduce " + std::string(issue.flag ? "sum" : "mean") +
           " %each : !replica.per_replica<tensor<2xf32>> -> tensor<2xf32>");
      line("replica.yield %sum : tensor<2xf32>");
      close();
    }
  }

  //===--------------------------------------------------------------------===//
  // Statements on one path
  //===--------------------------------------------------------------------===//

  void branch(Scope &scope, unsigned nested) {
    std::string condition = equal(scope, 'f', 25);
    if (chance(15))
      condition =
          value("arith.constant " + std::string(chance(50) ? "true" : "false"));
    Scope inner = scope;
    if (chance(40)) {
      // With a result, which is equal because the condition is.
      std::string name = fresh();
      open(name + " = scf.if " + condition + " -> tensor<2xf32> {");
      block(inner, 1 + below(3), nested + 1);
      line("scf.yield " + equal(inner, 'v', 10) + " : tensor<2xf32>");
      reopen("} else {");
      inner = scope;
      block(inner, below(3), nested + 1);
      line("scf.yield " + any(inner.equal.vectors) + " : tensor<2xf32>");
      close();
      scope.equal.vectors.push_back(name);
      return;
    }
    open("scf.if " + condition + " {");
    block(inner, 1 + below(3), nested + 1);
    if (chance(40)) {
      reopen("} else {");
      inner = scope;
      block(inner, 1 + below(2), nested + 1);
    }
    close();
  }

  void choose(Scope &scope, unsigned nested) {
    line("scf.index_switch " + equal(scope, 'c', 25));
    for (int i = 0; i < 2; ++i) {
      Scope inner = scope;
      open("case " + std::to_string(i) + " {");
      block(inner, 1 + below(2), nested + 1);
      line("scf.yield");
      close();
    }
    Scope inner = scope;
    open("default {");
    block(inner, 1, nested + 1);
    close();
  }

  void loop(Scope &scope, unsigned nested) {
    Scope inner = scope;
    std::string trips = equal(scope, 'c', 25);
    if (chance(50)) {
      std::string index = fresh();
      open("scf.for " + index + " = %c0 to " + trips + " step %c1 {");
      inner.equal.counts.push_back(index);
      block(inner, 1 + below(3), nested + 1);
      close();
      return;
    }
    // Its carried value is equal as long as its operand is.
    std::string name = fresh(), carried = fresh(), flag = fresh();
    open(name + ":2 = scf.for " + fresh() + " = %c0 to " + trips +
         " step %c1 iter_args(" + carried + " = " + any(scope.equal.vectors) +
         ", " + flag + " = " + any(scope.equal.flags) +
         ") -> (tensor<2xf32>, i1) {");
    inner.equal.vectors.push_back(carried);
    inner.equal.flags.push_back(flag);
    block(inner, 1 + below(3), nested + 1);
    line("scf.yield " + equal(inner, 'v', 8) + ", " + equal(inner, 'f', 8) +
         " : tensor<2xf32>, i1");
    close();
    scope.equal.vectors.push_back(name + "#0");
    scope.equal.flags.push_back(name + "#1");
  }

  /// A loop with a condition, of at most three iterations.
  void iterate(Scope &scope, unsigned nested) {
    Scope inner = scope;
    std::string name = fresh(), round = fresh(), flag = fresh(),
                rounds = fresh(), next = fresh();
    open(name + ":2 = scf.while (" + round + " = %c0, " + flag + " = " +
         equal(scope, 'f', 15) + ") : (index, i1) -> (index, i1) {");
    std::string three = value("arith.constant 3 : index");
    std::string few =
        value("arith.cmpi slt, " + round + ", " + three + " : index");
    std::string proceeds = value("arith.andi " + few + ", " + flag + " : i1");
    line("scf.condition(" + proceeds + ") " + round + ", " + flag +
         " : index, i1");
    reopen("} do {");
    label("^bb0(" + rounds + ": index, " + next + ": i1):");
    inner.equal.counts.push_back(rounds);
    inner.equal.flags.push_back(next);
    block(inner, 1 + below(3), nested + 1);
    std::string more = value("arith.addi " + rounds + ", %c1 : index");
    line("scf.yield " + more + ", " + equal(inner, 'f', 15) + " : index, i1");
    close();
    scope.equal.counts.push_back(name + "#0");
  }
};

} // namespace

RandomProgram randomProgram(uint64_t seed) {
  return ProgramGenerator(seed * 0x9e3779b97f4a7c15 + 1).generate();
}

} // namespace lockstep::test
