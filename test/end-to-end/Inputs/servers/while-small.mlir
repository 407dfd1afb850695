// A loop that ends when an element of a variable is large enough; the server and the replicas each evaluate the condition.
replica.variable @v : tensor<2xf32> {aggregation = #replica.aggregation<mean>, initial = dense<0.0> : tensor<2xf32>}
replica.variable @k : tensor<i32> {initial = dense<0> : tensor<i32>}
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) -> (tensor<i32> {replica.metric = "turns"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %most = arith.constant 5 : i32
  %limit = arith.constant 2.5 : f32
  %n = scf.while (%i = %zero) : (i32) -> i32 {
    %v = replica.read @v : tensor<2xf32>
    %e = tensor.extract %v[%c0] : tensor<2xf32>
    %small = arith.cmpf olt, %e, %limit : f32
    %few = arith.cmpi slt, %i, %most : i32
    %go = arith.andi %small, %few : i1
    scf.condition(%go) %i : i32
  } do {
  ^bb0(%i: i32):
    %a = math.absf %x : tensor<2xf32>
    replica.assign_add @v, %a : tensor<2xf32>
    %next = arith.addi %i, %one : i32
    scf.yield %next : i32
  }
  %t = tensor.from_elements %n : tensor<i32>
  replica.assign @k, %t : tensor<i32>
  replica.return %t : tensor<i32>
}
