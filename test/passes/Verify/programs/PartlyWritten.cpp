//===- PartlyWritten.cpp - Tensors of which a part may be written ---------===//

#include "RandomStatements.h"

namespace lockstep::test {

std::string RandomStatements::newTensor() {
  return value(std::string(chance(20) ? "bufferization.alloc_tensor()"
                                      : "tensor.empty()") +
               " : tensor<2xf32>");
}

std::string RandomStatements::insertSlice(const std::string &vector,
                                          const std::string &into) {
  std::string one =
      value("tensor.extract_slice " + vector + "[" + std::to_string(below(2)) +
            "] [1] [1] : tensor<2xf32> to tensor<1xf32>");
  return value("tensor.insert_slice " + one + " into " + into + "[" +
               std::to_string(below(2)) +
               "] [1] [1] : tensor<1xf32> into tensor<2xf32>");
}

std::string RandomStatements::insertInLoop(const std::string &vector,
                                           const std::string &trips) {
  std::string empty = newTensor();
  if (chance(30)) {
    // A loop that may have no iterations, and writes everything if it has one.
    std::string name = fresh();
    open(name + ":2 = scf.while (%i = %c0, %held = " + empty +
         ") : (index, tensor<2xf32>) -> (index, tensor<2xf32>) {");
    std::string proceeds = value("arith.cmpi slt, %i, " + trips + " : index");
    line("scf.condition(" + proceeds + ") %i, %held : index, tensor<2xf32>");
    reopen("} do {");
    label("^bb0(%i: index, %held: tensor<2xf32>):");
    std::string next = value("arith.addi %i, %c1 : index");
    line("scf.yield " + next + ", " + vector + " : index, tensor<2xf32>");
    close();
    return name + "#1";
  }
  std::string name = fresh(), index = fresh(), carried = fresh();
  open(name + " = scf.for " + index + " = %c0 to " + trips +
       " step %c1 iter_args(" + carried + " = " + empty +
       ") -> (tensor<2xf32>) {");
  std::string element =
      value("tensor.extract " + vector + "[%c0] : tensor<2xf32>");
  std::string place = value("arith.remui " + index + ", %c2 : index");
  std::string next = value("tensor.insert " + element + " into " + carried +
                           "[" + place + "] : tensor<2xf32>");
  line("scf.yield " + next + " : tensor<2xf32>");
  close();
  return name;
}

std::string RandomStatements::insertOnOneSide(const std::string &vector,
                                              const std::string &flag) {
  std::string empty = newTensor(), name = fresh();
  open(name + " = scf.if " + flag + " -> (tensor<2xf32>) {");
  std::string written = insertSlice(vector, empty);
  line("scf.yield " + (chance(50) ? written : vector) + " : tensor<2xf32>");
  reopen("} else {");
  line("scf.yield " + empty + " : tensor<2xf32>");
  close();
  return name;
}

std::string RandomStatements::insertInParallel(const std::string &vector) {
  std::string empty = newTensor(), name = fresh(), output = fresh();
  open(name + " = scf.forall (%i) in (1) shared_outs(" + output + " = " +
       empty + ") -> (tensor<2xf32>) {");
  std::string one = value("tensor.extract_slice " + vector +
                          "[0] [1] [1] : tensor<2xf32> to tensor<1xf32>");
  open("scf.forall.in_parallel {");
  line("tensor.parallel_insert_slice " + one + " into " + output +
       "[%i] [1] [1] : tensor<1xf32> into tensor<2xf32>");
  close();
  close();
  return name;
}

std::string RandomStatements::insertDiagonal(const std::string &vector) {
  std::string empty = value("tensor.empty() : tensor<2x2xf32>"),
              matrix = fresh();
  open(matrix +
       " = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, "
       "affine_map<(i) -> (i, i)>], iterator_types = [\"parallel\"]} "
       "ins(" +
       vector + " : tensor<2xf32>) outs(" + empty + " : tensor<2x2xf32>) {");
  label("^bb0(%in: f32, %out: f32):");
  line("linalg.yield %in : f32");
  close("} -> tensor<2x2xf32>");
  return value("tensor.extract_slice " + matrix + "[" +
               std::to_string(below(2)) +
               ", 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<2xf32>");
}

std::string RandomStatements::insertStrided(const std::string &vector) {
  std::string empty = value("tensor.empty() : tensor<4xf32>");
  std::string written = value("tensor.insert_slice " + vector + " into " +
                              empty + "[" + std::to_string(below(2)) +
                              "] [2] [2] : tensor<2xf32> into tensor<4xf32>");
  return value("tensor.extract_slice " + written + "[" +
               std::to_string(below(3)) +
               "] [2] [1] : tensor<4xf32> to tensor<2xf32>");
}

std::string RandomStatements::sumIntoNew(const std::string &vector) {
  std::string empty = newTensor(), name = fresh();
  open(name +
       " = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, "
       "affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]} ins(" +
       vector + " : tensor<2xf32>) outs(" + empty + " : tensor<2xf32>) {");
  label("^bb0(%in: f32, %out: f32):");
  line("%sum = arith.addf %in, " + std::string(chance(50) ? "%out" : "%in") +
       " : f32");
  line("linalg.yield %sum : f32");
  close("} -> tensor<2xf32>");
  return name;
}

std::string RandomStatements::writePartly(Names &names) {
  const std::string vector = any(names.vectors);
  switch (below(8)) {
  case 0:
    return newTensor();
  case 1:
    return insertSlice(any(names.vectors),
                       chance(50) ? insertSlice(vector, newTensor())
                                  : newTensor());
  case 2:
    return insertInLoop(vector, any(names.counts));
  case 3:
    return insertOnOneSide(vector, any(names.flags));
  case 4:
    return insertInParallel(vector);
  case 5:
    return insertDiagonal(vector);
  case 6:
    return insertStrided(vector);
  default:
    return sumIntoNew(vector);
  }
}

void RandomStatements::computePartly(Scope &scope) {
  bool isEqual = chance(60);
  Names &names = isEqual ? scope.equal : scope.own;
  names.vectors.push_back(writePartly(names));
  // Something to decide by.
  if (chance(60)) {
    std::string element =
        value("tensor.extract " + names.vectors.back() + "[" +
              (chance(50) ? "%c0" : "%c1") + "] : tensor<2xf32>");
    names.flags.push_back(value("arith.cmpf olt, " + element + ", %f1 : f32"));
  }
}

} // namespace lockstep::test
