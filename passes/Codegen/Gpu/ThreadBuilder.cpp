//===- ThreadBuilder.cpp - Builds the code of a thread --------------------===//

#include "passes/Codegen/Gpu/ThreadBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace lockstep;
using namespace mlir;

/// The address space of memory that the threads of a block share.
static constexpr int64_t kSharedSpace = 3;

ThreadBuilder::ThreadBuilder(func::FuncOp function, int64_t threads)
    : builder(function.getContext()), function(function),
      loc(function.getLoc()), threads(threads) {
  builder.setInsertionPointToStart(&function.getBody().front());
  auto read = [&](Value number) -> Value {
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        number);
  };
  Type i32 = builder.getI32Type();
  thread = read(NVVM::ThreadIdXOp::create(builder, loc, i32));
  block = read(NVVM::BlockIdXOp::create(builder, loc, i32));
}

Value ThreadBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value ThreadBuilder::getNumber() {
  return arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, block, constant(threads)), thread);
}

void ThreadBuilder::barrier() { NVVM::Barrier0Op::create(builder, loc); }

Value ThreadBuilder::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}

Value ThreadBuilder::isFirstThread() {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread,
                               constant(0));
}

void ThreadBuilder::onlyIf(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value ThreadBuilder::toValue(OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(builder, loc, size);
}

SmallVector<Value> ThreadBuilder::delinearize(Value number,
                                              ArrayRef<OpFoldResult> sizes) {
  int64_t product = 1;
  bool isSmall = true;
  for (OpFoldResult size : sizes) {
    std::optional<int64_t> fixed = getConstantIntValue(size);
    isSmall = isSmall && fixed && *fixed < INT32_MAX &&
              (product *= *fixed) < INT32_MAX;
  }
  Type type = isSmall ? Type(builder.getI32Type()) : builder.getIndexType();
  auto convert = [&](Value value, Type to) -> Value {
    return value.getType() == to
               ? value
               : Value(arith::IndexCastUIOp::create(builder, loc, to, value));
  };
  SmallVector<Value> indices(sizes.size());
  Value rest = convert(number, type);
  for (size_t i = sizes.size(); i-- > 0;) {
    Value own = rest;
    if (i > 0) {
      Value size = convert(toValue(sizes[i]), type);
      own = arith::RemUIOp::create(builder, loc, rest, size);
      rest = arith::DivUIOp::create(builder, loc, rest, size);
    }
    indices[i] = convert(own, builder.getIndexType());
  }
  return indices;
}

SmallVector<SmallVector<Value>> ThreadBuilder::delinearizeVectors(
    ArrayRef<Value> numbers, ArrayRef<OpFoldResult> sizes, int64_t length) {
  SmallVector<OpFoldResult> vectors(sizes);
  if (length > 1)
    vectors.back() =
        builder.getIndexAttr(*getConstantIntValue(sizes.back()) / length);
  return expandVectors(
      llvm::map_to_vector(
          numbers, [&](Value number) { return delinearize(number, vectors); }),
      length);
}

SmallVector<SmallVector<Value>> ThreadBuilder::expandVectors(Iterations vectors,
                                                             int64_t length) {
  SmallVector<SmallVector<Value>> iterations;
  for (SmallVector<Value> indices : vectors) {
    if (length > 1)
      indices.back() =
          arith::MulIOp::create(builder, loc, indices.back(), constant(length));
    for (int64_t i = 0; i < length; ++i) {
      iterations.push_back(indices);
      if (i > 0)
        iterations.back().back() =
            arith::AddIOp::create(builder, loc, indices.back(), constant(i));
    }
  }
  return iterations;
}

scf::ForOp ThreadBuilder::loop(
    Value first, Value end, Value step, ValueRange carried,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto made = scf::ForOp::create(builder, loc, first, end, step, carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(made.getBody());
  SmallVector<Value> results =
      body(made.getInductionVar(), made.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, results);
  return made;
}

std::optional<int64_t> ThreadBuilder::multiply(ArrayRef<OpFoldResult> sizes) {
  int64_t product = 1;
  for (OpFoldResult size : sizes) {
    std::optional<int64_t> fixed = getConstantIntValue(size);
    if (!fixed)
      return std::nullopt;
    product *= *fixed;
  }
  return product;
}

SmallVector<Value> ThreadBuilder::share(
    Value first, int64_t count, ArrayRef<OpFoldResult> sizes,
    ValueRange carried,
    llvm::function_ref<SmallVector<Value>(Iterations, ValueRange)> body,
    int64_t mostAtATime) {
  std::optional<int64_t> fixed = multiply(sizes);
  if (!fixed || !unrolls) {
    Value total = constant(fixed.value_or(1));
    for (OpFoldResult size : fixed ? ArrayRef<OpFoldResult>() : sizes)
      total = arith::MulIOp::create(builder, loc, total, toValue(size));
    return loop(first, total, constant(count), carried,
                [&](Value number, ValueRange values) {
                  return body({delinearize(number, sizes)}, values);
                })
        .getResults();
  }
  auto inRounds = [&](Value round, int64_t rounds) {
    SmallVector<SmallVector<Value>> indices;
    Value number = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, round, constant(count)), first);
    for (int64_t i = 0; i < rounds; ++i)
      indices.push_back(delinearize(
          arith::AddIOp::create(builder, loc, number, constant(i * count)),
          sizes));
    return indices;
  };
  int64_t rounds = *fixed / count, rest = rounds % mostAtATime;
  SmallVector<Value> values(carried);
  if (rounds > rest)
    values = loop(constant(0), constant(rounds - rest), constant(mostAtATime),
                  values,
                  [&](Value round, ValueRange inner) {
                    return body(inRounds(round, mostAtATime), inner);
                  })
                 .getResults();
  if (rest > 0)
    values = body(inRounds(constant(rounds - rest), rest), values);
  if (*fixed % count == 0)
    return values;
  // One more of some threads.
  Value number =
      arith::AddIOp::create(builder, loc, first, constant(rounds * count));
  auto branch = scf::IfOp::create(builder, loc, ValueRange(values).getTypes(),
                                  isBelow(number, constant(*fixed)),
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/!values.empty());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> next = body({delinearize(number, sizes)}, values);
  scf::YieldOp::create(builder, loc, next);
  if (!values.empty()) {
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, values);
  }
  return branch.getResults();
}

Value ThreadBuilder::exchange(Value value, int64_t distance) {
  Type type = value.getType(), word = builder.getI32Type();
  if (type.isIndex())
    return arith::IndexCastOp::create(
        builder, loc, type,
        exchange(arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                            value),
                 distance));
  unsigned width = type.getIntOrFloatBitWidth();
  Type bitsType = builder.getIntegerType(width);
  auto number = [&](Type of, int64_t n) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(of, n));
  };
  auto exchangeWord = [&](Value own) -> Value {
    return NVVM::ShflOp::create(
        builder, loc, word, /*thread_mask=*/number(word, -1), own,
        /*offset=*/number(word, distance),
        /*mask_and_clamp=*/number(word, kWarp - 1),
        NVVM::ShflKindAttr::get(builder.getContext(), NVVM::ShflKind::bfly),
        /*return_value_and_is_valid=*/UnitAttr());
  };
  auto resize = [&](Value bits, Type to) -> Value {
    unsigned from = bits.getType().getIntOrFloatBitWidth(),
             size = to.getIntOrFloatBitWidth();
    return from == size ? bits
           : from < size
               ? Value(arith::ExtUIOp::create(builder, loc, to, bits))
               : Value(arith::TruncIOp::create(builder, loc, to, bits));
  };
  Value bits = arith::BitcastOp::create(builder, loc, bitsType, value);
  if (width <= 32) {
    bits = resize(exchangeWord(resize(bits, word)), bitsType);
  } else {
    Value half = number(bitsType, 32);
    Value low = exchangeWord(resize(bits, word));
    Value high = exchangeWord(
        resize(arith::ShRUIOp::create(builder, loc, bits, half), word));
    bits = arith::OrIOp::create(
        builder, loc, resize(low, bitsType),
        arith::ShLIOp::create(builder, loc, resize(high, bitsType), half));
  }
  return arith::BitcastOp::create(builder, loc, type, bits);
}

Value ThreadBuilder::combineThreads(Value value, const Combiner &combiner,
                                    int64_t width, memref::GlobalOp memory) {
  auto remainder = [&](int64_t divisor) -> Value {
    return arith::RemUIOp::create(builder, loc, thread, constant(divisor));
  };
  Value partial = getShared(memory);
  // The first `left` threads have values that are not yet combined; the next
  // ones of the same remainder have the same values. Each round of warps has
  // its own elements in memory.
  int64_t left = threads, used = 0;
  while (true) {
    for (int64_t distance = std::min(left, kWarp) / 2; distance >= width;
         distance /= 2)
      value = combiner.combine(builder, loc, value, exchange(value, distance));
    if (left <= kWarp)
      return value;
    Value warp = arith::DivUIOp::create(builder, loc, thread, constant(kWarp)),
          lane = remainder(kWarp);
    Value place = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, warp, constant(width)), lane);
    left = left / kWarp * width;
    // Only warps that had values of their own store their totals.
    Value stores = isBelow(lane, constant(width));
    if (used > 0)
      stores = arith::AndIOp::create(builder, loc, stores,
                                     isBelow(place, constant(left)));
    onlyIf(stores, [&] {
      memref::StoreOp::create(
          builder, loc, value, partial,
          Value(arith::AddIOp::create(builder, loc, place, constant(used))));
    });
    barrier();
    value = memref::LoadOp::create(
        builder, loc, partial,
        Value(arith::AddIOp::create(builder, loc, remainder(left),
                                    constant(used))));
    used += left;
  }
}

memref::GlobalOp ThreadBuilder::createShared(ArrayRef<int64_t> shape,
                                             Type element) {
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(),
                              builder.getI64IntegerAttr(kSharedSpace));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  std::string name =
      (function.getSymName() + "$shared" + Twine(numShared++)).str();
  return memref::GlobalOp::create(
      builder, loc, name, builder.getStringAttr("private"), type,
      /*initial_value=*/builder.getUnitAttr(), /*constant=*/false,
      /*alignment=*/builder.getI64IntegerAttr(16));
}

Value ThreadBuilder::getShared(memref::GlobalOp memory) {
  return memref::GetGlobalOp::create(builder, loc, memory.getType(),
                                     memory.getSymName());
}
