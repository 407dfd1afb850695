// RUN: lockstep-opt %s --apply-strategy --split-input-file --verify-diagnostics -o /dev/null

// Copies that are never made equal [E_SYNC_NONE]. [5.1-none]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-error@+1 {{expected a variable that is synchronized on write or on read, found synchronization 'none' [E_SYNC_NONE]}}
replica.variable @v : tensor<f32> {synchronization = #replica.synchronization<none>}

// -----

// The mean of integers would not be one of them [E_MEAN_INT_VAR] ... [5.1-mean-int]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-error@+1 {{expected floats for aggregation 'mean', found 'tensor<4xi32>' [E_MEAN_INT_VAR]}}
replica.variable @v : tensor<4xi32> {aggregation = #replica.aggregation<mean>}

// -----

// ... which matters where there is one copy when it is assigned. [5.1-mean-int]
replica.strategy @s {kind = #replica.kind<central_storage>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<i32> {aggregation = #replica.aggregation<mean>}
replica.step @t(%x: tensor<i32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected floats for aggregation 'mean', found 'tensor<i32>' [E_MEAN_INT_VAR]}}
  replica.assign_add @v, %x : tensor<i32>
  replica.return
}

// -----

// Replicas that assign without an aggregation [E_AGG_NONE] ... [5.2-none]
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

// ... or scatter without one [E_AGG_NONE].
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<4xf32> {aggregation = #replica.aggregation<none>}
replica.step @t(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{replicas scatter into a variable without an aggregation, its copies could diverge [E_AGG_NONE]}}
  replica.scatter add @v, %i, %v : tensor<2xi64>, tensor<2xf32>
  replica.return
}

// -----

// Copies that no aggregation combines cannot be read together [E_AGG_NONE], by the replicas neither. [5.3-read-none]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<none>, synchronization = #replica.synchronization<on_read>}
replica.step @t() {
  // expected-error@+1 {{reads a variable whose copies no aggregation combines for all replicas together [E_AGG_NONE]}}
  %v = replica.read @v {aggregated} : tensor<f32>
  replica.return
}

// -----

// Nor in cross-replica context [E_AGG_NONE]. [4-read-var, 5.3-read-none, 10-on-read]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<none>, synchronization = #replica.synchronization<on_read>}
replica.program @p() {
  // expected-error@+1 {{reads a variable whose copies no aggregation combines in cross-replica context [E_AGG_NONE]}}
  %v = replica.read @v : tensor<f32>
  replica.return
}

// -----

// A sum of copies cannot be changed by one value, assign_add [E_ONREAD_ASSIGN_ADD_SUM]. [5.3-add-sum, 10-on-read]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{'replica.assign_add': the variable is the sum of its copies, which one value cannot change in cross-replica context; assign the new sum instead [E_ONREAD_ASSIGN_ADD_SUM]}}
  replica.assign_add @v, %k : tensor<f32>
  replica.return
}

// -----

// A sum of copies cannot be changed by one value, assign_sub [E_ONREAD_ASSIGN_ADD_SUM]. [5.3-add-sum]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{'replica.assign_sub': the variable is the sum of its copies, which one value cannot change in cross-replica context; assign the new sum instead [E_ONREAD_ASSIGN_ADD_SUM]}}
  replica.assign_sub @v, %k : tensor<f32>
  replica.return
}

// -----

// Rows of copies that differ have no common place [E_SCATTER_ONREAD]. [5.3-scatter, 10-on-read]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<4xf32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.step @t(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected a variable whose copies are equal, found one that is synchronized on read [E_SCATTER_ONREAD]}}
  replica.scatter add @v, %i, %v : tensor<2xi64>, tensor<2xf32>
  replica.return
}

// -----

// Integers have no mean that they could keep, also where a variable has one copy [E_MEAN_INT_VAR]. [5.2-mean-int, 5.2-scatter-mean-int]
replica.strategy @s {kind = #replica.kind<central_storage>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<4xi32> {aggregation = #replica.aggregation<mean>}
replica.step @t(%v: tensor<2xi32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected floats for aggregation 'mean', found 'tensor<4xi32>' [E_MEAN_INT_VAR]}}
  replica.scatter div @v, %i, %v : tensor<2xi64>, tensor<2xi32>
  replica.return
}

// -----

// Booleans are assigned, not added: to a variable, or by the aggregation of what replicas assign [E_DTYPE_UNSUPPORTED]. [5.2-booleans]
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

// A minimum of what replicas add has no meaning [E_SCATTER_AGG]. [5.2-scatter-other]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 'v' is declared here}}
replica.variable @v : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.step @t(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected 'add', 'sub', 'mul' or 'div' for aggregation 'mean', found 'min' [E_SCATTER_AGG]}}
  replica.scatter min @v, %i, %v : tensor<2xi64>, tensor<2xf32>
  replica.return
}

// -----

// A literal is not a number of each replica: in an assignment ... [5.2-sum-literal]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<sum>}
replica.step @t() {
  %five = replica.literal dense<5.0> : tensor<f32>
  // expected-error@+1 {{expected values of the replicas to add, found one literal for all of them [E_NON_DISTRIBUTED_SUM]}}
  replica.assign_add @v, %five : tensor<f32>
  replica.return
}

// -----

// ... in an all-reduce ... [10-shared-sum]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t() {
  %five = replica.literal dense<5.0> : tensor<f32>
  // expected-error@+1 {{expected values of the replicas to add, found one literal for all of them [E_NON_DISTRIBUTED_SUM]}}
  %0 = replica.all_reduce sum %five : tensor<f32>
  replica.return
}

// -----

// ... nor is a value that is equal everywhere [E_NON_DISTRIBUTED_SUM], in a reduce ... [3.1-none-plain-sum]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{'replica.reduce': expected a per-replica value for reduction 'sum', found 'tensor<f32>', which would be added once a replica [E_NON_DISTRIBUTED_SUM]}}
  %0 = replica.reduce sum %k : tensor<f32> -> tensor<f32>
  replica.return
}

// -----

// ... a reduce_to ... [4-reduce-to-mirrored]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{'replica.reduce_to': expected a per-replica value for reduction 'sum', found 'tensor<f32>', which would be added once a replica [E_NON_DISTRIBUTED_SUM]}}
  %0 = replica.reduce_to sum %k : tensor<f32> -> tensor<f32>
  replica.return
}

// -----

// ... a batch_reduce_to.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{'replica.batch_reduce_to': expected a per-replica value for reduction 'sum', found 'tensor<f32>', which would be added once a replica [E_NON_DISTRIBUTED_SUM]}}
  %0 = replica.batch_reduce_to sum %k : tensor<f32> -> tensor<f32>
  replica.return
}

// -----

// Only numbers are added up [E_DTYPE_UNSUPPORTED] ... [2.1-dtypes]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t(%x: tensor<4xi1> {replica.batch = "x"}) {
  // expected-error@+1 {{'replica.all_reduce': expected elements that are numbers, found 'i1' [E_DTYPE_UNSUPPORTED]}}
  %0 = replica.all_reduce sum %x : tensor<4xi1>
  replica.return
}

// -----

// ... of which complex ones are none [E_DTYPE_UNSUPPORTED].
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t(%x: tensor<4xcomplex<f32>> {replica.batch = "x"}) {
  // expected-error@+1 {{'replica.all_reduce': expected elements that are numbers, found 'complex<f32>' [E_DTYPE_UNSUPPORTED]}}
  %0 = replica.all_reduce sum %x : tensor<4xcomplex<f32>>
  replica.return
}

// -----

// The same along axes.
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

// The axis is one of the operand [E_AXIS_RANGE] ... [2.2-axis-range]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected an axis in [0, 1), found 1 [E_AXIS_RANGE]}}
  %0 = replica.all_gather %x axis 1 : tensor<4xf32> -> tensor<4xf32>
  replica.return
}

// -----

// ... counted from the front [E_AXIS_RANGE]. [2.2-axis-range]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.step @t(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected an axis in [0, 1), found -1 [E_AXIS_RANGE]}}
  %0 = replica.all_gather %x axis -1 : tensor<4xf32> -> tensor<4xf32>
  replica.return
}

// -----

// The same in cross-replica context. [3-gather-errors]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}, %y: !replica.per_replica<tensor<f32>> {replica.batch = "y"}) {
  // expected-error@+1 {{expected an axis in [0, 1), found -2 [E_AXIS_RANGE]}}
  %0 = replica.gather %x axis -2 : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  // expected-error@+1 {{expected an operand with an axis to gather along, found the scalar 'tensor<f32>' [E_SCALAR_GATHER]}}
  %1 = replica.gather %y axis 0 : !replica.per_replica<tensor<f32>> -> tensor<f32>
  replica.return
}

// -----

// Values without a common rank are neither gathered [E_RANK_MISMATCH] nor added [E_SHAPE_MISMATCH]. [2.2-rank, 10-shape, 10-gather]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @p(%x: !replica.per_replica<tensor<*xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{'replica.gather': expected equal ranks on all replicas, found different ones [E_RANK_MISMATCH]}}
  %0 = replica.gather %x axis 0 : !replica.per_replica<tensor<*xf32>> -> tensor<*xf32>
  // expected-error@+1 {{'replica.reduce': expected equal shapes on all replicas, found different ranks [E_SHAPE_MISMATCH]}}
  %1 = replica.reduce sum %x : !replica.per_replica<tensor<*xf32>> -> tensor<*xf32>
  replica.return
}

// -----

// Rows that do not exist, where they are known [E_INDEX]. [8-lookup]
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

// A negative one is not counted from the end.
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

// So is a number of the program.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{variable 't' is declared here}}
replica.variable @t : tensor<5x2xf32>
replica.step @t_step() {
  %ids = replica.literal dense<[1, 7]> : tensor<2xi32>
  // expected-error@+1 {{expected ids in [0, 5), found 7 [E_INDEX]}}
  %rows = replica.lookup @t, %ids : tensor<2xi32> -> tensor<2x2xf32>
  replica.return
}
