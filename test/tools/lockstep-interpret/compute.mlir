// One case for each group of operations on tensors.

// RUN: split-file %s %t
// RUN: lockstep-interpret %t/shapes.mlir --replicas=1 | FileCheck %s --check-prefix=SHAPES
// RUN: lockstep-interpret %t/numbers.mlir --replicas=1 | FileCheck %s --check-prefix=NUMBERS
// RUN: lockstep-interpret %t/linalg.mlir --replicas=1 | FileCheck %s --check-prefix=LINALG
// RUN: lockstep-interpret %t/reduce.mlir --replicas=3 | FileCheck %s --check-prefix=REDUCE
// RUN: not lockstep-interpret %t/unknown.mlir --replicas=1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not lockstep-interpret %t/range.mlir --replicas=1 --set i=4 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: lockstep-interpret %t/range.mlir --replicas=1 --set i=2 | FileCheck %s --check-prefix=INRANGE
// RUN: not lockstep-interpret %t/range.mlir --replicas=1 2>&1 | FileCheck %s --check-prefix=UNSET
// RUN: not lockstep-interpret %t/range.mlir --replicas=1 --set i=2 --set k=2 2>&1 | FileCheck %s --check-prefix=NOSUCH

//--- shapes.mlir
// The offsets come from a scalar argument, so that nothing is folded before it is executed.
// SHAPES: {"result":"slice",{{.*}}"shape":[2,2],"values":[4,6,8,10]}
// SHAPES: {"result":"inserted",{{.*}}"shape":[3,4],"values":[0,1,2,3,4,0,1,2,8,3,4,5]}
// SHAPES: {"result":"padded",{{.*}}"shape":[1,9],"values":[7,0,1,2,3,4,5,7,7]}
// SHAPES: {"result":"concat",{{.*}}"shape":[2,6],"values":[0,1,2,0,1,2,3,4,5,3,4,5]}
// SHAPES: {"result":"collapsed",{{.*}}"shape":[6],"values":[0,1,2,3,4,5]}
// SHAPES: {"result":"generated",{{.*}}"shape":[2,3],"values":[0,1,2,10,11,12]}
replica.step @step(%s: tensor<i32> {replica.scalar = "step"})
    -> (tensor<2x2xi32> {replica.result = "slice"}, tensor<3x4xi32> {replica.result = "inserted"}, tensor<1x9xi32> {replica.result = "padded"},
        tensor<2x6xi32> {replica.result = "concat"}, tensor<?xi32> {replica.result = "collapsed"}, tensor<2x?xi32> {replica.result = "generated"}) {
  %zero = tensor.extract %s[] : tensor<i32>
  %o = arith.index_cast %zero : i32 to index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.addi %o, %c1 : index
  %three = arith.addi %o, %c3 : index
  %e = tensor.empty() : tensor<3x4xi32>
  %iota = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<3x4xi32>) {
  ^bb0(%out: i32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c4 = arith.constant 4 : index
    %k = arith.muli %i, %c4 : index
    %v = arith.addi %k, %j : index
    %w = arith.index_cast %v : index to i32
    linalg.yield %w : i32
  } -> tensor<3x4xi32>
  %slice = tensor.extract_slice %iota[%one, 0] [2, 2] [1, 2] : tensor<3x4xi32> to tensor<2x2xi32>
  %six = tensor.extract_slice %iota[%o, 0] [2, 3] [1, 1] : tensor<3x4xi32> to tensor<2x3xi32>
  %counted = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%six : tensor<2x3xi32>) {
  ^bb0(%out: i32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %c3 : index
    %v = arith.addi %k, %j : index
    %w = arith.index_cast %v : index to i32
    linalg.yield %w : i32
  } -> tensor<2x3xi32>
  %inserted = tensor.insert_slice %counted into %iota[%one, 1] [2, 3] [1, 1] : tensor<2x3xi32> into tensor<3x4xi32>
  %row = tensor.collapse_shape %counted [[0, 1]] : tensor<2x3xi32> into tensor<6xi32>
  %row2 = tensor.expand_shape %row [[0, 1]] output_shape [1, 6] : tensor<6xi32> into tensor<1x6xi32>
  %c7 = arith.constant 7 : i32
  %padded = tensor.pad %row2 low[%o, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c7 : i32
  } : tensor<1x6xi32> to tensor<?x9xi32>
  %padded1 = tensor.cast %padded : tensor<?x9xi32> to tensor<1x9xi32>
  %concat = tensor.concat dim(1) %counted, %counted : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x6xi32>
  %dynamic = tensor.cast %row : tensor<6xi32> to tensor<?xi32>
  %generated = tensor.generate %three {
  ^bb0(%i: index, %j: index):
    %c10 = arith.constant 10 : index
    %k = arith.muli %i, %c10 : index
    %v = arith.addi %k, %j : index
    %w = arith.index_cast %v : index to i32
    tensor.yield %w : i32
  } : tensor<2x?xi32>
  replica.return %slice, %inserted, %padded1, %concat, %dynamic, %generated
      : tensor<2x2xi32>, tensor<3x4xi32>, tensor<1x9xi32>, tensor<2x6xi32>, tensor<?xi32>, tensor<2x?xi32>
}

//--- numbers.mlir
// Integers wrap at their width and follow the operation's signedness; 16-bit floats are rounded after each operation.
// NUMBERS: {"result":"i8",{{.*}}"values":[-56,-1,2,126,-2,63]}
// NUMBERS: {"result":"f16",{{.*}}"values":[2048,"inf"]}
// NUMBERS: {"result":"bf16",{{.*}}"values":[256]}
// NUMBERS: {"result":"f32",{{.*}}"values":["nan",2,1.5,0.5,-2147483648]}
replica.step @step(%s: tensor<i32> {replica.scalar = "step"})
    -> (tensor<6xi8> {replica.result = "i8"}, tensor<2xf16> {replica.result = "f16"}, tensor<1xbf16> {replica.result = "bf16"},
        tensor<5xf32> {replica.result = "f32"}) {
  %zero32 = tensor.extract %s[] : tensor<i32>
  %zero = arith.trunci %zero32 : i32 to i8
  %m2 = arith.constant -2 : i8
  %c100 = arith.constant 100 : i8
  %c2 = arith.constant 2 : i8
  %c3 = arith.constant 3 : i8
  %x = arith.addi %c100, %zero : i8
  %n = arith.addi %m2, %zero : i8
  %wrapped = arith.addi %x, %x : i8
  %quotient = arith.divsi %n, %c2 : i8
  %remainder = arith.remui %n, %c3 : i8
  %large = arith.divui %n, %c2 : i8
  %low = arith.minsi %n, %c2 : i8
  %shifted = arith.shrui %n, %c2 : i8
  %c1 = arith.constant 1 : i8
  %large1 = arith.subi %large, %c1 : i8
  %i8 = tensor.from_elements %wrapped, %quotient, %remainder, %large1, %low, %shifted : tensor<6xi8>
  %f = arith.sitofp %zero32 : i32 to f16
  %h = arith.constant 2048.0 : f16
  %h1 = arith.constant 1.0 : f16
  %hf = arith.addf %h, %f : f16
  %sum = arith.addf %hf, %h1 : f16
  %product = arith.mulf %hf, %hf : f16
  %f16 = tensor.from_elements %sum, %product : tensor<2xf16>
  %b = arith.constant 256.0 : bf16
  %b1 = arith.constant 1.0 : bf16
  %fb = arith.sitofp %zero32 : i32 to bf16
  %bb = arith.addf %b, %fb : bf16
  %bsum = arith.addf %bb, %b1 : bf16
  %bf16 = tensor.from_elements %bsum : tensor<1xbf16>
  %z = arith.sitofp %zero32 : i32 to f32
  %nan = arith.divf %z, %z : f32
  %two = arith.constant 2.0 : f32
  %four = arith.constant 4.0 : f32
  %zz = arith.addf %z, %four : f32
  %max = arith.maximumf %nan, %two : f32
  %root = math.sqrt %zz : f32
  %rsqrt = math.rsqrt %zz : f32
  %three = arith.constant 3.0 : f32
  %t = arith.addf %z, %three : f32
  %half = arith.divf %t, %two : f32
  %big = arith.constant -1.0e20 : f32
  %tb = arith.addf %big, %z : f32
  %least = arith.fptosi %tb : f32 to i32
  %leastf = arith.sitofp %least : i32 to f32
  %f32 = tensor.from_elements %max, %root, %half, %rsqrt, %leastf : tensor<5xf32>
  replica.return %i8, %f16, %bf16, %f32 : tensor<6xi8>, tensor<2xf16>, tensor<1xbf16>, tensor<5xf32>
}

//--- linalg.mlir
// Products, sums over the first and the last dimension, a window, a map with a division, a body with a branch.
// LINALG: {"result":"product",{{.*}}"shape":[2,2],"values":[10,13,28,40]}
// LINALG: {"result":"rows",{{.*}}"values":[3,12]}
// LINALG: {"result":"all",{{.*}}"shape":[],"values":[15]}
// LINALG: {"result":"window",{{.*}}"values":[1,3,5,7,9]}
// LINALG: {"result":"halves",{{.*}}"values":[0,0,1,1]}
// LINALG: {"result":"branch",{{.*}}"values":[-1,0,-1,2,-1,4]}
#id = affine_map<(i, j) -> (i, j)>
replica.step @step(%s: tensor<i32> {replica.scalar = "step"})
    -> (tensor<2x2xf32> {replica.result = "product"}, tensor<2xf32> {replica.result = "rows"}, tensor<f32> {replica.result = "all"},
        tensor<5xf32> {replica.result = "window"}, tensor<4xf32> {replica.result = "halves"}, tensor<6xf32> {replica.result = "branch"}) {
  %n = tensor.extract %s[] : tensor<i32>
  %zero = arith.sitofp %n : i32 to f32
  %e = tensor.empty() : tensor<2x3xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
  // 0 1 2; 3 4 5
  %x = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%filled : tensor<2x3xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c3 = arith.constant 3 : index
    %k = arith.muli %i, %c3 : index
    %v = arith.addi %k, %j : index
    %w = arith.index_cast %v : index to i32
    %f = arith.sitofp %w : i32 to f32
    %g = arith.addf %f, %out : f32
    linalg.yield %g : f32
  } -> tensor<2x3xf32>
  %shape = arith.constant dense<[3, 2]> : tensor<2xindex>
  %y = tensor.reshape %x(%shape) : (tensor<2x3xf32>, tensor<2xindex>) -> tensor<3x2xf32>
  %e22 = tensor.empty() : tensor<2x2xf32>
  %f22 = linalg.fill ins(%zero : f32) outs(%e22 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %product = linalg.matmul ins(%x, %y : tensor<2x3xf32>, tensor<3x2xf32>) outs(%f22 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %e2 = tensor.empty() : tensor<2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2xf32>) -> tensor<2xf32>
  %rows = linalg.reduce ins(%x : tensor<2x3xf32>) outs(%f2 : tensor<2xf32>) dimensions = [1]
    (%in: f32, %acc: f32) {
      %t = arith.addf %in, %acc : f32
      linalg.yield %t : f32
    }
  %e0 = tensor.empty() : tensor<f32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %all = linalg.reduce ins(%x : tensor<2x3xf32>) outs(%f0 : tensor<f32>) dimensions = [0, 1]
    (%in: f32, %acc: f32) {
      %t = arith.addf %in, %acc : f32
      linalg.yield %t : f32
    }
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  %taps = tensor.splat %zero : tensor<2xf32>
  %e5 = tensor.empty() : tensor<5xf32>
  %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<5xf32>) -> tensor<5xf32>
  %window = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%flat, %taps : tensor<6xf32>, tensor<2xf32>) outs(%f5 : tensor<5xf32>) {
  ^bb0(%in: f32, %tap: f32, %out: f32):
    %t = arith.addf %in, %out : f32
    linalg.yield %t : f32
  } -> tensor<5xf32>
  %e4 = tensor.empty() : tensor<4xf32>
  %halves = linalg.generic {indexing_maps = [affine_map<(i) -> (i floordiv 2)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%flat : tensor<6xf32>) outs(%e4 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4xf32>
  %minus = arith.constant -1.0 : f32
  %e6 = tensor.empty() : tensor<6xf32>
  %branch = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e6 : tensor<6xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %c2 = arith.constant 2 : index
    %c1 = arith.constant 1 : index
    %odd = arith.remui %i, %c2 : index
    %is_odd = arith.cmpi eq, %odd, %c1 : index
    %r = scf.if %is_odd -> f32 {
      %before = arith.subi %i, %c1 : index
      %v = tensor.extract %flat[%before] : tensor<6xf32>
      scf.yield %v : f32
    } else {
      scf.yield %minus : f32
    }
    linalg.yield %r : f32
  } -> tensor<6xf32>
  replica.return %product, %rows, %all, %window, %halves, %branch
      : tensor<2x2xf32>, tensor<2xf32>, tensor<f32>, tensor<5xf32>, tensor<4xf32>, tensor<6xf32>
}

//--- reduce.mlir
// Ids 0, 1, 2: a sum, a mean of integers (f64), and a sum whose order matters: (1e8 + -1e8) + 1 in f32 is 1.
// REDUCE: {"result":"sum","replica":0,"type":"i32","shape":[],"values":[3]}
// REDUCE: {"result":"mean","replica":1,"type":"f64","shape":[],"values":[1]}
// REDUCE: {"result":"order","replica":0,"type":"f32","shape":[],"values":[1]}
// REDUCE: {"result":"order","replica":2,"type":"f32","shape":[],"values":[1]}
// REDUCE: {"result":"n","replica":2,"type":"i32","shape":[],"values":[3]}
replica.step @step() -> (tensor<i32> {replica.result = "sum"}, tensor<f64> {replica.result = "mean"}, tensor<f32> {replica.result = "order"},
    tensor<i32> {replica.result = "n"}) {
  %id = replica.id : tensor<i32>
  %n = replica.num_in_sync : tensor<i32>
  %sum = replica.all_reduce sum %id : tensor<i32>
  %mean = replica.all_reduce mean %id : tensor<i32>
  %i = tensor.extract %id[] : tensor<i32>
  %index = arith.index_cast %i : i32 to index
  %table = arith.constant dense<[1.0e8, -1.0e8, 1.0]> : tensor<3xf32>
  %v = tensor.extract %table[%index] : tensor<3xf32>
  %t = tensor.from_elements %v : tensor<f32>
  %order = replica.all_reduce sum %t : tensor<f32>
  replica.return %sum, %mean, %order, %n : tensor<i32>, tensor<f64>, tensor<f32>, tensor<i32>
}

//--- unknown.mlir
// UNKNOWN: train.py:7:3: error: expected an operation that the interpreter knows, found 'vector.broadcast'
replica.step @step(%s: tensor<i32> {replica.scalar = "step"}) -> (tensor<i32> {replica.result = "y"}) {
  %n = tensor.extract %s[] : tensor<i32>
  %v = vector.broadcast %n : i32 to vector<4xi32> loc("train.py":7:3)
  %k = vector.reduction <add>, %v : vector<4xi32> into i32
  %y = tensor.from_elements %k : tensor<i32>
  replica.return %y : tensor<i32>
}

//--- range.mlir
// RANGE: range.mlir:[[#]]:{{[0-9]+}}: error: expected an index in [0, 3) for dimension 0, found 4
// INRANGE: {"result":"y","replica":0,"type":"i32","shape":[],"values":[7]}
// UNSET: error: expected --set i=... (i32), because the scalar has no default
// NOSUCH: error: --set k=2: no scalar 'k'
replica.step @step(%i: tensor<i32> {replica.scalar = "i"}) -> (tensor<i32> {replica.result = "y"}) {
  %table = arith.constant dense<[5, 6, 7]> : tensor<3xi32>
  %n = tensor.extract %i[] : tensor<i32>
  %index = arith.index_cast %n : i32 to index
  %v = tensor.extract %table[%index] : tensor<3xi32>
  %y = tensor.from_elements %v : tensor<i32>
  replica.return %y : tensor<i32>
}
