//===- ProceduralShards.cpp - cases of sharded variables ------------------===//
//
// A case names the sizes of the shards and the initial value. Its operands are
// implicit, those of the recorded script: assign ten times the initial value
// minus one, scatter +100 to row 0 and +500 to row 3, then -1 into row 4. Cases
// of errors have no initial value either: the class of the error determines the
// wrong operand.
//
//===----------------------------------------------------------------------===//

#include "ProceduralCases.h"
#include "ProceduralExpression.h"
#include "ProceduralIndex.h"

#include "runtime/model/Shards.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>

namespace lockstep::conformance {

using runtime::Shards;

namespace {

std::vector<uint64_t> rowsFrom(uint64_t first, uint64_t count) {
  std::vector<uint64_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

/// A variable whose rows are in several tensors.
class ShardedVariable {
public:
  static Expected<ShardedVariable> create(const json &testCase) {
    std::vector<uint64_t> sizes = testCase.at("shard_sizes");
    uint64_t rows = std::accumulate(sizes.begin(), sizes.end(), uint64_t(0));
    Expected<CaseTensor> initial = evaluateTensor(testCase.value(
        "init", fmt::format("arange({},f32).reshape({},2)", 2 * rows, rows)));
    if (!initial)
      return initial.status();
    ShardedVariable result(Shards::ofSizes(sizes), *initial);
    LOCKSTEP_RETURN_IF_ERROR(result.assign(*initial));
    return result;
  }

  const Shards &shards() const { return places; }
  std::vector<int64_t> shape() const {
    std::vector<int64_t> shape = tensors.front().shape;
    shape.front() = static_cast<int64_t>(places.rows());
    return shape;
  }

  Status assign(const CaseTensor &value) {
    LOCKSTEP_RETURN_IF_ERROR(
        places.checkAssigned(static_cast<uint64_t>(value.shape.front())));
    tensors.clear();
    for (uint64_t shard = 0; shard < places.count(); ++shard)
      tensors.push_back(
          takeRows(value, rowsFrom(places.offset(shard), places.size(shard))));
    return Status::success();
  }

  CaseTensor read() const { return gather(rowsFrom(0, places.rows())); }

  /// The rows with these numbers, in any shard.
  CaseTensor gather(const std::vector<uint64_t> &rows) const {
    CaseTensor result = takeRows(tensors.front(), {});
    for (uint64_t row : rows) {
      Shards::Place place = places.locate(row);
      CaseTensor one = takeRows(tensors[place.shard], {place.row});
      result.data.insert(result.data.end(), one.data.begin(), one.data.end());
    }
    result.shape.front() = static_cast<int64_t>(rows.size());
    return result;
  }

  /// The values of ids as the shards send them, one shard after the other, and
  /// where each of them belongs.
  Expected<std::pair<CaseTensor, std::vector<uint64_t>>>
  sparseRead(const std::vector<int64_t> &ids,
             const std::vector<int64_t> &shape) const {
    Expected<std::vector<Shards::Route>> routes = places.route(ids, shape);
    if (!routes)
      return routes.status();
    CaseTensor values = takeRows(tensors.front(), {});
    std::vector<uint64_t> positions;
    for (uint64_t shard = 0; shard < routes->size(); ++shard) {
      const Shards::Route &route = (*routes)[shard];
      CaseTensor rows = takeRows(tensors[shard], route.rows);
      values.data.insert(values.data.end(), rows.data.begin(), rows.data.end());
      positions.insert(positions.end(), route.positions.begin(),
                       route.positions.end());
    }
    values.shape.front() = static_cast<int64_t>(positions.size());
    return std::pair(std::move(values), std::move(positions));
  }

  /// Changes the elements of the rows that ids name, row by row.
  Status scatter(const std::vector<int64_t> &ids,
                 const std::vector<int64_t> &shape,
                 const std::function<json(const json &, size_t)> &change) {
    Expected<std::vector<Shards::Route>> routes = places.route(ids, shape);
    if (!routes)
      return routes.status();
    for (uint64_t shard = 0; shard < routes->size(); ++shard) {
      CaseTensor &tensor = tensors[shard];
      const Shards::Route &route = (*routes)[shard];
      size_t size = tensor.data.size() /
                    std::max<size_t>(1, size_t(tensor.shape.front()));
      for (size_t i = 0; i < route.rows.size(); ++i)
        for (size_t e = route.rows[i] * size; e < (route.rows[i] + 1) * size;
             ++e)
          tensor.data[e] = castElement(
              change(tensor.data[e], route.positions[i]), tensor.dtype);
    }
    return Status::success();
  }

  json shardsToJson() const {
    json result = json::array();
    for (const CaseTensor &tensor : tensors)
      result.push_back(tensor.toJson());
    return result;
  }

private:
  ShardedVariable(Shards shards, const CaseTensor &like)
      : places(std::move(shards)), tensors{takeRows(like, {})} {}

  Shards places;
  std::vector<CaseTensor> tensors;
};

Expected<CaseTensor> computed(const CaseTensor &x, const char *expression) {
  return evaluateTensor(expression, {.values = {{"x", tensorValue(x)}}});
}

/// Creates the variable and calls `function` with it.
template <typename Function>
Expected<json> withVariable(const json &testCase, Function function) {
  return readingCase([&]() -> Expected<json> {
    Expected<ShardedVariable> variable = ShardedVariable::create(testCase);
    return variable ? function(*variable) : variable.status();
  });
}

struct Ids {
  std::vector<int64_t> values, shape;
};

/// The ids of the case, of any shape; in a case of an error, ids that have the
/// fault that it names.
Ids idsOf(const json &testCase, const Shards &shards) {
  Ids ids;
  const json &expected = testCase.at("expected");
  if (!expected.contains("ok")) {
    std::string fault = testCase.value("neutral_error", "");
    ids.values = {fault == "E_INDEX" ? static_cast<int64_t>(shards.rows()) : 0};
    ids.shape = fault == "E_RANK_MISMATCH" ? std::vector<int64_t>{1, 1}
                                           : std::vector<int64_t>{1};
    return ids;
  }
  for (const json *level = &expected.at("ok").at("ids"); level->is_array();
       level = &level->at(0)) {
    ids.shape.push_back(static_cast<int64_t>(level->size()));
    if (level->empty())
      break;
  }
  json flat = expected.at("ok").at("ids").flatten();
  for (const auto &[path, id] : flat.items())
    if (id.is_number())
      ids.values.push_back(id);
  return ids;
}

} // namespace

Expected<json> readSharded(const json &testCase) {
  return withVariable(
      testCase, [](ShardedVariable &variable) -> Expected<json> {
        Expected<CaseTensor> plusOne = computed(variable.read(), "x+1");
        if (!plusOne)
          return plusOne.status();
        return json{{"shape", variable.shape()},
                    {"value", variable.read().toJson()},
                    {"plus1", plusOne->toJson()}};
      });
}

Expected<json> assignSharded(const json &testCase) {
  return withVariable(
      testCase, [&](ShardedVariable &variable) -> Expected<json> {
        Expected<CaseTensor> value = computed(variable.read(), "10*x-1");
        if (!value)
          return value.status();
        if (testCase.value("neutral_error", "") == "E_SHAPE_MISMATCH")
          value = takeRows(*value, rowsFrom(0, variable.shards().rows() - 1));
        LOCKSTEP_RETURN_IF_ERROR(variable.assign(*value));
        return json{{"shards", variable.shardsToJson()}};
      });
}

Expected<json> sliceSharded(const json &testCase) {
  return withVariable(
      testCase, [&](ShardedVariable &variable) -> Expected<json> {
        // A case of an error has no slices: an index that is none, or one row
        // too far.
        bool outside = testCase.value("neutral_error", "") == "E_INDEX";
        json fault = {
            {{"index",
              outside ? std::to_string(variable.shards().rows()) : "tensor"}}};
        json slices = json::array();
        const json &expected = testCase.at("expected");
        for (const json &slice :
             expected.contains("ok") ? expected.at("ok").at("slices") : fault) {
          std::string index = slice.at("index");
          Expected<Selection> selection = parseIndex(index, variable.shape());
          if (!selection && slice.contains("error")) {
            slices.push_back(
                {{"index", index}, {"error", selection.status().message()}});
            continue;
          }
          if (!selection)
            return selection.status();
          // The rows come from their shards, everything else is within a row.
          std::vector<uint64_t> rows(selection->positions.front().begin(),
                                     selection->positions.front().end());
          CaseTensor taken = variable.gather(rows);
          CaseTensor result{taken.dtype, selection->shape, {}};
          std::function<void(size_t, size_t)> append = [&](size_t axis,
                                                           size_t offset) {
            if (axis == taken.shape.size())
              return result.data.push_back(taken.data[offset]);
            for (int64_t position : selection->positions[axis])
              append(axis + 1,
                     offset * size_t(taken.shape[axis]) + size_t(position));
          };
          for (size_t row = 0; row < rows.size(); ++row)
            append(1, row);
          slices.push_back({{"index", index}, {"value", result.toJson()}});
        }
        return json{{"slices", slices}};
      });
}

Expected<json> sparseReadSharded(const json &testCase) {
  return withVariable(
      testCase, [&](ShardedVariable &variable) -> Expected<json> {
        Ids ids = idsOf(testCase, variable.shards());
        auto read = variable.sparseRead(ids.values, ids.shape);
        if (!read)
          return read.status();
        return json{{"ids", testCase.at("expected").at("ok").at("ids")},
                    {"value", read->first.toJson()}};
      });
}

Expected<json> lookupSharded(const json &testCase) {
  return withVariable(
      testCase, [&](ShardedVariable &variable) -> Expected<json> {
        Ids ids = idsOf(testCase, variable.shards());
        // A lookup takes ids of any shape, and puts the rows of the shards into
        // the order of the ids.
        auto read = variable.sparseRead(
            ids.values, std::vector{static_cast<int64_t>(ids.values.size())});
        if (!read)
          return read.status();
        std::vector<uint64_t> order(read->second.size());
        for (size_t i = 0; i < order.size(); ++i)
          order[read->second[i]] = i;
        CaseTensor value = takeRows(read->first, order);
        value.shape.erase(value.shape.begin());
        value.shape.insert(value.shape.begin(), ids.shape.begin(),
                           ids.shape.end());
        return json{{"ids", testCase.at("expected").at("ok").at("ids")},
                    {"value", value.toJson()}};
      });
}

Expected<json> scatterSharded(const json &testCase) {
  return withVariable(
      testCase, [&](ShardedVariable &variable) -> Expected<json> {
        json result;
        std::vector<double> added = {100, 500};
        bool fault = !testCase.at("expected").contains("ok");
        Ids ids = fault ? idsOf(testCase, variable.shards()) : Ids{{0, 3}, {2}};
        LOCKSTEP_RETURN_IF_ERROR(variable.scatter(
            ids.values, ids.shape, [&](const json &element, size_t id) {
              return element.get<double>() + added[id];
            }));
        result["after_add"] = variable.shardsToJson();
        LOCKSTEP_RETURN_IF_ERROR(variable.scatter(
            {4}, {1}, [](const json &, size_t) { return -1; }));
        result["after_update"] = variable.shardsToJson();
        return result;
      });
}

} // namespace lockstep::conformance
