//===- RandomStatements.cpp - random statements ---------------------------===//

#include "RandomStatements.h"

namespace lockstep::test {

void RandomStatements::declare() {
  text +=
      "replica.variable @weights : tensor<2xf32>\n"
      "replica.variable @count : tensor<i32>\n"
      "replica.variable @total : tensor<2xf32> {aggregation = "
      "#replica.aggregation<sum>}\n"
      "replica.variable @average : tensor<2xf32> {aggregation = "
      "#replica.aggregation<mean>}\n"
      "replica.variable @first : tensor<i32> {aggregation = "
      "#replica.aggregation<only_first_replica>}\n"
      "replica.variable @own : tensor<i32> {synchronization = "
      "#replica.synchronization<on_read>, aggregation = "
      "#replica.aggregation<sum>}\n"
      "replica.step @step(%x: tensor<2xf32> {replica.batch = \"x\"}, %r: "
      "tensor<?x2xf32> {replica.batch = \"r\", replica.bounds = "
      "array<i64: 3>},\n    %n: tensor<i32> {replica.batch = \"n\"}, %b: "
      "tensor<i1> {replica.batch = \"b\"}, %c: tensor<i1> {replica.batch "
      "= "
      "\"c\"},\n    %s: tensor<i1> {replica.scalar = \"s\"}, %t: tensor<i1> "
      "{replica.scalar = \"t\"}, %k: tensor<i32> {replica.scalar = "
      "\"k\"}, %u: tensor<2xf32> {replica.scalar = \"u\"})\n    -> "
      "(tensor<2xf32> {replica.metric = \"m\"}) {\n";
}

void RandomStatements::begin(Scope &scope) {
  for (const char *constant :
       {"%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index",
        "%c2 = arith.constant 2 : index", "%i0 = arith.constant 0 : i32",
        "%i1 = arith.constant 1 : i32", "%i2 = arith.constant 2 : i32",
        "%f1 = arith.constant 1.0 : f32",
        "%one = arith.constant dense<1> : tensor<i32>",
        "%ones = arith.constant dense<1.0> : tensor<2xf32>",
        "%halves = arith.constant dense<0.5> : tensor<2xf32>"})
    line(constant);
  scope.own.vectors = {"%x"};
  scope.own.numbers = {"%n", value("replica.id : tensor<i32>")};
  scope.own.flags = {value("tensor.extract %b[] : tensor<i1>"),
                     value("tensor.extract %c[] : tensor<i1>")};
  std::string rows = value("tensor.dim %r, %c0 : tensor<?x2xf32>");
  scope.own.counts = {rows};
  scope.own.flags.push_back(compare(scope.own.numbers[1]));
  scope.equal.vectors = {"%u"};
  scope.equal.numbers = {"%k"};
  scope.equal.flags = {value("tensor.extract %s[] : tensor<i1>"),
                       value("tensor.extract %t[] : tensor<i1>")};
  scope.equal.counts = {"%c2", count("%k")};
}

void RandomStatements::finish(Scope &scope) {
  std::string metric =
      mutatesHere(30) ? any(scope.own.vectors) : any(scope.equal.vectors);
  line("replica.return " + metric + " : tensor<2xf32>");
  text += "}\n";
}

std::string RandomStatements::compare(const std::string &number) {
  std::string i = value("tensor.extract " + number + "[] : tensor<i32>");
  static const std::vector<std::string> predicates = {"eq", "ne", "sgt", "sle"};
  std::string limit = chance(50) ? "%i1" : "%i2";
  return value("arith.cmpi " + any(predicates) + ", " + i + ", " + limit +
               " : i32");
}

std::string RandomStatements::count(const std::string &number) {
  std::string i = value("tensor.extract " + number + "[] : tensor<i32>");
  std::string mask = value("arith.constant 3 : i32");
  std::string low = value("arith.andi " + i + ", " + mask + " : i32");
  return value("arith.index_cast " + low + " : i32 to index");
}

void RandomStatements::computeEqual(Scope &scope) {
  switch (below(4)) {
  case 0:
    scope.equal.vectors.push_back(
        value("arith.addf " + any(scope.equal.vectors) + ", " +
              any(scope.equal.vectors) + " : tensor<2xf32>"));
    break;
  case 1:
    scope.equal.flags.push_back(compare(any(scope.equal.numbers)));
    break;
  case 2:
    scope.equal.counts.push_back(count(any(scope.equal.numbers)));
    break;
  default:
    scope.equal.numbers.push_back(value(std::string("replica.read @") +
                                        (chance(50) ? "count" : "first") +
                                        " : tensor<i32>"));
    if (mutatesHere(10))
      scope.equal.numbers.push_back(value("replica.read @own : tensor<i32>"));
  }
}

void RandomStatements::computeOwn(Scope &scope, bool inside) {
  switch (below(6)) {
  case 0:
    scope.own.vectors.push_back(value("arith.mulf " + any(scope.own.vectors) +
                                      ", %halves : tensor<2xf32>"));
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
    std::string v = value("tensor.extract " + any(scope.own.vectors) +
                          "[%c0] : tensor<2xf32>");
    scope.own.flags.push_back(value("arith.cmpf olt, " + v + ", %f1 : f32"));
    break;
  }
  default:
    // The replica's own value, where the condition holds.
    if (!inside)
      scope.own.vectors.push_back(value("arith.select " + any(scope.own.flags) +
                                        ", " + any(scope.own.vectors) + ", " +
                                        any(scope.equal.vectors) +
                                        " : tensor<2xf32>"));
  }
}

void RandomStatements::communicate(Scope &scope) {
  std::string reduction = chance(50) ? "sum " : "mean ";
  switch (below(3)) {
  case 0:
    scope.equal.vectors.push_back(value("replica.all_reduce " + reduction +
                                        anyVector(scope) + " : tensor<2xf32>"));
    break;
  case 1:
    scope.equal.numbers.push_back(
        value("replica.all_reduce sum " + anyNumber(scope) + " : tensor<i32>"));
    // Something to decide by.
    if (chance(60))
      scope.equal.flags.push_back(compare(scope.equal.numbers.back()));
    else
      scope.equal.counts.push_back(count(scope.equal.numbers.back()));
    break;
  default: {
    std::string name = fresh();
    line(name + ":2 = replica.all_reduce " + reduction + anyVector(scope) +
         ", " + anyVector(scope) + " : tensor<2xf32>, tensor<2xf32>");
    scope.equal.vectors.push_back(name + "#1");
  }
  }
}

void RandomStatements::gather(Scope &scope) {
  if (mutatesHere(15)) {
    line(fresh() + " = replica.all_reduce sum %r : tensor<?x2xf32>");
    return;
  }
  if (chance(50)) {
    std::string all = value(
        "replica.all_gather %r axis 0 : tensor<?x2xf32> -> tensor<?x2xf32>");
    std::string rows = value("tensor.dim " + all + ", %c0 : tensor<?x2xf32>");
    std::string i = value("arith.index_cast " + rows + " : index to i32");
    scope.equal.numbers.push_back(
        value("tensor.from_elements " + i + " : tensor<i32>"));
    return;
  }
  std::string rows = value("replica.all_gather " + anyVector(scope) +
                           " axis 0 : tensor<2xf32> -> tensor<?xf32>");
  scope.equal.vectors.push_back(
      value("tensor.extract_slice " + rows +
            "[1] [2] [1] : tensor<?xf32> to tensor<2xf32>"));
}

void RandomStatements::merge(Scope &scope) {
  if (chance(50)) {
    std::string name = fresh();
    open(name + " = replica.merge_call (" + anyVector(scope) +
         " : tensor<2xf32>) -> tensor<2xf32> {");
    label("^bb0(%each: !replica.per_replica<tensor<2xf32>>):");
    std::string sum = value("replica.reduce_to mean %each, @weights : "
                            "!replica.per_replica<tensor<2xf32>> -> "
                            "!replica.mirrored<tensor<2xf32>>");
    bool unreduced = mutatesHere(15);
    open("replica.update @weights (" +
         (unreduced ? std::string("%each : !replica.per_replica")
                    : sum + " : !replica.mirrored") +
         "<tensor<2xf32>>) {");
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

void RandomStatements::assign(Scope &scope) {
  switch (below(6)) {
  case 0:
    return line("replica.assign_sub @weights, " + equal(scope, 'v', 20) +
                " : tensor<2xf32>");
  case 1:
    return line(
        "replica.assign_add @count, " +
        (mutatesHere(20) ? any(scope.own.numbers) : std::string("%one")) +
        " : tensor<i32>");
  case 2:
    return line("replica.assign_add @total, " + anyVector(scope) +
                " : tensor<2xf32>");
  case 3:
    return line("replica.assign @average, " + anyVector(scope) +
                " : tensor<2xf32>");
  case 4:
    return line("replica.assign @first, " + anyNumber(scope) +
                " : tensor<i32>");
  default:
    line("replica.assign_add @own, " + anyNumber(scope) + " : tensor<i32>");
  }
}

} // namespace lockstep::test
