//===- RandomStatements.h - random statements -------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_RANDOMSTATEMENTS_H
#define LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_RANDOMSTATEMENTS_H

#include "ProgramWriter.h"

#include <vector>

namespace lockstep::test {

/// The values in scope: names of SSA values, those that are equal on all
/// replicas and those that are not.
struct Names {
  /// Conditions (i1), trip counts (index), vectors (tensor<2xf32>) and numbers
  /// (tensor<i32>).
  std::vector<std::string> flags, counts, vectors, numbers;

  std::vector<std::string> &operator[](char kind) {
    return kind == 'f'   ? flags
           : kind == 'c' ? counts
           : kind == 'v' ? vectors
                         : numbers;
  }
};

struct Scope {
  Names equal, own;
};

/// Writes the beginning and the end of a program, and single statements. Each
/// statement adds its results to its scope.
class RandomStatements : protected ProgramWriter {
protected:
  using ProgramWriter::ProgramWriter;

  void declare();
  void begin(Scope &scope);
  void finish(Scope &scope);
  /// A flag from a number. Numbers are small, so that both cases are soon
  /// found.
  std::string compare(const std::string &number);
  /// A trip count from a number, 0 to 3.
  std::string count(const std::string &number);
  /// Returns the value that a mutated program uses instead of an equal one.
  std::string equal(Scope &scope, char kind, uint64_t percent) {
    return mutatesHere(percent) ? any(scope.own[kind]) : any(scope.equal[kind]);
  }
  void computeEqual(Scope &scope);
  /// `inside` of a statement that not all replicas reach, nothing may be
  /// generated that could block others.
  void computeOwn(Scope &scope, bool inside);
  std::string anyVector(Scope &scope) {
    return chance(70) ? any(scope.own.vectors) : any(scope.equal.vectors);
  }
  std::string anyNumber(Scope &scope) {
    return chance(70) ? any(scope.own.numbers) : any(scope.equal.numbers);
  }
  /// A vector of which a part is never written, for all or for each replica,
  /// and perhaps a flag from an element of it.
  void computePartly(Scope &scope);
  void communicate(Scope &scope);
  /// A number of rows that may differ between replicas.
  void gather(Scope &scope);
  void merge(Scope &scope);
  void assign(Scope &scope);

private:
  /// A vector computed only from `names`, so that it is equal on all replicas
  /// if they are; of the forms below.
  std::string writePartly(Names &names);
  std::string newTensor();
  std::string insertSlice(const std::string &vector, const std::string &into);
  std::string insertInLoop(const std::string &vector, const std::string &trips);
  std::string insertOnOneSide(const std::string &vector,
                              const std::string &flag);
  std::string insertInParallel(const std::string &vector);
  std::string insertDiagonal(const std::string &vector);
  std::string insertStrided(const std::string &vector);
  std::string sumIntoNew(const std::string &vector);
};

} // namespace lockstep::test

#endif // LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_RANDOMSTATEMENTS_H
