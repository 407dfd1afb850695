// Variables of booleans, i8, f64 and bf16, split by the bytes of their rows.
replica.variable @a : tensor<i1> {initial = dense<false> : tensor<i1>}
replica.variable @b : tensor<7xi8> {aggregation = #replica.aggregation<sum>, initial = dense<1> : tensor<7xi8>}
replica.variable @c : tensor<3x4xf64> {aggregation = #replica.aggregation<mean>, initial = dense<1.0> : tensor<3x4xf64>}
replica.variable @d : tensor<5xbf16> {aggregation = #replica.aggregation<mean>, initial = dense<1.0> : tensor<5xbf16>}
replica.step @step(%x: tensor<7xi32> {replica.batch = "x"}, %y: tensor<3x4xf64> {replica.batch = "y"},
                   %z: tensor<5xf32> {replica.batch = "z"}) -> (tensor<i1> {replica.metric = "a"}) {
  %t = arith.trunci %x : tensor<7xi32> to tensor<7xi8>
  %zb = arith.truncf %z : tensor<5xf32> to tensor<5xbf16>
  replica.assign_add @b, %t : tensor<7xi8>
  replica.assign_sub @c, %y : tensor<3x4xf64>
  replica.assign @d, %zb : tensor<5xbf16>
  %c0 = arith.constant 0 : index
  %b = replica.read @b : tensor<7xi8>
  %e = tensor.extract %b[%c0] : tensor<7xi8>
  %zero = arith.constant 0 : i8
  %p = arith.cmpi sgt, %e, %zero : i8
  %pt = tensor.from_elements %p : tensor<i1>
  replica.assign @a, %pt : tensor<i1>
  scf.if %p {
    replica.assign_add @b, %t : tensor<7xi8>
  }
  %a = replica.read @a : tensor<i1>
  replica.return %a : tensor<i1>
}
