//===- RandomProgram.cpp - Programs by chance -----------------------------===//

#include "RandomProgram.h"

#include "ProgramWriter.h"

#include <algorithm>
#include <vector>

namespace lockstep::test {
namespace {

/// What can be used at one place: names of SSA values, those that are equal on all replicas and those that are not.
struct Names {
  /// Conditions (i1), trip counts (index), vectors (tensor<2xf32>) and numbers (tensor<i32>).
  std::vector<std::string> flags, counts, vectors, numbers;

  std::vector<std::string> &operator[](char kind) { return kind == 'f' ? flags : kind == 'c' ? counts : kind == 'v' ? vectors : numbers; }
};

struct Scope {
  Names equal, own;
};

/// One collective to be issued on both sides of a branch: how, and with which attributes.
struct Issue {
  int kind = 0;
  bool flag = false;
};

class Generator : ProgramWriter {
public:
  explicit Generator(uint64_t seed) : ProgramWriter(seed) {}

  RandomProgram generate() {
    declare();
    Scope scope;
    begin(scope);
    block(scope, 3 + below(5), 0);
    finish(scope);
    return {text, spoilt};
  }

private:
  //===--------------------------------------------------------------------===//
  // What there is from the beginning
  //===--------------------------------------------------------------------===//

  void declare() {
    text += "replica.variable @weights : tensor<2xf32>\n"
            "replica.variable @count : tensor<i32>\n"
            "replica.variable @total : tensor<2xf32> {aggregation = #replica.aggregation<sum>}\n"
            "replica.variable @average : tensor<2xf32> {aggregation = #replica.aggregation<mean>}\n"
            "replica.variable @first : tensor<i32> {aggregation = #replica.aggregation<only_first_replica>}\n"
            "replica.variable @own : tensor<i32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}\n"
            "replica.step @step(%x: tensor<2xf32> {replica.batch = \"x\"}, %r: tensor<?x2xf32> {replica.batch = \"r\", replica.bounds = "
            "array<i64: 3>},\n    %n: tensor<i32> {replica.batch = \"n\"}, %b: tensor<i1> {replica.batch = \"b\"}, %c: tensor<i1> {replica.batch = "
            "\"c\"},\n    %s: tensor<i1> {replica.scalar = \"s\"}, %t: tensor<i1> {replica.scalar = \"t\"}, %k: tensor<i32> {replica.scalar = "
            "\"k\"}, %u: tensor<2xf32> {replica.scalar = \"u\"})\n    -> (tensor<2xf32> {replica.metric = \"m\"}) {\n";
  }

  void begin(Scope &scope) {
    for (const char *constant : {"%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index", "%c2 = arith.constant 2 : index",
                                 "%i0 = arith.constant 0 : i32", "%i1 = arith.constant 1 : i32", "%i2 = arith.constant 2 : i32",
                                 "%f1 = arith.constant 1.0 : f32", "%one = arith.constant dense<1> : tensor<i32>",
                                 "%ones = arith.constant dense<1.0> : tensor<2xf32>", "%halves = arith.constant dense<0.5> : tensor<2xf32>"})
      line(constant);
    scope.own.vectors = {"%x"};
    scope.own.numbers = {"%n", value("replica.id : tensor<i32>")};
    scope.own.flags = {value("tensor.extract %b[] : tensor<i1>"), value("tensor.extract %c[] : tensor<i1>")};
    std::string rows = value("tensor.dim %r, %c0 : tensor<?x2xf32>");
    scope.own.counts = {rows};
    scope.own.flags.push_back(compare(scope.own.numbers[1]));
    scope.equal.vectors = {"%u"};
    scope.equal.numbers = {"%k"};
    scope.equal.flags = {value("tensor.extract %s[] : tensor<i1>"), value("tensor.extract %t[] : tensor<i1>")};
    scope.equal.counts = {"%c2", count("%k")};
  }

  void finish(Scope &scope) {
    std::string metric = spoil(30) ? any(scope.own.vectors) : any(scope.equal.vectors);
    line("replica.return " + metric + " : tensor<2xf32>");
    text += "}\n";
  }

  /// A flag from a number. Numbers are small, so that both cases are soon found.
  std::string compare(const std::string &number) {
    std::string i = value("tensor.extract " + number + "[] : tensor<i32>");
    static const std::vector<std::string> predicates = {"eq", "ne", "sgt", "sle"};
    std::string limit = chance(50) ? "%i1" : "%i2";
    return value("arith.cmpi " + any(predicates) + ", " + i + ", " + limit + " : i32");
  }

  /// A trip count from a number, 0 to 3.
  std::string count(const std::string &number) {
    std::string i = value("tensor.extract " + number + "[] : tensor<i32>");
    std::string mask = value("arith.constant 3 : i32");
    std::string low = value("arith.andi " + i + ", " + mask + " : i32");
    return value("arith.index_cast " + low + " : i32 to index");
  }

  /// Gives what a spoilt program may use instead of an equal value.
  std::string equal(Scope &scope, char kind, uint64_t percent) { return spoil(percent) ? any(scope.own[kind]) : any(scope.equal[kind]); }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  /// Statements that all replicas come to alike.
  void block(Scope &scope, uint64_t length, unsigned nested) {
    for (uint64_t i = 0; i < length; ++i) {
      switch (below(nested < 3 ? 14 : 8)) {
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
      case 9:
        branch(scope, nested);
        break;
      case 10:
        loop(scope, nested);
        break;
      case 11:
        iterate(scope, nested);
        break;
      case 12:
        bothSides(scope);
        break;
      case 13:
        choose(scope, nested);
        break;
      }
    }
  }

  void computeEqual(Scope &scope) {
    switch (below(4)) {
    case 0:
      scope.equal.vectors.push_back(value("arith.addf " + any(scope.equal.vectors) + ", " + any(scope.equal.vectors) + " : tensor<2xf32>"));
      break;
    case 1:
      scope.equal.flags.push_back(compare(any(scope.equal.numbers)));
      break;
    case 2:
      scope.equal.counts.push_back(count(any(scope.equal.numbers)));
      break;
    default:
      scope.equal.numbers.push_back(value(std::string("replica.read @") + (chance(50) ? "count" : "first") + " : tensor<i32>"));
      if (spoil(10))
        scope.equal.numbers.push_back(value("replica.read @own : tensor<i32>"));
    }
  }

  /// `inside` of something that not all come to, nothing may be made from which others could be blocked.
  void computeOwn(Scope &scope, bool inside) {
    switch (below(6)) {
    case 0:
      scope.own.vectors.push_back(value("arith.mulf " + any(scope.own.vectors) + ", %halves : tensor<2xf32>"));
      break;
    case 1:
      scope.own.flags.push_back(compare(any(scope.own.numbers)));
      break;
    case 2:
      scope.own.counts.push_back(count(any(scope.own.numbers)));
      break;
    case 3:
      scope.own.numbers.push_back(value("replica.read @own : tensor<i32>"));
      break;
    case 4: {
      std::string v = value("tensor.extract " + any(scope.own.vectors) + "[%c0] : tensor<2xf32>");
      scope.own.flags.push_back(value("arith.cmpf olt, " + v + ", %f1 : f32"));
      break;
    }
    default:
      // A value of all for whom the condition holds: the replica's own.
      if (!inside)
        scope.own.vectors.push_back(
            value("arith.select " + any(scope.own.flags) + ", " + any(scope.own.vectors) + ", " + any(scope.equal.vectors) + " : tensor<2xf32>"));
    }
  }

  std::string anyVector(Scope &scope) { return chance(70) ? any(scope.own.vectors) : any(scope.equal.vectors); }
  std::string anyNumber(Scope &scope) { return chance(70) ? any(scope.own.numbers) : any(scope.equal.numbers); }

  void communicate(Scope &scope) {
    std::string reduction = chance(50) ? "sum " : "mean ";
    switch (below(3)) {
    case 0:
      scope.equal.vectors.push_back(value("replica.all_reduce " + reduction + anyVector(scope) + " : tensor<2xf32>"));
      break;
    case 1:
      scope.equal.numbers.push_back(value("replica.all_reduce sum " + anyNumber(scope) + " : tensor<i32>"));
      // Something to decide by.
      if (chance(60))
        scope.equal.flags.push_back(compare(scope.equal.numbers.back()));
      else
        scope.equal.counts.push_back(count(scope.equal.numbers.back()));
      break;
    default: {
      std::string name = fresh();
      line(name + ":2 = replica.all_reduce " + reduction + anyVector(scope) + ", " + anyVector(scope) + " : tensor<2xf32>, tensor<2xf32>");
      scope.equal.vectors.push_back(name + "#1");
    }
    }
  }

  /// Rows of which each replica has as many as it has.
  void gather(Scope &scope) {
    if (spoil(15)) {
      line(fresh() + " = replica.all_reduce sum %r : tensor<?x2xf32>");
      return;
    }
    if (chance(50)) {
      std::string all = value("replica.all_gather %r axis 0 : tensor<?x2xf32> -> tensor<?x2xf32>");
      std::string rows = value("tensor.dim " + all + ", %c0 : tensor<?x2xf32>");
      std::string i = value("arith.index_cast " + rows + " : index to i32");
      scope.equal.numbers.push_back(value("tensor.from_elements " + i + " : tensor<i32>"));
      return;
    }
    std::string rows = value("replica.all_gather " + anyVector(scope) + " axis 0 : tensor<2xf32> -> tensor<?xf32>");
    scope.equal.vectors.push_back(value("tensor.extract_slice " + rows + "[1] [2] [1] : tensor<?xf32> to tensor<2xf32>"));
  }

  void merge(Scope &scope) {
    if (chance(50)) {
      std::string name = fresh();
      open(name + " = replica.merge_call (" + anyVector(scope) + " : tensor<2xf32>) -> tensor<2xf32> {");
      label("^bb0(%each: !replica.per_replica<tensor<2xf32>>):");
      std::string sum = value("replica.reduce_to mean %each, @weights : !replica.per_replica<tensor<2xf32>> -> !replica.mirrored<tensor<2xf32>>");
      bool unreduced = spoil(15);
      open("replica.update @weights (" + (unreduced ? std::string("%each : !replica.per_replica") : sum + " : !replica.mirrored") + "<tensor<2xf32>>) {");
      label("^bb0(%old: tensor<2xf32>, %d: tensor<2xf32>):");
      std::string next = value("arith.subf %old, %d : tensor<2xf32>");
      line("replica.yield " + next + " : tensor<2xf32>");
      close();
      line("replica.yield " + sum + " : !replica.mirrored<tensor<2xf32>>");
      close();
      scope.equal.vectors.push_back(name);
      return;
    }
    open("replica.merge_call (" + equal(scope, 'v', 15) + " : tensor<2xf32>) {");
    label("^bb0(%plain: tensor<2xf32>):");
    line("replica.assign @weights, %plain : tensor<2xf32>");
    close();
  }

  void assign(Scope &scope) {
    switch (below(6)) {
    case 0:
      return line("replica.assign_sub @weights, " + equal(scope, 'v', 20) + " : tensor<2xf32>");
    case 1:
      return line("replica.assign_add @count, " + (spoil(20) ? any(scope.own.numbers) : std::string("%one")) + " : tensor<i32>");
    case 2:
      return line("replica.assign_add @total, " + anyVector(scope) + " : tensor<2xf32>");
    case 3:
      return line("replica.assign @average, " + anyVector(scope) + " : tensor<2xf32>");
    case 4:
      return line("replica.assign @first, " + anyNumber(scope) + " : tensor<i32>");
    default:
      line("replica.assign_add @own, " + anyNumber(scope) + " : tensor<i32>");
    }
  }

  //===--------------------------------------------------------------------===//
  // What replicas go through differently
  //===--------------------------------------------------------------------===//

  /// Control flow of each replica for itself. What is spoilt here is something that concerns the others.
  void local(Scope &scope, unsigned nested) {
    Scope inner = scope;
    bool loops = chance(40);
    open(loops ? "scf.for " + fresh() + " = %c0 to " + any(scope.own.counts) + " step %c1 {" : "scf.if " + any(scope.own.flags) + " {");
    for (uint64_t i = 1 + below(3); i--;)
      computeOwn(inner, /*inside=*/true);
    line("replica.assign_add @own, " + anyNumber(inner) + " : tensor<i32>");
    if (nested < 3 && chance(30))
      local(inner, nested + 1);
    if (spoil(40))
      disturb(inner);
    if (!loops && chance(40)) {
      reopen("} else {");
      inner = scope;
      line("replica.assign @own, " + anyNumber(inner) + " : tensor<i32>");
      if (spoil(40))
        disturb(inner);
    }
    close();
  }

  /// Something that all replicas would have to do.
  void disturb(Scope &scope) {
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
      line("replica.assign_add @total, " + anyVector(scope) + " : tensor<2xf32>");
    }
  }

  /// A branch that replicas take differently, with the same collectives on both sides.
  void bothSides(Scope &scope) {
    std::vector<Issue> issues(1 + below(3));
    for (Issue &issue : issues)
      issue = {int(below(5)), chance(50)};
    std::vector<Issue> others = issues;
    if (spoil(50)) {
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
    // Whatever all replicas do alike counts the same on both sides, loops and branches too.
    std::string around = chance(30) ? "scf.for " + fresh() + " = %c0 to " + any(scope.equal.counts) + " step %c1 {" : "";
    std::string inside = chance(20) ? "scf.if " + any(scope.equal.flags) + " {" : "";
    open("scf.if " + any(scope.own.flags) + " {");
    side(scope, issues, around, inside);
    reopen("} else {");
    if (!around.empty() && spoil(20))
      around = "scf.for " + fresh() + " = %c0 to " + any(scope.own.counts) + " step %c1 {";
    if (!inside.empty() && spoil(20))
      inside = "scf.if " + any(scope.own.flags) + " {";
    side(scope, others, around, inside);
    close();
  }

  void side(const Scope &outer, const std::vector<Issue> &issues, const std::string &around, const std::string &inside) {
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
      return line(fresh() + " = replica.all_reduce " + (issue.flag ? "sum " : "mean ") + anyVector(scope) + " : tensor<2xf32>");
    case 1:
      return line(fresh() + " = replica.all_reduce sum " + (issue.flag ? anyNumber(scope) + " : tensor<i32>" : anyVector(scope) + " : tensor<2xf32>"));
    case 2:
      return line(fresh() + " = replica.all_gather " + anyVector(scope) + " axis 0 : tensor<2xf32> -> tensor<?xf32>");
    case 3:
      return line("replica.assign" + std::string(issue.flag ? "_add" : "") + " @total, " + anyVector(scope) + " : tensor<2xf32>");
    default:
      open(fresh() + " = replica.merge_call (" + anyVector(scope) + " : tensor<2xf32>) -> tensor<2xf32> {");
      label("^bb0(%each: !replica.per_replica<tensor<2xf32>>):");
      line("%sum = replica.reduce " + std::string(issue.flag ? "sum" : "mean") + " %each : !replica.per_replica<tensor<2xf32>> -> tensor<2xf32>");
      line("replica.yield %sum : tensor<2xf32>");
      close();
    }
  }

  //===--------------------------------------------------------------------===//
  // What replicas go through alike
  //===--------------------------------------------------------------------===//

  void branch(Scope &scope, unsigned nested) {
    std::string condition = equal(scope, 'f', 25);
    if (chance(15))
      condition = value("arith.constant " + std::string(chance(50) ? "true" : "false"));
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
    // What it carries is equal as long as what it is given is.
    std::string name = fresh(), carried = fresh(), flag = fresh();
    open(name + ":2 = scf.for " + fresh() + " = %c0 to " + trips + " step %c1 iter_args(" + carried + " = " + any(scope.equal.vectors) + ", " + flag +
         " = " + any(scope.equal.flags) + ") -> (tensor<2xf32>, i1) {");
    inner.equal.vectors.push_back(carried);
    inner.equal.flags.push_back(flag);
    block(inner, 1 + below(3), nested + 1);
    line("scf.yield " + equal(inner, 'v', 8) + ", " + equal(inner, 'f', 8) + " : tensor<2xf32>, i1");
    close();
    scope.equal.vectors.push_back(name + "#0");
    scope.equal.flags.push_back(name + "#1");
  }

  /// A loop that goes on as long as something holds, three rounds at the most.
  void iterate(Scope &scope, unsigned nested) {
    Scope inner = scope;
    std::string name = fresh(), round = fresh(), flag = fresh(), rounds = fresh(), next = fresh();
    open(name + ":2 = scf.while (" + round + " = %c0, " + flag + " = " + equal(scope, 'f', 15) + ") : (index, i1) -> (index, i1) {");
    std::string three = value("arith.constant 3 : index");
    std::string few = value("arith.cmpi slt, " + round + ", " + three + " : index");
    std::string goes = value("arith.andi " + few + ", " + flag + " : i1");
    line("scf.condition(" + goes + ") " + round + ", " + flag + " : index, i1");
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

RandomProgram randomProgram(uint64_t seed) { return Generator(seed * 0x9e3779b97f4a7c15 + 1).generate(); }

} // namespace lockstep::test
