// RUN: lockstep-opt %s --set-replicas=replicas=3 --structure-control-flow --split-input-file | FileCheck %s

// A switch becomes nested branches; the default is the innermost else side.
// CHECK-LABEL: replica.step @switch(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32> {replica.batch = "x"}, %[[Y:[a-z0-9]*]]: tensor<4xf32> {replica.batch = "y"}, %[[N:[a-z0-9]*]]: tensor<index>
// CHECK: %[[I:.*]] = tensor.extract %[[N]][]
// CHECK: %[[FIVE:.*]] = arith.constant 5 : index
// CHECK: %[[IS:.*]] = arith.cmpi eq, %[[I]], %[[FIVE]] : index
// CHECK: %[[R:.*]] = scf.if %[[IS]] -> (tensor<4xf32>) {
// CHECK: replica.all_reduce sum
// CHECK: scf.yield
// CHECK: } else {
// CHECK: %[[MINUS:.*]] = arith.constant -1 : index
// CHECK: %[[ISNOT:.*]] = arith.cmpi eq, %[[I]], %[[MINUS]] : index
// CHECK: %[[Q:.*]] = scf.if %[[ISNOT]] -> (tensor<4xf32>) {
// CHECK: replica.all_reduce mean %[[X]]
// CHECK: } else {
// CHECK: replica.all_reduce mean %[[Y]]
// CHECK: scf.yield %[[Q]]
// CHECK: replica.return %[[R]]
// CHECK-NOT: index_switch
replica.step @switch(%x: tensor<4xf32> {replica.batch = "x"}, %y: tensor<4xf32> {replica.batch = "y"}, %n: tensor<index> {replica.batch = "n"}) -> (tensor<4xf32> {replica.result = "r"}) {
  %i = tensor.extract %n[] : tensor<index>
  %r = scf.index_switch %i -> tensor<4xf32>
  case 5 {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  case -1 {
    %0 = replica.all_reduce mean %x : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  default {
    %0 = replica.all_reduce mean %y : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  replica.return %r : tensor<4xf32>
}

// -----

// Cases that no replica takes are erased: of three replicas, replica 1 takes case 1, and the others take the default.
// CHECK-LABEL: replica.step @ranks(
// CHECK: scf.if
// CHECK: replica.all_reduce sum
// CHECK: } else {
// CHECK-NOT: scf.if
// CHECK: replica.all_reduce mean
// CHECK-NOT: replica.all_gather
// CHECK: replica.return
replica.step @ranks(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %n = tensor.extract %id[] : tensor<i32>
  %i = arith.index_cast %n : i32 to index
  scf.index_switch %i
  case 7 {
    %0 = replica.all_gather %x axis 0 : tensor<4xf32> -> tensor<12xf32>
    scf.yield
  }
  case 1 {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield
  }
  default {
    %0 = replica.all_reduce mean %x : tensor<4xf32>
    scf.yield
  }
  replica.return
}

// -----

// If all replicas take the same case, no branch is left.
// CHECK-LABEL: replica.step @one(
// CHECK-NOT: scf.if
// CHECK: %[[S:.*]] = replica.all_reduce mean
// CHECK: replica.return %[[S]]
replica.step @one(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.result = "r"}) {
  %id = replica.id : tensor<i32>
  %n = tensor.extract %id[] : tensor<i32>
  %i = arith.index_cast %n : i32 to index
  %r = scf.index_switch %i -> tensor<4xf32>
  case 7 {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  default {
    %0 = replica.all_reduce mean %x : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  replica.return %r : tensor<4xf32>
}

// -----

// A switch in the scalar code of an operation stays, since it becomes part of a kernel.
// CHECK-LABEL: replica.step @inside(
// CHECK: scf.index_switch
replica.step @inside(%x: tensor<4xindex> {replica.batch = "x"}) -> (tensor<4xi32> {replica.result = "r"}) {
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xindex>) outs(%e : tensor<4xi32>) {
  ^bb0(%in: index, %out: i32):
    %s = scf.index_switch %in -> i32
    case 1 {
      %c = arith.constant 10 : i32
      scf.yield %c : i32
    }
    default {
      %c = arith.constant 20 : i32
      scf.yield %c : i32
    }
    linalg.yield %s : i32
  } -> tensor<4xi32>
  replica.return %r : tensor<4xi32>
}

// -----

// Blocks become branches and loops. Uninitialized memory replaces values that are not defined on a path, here where the loop is skipped. A loop
// whose condition is computed at its end carries it as a flag: the region of the condition computes nothing.
// CHECK-LABEL: replica.step @blocks(
// CHECK: scf.if
// CHECK: %[[GO:.*]] = arith.constant true
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[FLAG:.*]] = %[[GO]])
// CHECK-NEXT: scf.condition(%[[FLAG]])
// CHECK: } do {
// CHECK: replica.all_reduce sum
// CHECK: scf.yield
// CHECK: } else {
// CHECK-NOT: ub.poison
// CHECK: replica.return
// CHECK-NOT: cf.
replica.step @blocks(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.scalar = "c"}) -> (tensor<4xf32> {replica.result = "r"}) {
  %go = tensor.extract %c[] : tensor<i1>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  cf.cond_br %go, ^loop(%zero, %x : i32, tensor<4xf32>), ^out(%x : tensor<4xf32>)
^loop(%i: i32, %y: tensor<4xf32>):
  %0 = replica.all_reduce sum %y : tensor<4xf32>
  %next = arith.addi %i, %one : i32
  %more = arith.cmpi slt, %next, %four : i32
  cf.cond_br %more, ^loop(%next, %0 : i32, tensor<4xf32>), ^out(%0 : tensor<4xf32>)
^out(%r: tensor<4xf32>):
  replica.return %r : tensor<4xf32>
}

// -----

// A switch between blocks becomes nested branches.
// CHECK-LABEL: replica.step @block_switch(
// CHECK: scf.if
// CHECK: scf.if
// CHECK-NOT: cf.switch
replica.step @block_switch(%x: tensor<4xf32> {replica.batch = "x"}, %n: tensor<i32> {replica.scalar = "n"}) {
  %i = tensor.extract %n[] : tensor<i32>
  cf.switch %i : i32, [
    default: ^out,
    1: ^sum,
    2: ^mean
  ]
^sum:
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^out
^mean:
  %1 = replica.all_reduce mean %x : tensor<4xf32>
  cf.br ^out
^out:
  replica.return
}
