// The Adam update: a variable has two moments and a step counter.
replica.variable @w : tensor<5x3xf32> {initial = dense<0.5> : tensor<5x3xf32>}
replica.variable @m : tensor<5x3xf32> {initial = dense<0.0> : tensor<5x3xf32>}
replica.variable @v : tensor<5x3xf32> {initial = dense<0.0> : tensor<5x3xf32>}
replica.variable @t : tensor<f32> {initial = dense<0.0> : tensor<f32>}
replica.step @step(%x: tensor<5x3xf32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "t"}) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %b1 = arith.constant dense<0.9> : tensor<5x3xf32>
  %b1c = arith.constant dense<0.1> : tensor<5x3xf32>
  %eps = arith.constant dense<1.0e-3> : tensor<5x3xf32>
  %g = replica.all_reduce mean %x : tensor<5x3xf32>
  replica.assign_add @t, %one : tensor<f32>
  %t = replica.read @t : tensor<f32>
  %m = replica.read @m : tensor<5x3xf32>
  %v = replica.read @v : tensor<5x3xf32>
  %ma = arith.mulf %m, %b1 : tensor<5x3xf32>
  %mb = arith.mulf %g, %b1c : tensor<5x3xf32>
  %mn = arith.addf %ma, %mb : tensor<5x3xf32>
  %g2 = arith.mulf %g, %g : tensor<5x3xf32>
  %va = arith.mulf %v, %b1 : tensor<5x3xf32>
  %vb = arith.mulf %g2, %b1c : tensor<5x3xf32>
  %vn = arith.addf %va, %vb : tensor<5x3xf32>
  replica.assign @m, %mn : tensor<5x3xf32>
  replica.assign @v, %vn : tensor<5x3xf32>
  %te = tensor.extract %t[] : tensor<f32>
  %p = arith.constant 0.9 : f32
  %c = math.powf %p, %te : f32
  %f1 = arith.constant 1.0 : f32
  %d = arith.subf %f1, %c : f32
  %ds = tensor.splat %d : tensor<5x3xf32>
  %mh = arith.divf %mn, %ds : tensor<5x3xf32>
  %vh = arith.divf %vn, %ds : tensor<5x3xf32>
  %sq = math.sqrt %vh : tensor<5x3xf32>
  %den = arith.addf %sq, %eps : tensor<5x3xf32>
  %st = arith.divf %mh, %den : tensor<5x3xf32>
  replica.assign_sub @w, %st : tensor<5x3xf32>
  replica.return %t : tensor<f32>
}
