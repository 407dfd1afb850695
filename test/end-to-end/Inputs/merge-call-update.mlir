// w = 10 - mean(1, 2), once for both copies; n counts the call once, not once per replica; gather and broadcast_to.
replica.variable @w : tensor<f32> {initial = dense<10.0> : tensor<f32>}
replica.variable @n : tensor<i32> {initial = dense<0> : tensor<i32>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"})
    -> (tensor<2xf32> {replica.result = "g"}, tensor<f32> {replica.result = "b"}, tensor<f32> {replica.result = "o"}) {
  %r = tensor.expand_shape %x [] output_shape [1] : tensor<f32> into tensor<1xf32>
  %g, %b, %o = replica.merge_call (%x, %r : tensor<f32>, tensor<1xf32>) -> tensor<2xf32>, tensor<f32>, tensor<f32> {
  ^bb0(%p: !replica.per_replica<tensor<f32>>, %q: !replica.per_replica<tensor<1xf32>>):
    %s = replica.reduce_to mean %p, @w : !replica.per_replica<tensor<f32>> -> !replica.mirrored<tensor<f32>>
    %updated = replica.update @w (%s : !replica.mirrored<tensor<f32>>) -> tensor<f32> {
    ^bb1(%current: tensor<f32>, %d: tensor<f32>):
      %new = arith.subf %current, %d : tensor<f32>
      replica.yield %new, %new : tensor<f32>, tensor<f32>
    }
    %one = arith.constant dense<1> : tensor<i32>
    replica.assign_add @n, %one : tensor<i32>
    %all = replica.gather %q axis 0 : !replica.per_replica<tensor<1xf32>> -> tensor<2xf32>
    %m = replica.broadcast_to %updated : tensor<f32> -> !replica.mirrored<tensor<f32>>
    replica.yield %all, %m, %p : tensor<2xf32>, !replica.mirrored<tensor<f32>>, !replica.per_replica<tensor<f32>>
  }
  replica.return %g, %b, %o : tensor<2xf32>, tensor<f32>, tensor<f32>
}

