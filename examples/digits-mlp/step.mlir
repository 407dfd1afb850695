#loc = loc(unknown)
#loc2 = loc("params/b1")
#loc3 = loc("params/b2")
#loc4 = loc("params/w1")
#loc5 = loc("params/w2")
#loc6 = loc("velocity/b1")
#loc7 = loc("velocity/b2")
#loc8 = loc("velocity/w1")
#loc9 = loc("velocity/w2")
#loc10 = loc("x")
#loc11 = loc("y")
#loc12 = loc("lr")
#loc13 = loc("seed")
#loc14 = loc("step")
#loc35 = loc("mask")
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1) -> (d1)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1) -> (0, d1)>
#map6 = affine_map<(d0, d1) -> ()>
#map7 = affine_map<(d0, d1) -> (d0)>
#map8 = affine_map<(d0) -> ()>
#map9 = affine_map<(d0) -> (d0)>
#map10 = affine_map<(d0, d1) -> (d0, 0)>
#map11 = affine_map<(d0, d1, d2) -> ()>
#map12 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map13 = affine_map<(d0, d1, d2) -> (d2)>
#map14 = affine_map<(d0, d1, d2) -> (0, d1, d2)>
#map15 = affine_map<() -> ()>
#map16 = affine_map<(d0, d1) -> (d1, d0)>
#map17 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map18 = affine_map<(d0, d1, d2) -> (d1, d2)>
"builtin.module"() <{sym_name = "digits_mlp"}> ({
  "func.func"() <{arg_attrs = [{replica.variable = "params/b1"}, {replica.variable = "params/b2"}, {replica.variable = "params/w1"}, {replica.variable = "params/w2"}, {replica.variable = "velocity/b1"}, {replica.variable = "velocity/b2"}, {replica.variable = "velocity/w1"}, {replica.variable = "velocity/w2"}, {replica.batch = "x"}, {replica.batch = "y"}, {replica.default = 1.000000e-01 : f32, replica.scalar = "lr"}, {replica.scalar = "seed"}, {replica.scalar = "step"}], function_type = (tensor<128xf32>, tensor<10xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<128xf32>, tensor<10xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<16x64xf32>, tensor<16xi32>, tensor<f32>, tensor<ui32>, tensor<i32>) -> (tensor<128xf32>, tensor<10xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<128xf32>, tensor<10xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<f32>), res_attrs = [{replica.variable = "params/b1"}, {replica.variable = "params/b2"}, {replica.variable = "params/w1"}, {replica.variable = "params/w2"}, {replica.variable = "velocity/b1"}, {replica.variable = "velocity/b2"}, {replica.variable = "velocity/w1"}, {replica.variable = "velocity/w2"}, {replica.metric = "loss"}], sym_name = "step", sym_visibility = "public"}> ({
  ^bb0(%arg141: tensor<128xf32> loc("params/b1"), %arg142: tensor<10xf32> loc("params/b2"), %arg143: tensor<64x128xf32> loc("params/w1"), %arg144: tensor<128x10xf32> loc("params/w2"), %arg145: tensor<128xf32> loc("velocity/b1"), %arg146: tensor<10xf32> loc("velocity/b2"), %arg147: tensor<64x128xf32> loc("velocity/w1"), %arg148: tensor<128x10xf32> loc("velocity/w2"), %arg149: tensor<16x64xf32> loc("x"), %arg150: tensor<16xi32> loc("y"), %arg151: tensor<f32> loc("lr"), %arg152: tensor<ui32> loc("seed"), %arg153: tensor<i32> loc("step")):
    %131 = "builtin.unrealized_conversion_cast"(%arg152) : (tensor<ui32>) -> tensor<i32> loc(#loc1)
    %132 = "arith.constant"() <{value = 6.250000e-02 : f32}> : () -> f32 loc(#loc)
    %133 = "arith.constant"() <{value = dense<0.899999976> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %134 = "arith.constant"() <{value = 1.600000e+01 : f32}> : () -> f32 loc(#loc)
    %135 = "arith.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32> loc(#loc93)
    %136 = "arith.constant"() <{value = 9 : index}> : () -> index loc(#loc)
    %137 = "arith.constant"() <{value = 0 : index}> : () -> index loc(#loc)
    %138 = "arith.constant"() <{value = true}> : () -> i1 loc(#loc93)
    %139 = "arith.constant"() <{value = dense<9> : tensor<1xi32>}> : () -> tensor<1xi32> loc(#loc93)
    %140 = "arith.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32> loc(#loc93)
    %141 = "arith.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32> loc(#loc)
    %142 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32 loc(#loc94)
    %143 = "arith.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %144 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %145 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32 loc(#loc)
    %146 = "tensor.empty"() : () -> tensor<16x128xf32> loc(#loc95)
    %147 = "linalg.fill"(%145, %146) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg393: f32 loc(unknown), %arg394: f32 loc(unknown)):
      "linalg.yield"(%arg393) : (f32) -> () loc(#loc95)
    }) : (f32, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc95)
    %148 = "linalg.matmul"(%arg149, %arg143, %147) <{indexing_maps = [#map, #map1, #map2], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg390: f32 loc(unknown), %arg391: f32 loc(unknown), %arg392: f32 loc(unknown)):
      %337 = "arith.mulf"(%arg390, %arg391) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc95)
      %338 = "arith.addf"(%arg392, %337) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc95)
      "linalg.yield"(%338) : (f32) -> () loc(#loc95)
    }) : (tensor<16x64xf32>, tensor<64x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc95)
    %149 = "tensor.empty"() : () -> tensor<1x128xf32> loc(#loc95)
    %150 = "linalg.generic"(%arg141, %149) <{indexing_maps = [#map3, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg388: f32 loc(unknown), %arg389: f32 loc(unknown)):
      "linalg.yield"(%arg388) : (f32) -> () loc(#loc95)
    }) : (tensor<128xf32>, tensor<1x128xf32>) -> tensor<1x128xf32> loc(#loc95)
    %151 = "linalg.generic"(%150, %146) <{indexing_maps = [#map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg386: f32 loc(unknown), %arg387: f32 loc(unknown)):
      "linalg.yield"(%arg386) : (f32) -> () loc(#loc95)
    }) : (tensor<1x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc95)
    %152 = "linalg.generic"(%148, %151, %146) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg383: f32 loc(unknown), %arg384: f32 loc(unknown), %arg385: f32 loc(unknown)):
      %336 = "arith.addf"(%arg383, %arg384) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc95)
      "linalg.yield"(%336) : (f32) -> () loc(#loc95)
    }) : (tensor<16x128xf32>, tensor<16x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc95)
    %153 = "linalg.generic"(%144, %146) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg381: f32 loc(unknown), %arg382: f32 loc(unknown)):
      "linalg.yield"(%arg381) : (f32) -> () loc(#loc96)
    }) : (tensor<f32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc96)
    %154 = "linalg.generic"(%152, %153, %146) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg378: f32 loc(unknown), %arg379: f32 loc(unknown), %arg380: f32 loc(unknown)):
      %335 = "arith.maximumf"(%arg378, %arg379) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc96)
      "linalg.yield"(%335) : (f32) -> () loc(#loc96)
    }) : (tensor<16x128xf32>, tensor<16x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc96)
    %155 = "tensor.empty"() : () -> tensor<16x128xi1> loc(#loc96)
    %156 = "linalg.generic"(%152, %153, %155) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg375: f32 loc(unknown), %arg376: f32 loc(unknown), %arg377: i1 loc(unknown)):
      %334 = "arith.cmpf"(%arg375, %arg376) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1 loc(#loc96)
      "linalg.yield"(%334) : (i1) -> () loc(#loc96)
    }) : (tensor<16x128xf32>, tensor<16x128xf32>, tensor<16x128xi1>) -> tensor<16x128xi1> loc(#loc96)
    %157 = "tensor.empty"() : () -> tensor<16x10xf32> loc(#loc97)
    %158 = "linalg.fill"(%145, %157) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg373: f32 loc(unknown), %arg374: f32 loc(unknown)):
      "linalg.yield"(%arg373) : (f32) -> () loc(#loc97)
    }) : (f32, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc97)
    %159 = "linalg.matmul"(%154, %arg144, %158) <{indexing_maps = [#map, #map1, #map2], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg370: f32 loc(unknown), %arg371: f32 loc(unknown), %arg372: f32 loc(unknown)):
      %332 = "arith.mulf"(%arg370, %arg371) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc97)
      %333 = "arith.addf"(%arg372, %332) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc97)
      "linalg.yield"(%333) : (f32) -> () loc(#loc97)
    }) : (tensor<16x128xf32>, tensor<128x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc97)
    %160 = "tensor.empty"() : () -> tensor<1x10xf32> loc(#loc97)
    %161 = "linalg.generic"(%arg142, %160) <{indexing_maps = [#map3, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg368: f32 loc(unknown), %arg369: f32 loc(unknown)):
      "linalg.yield"(%arg368) : (f32) -> () loc(#loc97)
    }) : (tensor<10xf32>, tensor<1x10xf32>) -> tensor<1x10xf32> loc(#loc97)
    %162 = "linalg.generic"(%161, %157) <{indexing_maps = [#map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg366: f32 loc(unknown), %arg367: f32 loc(unknown)):
      "linalg.yield"(%arg366) : (f32) -> () loc(#loc97)
    }) : (tensor<1x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc97)
    %163 = "linalg.generic"(%159, %162, %157) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg363: f32 loc(unknown), %arg364: f32 loc(unknown), %arg365: f32 loc(unknown)):
      %331 = "arith.addf"(%arg363, %arg364) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc97)
      "linalg.yield"(%331) : (f32) -> () loc(#loc97)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc97)
    %164 = "tensor.empty"() : () -> tensor<16xf32> loc(#loc94)
    %165 = "linalg.fill"(%142, %164) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg361: f32 loc(unknown), %arg362: f32 loc(unknown)):
      "linalg.yield"(%arg361) : (f32) -> () loc(#loc94)
    }) : (f32, tensor<16xf32>) -> tensor<16xf32> loc(#loc94)
    %166 = "linalg.generic"(%163, %165) <{indexing_maps = [#map4, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg359: f32 loc(unknown), %arg360: f32 loc(unknown)):
      %330 = "arith.maximumf"(%arg360, %arg359) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc94)
      "linalg.yield"(%330) : (f32) -> () loc(#loc94)
    }) : (tensor<16x10xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc94)
    %167 = "linalg.generic"(%143, %164) <{indexing_maps = [#map8, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg357: f32 loc(unknown), %arg358: f32 loc(unknown)):
      "linalg.yield"(%arg357) : (f32) -> () loc(#loc94)
    }) : (tensor<f32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc94)
    %168 = "linalg.generic"(%167, %166, %164) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg354: f32 loc(unknown), %arg355: f32 loc(unknown), %arg356: f32 loc(unknown)):
      %329 = "arith.maximumf"(%arg354, %arg355) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc94)
      "linalg.yield"(%329) : (f32) -> () loc(#loc94)
    }) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc94)
    %169 = "tensor.empty"() : () -> tensor<16x1xf32> loc(#loc94)
    %170 = "linalg.generic"(%168, %169) <{indexing_maps = [#map7, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg352: f32 loc(unknown), %arg353: f32 loc(unknown)):
      "linalg.yield"(%arg352) : (f32) -> () loc(#loc94)
    }) : (tensor<16xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc94)
    %171 = "linalg.generic"(%170, %157) <{indexing_maps = [#map10, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg350: f32 loc(unknown), %arg351: f32 loc(unknown)):
      "linalg.yield"(%arg350) : (f32) -> () loc(#loc94)
    }) : (tensor<16x1xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc94)
    %172 = "linalg.generic"(%163, %171, %157) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg347: f32 loc(unknown), %arg348: f32 loc(unknown), %arg349: f32 loc(unknown)):
      %328 = "arith.subf"(%arg347, %arg348) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc94)
      "linalg.yield"(%328) : (f32) -> () loc(#loc94)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc94)
    %173 = "linalg.generic"(%172, %157) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg345: f32 loc(unknown), %arg346: f32 loc(unknown)):
      %327 = "math.exp"(%arg345) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc94)
      "linalg.yield"(%327) : (f32) -> () loc(#loc94)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc94)
    %174 = "linalg.fill"(%145, %164) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg343: f32 loc(unknown), %arg344: f32 loc(unknown)):
      "linalg.yield"(%arg343) : (f32) -> () loc(#loc94)
    }) : (f32, tensor<16xf32>) -> tensor<16xf32> loc(#loc94)
    %175 = "linalg.generic"(%173, %174) <{indexing_maps = [#map4, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg341: f32 loc(unknown), %arg342: f32 loc(unknown)):
      %326 = "arith.addf"(%arg342, %arg341) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc94)
      "linalg.yield"(%326) : (f32) -> () loc(#loc94)
    }) : (tensor<16x10xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc94)
    %176 = "linalg.generic"(%175, %169) <{indexing_maps = [#map7, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg339: f32 loc(unknown), %arg340: f32 loc(unknown)):
      "linalg.yield"(%arg339) : (f32) -> () loc(#loc94)
    }) : (tensor<16xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc94)
    %177 = "linalg.generic"(%176, %169) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg337: f32 loc(unknown), %arg338: f32 loc(unknown)):
      %325 = "math.log"(%arg337) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc94)
      "linalg.yield"(%325) : (f32) -> () loc(#loc94)
    }) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc94)
    %178 = "linalg.generic"(%177, %157) <{indexing_maps = [#map10, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg335: f32 loc(unknown), %arg336: f32 loc(unknown)):
      "linalg.yield"(%arg335) : (f32) -> () loc(#loc94)
    }) : (tensor<16x1xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc94)
    %179 = "linalg.generic"(%172, %178, %157) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg332: f32 loc(unknown), %arg333: f32 loc(unknown), %arg334: f32 loc(unknown)):
      %324 = "arith.subf"(%arg332, %arg333) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc94)
      "linalg.yield"(%324) : (f32) -> () loc(#loc94)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc94)
    %180 = "tensor.empty"() : () -> tensor<16x1xi32> loc(#loc98)
    %181 = "linalg.generic"(%arg150, %180) <{indexing_maps = [#map7, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg330: i32 loc(unknown), %arg331: i32 loc(unknown)):
      "linalg.yield"(%arg330) : (i32) -> () loc(#loc98)
    }) : (tensor<16xi32>, tensor<16x1xi32>) -> tensor<16x1xi32> loc(#loc98)
    %182 = "linalg.generic"(%141, %180) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg328: i32 loc(unknown), %arg329: i32 loc(unknown)):
      "linalg.yield"(%arg328) : (i32) -> () loc(#loc93)
    }) : (tensor<i32>, tensor<16x1xi32>) -> tensor<16x1xi32> loc(#loc93)
    %183 = "tensor.empty"() : () -> tensor<16x1xi1> loc(#loc93)
    %184 = "linalg.generic"(%181, %182, %183) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg325: i32 loc(unknown), %arg326: i32 loc(unknown), %arg327: i1 loc(unknown)):
      %323 = "arith.cmpi"(%arg325, %arg326) <{predicate = 2 : i64}> : (i32, i32) -> i1 loc(#loc93)
      "linalg.yield"(%323) : (i1) -> () loc(#loc93)
    }) : (tensor<16x1xi32>, tensor<16x1xi32>, tensor<16x1xi1>) -> tensor<16x1xi1> loc(#loc93)
    %185 = "linalg.generic"(%140, %180) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg323: i32 loc(unknown), %arg324: i32 loc(unknown)):
      "linalg.yield"(%arg323) : (i32) -> () loc(#loc93)
    }) : (tensor<i32>, tensor<16x1xi32>) -> tensor<16x1xi32> loc(#loc93)
    %186 = "linalg.generic"(%181, %185, %180) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg320: i32 loc(unknown), %arg321: i32 loc(unknown), %arg322: i32 loc(unknown)):
      %322 = "arith.addi"(%arg320, %arg321) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32 loc(#loc93)
      "linalg.yield"(%322) : (i32) -> () loc(#loc93)
    }) : (tensor<16x1xi32>, tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x1xi32> loc(#loc93)
    %187 = "linalg.generic"(%184, %186, %181, %180) <{indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg316: i1 loc(unknown), %arg317: i32 loc(unknown), %arg318: i32 loc(unknown), %arg319: i32 loc(unknown)):
      %321 = "arith.select"(%arg316, %arg317, %arg318) : (i1, i32, i32) -> i32 loc(#loc93)
      "linalg.yield"(%321) : (i32) -> () loc(#loc93)
    }) : (tensor<16x1xi1>, tensor<16x1xi32>, tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x1xi32> loc(#loc93)
    %188 = "tensor.expand_shape"(%187) <{reassociation = [[0], [1, 2]], static_output_shape = array<i64: 16, 1, 1>}> : (tensor<16x1xi32>) -> tensor<16x1x1xi32> loc(#loc93)
    %189 = "tensor.empty"() : () -> tensor<16x1x1xi32> loc(#loc93)
    %190 = "linalg.generic"(%141, %189) <{indexing_maps = [#map11, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg314: i32 loc(unknown), %arg315: i32 loc(unknown)):
      "linalg.yield"(%arg314) : (i32) -> () loc(#loc93)
    }) : (tensor<i32>, tensor<16x1x1xi32>) -> tensor<16x1x1xi32> loc(#loc93)
    %191 = "tensor.empty"() : () -> tensor<16x1x1xi1> loc(#loc93)
    %192 = "linalg.generic"(%188, %190, %191) <{indexing_maps = [#map12, #map12, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg311: i32 loc(unknown), %arg312: i32 loc(unknown), %arg313: i1 loc(unknown)):
      %320 = "arith.cmpi"(%arg311, %arg312) <{predicate = 5 : i64}> : (i32, i32) -> i1 loc(#loc93)
      "linalg.yield"(%320) : (i1) -> () loc(#loc93)
    }) : (tensor<16x1x1xi32>, tensor<16x1x1xi32>, tensor<16x1x1xi1>) -> tensor<16x1x1xi1> loc(#loc93)
    %193 = "tensor.empty"() : () -> tensor<1x1x1xi32> loc(#loc93)
    %194 = "linalg.generic"(%139, %193) <{indexing_maps = [#map13, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg309: i32 loc(unknown), %arg310: i32 loc(unknown)):
      "linalg.yield"(%arg309) : (i32) -> () loc(#loc93)
    }) : (tensor<1xi32>, tensor<1x1x1xi32>) -> tensor<1x1x1xi32> loc(#loc93)
    %195 = "linalg.generic"(%194, %189) <{indexing_maps = [#map14, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg307: i32 loc(unknown), %arg308: i32 loc(unknown)):
      "linalg.yield"(%arg307) : (i32) -> () loc(#loc93)
    }) : (tensor<1x1x1xi32>, tensor<16x1x1xi32>) -> tensor<16x1x1xi32> loc(#loc93)
    %196 = "linalg.generic"(%188, %195, %191) <{indexing_maps = [#map12, #map12, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg304: i32 loc(unknown), %arg305: i32 loc(unknown), %arg306: i1 loc(unknown)):
      %319 = "arith.cmpi"(%arg304, %arg305) <{predicate = 3 : i64}> : (i32, i32) -> i1 loc(#loc93)
      "linalg.yield"(%319) : (i1) -> () loc(#loc93)
    }) : (tensor<16x1x1xi32>, tensor<16x1x1xi32>, tensor<16x1x1xi1>) -> tensor<16x1x1xi1> loc(#loc93)
    %197 = "linalg.generic"(%192, %196, %191) <{indexing_maps = [#map12, #map12, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg301: i1 loc(unknown), %arg302: i1 loc(unknown), %arg303: i1 loc(unknown)):
      %318 = "arith.andi"(%arg301, %arg302) : (i1, i1) -> i1 loc(#loc93)
      "linalg.yield"(%318) : (i1) -> () loc(#loc93)
    }) : (tensor<16x1x1xi1>, tensor<16x1x1xi1>, tensor<16x1x1xi1>) -> tensor<16x1x1xi1> loc(#loc93)
    %198 = "linalg.fill"(%138, %183) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg299: i1 loc(unknown), %arg300: i1 loc(unknown)):
      "linalg.yield"(%arg299) : (i1) -> () loc(#loc93)
    }) : (i1, tensor<16x1xi1>) -> tensor<16x1xi1> loc(#loc93)
    %199 = "linalg.generic"(%197, %198) <{indexing_maps = [#map12, #map2], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg297: i1 loc(unknown), %arg298: i1 loc(unknown)):
      %317 = "arith.andi"(%arg298, %arg297) : (i1, i1) -> i1 loc(#loc93)
      "linalg.yield"(%317) : (i1) -> () loc(#loc93)
    }) : (tensor<16x1x1xi1>, tensor<16x1xi1>) -> tensor<16x1xi1> loc(#loc93)
    %200 = "linalg.generic"(%169) <{indexing_maps = [#map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg296: f32 loc(unknown)):
      %311 = "linalg.index"() <{dim = 0 : i64}> : () -> index loc(#loc93)
      %312 = "tensor.extract"(%188, %311, %137, %137) : (tensor<16x1x1xi32>, index, index, index) -> i32 loc(#loc93)
      %313 = "arith.index_cast"(%312) : (i32) -> index loc(#loc93)
      %314 = "arith.maxsi"(%313, %137) : (index, index) -> index loc(#loc93)
      %315 = "arith.minsi"(%314, %136) : (index, index) -> index loc(#loc93)
      %316 = "tensor.extract"(%179, %311, %315) : (tensor<16x10xf32>, index, index) -> f32 loc(#loc93)
      "linalg.yield"(%316) : (f32) -> () loc(#loc93)
    }) : (tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc93)
    %201 = "linalg.generic"(%135, %169) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg294: f32 loc(unknown), %arg295: f32 loc(unknown)):
      "linalg.yield"(%arg294) : (f32) -> () loc(#loc93)
    }) : (tensor<f32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc93)
    %202 = "linalg.generic"(%199, %200, %201, %169) <{indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg290: i1 loc(unknown), %arg291: f32 loc(unknown), %arg292: f32 loc(unknown), %arg293: f32 loc(unknown)):
      %310 = "arith.select"(%arg290, %arg291, %arg292) : (i1, f32, f32) -> f32 loc(#loc93)
      "linalg.yield"(%310) : (f32) -> () loc(#loc93)
    }) : (tensor<16x1xi1>, tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc93)
    %203 = "tensor.collapse_shape"(%202) <{reassociation = [[0, 1]]}> : (tensor<16x1xf32>) -> tensor<16xf32> loc(#loc99)
    %204 = "linalg.generic"(%203, %164) <{indexing_maps = [#map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg288: f32 loc(unknown), %arg289: f32 loc(unknown)):
      %309 = "arith.negf"(%arg288) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc100)
      "linalg.yield"(%309) : (f32) -> () loc(#loc100)
    }) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc100)
    %205 = "tensor.empty"() : () -> tensor<f32> loc(#loc80)
    %206 = "linalg.fill"(%145, %205) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg286: f32 loc(unknown), %arg287: f32 loc(unknown)):
      "linalg.yield"(%arg286) : (f32) -> () loc(#loc80)
    }) : (f32, tensor<f32>) -> tensor<f32> loc(#loc80)
    %207 = "linalg.generic"(%204, %206) <{indexing_maps = [#map9, #map8], iterator_types = [#linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg284: f32 loc(unknown), %arg285: f32 loc(unknown)):
      %308 = "arith.addf"(%arg285, %arg284) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc80)
      "linalg.yield"(%308) : (f32) -> () loc(#loc80)
    }) : (tensor<16xf32>, tensor<f32>) -> tensor<f32> loc(#loc80)
    %208 = "linalg.generic"(%207, %205) <{indexing_maps = [#map15, #map15], iterator_types = [], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg282: f32 loc(unknown), %arg283: f32 loc(unknown)):
      %307 = "arith.divf"(%arg282, %134) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc80)
      "linalg.yield"(%307) : (f32) -> () loc(#loc80)
    }) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc(#loc80)
    %209 = "linalg.generic"(%205) <{indexing_maps = [#map15], iterator_types = [], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg281: f32 loc(unknown)):
      "linalg.yield"(%132) : (f32) -> () loc(#loc81)
    }) : (tensor<f32>) -> tensor<f32> loc(#loc81)
    %210 = "linalg.generic"(%209, %164) <{indexing_maps = [#map8, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg279: f32 loc(unknown), %arg280: f32 loc(unknown)):
      "linalg.yield"(%arg279) : (f32) -> () loc(#loc81)
    }) : (tensor<f32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc81)
    %211 = "linalg.generic"(%210, %164) <{indexing_maps = [#map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg277: f32 loc(unknown), %arg278: f32 loc(unknown)):
      %306 = "arith.negf"(%arg277) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc101)
      "linalg.yield"(%306) : (f32) -> () loc(#loc101)
    }) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc101)
    %212 = "linalg.generic"(%211, %169) <{indexing_maps = [#map7, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg275: f32 loc(unknown), %arg276: f32 loc(unknown)):
      "linalg.yield"(%arg275) : (f32) -> () loc(#loc102)
    }) : (tensor<16xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc102)
    %213 = "linalg.generic"(%144, %157) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg273: f32 loc(unknown), %arg274: f32 loc(unknown)):
      "linalg.yield"(%arg273) : (f32) -> () loc(#loc103)
    }) : (tensor<f32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc103)
    %214 = "stablehlo.scatter"(%213, %188, %212) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg268: tensor<f32> loc(unknown), %arg269: tensor<f32> loc(unknown)):
      %304 = "linalg.generic"(%arg268, %arg269, %205) <{indexing_maps = [#map15, #map15, #map15], iterator_types = [], operandSegmentSizes = array<i32: 2, 1>}> ({
      ^bb0(%arg270: f32 loc(unknown), %arg271: f32 loc(unknown), %arg272: f32 loc(unknown)):
        %305 = "arith.addf"(%arg270, %arg271) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc103)
        "linalg.yield"(%305) : (f32) -> () loc(#loc103)
      }) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32> loc(#loc103)
      "stablehlo.return"(%304) : (tensor<f32>) -> () loc(#loc103)
    }) : (tensor<16x10xf32>, tensor<16x1x1xi32>, tensor<16x1xf32>) -> tensor<16x10xf32> loc(#loc103)
    %215 = "linalg.generic"(%214, %157) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg266: f32 loc(unknown), %arg267: f32 loc(unknown)):
      %303 = "arith.negf"(%arg266) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc104)
      "linalg.yield"(%303) : (f32) -> () loc(#loc104)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc104)
    %216 = "linalg.generic"(%215, %174) <{indexing_maps = [#map4, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg264: f32 loc(unknown), %arg265: f32 loc(unknown)):
      %302 = "arith.addf"(%arg265, %arg264) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%302) : (f32) -> () loc(#loc104)
    }) : (tensor<16x10xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc104)
    %217 = "tensor.expand_shape"(%216) <{reassociation = [[0, 1]], static_output_shape = array<i64: 16, 1>}> : (tensor<16xf32>) -> tensor<16x1xf32> loc(#loc104)
    %218 = "linalg.generic"(%217, %176, %169) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg261: f32 loc(unknown), %arg262: f32 loc(unknown), %arg263: f32 loc(unknown)):
      %301 = "arith.divf"(%arg261, %arg262) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%301) : (f32) -> () loc(#loc104)
    }) : (tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc104)
    %219 = "linalg.generic"(%218, %174) <{indexing_maps = [#map4, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg259: f32 loc(unknown), %arg260: f32 loc(unknown)):
      %300 = "arith.addf"(%arg260, %arg259) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%300) : (f32) -> () loc(#loc104)
    }) : (tensor<16x1xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc104)
    %220 = "linalg.generic"(%219, %157) <{indexing_maps = [#map7, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg257: f32 loc(unknown), %arg258: f32 loc(unknown)):
      "linalg.yield"(%arg257) : (f32) -> () loc(#loc104)
    }) : (tensor<16xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc104)
    %221 = "linalg.generic"(%220, %173, %157) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg254: f32 loc(unknown), %arg255: f32 loc(unknown), %arg256: f32 loc(unknown)):
      %299 = "arith.mulf"(%arg254, %arg255) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%299) : (f32) -> () loc(#loc104)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc104)
    %222 = "linalg.generic"(%214, %221, %157) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg251: f32 loc(unknown), %arg252: f32 loc(unknown), %arg253: f32 loc(unknown)):
      %298 = "arith.addf"(%arg251, %arg252) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%298) : (f32) -> () loc(#loc104)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc104)
    %223 = "tensor.empty"() : () -> tensor<10xf32> loc(#loc105)
    %224 = "linalg.fill"(%145, %223) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg249: f32 loc(unknown), %arg250: f32 loc(unknown)):
      "linalg.yield"(%arg249) : (f32) -> () loc(#loc105)
    }) : (f32, tensor<10xf32>) -> tensor<10xf32> loc(#loc105)
    %225 = "linalg.generic"(%222, %224) <{indexing_maps = [#map16, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg247: f32 loc(unknown), %arg248: f32 loc(unknown)):
      %297 = "arith.addf"(%arg248, %arg247) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc105)
      "linalg.yield"(%297) : (f32) -> () loc(#loc105)
    }) : (tensor<16x10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc105)
    %226 = "tensor.expand_shape"(%225) <{reassociation = [[0, 1]], static_output_shape = array<i64: 1, 10>}> : (tensor<10xf32>) -> tensor<1x10xf32> loc(#loc105)
    %227 = "linalg.generic"(%226, %224) <{indexing_maps = [#map16, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg245: f32 loc(unknown), %arg246: f32 loc(unknown)):
      %296 = "arith.addf"(%arg246, %arg245) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc105)
      "linalg.yield"(%296) : (f32) -> () loc(#loc105)
    }) : (tensor<1x10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc105)
    %228 = "tensor.empty"() : () -> tensor<10x128xf32> loc(#loc105)
    %229 = "linalg.fill"(%145, %228) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg243: f32 loc(unknown), %arg244: f32 loc(unknown)):
      "linalg.yield"(%arg243) : (f32) -> () loc(#loc105)
    }) : (f32, tensor<10x128xf32>) -> tensor<10x128xf32> loc(#loc105)
    %230 = "linalg.generic"(%222, %154, %229) <{indexing_maps = [#map17, #map1, #map2], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg240: f32 loc(unknown), %arg241: f32 loc(unknown), %arg242: f32 loc(unknown)):
      %294 = "arith.mulf"(%arg240, %arg241) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      %295 = "arith.addf"(%arg242, %294) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc105)
      "linalg.yield"(%295) : (f32) -> () loc(#loc105)
    }) : (tensor<16x10xf32>, tensor<16x128xf32>, tensor<10x128xf32>) -> tensor<10x128xf32> loc(#loc105)
    %231 = "tensor.empty"() : () -> tensor<128x10xf32> loc(#loc105)
    %232 = "linalg.generic"(%230, %231) <{indexing_maps = [#map16, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg238: f32 loc(unknown), %arg239: f32 loc(unknown)):
      "linalg.yield"(%arg238) : (f32) -> () loc(#loc105)
    }) : (tensor<10x128xf32>, tensor<128x10xf32>) -> tensor<128x10xf32> loc(#loc105)
    %233 = "linalg.generic"(%222, %arg144, %147) <{indexing_maps = [#map, #map18, #map2], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg235: f32 loc(unknown), %arg236: f32 loc(unknown), %arg237: f32 loc(unknown)):
      %292 = "arith.mulf"(%arg235, %arg236) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      %293 = "arith.addf"(%arg237, %292) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc105)
      "linalg.yield"(%293) : (f32) -> () loc(#loc105)
    }) : (tensor<16x10xf32>, tensor<128x10xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc105)
    %234 = "linalg.generic"(%156, %233, %153, %146) <{indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg231: i1 loc(unknown), %arg232: f32 loc(unknown), %arg233: f32 loc(unknown), %arg234: f32 loc(unknown)):
      %291 = "arith.select"(%arg231, %arg232, %arg233) : (i1, f32, f32) -> f32 loc(#loc106)
      "linalg.yield"(%291) : (f32) -> () loc(#loc106)
    }) : (tensor<16x128xi1>, tensor<16x128xf32>, tensor<16x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc106)
    %235 = "tensor.empty"() : () -> tensor<128xf32> loc(#loc107)
    %236 = "linalg.fill"(%145, %235) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg229: f32 loc(unknown), %arg230: f32 loc(unknown)):
      "linalg.yield"(%arg229) : (f32) -> () loc(#loc107)
    }) : (f32, tensor<128xf32>) -> tensor<128xf32> loc(#loc107)
    %237 = "linalg.generic"(%234, %236) <{indexing_maps = [#map16, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg227: f32 loc(unknown), %arg228: f32 loc(unknown)):
      %290 = "arith.addf"(%arg228, %arg227) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc107)
      "linalg.yield"(%290) : (f32) -> () loc(#loc107)
    }) : (tensor<16x128xf32>, tensor<128xf32>) -> tensor<128xf32> loc(#loc107)
    %238 = "tensor.expand_shape"(%237) <{reassociation = [[0, 1]], static_output_shape = array<i64: 1, 128>}> : (tensor<128xf32>) -> tensor<1x128xf32> loc(#loc107)
    %239 = "linalg.generic"(%238, %236) <{indexing_maps = [#map16, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg225: f32 loc(unknown), %arg226: f32 loc(unknown)):
      %289 = "arith.addf"(%arg226, %arg225) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc107)
      "linalg.yield"(%289) : (f32) -> () loc(#loc107)
    }) : (tensor<1x128xf32>, tensor<128xf32>) -> tensor<128xf32> loc(#loc107)
    %240 = "tensor.empty"() : () -> tensor<128x64xf32> loc(#loc107)
    %241 = "linalg.fill"(%145, %240) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg223: f32 loc(unknown), %arg224: f32 loc(unknown)):
      "linalg.yield"(%arg223) : (f32) -> () loc(#loc107)
    }) : (f32, tensor<128x64xf32>) -> tensor<128x64xf32> loc(#loc107)
    %242 = "linalg.generic"(%234, %arg149, %241) <{indexing_maps = [#map17, #map1, #map2], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg220: f32 loc(unknown), %arg221: f32 loc(unknown), %arg222: f32 loc(unknown)):
      %287 = "arith.mulf"(%arg220, %arg221) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc106)
      %288 = "arith.addf"(%arg222, %287) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc107)
      "linalg.yield"(%288) : (f32) -> () loc(#loc107)
    }) : (tensor<16x128xf32>, tensor<16x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32> loc(#loc107)
    %243 = "tensor.empty"() : () -> tensor<64x128xf32> loc(#loc107)
    %244 = "linalg.generic"(%242, %243) <{indexing_maps = [#map16, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg218: f32 loc(unknown), %arg219: f32 loc(unknown)):
      "linalg.yield"(%arg218) : (f32) -> () loc(#loc107)
    }) : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<64x128xf32> loc(#loc107)
    %245:4 = "stablehlo.custom_call"(%239, %227, %244, %232) <{api_version = 4 : i32, backend_config = {reduction = "MEAN"}, call_target_name = "replica.all_reduce", has_side_effect = true}> : (tensor<128xf32>, tensor<10xf32>, tensor<64x128xf32>, tensor<128x10xf32>) -> (tensor<128xf32>, tensor<10xf32>, tensor<64x128xf32>, tensor<128x10xf32>) loc(#loc65)
    %246 = "linalg.generic"(%133, %235) <{indexing_maps = [#map8, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg216: f32 loc(unknown), %arg217: f32 loc(unknown)):
      "linalg.yield"(%arg216) : (f32) -> () loc(#loc82)
    }) : (tensor<f32>, tensor<128xf32>) -> tensor<128xf32> loc(#loc82)
    %247 = "linalg.generic"(%246, %arg145, %235) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg213: f32 loc(unknown), %arg214: f32 loc(unknown), %arg215: f32 loc(unknown)):
      %286 = "arith.mulf"(%arg213, %arg214) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc82)
      "linalg.yield"(%286) : (f32) -> () loc(#loc82)
    }) : (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32> loc(#loc82)
    %248 = "linalg.generic"(%247, %245#0, %235) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg210: f32 loc(unknown), %arg211: f32 loc(unknown), %arg212: f32 loc(unknown)):
      %285 = "arith.addf"(%arg210, %arg211) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc82)
      "linalg.yield"(%285) : (f32) -> () loc(#loc82)
    }) : (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32> loc(#loc82)
    %249 = "linalg.generic"(%133, %223) <{indexing_maps = [#map8, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg208: f32 loc(unknown), %arg209: f32 loc(unknown)):
      "linalg.yield"(%arg208) : (f32) -> () loc(#loc82)
    }) : (tensor<f32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc82)
    %250 = "linalg.generic"(%249, %arg146, %223) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg205: f32 loc(unknown), %arg206: f32 loc(unknown), %arg207: f32 loc(unknown)):
      %284 = "arith.mulf"(%arg205, %arg206) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc82)
      "linalg.yield"(%284) : (f32) -> () loc(#loc82)
    }) : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc82)
    %251 = "linalg.generic"(%250, %245#1, %223) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg202: f32 loc(unknown), %arg203: f32 loc(unknown), %arg204: f32 loc(unknown)):
      %283 = "arith.addf"(%arg202, %arg203) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc82)
      "linalg.yield"(%283) : (f32) -> () loc(#loc82)
    }) : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc82)
    %252 = "linalg.generic"(%133, %243) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg200: f32 loc(unknown), %arg201: f32 loc(unknown)):
      "linalg.yield"(%arg200) : (f32) -> () loc(#loc82)
    }) : (tensor<f32>, tensor<64x128xf32>) -> tensor<64x128xf32> loc(#loc82)
    %253 = "linalg.generic"(%252, %arg147, %243) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg197: f32 loc(unknown), %arg198: f32 loc(unknown), %arg199: f32 loc(unknown)):
      %282 = "arith.mulf"(%arg197, %arg198) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc82)
      "linalg.yield"(%282) : (f32) -> () loc(#loc82)
    }) : (tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32> loc(#loc82)
    %254 = "linalg.generic"(%253, %245#2, %243) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg194: f32 loc(unknown), %arg195: f32 loc(unknown), %arg196: f32 loc(unknown)):
      %281 = "arith.addf"(%arg194, %arg195) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc82)
      "linalg.yield"(%281) : (f32) -> () loc(#loc82)
    }) : (tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32> loc(#loc82)
    %255 = "linalg.generic"(%133, %231) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg192: f32 loc(unknown), %arg193: f32 loc(unknown)):
      "linalg.yield"(%arg192) : (f32) -> () loc(#loc82)
    }) : (tensor<f32>, tensor<128x10xf32>) -> tensor<128x10xf32> loc(#loc82)
    %256 = "linalg.generic"(%255, %arg148, %231) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg189: f32 loc(unknown), %arg190: f32 loc(unknown), %arg191: f32 loc(unknown)):
      %280 = "arith.mulf"(%arg189, %arg190) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc82)
      "linalg.yield"(%280) : (f32) -> () loc(#loc82)
    }) : (tensor<128x10xf32>, tensor<128x10xf32>, tensor<128x10xf32>) -> tensor<128x10xf32> loc(#loc82)
    %257 = "linalg.generic"(%256, %245#3, %231) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg186: f32 loc(unknown), %arg187: f32 loc(unknown), %arg188: f32 loc(unknown)):
      %279 = "arith.addf"(%arg186, %arg187) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc82)
      "linalg.yield"(%279) : (f32) -> () loc(#loc82)
    }) : (tensor<128x10xf32>, tensor<128x10xf32>, tensor<128x10xf32>) -> tensor<128x10xf32> loc(#loc82)
    %258 = "linalg.generic"(%arg151, %235) <{indexing_maps = [#map8, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg184: f32 loc(unknown), %arg185: f32 loc(unknown)):
      "linalg.yield"(%arg184) : (f32) -> () loc(#loc83)
    }) : (tensor<f32>, tensor<128xf32>) -> tensor<128xf32> loc(#loc83)
    %259 = "linalg.generic"(%258, %248, %235) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg181: f32 loc(unknown), %arg182: f32 loc(unknown), %arg183: f32 loc(unknown)):
      %278 = "arith.mulf"(%arg181, %arg182) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc83)
      "linalg.yield"(%278) : (f32) -> () loc(#loc83)
    }) : (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32> loc(#loc83)
    %260 = "linalg.generic"(%arg141, %259, %235) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg178: f32 loc(unknown), %arg179: f32 loc(unknown), %arg180: f32 loc(unknown)):
      %277 = "arith.subf"(%arg178, %arg179) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc84)
      "linalg.yield"(%277) : (f32) -> () loc(#loc84)
    }) : (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32> loc(#loc84)
    %261 = "linalg.generic"(%arg151, %223) <{indexing_maps = [#map8, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg176: f32 loc(unknown), %arg177: f32 loc(unknown)):
      "linalg.yield"(%arg176) : (f32) -> () loc(#loc83)
    }) : (tensor<f32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc83)
    %262 = "linalg.generic"(%261, %251, %223) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg173: f32 loc(unknown), %arg174: f32 loc(unknown), %arg175: f32 loc(unknown)):
      %276 = "arith.mulf"(%arg173, %arg174) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc83)
      "linalg.yield"(%276) : (f32) -> () loc(#loc83)
    }) : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc83)
    %263 = "linalg.generic"(%arg142, %262, %223) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg170: f32 loc(unknown), %arg171: f32 loc(unknown), %arg172: f32 loc(unknown)):
      %275 = "arith.subf"(%arg170, %arg171) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc84)
      "linalg.yield"(%275) : (f32) -> () loc(#loc84)
    }) : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc84)
    %264 = "linalg.generic"(%arg151, %243) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg168: f32 loc(unknown), %arg169: f32 loc(unknown)):
      "linalg.yield"(%arg168) : (f32) -> () loc(#loc83)
    }) : (tensor<f32>, tensor<64x128xf32>) -> tensor<64x128xf32> loc(#loc83)
    %265 = "linalg.generic"(%264, %254, %243) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg165: f32 loc(unknown), %arg166: f32 loc(unknown), %arg167: f32 loc(unknown)):
      %274 = "arith.mulf"(%arg165, %arg166) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc83)
      "linalg.yield"(%274) : (f32) -> () loc(#loc83)
    }) : (tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32> loc(#loc83)
    %266 = "linalg.generic"(%arg143, %265, %243) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg162: f32 loc(unknown), %arg163: f32 loc(unknown), %arg164: f32 loc(unknown)):
      %273 = "arith.subf"(%arg162, %arg163) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc84)
      "linalg.yield"(%273) : (f32) -> () loc(#loc84)
    }) : (tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32> loc(#loc84)
    %267 = "linalg.generic"(%arg151, %231) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg160: f32 loc(unknown), %arg161: f32 loc(unknown)):
      "linalg.yield"(%arg160) : (f32) -> () loc(#loc83)
    }) : (tensor<f32>, tensor<128x10xf32>) -> tensor<128x10xf32> loc(#loc83)
    %268 = "linalg.generic"(%267, %257, %231) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg157: f32 loc(unknown), %arg158: f32 loc(unknown), %arg159: f32 loc(unknown)):
      %272 = "arith.mulf"(%arg157, %arg158) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc83)
      "linalg.yield"(%272) : (f32) -> () loc(#loc83)
    }) : (tensor<128x10xf32>, tensor<128x10xf32>, tensor<128x10xf32>) -> tensor<128x10xf32> loc(#loc83)
    %269 = "linalg.generic"(%arg144, %268, %231) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg154: f32 loc(unknown), %arg155: f32 loc(unknown), %arg156: f32 loc(unknown)):
      %271 = "arith.subf"(%arg154, %arg155) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc84)
      "linalg.yield"(%271) : (f32) -> () loc(#loc84)
    }) : (tensor<128x10xf32>, tensor<128x10xf32>, tensor<128x10xf32>) -> tensor<128x10xf32> loc(#loc84)
    %270 = "stablehlo.custom_call"(%208) <{api_version = 4 : i32, backend_config = {reduction = "MEAN"}, call_target_name = "replica.all_reduce", has_side_effect = true}> : (tensor<f32>) -> tensor<f32> loc(#loc68)
    "func.return"(%260, %263, %266, %269, %248, %251, %254, %257, %270) : (tensor<128xf32>, tensor<10xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<128xf32>, tensor<10xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<f32>) -> () loc(#loc1)
  }) : () -> () loc(#loc1)
  "func.func"() <{arg_attrs = [{replica.variable = "params/b1"}, {replica.variable = "params/b2"}, {replica.variable = "params/w1"}, {replica.variable = "params/w2"}, {replica.variable = "velocity/b1"}, {replica.variable = "velocity/b2"}, {replica.variable = "velocity/w1"}, {replica.variable = "velocity/w2"}, {replica.batch = "mask"}, {replica.batch = "x"}, {replica.batch = "y"}], function_type = (tensor<128xf32>, tensor<10xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<128xf32>, tensor<10xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<16xf32>, tensor<16x64xf32>, tensor<16xi32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>), res_attrs = [{replica.sum = "accuracy"}, {replica.count = "accuracy"}, {replica.sum = "loss"}, {replica.count = "loss"}], sym_name = "evaluate", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<128xf32> loc("params/b1"), %arg1: tensor<10xf32> loc("params/b2"), %arg2: tensor<64x128xf32> loc("params/w1"), %arg3: tensor<128x10xf32> loc("params/w2"), %arg4: tensor<128xf32> loc("velocity/b1"), %arg5: tensor<10xf32> loc("velocity/b2"), %arg6: tensor<64x128xf32> loc("velocity/w1"), %arg7: tensor<128x10xf32> loc("velocity/w2"), %arg8: tensor<16xf32> loc("mask"), %arg9: tensor<16x64xf32> loc("x"), %arg10: tensor<16xi32> loc("y")):
    %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32 loc(#loc69)
    %1 = "arith.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32> loc(#loc85)
    %2 = "arith.constant"() <{value = 9 : index}> : () -> index loc(#loc)
    %3 = "arith.constant"() <{value = 0 : index}> : () -> index loc(#loc)
    %4 = "arith.constant"() <{value = true}> : () -> i1 loc(#loc85)
    %5 = "arith.constant"() <{value = dense<9> : tensor<1xi32>}> : () -> tensor<1xi32> loc(#loc85)
    %6 = "arith.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32> loc(#loc85)
    %7 = "arith.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32> loc(#loc)
    %8 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32 loc(#loc)
    %9 = "arith.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %10 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %11 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32 loc(#loc)
    %12 = "tensor.empty"() : () -> tensor<16x128xf32> loc(#loc86)
    %13 = "linalg.fill"(%11, %12) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg139: f32 loc(unknown), %arg140: f32 loc(unknown)):
      "linalg.yield"(%arg139) : (f32) -> () loc(#loc86)
    }) : (f32, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc86)
    %14 = "linalg.matmul"(%arg9, %arg2, %13) <{indexing_maps = [#map, #map1, #map2], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg136: f32 loc(unknown), %arg137: f32 loc(unknown), %arg138: f32 loc(unknown)):
      %129 = "arith.mulf"(%arg136, %arg137) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc86)
      %130 = "arith.addf"(%arg138, %129) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc86)
      "linalg.yield"(%130) : (f32) -> () loc(#loc86)
    }) : (tensor<16x64xf32>, tensor<64x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc86)
    %15 = "tensor.empty"() : () -> tensor<1x128xf32> loc(#loc86)
    %16 = "linalg.generic"(%arg0, %15) <{indexing_maps = [#map3, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg134: f32 loc(unknown), %arg135: f32 loc(unknown)):
      "linalg.yield"(%arg134) : (f32) -> () loc(#loc86)
    }) : (tensor<128xf32>, tensor<1x128xf32>) -> tensor<1x128xf32> loc(#loc86)
    %17 = "linalg.generic"(%16, %12) <{indexing_maps = [#map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg132: f32 loc(unknown), %arg133: f32 loc(unknown)):
      "linalg.yield"(%arg132) : (f32) -> () loc(#loc86)
    }) : (tensor<1x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc86)
    %18 = "linalg.generic"(%14, %17, %12) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg129: f32 loc(unknown), %arg130: f32 loc(unknown), %arg131: f32 loc(unknown)):
      %128 = "arith.addf"(%arg129, %arg130) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc86)
      "linalg.yield"(%128) : (f32) -> () loc(#loc86)
    }) : (tensor<16x128xf32>, tensor<16x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc86)
    %19 = "linalg.generic"(%10, %12) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg127: f32 loc(unknown), %arg128: f32 loc(unknown)):
      "linalg.yield"(%arg127) : (f32) -> () loc(#loc87)
    }) : (tensor<f32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc87)
    %20 = "linalg.generic"(%18, %19, %12) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg124: f32 loc(unknown), %arg125: f32 loc(unknown), %arg126: f32 loc(unknown)):
      %127 = "arith.maximumf"(%arg124, %arg125) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc87)
      "linalg.yield"(%127) : (f32) -> () loc(#loc87)
    }) : (tensor<16x128xf32>, tensor<16x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> loc(#loc87)
    %21 = "tensor.empty"() : () -> tensor<16x10xf32> loc(#loc88)
    %22 = "linalg.fill"(%11, %21) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg122: f32 loc(unknown), %arg123: f32 loc(unknown)):
      "linalg.yield"(%arg122) : (f32) -> () loc(#loc88)
    }) : (f32, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc88)
    %23 = "linalg.matmul"(%20, %arg3, %22) <{indexing_maps = [#map, #map1, #map2], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg119: f32 loc(unknown), %arg120: f32 loc(unknown), %arg121: f32 loc(unknown)):
      %125 = "arith.mulf"(%arg119, %arg120) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc88)
      %126 = "arith.addf"(%arg121, %125) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc88)
      "linalg.yield"(%126) : (f32) -> () loc(#loc88)
    }) : (tensor<16x128xf32>, tensor<128x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc88)
    %24 = "tensor.empty"() : () -> tensor<1x10xf32> loc(#loc88)
    %25 = "linalg.generic"(%arg1, %24) <{indexing_maps = [#map3, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg117: f32 loc(unknown), %arg118: f32 loc(unknown)):
      "linalg.yield"(%arg117) : (f32) -> () loc(#loc88)
    }) : (tensor<10xf32>, tensor<1x10xf32>) -> tensor<1x10xf32> loc(#loc88)
    %26 = "linalg.generic"(%25, %21) <{indexing_maps = [#map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg115: f32 loc(unknown), %arg116: f32 loc(unknown)):
      "linalg.yield"(%arg115) : (f32) -> () loc(#loc88)
    }) : (tensor<1x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc88)
    %27 = "linalg.generic"(%23, %26, %21) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg112: f32 loc(unknown), %arg113: f32 loc(unknown), %arg114: f32 loc(unknown)):
      %124 = "arith.addf"(%arg112, %arg113) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc88)
      "linalg.yield"(%124) : (f32) -> () loc(#loc88)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc88)
    %28 = "tensor.empty"() : () -> tensor<16xf32> loc(#loc89)
    %29 = "linalg.fill"(%8, %28) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg110: f32 loc(unknown), %arg111: f32 loc(unknown)):
      "linalg.yield"(%arg110) : (f32) -> () loc(#loc89)
    }) : (f32, tensor<16xf32>) -> tensor<16xf32> loc(#loc89)
    %30 = "linalg.generic"(%27, %29) <{indexing_maps = [#map4, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg108: f32 loc(unknown), %arg109: f32 loc(unknown)):
      %123 = "arith.maximumf"(%arg109, %arg108) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc89)
      "linalg.yield"(%123) : (f32) -> () loc(#loc89)
    }) : (tensor<16x10xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc89)
    %31 = "linalg.generic"(%9, %28) <{indexing_maps = [#map8, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg106: f32 loc(unknown), %arg107: f32 loc(unknown)):
      "linalg.yield"(%arg106) : (f32) -> () loc(#loc89)
    }) : (tensor<f32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc89)
    %32 = "linalg.generic"(%31, %30, %28) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg103: f32 loc(unknown), %arg104: f32 loc(unknown), %arg105: f32 loc(unknown)):
      %122 = "arith.maximumf"(%arg103, %arg104) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc89)
      "linalg.yield"(%122) : (f32) -> () loc(#loc89)
    }) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc89)
    %33 = "tensor.empty"() : () -> tensor<16x1xf32> loc(#loc89)
    %34 = "linalg.generic"(%32, %33) <{indexing_maps = [#map7, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg101: f32 loc(unknown), %arg102: f32 loc(unknown)):
      "linalg.yield"(%arg101) : (f32) -> () loc(#loc89)
    }) : (tensor<16xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc89)
    %35 = "linalg.generic"(%34, %21) <{indexing_maps = [#map10, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg99: f32 loc(unknown), %arg100: f32 loc(unknown)):
      "linalg.yield"(%arg99) : (f32) -> () loc(#loc89)
    }) : (tensor<16x1xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc89)
    %36 = "linalg.generic"(%27, %35, %21) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg96: f32 loc(unknown), %arg97: f32 loc(unknown), %arg98: f32 loc(unknown)):
      %121 = "arith.subf"(%arg96, %arg97) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc89)
      "linalg.yield"(%121) : (f32) -> () loc(#loc89)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc89)
    %37 = "linalg.generic"(%36, %21) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg94: f32 loc(unknown), %arg95: f32 loc(unknown)):
      %120 = "math.exp"(%arg94) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc89)
      "linalg.yield"(%120) : (f32) -> () loc(#loc89)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc89)
    %38 = "linalg.fill"(%11, %28) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg92: f32 loc(unknown), %arg93: f32 loc(unknown)):
      "linalg.yield"(%arg92) : (f32) -> () loc(#loc89)
    }) : (f32, tensor<16xf32>) -> tensor<16xf32> loc(#loc89)
    %39 = "linalg.generic"(%37, %38) <{indexing_maps = [#map4, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg90: f32 loc(unknown), %arg91: f32 loc(unknown)):
      %119 = "arith.addf"(%arg91, %arg90) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc89)
      "linalg.yield"(%119) : (f32) -> () loc(#loc89)
    }) : (tensor<16x10xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc89)
    %40 = "linalg.generic"(%39, %33) <{indexing_maps = [#map7, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg88: f32 loc(unknown), %arg89: f32 loc(unknown)):
      "linalg.yield"(%arg88) : (f32) -> () loc(#loc89)
    }) : (tensor<16xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc89)
    %41 = "linalg.generic"(%40, %33) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg86: f32 loc(unknown), %arg87: f32 loc(unknown)):
      %118 = "math.log"(%arg86) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc89)
      "linalg.yield"(%118) : (f32) -> () loc(#loc89)
    }) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc89)
    %42 = "linalg.generic"(%41, %21) <{indexing_maps = [#map10, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg84: f32 loc(unknown), %arg85: f32 loc(unknown)):
      "linalg.yield"(%arg84) : (f32) -> () loc(#loc89)
    }) : (tensor<16x1xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc89)
    %43 = "linalg.generic"(%36, %42, %21) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg81: f32 loc(unknown), %arg82: f32 loc(unknown), %arg83: f32 loc(unknown)):
      %117 = "arith.subf"(%arg81, %arg82) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc89)
      "linalg.yield"(%117) : (f32) -> () loc(#loc89)
    }) : (tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc89)
    %44 = "tensor.empty"() : () -> tensor<16x1xi32> loc(#loc90)
    %45 = "linalg.generic"(%arg10, %44) <{indexing_maps = [#map7, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg79: i32 loc(unknown), %arg80: i32 loc(unknown)):
      "linalg.yield"(%arg79) : (i32) -> () loc(#loc90)
    }) : (tensor<16xi32>, tensor<16x1xi32>) -> tensor<16x1xi32> loc(#loc90)
    %46 = "linalg.generic"(%7, %44) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg77: i32 loc(unknown), %arg78: i32 loc(unknown)):
      "linalg.yield"(%arg77) : (i32) -> () loc(#loc85)
    }) : (tensor<i32>, tensor<16x1xi32>) -> tensor<16x1xi32> loc(#loc85)
    %47 = "tensor.empty"() : () -> tensor<16x1xi1> loc(#loc85)
    %48 = "linalg.generic"(%45, %46, %47) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg74: i32 loc(unknown), %arg75: i32 loc(unknown), %arg76: i1 loc(unknown)):
      %116 = "arith.cmpi"(%arg74, %arg75) <{predicate = 2 : i64}> : (i32, i32) -> i1 loc(#loc85)
      "linalg.yield"(%116) : (i1) -> () loc(#loc85)
    }) : (tensor<16x1xi32>, tensor<16x1xi32>, tensor<16x1xi1>) -> tensor<16x1xi1> loc(#loc85)
    %49 = "linalg.generic"(%6, %44) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg72: i32 loc(unknown), %arg73: i32 loc(unknown)):
      "linalg.yield"(%arg72) : (i32) -> () loc(#loc85)
    }) : (tensor<i32>, tensor<16x1xi32>) -> tensor<16x1xi32> loc(#loc85)
    %50 = "linalg.generic"(%45, %49, %44) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg69: i32 loc(unknown), %arg70: i32 loc(unknown), %arg71: i32 loc(unknown)):
      %115 = "arith.addi"(%arg69, %arg70) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32 loc(#loc85)
      "linalg.yield"(%115) : (i32) -> () loc(#loc85)
    }) : (tensor<16x1xi32>, tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x1xi32> loc(#loc85)
    %51 = "linalg.generic"(%48, %50, %45, %44) <{indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg65: i1 loc(unknown), %arg66: i32 loc(unknown), %arg67: i32 loc(unknown), %arg68: i32 loc(unknown)):
      %114 = "arith.select"(%arg65, %arg66, %arg67) : (i1, i32, i32) -> i32 loc(#loc85)
      "linalg.yield"(%114) : (i32) -> () loc(#loc85)
    }) : (tensor<16x1xi1>, tensor<16x1xi32>, tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x1xi32> loc(#loc85)
    %52 = "tensor.expand_shape"(%51) <{reassociation = [[0], [1, 2]], static_output_shape = array<i64: 16, 1, 1>}> : (tensor<16x1xi32>) -> tensor<16x1x1xi32> loc(#loc85)
    %53 = "tensor.empty"() : () -> tensor<16x1x1xi32> loc(#loc85)
    %54 = "linalg.generic"(%7, %53) <{indexing_maps = [#map11, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg63: i32 loc(unknown), %arg64: i32 loc(unknown)):
      "linalg.yield"(%arg63) : (i32) -> () loc(#loc85)
    }) : (tensor<i32>, tensor<16x1x1xi32>) -> tensor<16x1x1xi32> loc(#loc85)
    %55 = "tensor.empty"() : () -> tensor<16x1x1xi1> loc(#loc85)
    %56 = "linalg.generic"(%52, %54, %55) <{indexing_maps = [#map12, #map12, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg60: i32 loc(unknown), %arg61: i32 loc(unknown), %arg62: i1 loc(unknown)):
      %113 = "arith.cmpi"(%arg60, %arg61) <{predicate = 5 : i64}> : (i32, i32) -> i1 loc(#loc85)
      "linalg.yield"(%113) : (i1) -> () loc(#loc85)
    }) : (tensor<16x1x1xi32>, tensor<16x1x1xi32>, tensor<16x1x1xi1>) -> tensor<16x1x1xi1> loc(#loc85)
    %57 = "tensor.empty"() : () -> tensor<1x1x1xi32> loc(#loc85)
    %58 = "linalg.generic"(%5, %57) <{indexing_maps = [#map13, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg58: i32 loc(unknown), %arg59: i32 loc(unknown)):
      "linalg.yield"(%arg58) : (i32) -> () loc(#loc85)
    }) : (tensor<1xi32>, tensor<1x1x1xi32>) -> tensor<1x1x1xi32> loc(#loc85)
    %59 = "linalg.generic"(%58, %53) <{indexing_maps = [#map14, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg56: i32 loc(unknown), %arg57: i32 loc(unknown)):
      "linalg.yield"(%arg56) : (i32) -> () loc(#loc85)
    }) : (tensor<1x1x1xi32>, tensor<16x1x1xi32>) -> tensor<16x1x1xi32> loc(#loc85)
    %60 = "linalg.generic"(%52, %59, %55) <{indexing_maps = [#map12, #map12, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg53: i32 loc(unknown), %arg54: i32 loc(unknown), %arg55: i1 loc(unknown)):
      %112 = "arith.cmpi"(%arg53, %arg54) <{predicate = 3 : i64}> : (i32, i32) -> i1 loc(#loc85)
      "linalg.yield"(%112) : (i1) -> () loc(#loc85)
    }) : (tensor<16x1x1xi32>, tensor<16x1x1xi32>, tensor<16x1x1xi1>) -> tensor<16x1x1xi1> loc(#loc85)
    %61 = "linalg.generic"(%56, %60, %55) <{indexing_maps = [#map12, #map12, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg50: i1 loc(unknown), %arg51: i1 loc(unknown), %arg52: i1 loc(unknown)):
      %111 = "arith.andi"(%arg50, %arg51) : (i1, i1) -> i1 loc(#loc85)
      "linalg.yield"(%111) : (i1) -> () loc(#loc85)
    }) : (tensor<16x1x1xi1>, tensor<16x1x1xi1>, tensor<16x1x1xi1>) -> tensor<16x1x1xi1> loc(#loc85)
    %62 = "linalg.fill"(%4, %47) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg48: i1 loc(unknown), %arg49: i1 loc(unknown)):
      "linalg.yield"(%arg48) : (i1) -> () loc(#loc85)
    }) : (i1, tensor<16x1xi1>) -> tensor<16x1xi1> loc(#loc85)
    %63 = "linalg.generic"(%61, %62) <{indexing_maps = [#map12, #map2], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg46: i1 loc(unknown), %arg47: i1 loc(unknown)):
      %110 = "arith.andi"(%arg47, %arg46) : (i1, i1) -> i1 loc(#loc85)
      "linalg.yield"(%110) : (i1) -> () loc(#loc85)
    }) : (tensor<16x1x1xi1>, tensor<16x1xi1>) -> tensor<16x1xi1> loc(#loc85)
    %64 = "linalg.generic"(%33) <{indexing_maps = [#map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg45: f32 loc(unknown)):
      %104 = "linalg.index"() <{dim = 0 : i64}> : () -> index loc(#loc85)
      %105 = "tensor.extract"(%52, %104, %3, %3) : (tensor<16x1x1xi32>, index, index, index) -> i32 loc(#loc85)
      %106 = "arith.index_cast"(%105) : (i32) -> index loc(#loc85)
      %107 = "arith.maxsi"(%106, %3) : (index, index) -> index loc(#loc85)
      %108 = "arith.minsi"(%107, %2) : (index, index) -> index loc(#loc85)
      %109 = "tensor.extract"(%43, %104, %108) : (tensor<16x10xf32>, index, index) -> f32 loc(#loc85)
      "linalg.yield"(%109) : (f32) -> () loc(#loc85)
    }) : (tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc85)
    %65 = "linalg.generic"(%1, %33) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg43: f32 loc(unknown), %arg44: f32 loc(unknown)):
      "linalg.yield"(%arg43) : (f32) -> () loc(#loc85)
    }) : (tensor<f32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc85)
    %66 = "linalg.generic"(%63, %64, %65, %33) <{indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg39: i1 loc(unknown), %arg40: f32 loc(unknown), %arg41: f32 loc(unknown), %arg42: f32 loc(unknown)):
      %103 = "arith.select"(%arg39, %arg40, %arg41) : (i1, f32, f32) -> f32 loc(#loc85)
      "linalg.yield"(%103) : (f32) -> () loc(#loc85)
    }) : (tensor<16x1xi1>, tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> loc(#loc85)
    %67 = "tensor.collapse_shape"(%66) <{reassociation = [[0, 1]]}> : (tensor<16x1xf32>) -> tensor<16xf32> loc(#loc91)
    %68 = "linalg.generic"(%67, %28) <{indexing_maps = [#map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg37: f32 loc(unknown), %arg38: f32 loc(unknown)):
      %102 = "arith.negf"(%arg37) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc92)
      "linalg.yield"(%102) : (f32) -> () loc(#loc92)
    }) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc92)
    %69 = "tensor.empty"() : () -> tensor<16x10xi32> loc(#loc69)
    %70 = "linalg.generic"(%69) <{indexing_maps = [#map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg36: i32 loc(unknown)):
      %100 = "linalg.index"() <{dim = 1 : i64}> : () -> index loc(#loc69)
      %101 = "arith.index_cast"(%100) : (index) -> i32 loc(#loc69)
      "linalg.yield"(%101) : (i32) -> () loc(#loc69)
    }) : (tensor<16x10xi32>) -> tensor<16x10xi32> loc(#loc69)
    %71 = "tensor.empty"() : () -> tensor<16xi32> loc(#loc69)
    %72 = "linalg.fill"(%0, %71) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg34: i32 loc(unknown), %arg35: i32 loc(unknown)):
      "linalg.yield"(%arg34) : (i32) -> () loc(#loc69)
    }) : (i32, tensor<16xi32>) -> tensor<16xi32> loc(#loc69)
    %73:2 = "linalg.generic"(%27, %70, %29, %72) <{indexing_maps = [#map4, #map4, #map7, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 2>}> ({
    ^bb0(%arg30: f32 loc(unknown), %arg31: i32 loc(unknown), %arg32: f32 loc(unknown), %arg33: i32 loc(unknown)):
      %91 = "arith.cmpf"(%arg32, %arg30) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1 loc(#loc69)
      %92 = "arith.cmpf"(%arg32, %arg32) <{fastmath = #arith.fastmath<none>, predicate = 13 : i64}> : (f32, f32) -> i1 loc(#loc69)
      %93 = "arith.ori"(%91, %92) : (i1, i1) -> i1 loc(#loc69)
      %94 = "arith.cmpf"(%arg32, %arg30) <{fastmath = #arith.fastmath<none>, predicate = 1 : i64}> : (f32, f32) -> i1 loc(#loc69)
      %95 = "arith.cmpi"(%arg33, %arg31) <{predicate = 2 : i64}> : (i32, i32) -> i1 loc(#loc69)
      %96 = "arith.andi"(%94, %95) : (i1, i1) -> i1 loc(#loc69)
      %97 = "arith.ori"(%93, %96) : (i1, i1) -> i1 loc(#loc69)
      %98 = "arith.select"(%93, %arg32, %arg30) : (i1, f32, f32) -> f32 loc(#loc69)
      %99 = "arith.select"(%97, %arg33, %arg31) : (i1, i32, i32) -> i32 loc(#loc69)
      "linalg.yield"(%98, %99) : (f32, i32) -> () loc(#loc69)
    }) : (tensor<16x10xf32>, tensor<16x10xi32>, tensor<16xf32>, tensor<16xi32>) -> (tensor<16xf32>, tensor<16xi32>) loc(#loc69)
    %74 = "tensor.empty"() : () -> tensor<16xi1> loc(#loc69)
    %75 = "linalg.generic"(%73#1, %arg10, %74) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg27: i32 loc(unknown), %arg28: i32 loc(unknown), %arg29: i1 loc(unknown)):
      %90 = "arith.cmpi"(%arg27, %arg28) <{predicate = 0 : i64}> : (i32, i32) -> i1 loc(#loc69)
      "linalg.yield"(%90) : (i1) -> () loc(#loc69)
    }) : (tensor<16xi32>, tensor<16xi32>, tensor<16xi1>) -> tensor<16xi1> loc(#loc69)
    %76 = "linalg.generic"(%75, %28) <{indexing_maps = [#map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg25: i1 loc(unknown), %arg26: f32 loc(unknown)):
      %89 = "arith.uitofp"(%arg25) : (i1) -> f32 loc(#loc72)
      "linalg.yield"(%89) : (f32) -> () loc(#loc72)
    }) : (tensor<16xi1>, tensor<16xf32>) -> tensor<16xf32> loc(#loc72)
    %77 = "tensor.empty"() : () -> tensor<f32> loc(#loc73)
    %78 = "linalg.fill"(%11, %77) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg23: f32 loc(unknown), %arg24: f32 loc(unknown)):
      "linalg.yield"(%arg23) : (f32) -> () loc(#loc73)
    }) : (f32, tensor<f32>) -> tensor<f32> loc(#loc73)
    %79 = "linalg.generic"(%arg8, %78) <{indexing_maps = [#map9, #map8], iterator_types = [#linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg21: f32 loc(unknown), %arg22: f32 loc(unknown)):
      %88 = "arith.addf"(%arg22, %arg21) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc73)
      "linalg.yield"(%88) : (f32) -> () loc(#loc73)
    }) : (tensor<16xf32>, tensor<f32>) -> tensor<f32> loc(#loc73)
    %80 = "linalg.generic"(%68, %arg8, %28) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg18: f32 loc(unknown), %arg19: f32 loc(unknown), %arg20: f32 loc(unknown)):
      %87 = "arith.mulf"(%arg18, %arg19) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc74)
      "linalg.yield"(%87) : (f32) -> () loc(#loc74)
    }) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc74)
    %81 = "linalg.generic"(%80, %78) <{indexing_maps = [#map9, #map8], iterator_types = [#linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg16: f32 loc(unknown), %arg17: f32 loc(unknown)):
      %86 = "arith.addf"(%arg17, %arg16) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc75)
      "linalg.yield"(%86) : (f32) -> () loc(#loc75)
    }) : (tensor<16xf32>, tensor<f32>) -> tensor<f32> loc(#loc75)
    %82 = "linalg.generic"(%76, %arg8, %28) <{indexing_maps = [#map9, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg13: f32 loc(unknown), %arg14: f32 loc(unknown), %arg15: f32 loc(unknown)):
      %85 = "arith.mulf"(%arg13, %arg14) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc76)
      "linalg.yield"(%85) : (f32) -> () loc(#loc76)
    }) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc76)
    %83 = "linalg.generic"(%82, %78) <{indexing_maps = [#map9, #map8], iterator_types = [#linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg11: f32 loc(unknown), %arg12: f32 loc(unknown)):
      %84 = "arith.addf"(%arg12, %arg11) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc77)
      "linalg.yield"(%84) : (f32) -> () loc(#loc77)
    }) : (tensor<16xf32>, tensor<f32>) -> tensor<f32> loc(#loc77)
    "func.return"(%83, %79, %81, %79) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> () loc(#loc34)
  }) : () -> () loc(#loc34)
}) : () -> () loc(#loc)
#loc1 = loc("model.py":47:1)
#loc15 = loc("model.py":43:14)
#loc16 = loc("model.py":52:25)
#loc17 = loc("model.py":54:19)
#loc18 = loc("model.py":43:34)
#loc19 = loc("model.py":37:26)
#loc20 = loc("model.py":51:18)
#loc21 = loc("model.py":37:14)
#loc22 = loc("model.py":38:12)
#loc23 = loc("model.py":43:62)
#loc24 = loc("model.py":44:13)
#loc25 = loc("model.py":44:12)
#loc26 = loc("model.py":52:16)
#loc27 = loc("model.py":55:13)
#loc28 = loc("model.py":56:42)
#loc29 = loc("model.py":56:16)
#loc30 = loc("model.py":57:44)
#loc31 = loc("model.py":57:14)
#loc32 = loc("model.py":57:40)
#loc33 = loc("model.py":58:24)
#loc34 = loc("model.py":62:1)
#loc36 = loc("model.py":66:14)
#loc37 = loc("model.py":65:14)
#loc38 = loc("model.py":64:14)
#loc39 = loc("model.py":66:13)
#loc40 = loc("model.py":68:13)
#loc41 = loc("model.py":70:26)
#loc42 = loc("model.py":70:18)
#loc43 = loc("model.py":71:30)
#loc44 = loc("model.py":71:22)
#loc45 = loc("cross_entropy"(#loc15))
#loc46 = loc("loss_fn"(#loc16))
#loc47 = loc("step"(#loc17))
#loc48 = loc("cross_entropy"(#loc18))
#loc49 = loc("logits"(#loc19))
#loc50 = loc("loss_fn"(#loc20))
#loc51 = loc("logits"(#loc21))
#loc52 = loc("logits"(#loc22))
#loc53 = loc("cross_entropy"(#loc23))
#loc54 = loc("cross_entropy"(#loc24))
#loc55 = loc("cross_entropy"(#loc25))
#loc56 = loc("loss_fn"(#loc26))
#loc57 = loc("loss_fn_backward"(#loc26))
#loc58 = loc("cross_entropy_backward"(#loc25))
#loc59 = loc("cross_entropy_backward"(#loc24))
#loc60 = loc("cross_entropy_backward"(#loc15))
#loc61 = loc("cross_entropy_backward"(#loc18))
#loc62 = loc("logits_backward"(#loc22))
#loc63 = loc("logits_backward"(#loc21))
#loc64 = loc("logits_backward"(#loc19))
#loc65 = loc("step"(#loc27))
#loc66 = loc("step"(#loc29))
#loc67 = loc("step"(#loc31))
#loc68 = loc("step"(#loc33))
#loc69 = loc("evaluate"(#loc36))
#loc70 = loc("evaluate"(#loc37))
#loc71 = loc("evaluate"(#loc38))
#loc72 = loc("evaluate"(#loc39))
#loc73 = loc("evaluate"(#loc40))
#loc74 = loc("evaluate"(#loc41))
#loc75 = loc("evaluate"(#loc42))
#loc76 = loc("evaluate"(#loc43))
#loc77 = loc("evaluate"(#loc44))
#loc78 = loc(callsite(#loc46 at #loc47))
#loc79 = loc(callsite(#loc50 at #loc47))
#loc80 = loc(callsite(#loc56 at #loc47))
#loc81 = loc(callsite(#loc57 at #loc47))
#loc82 = loc(callsite(#loc28 at #loc66))
#loc83 = loc(callsite(#loc30 at #loc67))
#loc84 = loc(callsite(#loc32 at #loc67))
#loc85 = loc(callsite(#loc45 at #loc70))
#loc86 = loc(callsite(#loc49 at #loc71))
#loc87 = loc(callsite(#loc51 at #loc71))
#loc88 = loc(callsite(#loc52 at #loc71))
#loc89 = loc(callsite(#loc48 at #loc70))
#loc90 = loc(callsite(#loc53 at #loc70))
#loc91 = loc(callsite(#loc54 at #loc70))
#loc92 = loc(callsite(#loc55 at #loc70))
#loc93 = loc(callsite(#loc45 at #loc78))
#loc94 = loc(callsite(#loc48 at #loc78))
#loc95 = loc(callsite(#loc49 at #loc79))
#loc96 = loc(callsite(#loc51 at #loc79))
#loc97 = loc(callsite(#loc52 at #loc79))
#loc98 = loc(callsite(#loc53 at #loc78))
#loc99 = loc(callsite(#loc54 at #loc78))
#loc100 = loc(callsite(#loc55 at #loc78))
#loc101 = loc(callsite(#loc58 at #loc78))
#loc102 = loc(callsite(#loc59 at #loc78))
#loc103 = loc(callsite(#loc60 at #loc78))
#loc104 = loc(callsite(#loc61 at #loc78))
#loc105 = loc(callsite(#loc62 at #loc79))
#loc106 = loc(callsite(#loc63 at #loc79))
#loc107 = loc(callsite(#loc64 at #loc79))
