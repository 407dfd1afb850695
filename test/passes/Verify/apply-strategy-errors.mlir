// RUN: lockstep-opt %s --apply-strategy --split-input-file --verify-diagnostics -o /dev/null

// A variable with several copies is synchronized on write or on read [E_SYNC_NONE]. [5.1-none]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-error@+1 {{expected a variable that is synchronized on write or on read, found synchronization 'none' [E_SYNC_NONE]}}
replica.variable @v : tensor<f32> {synchronization = #replica.synchronization<none>}

// -----

// A variable of integers cannot have aggregation mean, since the mean is not an integer [E_MEAN_INT_VAR]. [5.1-mean-int]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-error@+1 {{expected floats for aggregation 'mean', found 'tensor<4xi32>' [E_MEAN_INT_VAR]}}
replica.variable @v : tensor<4xi32> {aggregation = #replica.aggregation<mean>}

// -----

// With a single copy, this is an error only where the variable is assigned. [5.1-mean-int]
replica.strategy @s {kind = #replica.kind<central_storage>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<i32> {aggregation = #replica.aggregation<mean>}
replica.step @t(%x: tensor<i32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected floats for aggregation 'mean', found 'tensor<i32>' [E_MEAN_INT_VAR]}}
  replica.assign_add @v, %x : tensor<i32>
  replica.return
}

// -----

// Replicas can assign only variables with an aggregation [E_AGG_NONE]. [5.2-none]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<none>}
replica.step @t() {
  %five = replica.literal dense<5.0> : tensor<f32>
  // expected-error@+1 {{'replica.assign_add': replicas assign a variable without an aggregation, its copies could diverge; give it one, or assign it in a merge_call [E_AGG_NONE]}}
  replica.assign_add @v, %five : tensor<f32>
  replica.return
}

// -----

// Replicas can scatter only into variables with an aggregation [E_AGG_NONE].
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<4xf32> {aggregation = #replica.aggregation<none>}
replica.step @t(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{replicas scatter into a variable without an aggregation, its copies could diverge [E_AGG_NONE]}}
  replica.scatter add @v, %i, %v : tensor<2xi64>, tensor<2xf32>
  replica.return
}

// -----

// An aggregated read in replica context needs a variable with an aggregation [E_AGG_NONE]. [5.3-read-none]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<none>, synchronization = #replica.synchronization<on_read>}
replica.step @t() {
  // expected-error@+1 {{reads a variable whose copies no aggregation combines for all replicas together [E_AGG_NONE]}}
  %v = replica.read @v {aggregated} : tensor<f32>
  replica.return
}

// -----

// A read in cross-replica context needs a variable with an aggregation [E_AGG_NONE]. [4-read-var, 5.3-read-none, 10-on-read]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<none>, synchronization = #replica.synchronization<on_read>}
replica.program @p() {
  // expected-error@+1 {{reads a variable whose copies no aggregation combines in cross-replica context [E_AGG_NONE]}}
  %v = replica.read @v : tensor<f32>
  replica.return
}

// -----

// assign_add cannot change a variable that is the sum of its copies [E_ONREAD_ASSIGN_ADD_SUM]. [5.3-add-sum, 10-on-read]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{'replica.assign_add': the variable is the sum of its copies, which one value cannot change in cross-replica context; assign the new sum instead [E_ONREAD_ASSIGN_ADD_SUM]}}
  replica.assign_add @v, %k : tensor<f32>
  replica.return
}

// -----

// assign_sub cannot change a variable that is the sum of its copies [E_ONREAD_ASSIGN_ADD_SUM]. [5.3-add-sum]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{'replica.assign_sub': the variable is the sum of its copies, which one value cannot change in cross-replica context; assign the new sum instead [E_ONREAD_ASSIGN_ADD_SUM]}}
  replica.assign_sub @v, %k : tensor<f32>
  replica.return
}

// -----

// A scatter needs a variable whose copies are equal [E_SCATTER_ONREAD]. [5.3-scatter, 10-on-read]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<4xf32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.step @t(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected a variable whose copies are equal, found one that is synchronized on read [E_SCATTER_ONREAD]}}
  replica.scatter add @v, %i, %v : tensor<2xi64>, tensor<2xf32>
  replica.return
}

// -----

// Replicas cannot scatter into integers with aggregation mean, even into a single copy [E_MEAN_INT_VAR]. [5.2-mean-int, 5.2-scatter-mean-int]
replica.strategy @s {kind = #replica.kind<central_storage>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<4xi32> {aggregation = #replica.aggregation<mean>}
replica.step @t(%v: tensor<2xi32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected floats for aggregation 'mean', found 'tensor<4xi32>' [E_MEAN_INT_VAR]}}
  replica.scatter div @v, %i, %v : tensor<2xi64>, tensor<2xi32>
  replica.return
}

// -----

// Booleans can be assigned, but not added, neither by assign_add nor by the variable's aggregation [E_DTYPE_UNSUPPORTED]. [5.2-booleans]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<i1> {aggregation = #replica.aggregation<only_first_replica>}
// expected-note@+1 {{variable 'w' is declared here}}
replica.variable @w : tensor<i1> {aggregation = #replica.aggregation<sum>}
replica.step @t(%v: tensor<i1> {replica.scalar = "v"}) {
  replica.assign @v, %v : tensor<i1>
  // expected-error@+1 {{expected a variable of numbers, found 'tensor<i1>' [E_DTYPE_UNSUPPORTED]}}
  replica.assign_add @v, %v : tensor<i1>
  // expected-error@+1 {{expected a variable of numbers, found 'tensor<i1>' [E_DTYPE_UNSUPPORTED]}}
  replica.assign @w, %v : tensor<i1>
  replica.return
}

// -----

// A minimum cannot be combined with an aggregation that adds [E_SCATTER_AGG]. [5.2-scatter-other]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.step @t(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected 'add', 'sub', 'mul' or 'div' for aggregation 'mean', found 'min' [E_SCATTER_AGG]}}
  replica.scatter min @v, %i, %v : tensor<2xi64>, tensor<2xf32>
  replica.return
}

// -----

// A literal is the same on all replicas and cannot be summed over them in an assignment. [5.2-sum-literal]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<sum>}
replica.step @t() {
  %five = replica.literal dense<5.0> : tensor<f32>
  // expected-error@+1 {{expected values of the replicas to add, found one literal for all of them [E_NON_DISTRIBUTED_SUM]}}
  replica.assign_add @v, %five : tensor<f32>
  replica.return
}

// -----

// A literal cannot be summed in an all_reduce. [10-shared-sum]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t() {
  %five = replica.literal dense<5.0> : tensor<f32>
  // expected-error@+1 {{expected values of the replicas to add, found one literal for all of them [E_NON_DISTRIBUTED_SUM]}}
  %0 = replica.all_reduce sum %five : tensor<f32>
  replica.return
}

// -----

// A value that is equal on all replicas cannot be summed in a reduce [E_NON_DISTRIBUTED_SUM]. [3.1-none-plain-sum]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{'replica.reduce': expected a per-replica value for reduction 'sum', found 'tensor<f32>', which would be added once a replica [E_NON_DISTRIBUTED_SUM]}}
  %0 = replica.reduce sum %k : tensor<f32> -> tensor<f32>
  replica.return
}

// -----

// It cannot be summed in a reduce_to. [4-reduce-to-mirrored]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{'replica.reduce_to': expected a per-replica value for reduction 'sum', found 'tensor<f32>', which would be added once a replica [E_NON_DISTRIBUTED_SUM]}}
  %0 = replica.reduce_to sum %k : tensor<f32> -> tensor<f32>
  replica.return
}

// -----

// It cannot be summed in a batch_reduce_to.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{'replica.batch_reduce_to': expected a per-replica value for reduction 'sum', found 'tensor<f32>', which would be added once a replica [E_NON_DISTRIBUTED_SUM]}}
  %0 = replica.batch_reduce_to sum %k : tensor<f32> -> tensor<f32>
  replica.return
}

// -----

// Only numbers can be summed [E_DTYPE_UNSUPPORTED]. [2.1-dtypes]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t(%x: tensor<4xi1> {replica.batch = "x"}) {
  // expected-error@+1 {{'replica.all_reduce': expected elements that are numbers, found 'i1' [E_DTYPE_UNSUPPORTED]}}
  %0 = replica.all_reduce sum %x : tensor<4xi1>
  replica.return
}

// -----

// Complex numbers cannot be summed [E_DTYPE_UNSUPPORTED].
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t(%x: tensor<4xcomplex<f32>> {replica.batch = "x"}) {
  // expected-error@+1 {{'replica.all_reduce': expected elements that are numbers, found 'complex<f32>' [E_DTYPE_UNSUPPORTED]}}
  %0 = replica.all_reduce sum %x : tensor<4xcomplex<f32>>
  replica.return
}

// -----

// Only numbers can be summed along axes.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%x: !replica.per_replica<tensor<4xi1>> {replica.batch = "x"}) {
  // expected-error@+1 {{'replica.reduce': expected elements that are numbers, found 'i1' [E_DTYPE_UNSUPPORTED]}}
  %0 = replica.reduce sum %x axes [0] : !replica.per_replica<tensor<4xi1>> -> tensor<i1>
  replica.return
}

// -----

// With several replicas the mean of integers is f64.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t(%x: tensor<4xi32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a result with components of type 'tensor<4xf64>', found 'tensor<4xi32>'}}
  %0 = replica.all_reduce mean %x : tensor<4xi32> -> tensor<4xi32>
  replica.return
}

// -----

// A scalar has no axis [E_SCALAR_GATHER]. [2.2-scalar]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t(%x: tensor<f32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected an operand with an axis to gather along, found the scalar 'tensor<f32>' [E_SCALAR_GATHER]}}
  %0 = replica.all_gather %x axis 0 : tensor<f32> -> tensor<f32>
  replica.return
}

// -----

// The axis of a gather is an axis of its operand [E_AXIS_RANGE]. [2.2-axis-range]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected an axis in [0, 1), found 1 [E_AXIS_RANGE]}}
  %0 = replica.all_gather %x axis 1 : tensor<4xf32> -> tensor<4xf32>
  replica.return
}

// -----

// The axis of a gather is not negative [E_AXIS_RANGE]. [2.2-axis-range]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected an axis in [0, 1), found -1 [E_AXIS_RANGE]}}
  %0 = replica.all_gather %x axis -1 : tensor<4xf32> -> tensor<4xf32>
  replica.return
}

// -----

// The rules for the axis hold in cross-replica context too. [3-gather-errors]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}, %y: !replica.per_replica<tensor<f32>> {replica.batch = "y"}) {
  // expected-error@+1 {{expected an axis in [0, 1), found -2 [E_AXIS_RANGE]}}
  %0 = replica.gather %x axis -2 : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  // expected-error@+1 {{expected an operand with an axis to gather along, found the scalar 'tensor<f32>' [E_SCALAR_GATHER]}}
  %1 = replica.gather %y axis 0 : !replica.per_replica<tensor<f32>> -> tensor<f32>
  replica.return
}

// -----

// Values whose ranks may differ are neither gathered [E_RANK_MISMATCH] nor added [E_SHAPE_MISMATCH]. [2.2-rank, 10-shape, 10-gather]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%x: !replica.per_replica<tensor<*xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{'replica.gather': expected equal ranks on all replicas, found different ones [E_RANK_MISMATCH]}}
  %0 = replica.gather %x axis 0 : !replica.per_replica<tensor<*xf32>> -> tensor<*xf32>
  // expected-error@+1 {{'replica.reduce': expected equal shapes on all replicas, found different ranks [E_SHAPE_MISMATCH]}}
  %1 = replica.reduce sum %x : !replica.per_replica<tensor<*xf32>> -> tensor<*xf32>
  replica.return
}

// -----

// Ids of a lookup that are constants are rows of the table [E_INDEX]. [8-lookup]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 't' is declared here}}
replica.variable @t : tensor<5x2xf32>
replica.step @t_step() {
  %ids = arith.constant dense<[0, 4, 5]> : tensor<3xi32>
  // expected-error@+1 {{expected ids in [0, 5), found 5 [E_INDEX]}}
  %rows = replica.lookup @t, %ids : tensor<3xi32> -> tensor<3x2xf32>
  replica.return
}

// -----

// A negative id is an error: it does not count from the end.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 't' is declared here}}
replica.variable @t : tensor<5x2xf32>
replica.step @t_step() {
  %ids = arith.constant dense<-1> : tensor<2xi64>
  // expected-error@+1 {{expected ids in [0, 5), found -1 [E_INDEX]}}
  %rows = replica.lookup @t, %ids : tensor<2xi64> -> tensor<2x2xf32>
  replica.return
}

// -----

// Ids that are a literal are checked too.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 't' is declared here}}
replica.variable @t : tensor<5x2xf32>
replica.step @t_step() {
  %ids = replica.literal dense<[1, 7]> : tensor<2xi32>
  // expected-error@+1 {{expected ids in [0, 5), found 7 [E_INDEX]}}
  %rows = replica.lookup @t, %ids : tensor<2xi32> -> tensor<2x2xf32>
  replica.return
}

// -----

// Copies that are synchronized on read differ, and `uniform` combines nothing.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'n' is declared here}}
replica.variable @n : tensor<4xf32> {synchronization = #replica.synchronization<on_read>}
replica.program @read() -> (tensor<4xf32> {replica.result = "y"}) {
  // expected-error@+1 {{reads a variable whose copies no aggregation combines in cross-replica context [E_AGG_NONE]}}
  %v = replica.read @n : tensor<4xf32>
  replica.return %v : tensor<4xf32>
}
