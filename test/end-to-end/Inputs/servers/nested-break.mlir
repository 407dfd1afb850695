// Nested loops, both of which end at once when an element of a variable is large enough.
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<mean>, initial = dense<0.0> : tensor<4xf32>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %t: tensor<i32> {replica.scalar = "t"})
    -> (tensor<i32> {replica.metric = "n"}) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c1 = arith.constant 1 : index
  %lim = arith.constant 3.0 : f32
  %t0 = tensor.extract %t[] : tensor<i32>
  cf.br ^outer(%zero, %zero : i32, i32)
^outer(%i: i32, %n: i32):
  %more = arith.cmpi slt, %i, %t0 : i32
  cf.cond_br %more, ^inner(%zero, %n : i32, i32), ^end(%n : i32)
^inner(%j: i32, %k: i32):
  %in = arith.cmpi slt, %j, %i : i32
  cf.cond_br %in, ^body, ^next
^body:
  %a = math.absf %x : tensor<4xf32>
  replica.assign_add @w, %a : tensor<4xf32>
  %v = replica.read @w : tensor<4xf32>
  %e = tensor.extract %v[%c1] : tensor<4xf32>
  %stop = arith.cmpf ogt, %e, %lim : f32
  %k1 = arith.addi %k, %one : i32
  %j1 = arith.addi %j, %one : i32
  cf.cond_br %stop, ^end(%k1 : i32), ^inner(%j1, %k1 : i32, i32)
^next:
  %i1 = arith.addi %i, %one : i32
  cf.br ^outer(%i1, %k : i32, i32)
^end(%r: i32):
  %nt = tensor.from_elements %r : tensor<i32>
  replica.return %nt : tensor<i32>
}
