//===- ProceduralExpression.h - expressions in procedural cases -*- C++ -*-===//
//
// Procedural cases write arrays and functions down as short expressions:
//
//   arange(10,f32).reshape(5,2) [3.,2.,1.,0.][replica_id] host f64
//   (x=i64[[1,2],[6,12]], y)                           ones([replica_id+1])
//   range(14).batch(per_replica(8)=4).shard(num_input_pipelines,input_pipeline_id)
//
//   expression  sums and products of numbers, names, f(...), [...], (...),
//               {name: ...}, value[index], value.f(...)
//   type[...]   a tensor literal                       f32(x)    a cast
//   name=value  the value, which has that name from here on
//   value=value both, which have to be equal
//
// A suffix "host T" or "(host T)" means a host value instead of a tensor;
// numbers always are.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_PROCEDURALEXPRESSION_H
#define LOCKSTEP_TEST_CONFORMANCE_PROCEDURALEXPRESSION_H

#include "ProceduralValue.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::conformance {

/// The values of names.
struct Environment {
  using Function =
      std::function<Expected<CaseValue>(const std::vector<CaseValue> &)>;

  std::map<std::string, CaseValue> values = {};
  /// Besides arange, range, ones, zeros and casts.
  std::map<std::string, Function> functions = {};
};

/// The value of an expression. Errors have the text, the expectation and its
/// position.
Expected<CaseValue> evaluate(std::string_view text,
                             Environment environment = {});
/// The same, of one that must be a whole number of the host.
Expected<int64_t> evaluateInteger(std::string_view text,
                                  Environment environment = {});
/// The same, of one that must be a tensor.
Expected<CaseTensor> evaluateTensor(std::string_view text,
                                    Environment environment = {});

} // namespace lockstep::conformance

#endif // LOCKSTEP_TEST_CONFORMANCE_PROCEDURALEXPRESSION_H
