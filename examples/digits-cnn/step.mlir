#loc = loc(unknown)
#loc2 = loc("params/conv1/b")
#loc3 = loc("params/conv1/w")
#loc4 = loc("params/conv2/b")
#loc5 = loc("params/conv2/w")
#loc6 = loc("params/dense/b")
#loc7 = loc("params/dense/w")
#loc8 = loc("velocity/conv1/b")
#loc9 = loc("velocity/conv1/w")
#loc10 = loc("velocity/conv2/b")
#loc11 = loc("velocity/conv2/w")
#loc12 = loc("velocity/dense/b")
#loc13 = loc("velocity/dense/w")
#loc14 = loc("x")
#loc15 = loc("y")
#loc16 = loc("lr")
#loc17 = loc("seed")
#loc18 = loc("step")
#loc46 = loc("mask")
#map = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (0, 0, 0, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> ()>
#map7 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)>
#map8 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>
#map9 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map10 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map11 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map12 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map13 = affine_map<(d0, d1) -> (d1)>
#map14 = affine_map<(d0, d1) -> (d0, d1)>
#map15 = affine_map<(d0, d1) -> (0, d1)>
#map16 = affine_map<(d0, d1) -> (d0)>
#map17 = affine_map<(d0) -> ()>
#map18 = affine_map<(d0) -> (d0)>
#map19 = affine_map<(d0, d1) -> (d0, 0)>
#map20 = affine_map<(d0, d1) -> ()>
#map21 = affine_map<(d0, d1, d2) -> ()>
#map22 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map23 = affine_map<(d0, d1, d2) -> (d2)>
#map24 = affine_map<(d0, d1, d2) -> (0, d1, d2)>
#map25 = affine_map<() -> ()>
#map26 = affine_map<(d0, d1) -> (d1, d0)>
#map27 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map28 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map29 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>
#map30 = affine_map<(d0, d1, d2, d3) -> (d0)>
#map31 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2 + d3, d4 + d5, d6)>
#map32 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d5, d1)>
#map33 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d4, d6, d1)>
#map34 = affine_map<(d0, d1, d2, d3) -> (-d0 + 2, -d1 + 2, d2, d3)>
#map35 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d2 + d3, d4 + d5, d0)>
#map36 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d5, d1, d0)>
#map37 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d2, d4, d1)>
#map38 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d5)>
#map39 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>
"builtin.module"() <{sym_name = "digits_cnn"}> ({
  "func.func"() <{arg_attrs = [{replica.variable = "params/conv1/b"}, {replica.variable = "params/conv1/w"}, {replica.variable = "params/conv2/b"}, {replica.variable = "params/conv2/w"}, {replica.variable = "params/dense/b"}, {replica.variable = "params/dense/w"}, {replica.variable = "velocity/conv1/b"}, {replica.variable = "velocity/conv1/w"}, {replica.variable = "velocity/conv2/b"}, {replica.variable = "velocity/conv2/w"}, {replica.variable = "velocity/dense/b"}, {replica.variable = "velocity/dense/w"}, {replica.batch = "x"}, {replica.batch = "y"}, {replica.default = 5.000000e-02 : f32, replica.scalar = "lr"}, {replica.scalar = "seed"}, {replica.scalar = "step"}], function_type = (tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<32x8x8x1xf32>, tensor<32xi32>, tensor<f32>, tensor<ui32>, tensor<i32>) -> (tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<f32>), res_attrs = [{replica.variable = "params/conv1/b"}, {replica.variable = "params/conv1/w"}, {replica.variable = "params/conv2/b"}, {replica.variable = "params/conv2/w"}, {replica.variable = "params/dense/b"}, {replica.variable = "params/dense/w"}, {replica.variable = "velocity/conv1/b"}, {replica.variable = "velocity/conv1/w"}, {replica.variable = "velocity/conv2/b"}, {replica.variable = "velocity/conv2/w"}, {replica.variable = "velocity/dense/b"}, {replica.variable = "velocity/dense/w"}, {replica.metric = "loss"}], sym_name = "step", sym_visibility = "public"}> ({
  ^bb0(%arg175: tensor<16xf32> loc("params/conv1/b"), %arg176: tensor<3x3x1x16xf32> loc("params/conv1/w"), %arg177: tensor<32xf32> loc("params/conv2/b"), %arg178: tensor<3x3x16x32xf32> loc("params/conv2/w"), %arg179: tensor<10xf32> loc("params/dense/b"), %arg180: tensor<512x10xf32> loc("params/dense/w"), %arg181: tensor<16xf32> loc("velocity/conv1/b"), %arg182: tensor<3x3x1x16xf32> loc("velocity/conv1/w"), %arg183: tensor<32xf32> loc("velocity/conv2/b"), %arg184: tensor<3x3x16x32xf32> loc("velocity/conv2/w"), %arg185: tensor<10xf32> loc("velocity/dense/b"), %arg186: tensor<512x10xf32> loc("velocity/dense/w"), %arg187: tensor<32x8x8x1xf32> loc("x"), %arg188: tensor<32xi32> loc("y"), %arg189: tensor<f32> loc("lr"), %arg190: tensor<ui32> loc("seed"), %arg191: tensor<i32> loc("step")):
    %152 = "builtin.unrealized_conversion_cast"(%arg190) : (tensor<ui32>) -> tensor<i32> loc(#loc1)
    %153 = "arith.constant"() <{value = 3.125000e-02 : f32}> : () -> f32 loc(#loc)
    %154 = "arith.constant"() <{value = dense<0.899999976> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %155 = "arith.constant"() <{value = 2 : index}> : () -> index loc(#loc)
    %156 = "arith.constant"() <{value = -1 : i32}> : () -> i32 loc(#loc144)
    %157 = "arith.constant"() <{value = 3.200000e+01 : f32}> : () -> f32 loc(#loc)
    %158 = "arith.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32> loc(#loc120)
    %159 = "arith.constant"() <{value = 9 : index}> : () -> index loc(#loc)
    %160 = "arith.constant"() <{value = 0 : index}> : () -> index loc(#loc)
    %161 = "arith.constant"() <{value = true}> : () -> i1 loc(#loc120)
    %162 = "arith.constant"() <{value = dense<9> : tensor<1xi32>}> : () -> tensor<1xi32> loc(#loc120)
    %163 = "arith.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32> loc(#loc120)
    %164 = "arith.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32> loc(#loc)
    %165 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32 loc(#loc)
    %166 = "arith.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %167 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %168 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32 loc(#loc)
    %169 = "tensor.empty"() : () -> tensor<32x8x8x16xf32> loc(#loc145)
    %170 = "linalg.fill"(%168, %169) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg531: f32 loc(unknown), %arg532: f32 loc(unknown)):
      "linalg.yield"(%arg531) : (f32) -> () loc(#loc145)
    }) : (f32, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc145)
    %171 = "tensor.pad"(%arg187) <{operandSegmentSizes = array<i32: 1, 0, 0>, static_high = array<i64: 0, 1, 1, 0>, static_low = array<i64: 0, 1, 1, 0>}> ({
    ^bb0(%arg527: index loc(unknown), %arg528: index loc(unknown), %arg529: index loc(unknown), %arg530: index loc(unknown)):
      "tensor.yield"(%168) : (f32) -> () loc(#loc145)
    }) : (tensor<32x8x8x1xf32>) -> tensor<32x10x10x1xf32> loc(#loc145)
    %172 = "linalg.conv_2d_nhwc_hwcf"(%171, %arg176, %170) <{dilations = dense<1> : tensor<2xi64>, operandSegmentSizes = array<i32: 2, 1>, strides = dense<1> : tensor<2xi64>}> ({
    ^bb0(%arg524: f32 loc(unknown), %arg525: f32 loc(unknown), %arg526: f32 loc(unknown)):
      %448 = "arith.mulf"(%arg524, %arg525) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc145)
      %449 = "arith.addf"(%arg526, %448) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc145)
      "linalg.yield"(%449) : (f32) -> () loc(#loc145)
    }) {linalg.memoized_indexing_maps = [#map, #map1, #map2]} : (tensor<32x10x10x1xf32>, tensor<3x3x1x16xf32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc145)
    %173 = "tensor.empty"() : () -> tensor<1x1x1x16xf32> loc(#loc146)
    %174 = "linalg.generic"(%arg175, %173) <{indexing_maps = [#map3, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg522: f32 loc(unknown), %arg523: f32 loc(unknown)):
      "linalg.yield"(%arg522) : (f32) -> () loc(#loc146)
    }) : (tensor<16xf32>, tensor<1x1x1x16xf32>) -> tensor<1x1x1x16xf32> loc(#loc146)
    %175 = "linalg.generic"(%174, %169) <{indexing_maps = [#map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg520: f32 loc(unknown), %arg521: f32 loc(unknown)):
      "linalg.yield"(%arg520) : (f32) -> () loc(#loc146)
    }) : (tensor<1x1x1x16xf32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc146)
    %176 = "linalg.generic"(%172, %175, %169) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg517: f32 loc(unknown), %arg518: f32 loc(unknown), %arg519: f32 loc(unknown)):
      %447 = "arith.addf"(%arg517, %arg518) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc146)
      "linalg.yield"(%447) : (f32) -> () loc(#loc146)
    }) : (tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc146)
    %177 = "linalg.generic"(%167, %169) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg515: f32 loc(unknown), %arg516: f32 loc(unknown)):
      "linalg.yield"(%arg515) : (f32) -> () loc(#loc122)
    }) : (tensor<f32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc122)
    %178 = "linalg.generic"(%176, %177, %169) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg512: f32 loc(unknown), %arg513: f32 loc(unknown), %arg514: f32 loc(unknown)):
      %446 = "arith.maximumf"(%arg512, %arg513) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc122)
      "linalg.yield"(%446) : (f32) -> () loc(#loc122)
    }) : (tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc122)
    %179 = "tensor.empty"() : () -> tensor<32x8x8x16xi1> loc(#loc122)
    %180 = "linalg.generic"(%176, %177, %179) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg509: f32 loc(unknown), %arg510: f32 loc(unknown), %arg511: i1 loc(unknown)):
      %445 = "arith.cmpf"(%arg509, %arg510) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1 loc(#loc122)
      "linalg.yield"(%445) : (i1) -> () loc(#loc122)
    }) : (tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>, tensor<32x8x8x16xi1>) -> tensor<32x8x8x16xi1> loc(#loc122)
    %181 = "tensor.empty"() : () -> tensor<2x2xf32> loc(#loc147)
    %182 = "tensor.empty"() : () -> tensor<32x4x4x16xf32> loc(#loc147)
    %183 = "linalg.fill"(%165, %182) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg507: f32 loc(unknown), %arg508: f32 loc(unknown)):
      "linalg.yield"(%arg507) : (f32) -> () loc(#loc147)
    }) : (f32, tensor<32x4x4x16xf32>) -> tensor<32x4x4x16xf32> loc(#loc147)
    %184 = "linalg.pooling_nhwc_max"(%178, %181, %183) <{dilations = dense<1> : vector<2xi64>, operandSegmentSizes = array<i32: 2, 1>, strides = dense<2> : vector<2xi64>}> ({
    ^bb0(%arg504: f32 loc(unknown), %arg505: f32 loc(unknown), %arg506: f32 loc(unknown)):
      %444 = "arith.maximumf"(%arg506, %arg504) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc147)
      "linalg.yield"(%444) : (f32) -> () loc(#loc147)
    }) {linalg.memoized_indexing_maps = [#map7, #map8, #map9]} : (tensor<32x8x8x16xf32>, tensor<2x2xf32>, tensor<32x4x4x16xf32>) -> tensor<32x4x4x16xf32> loc(#loc147)
    %185 = "tensor.empty"() : () -> tensor<32x4x4x32xf32> loc(#loc148)
    %186 = "linalg.fill"(%168, %185) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg502: f32 loc(unknown), %arg503: f32 loc(unknown)):
      "linalg.yield"(%arg502) : (f32) -> () loc(#loc148)
    }) : (f32, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc148)
    %187 = "tensor.pad"(%184) <{operandSegmentSizes = array<i32: 1, 0, 0>, static_high = array<i64: 0, 1, 1, 0>, static_low = array<i64: 0, 1, 1, 0>}> ({
    ^bb0(%arg498: index loc(unknown), %arg499: index loc(unknown), %arg500: index loc(unknown), %arg501: index loc(unknown)):
      "tensor.yield"(%168) : (f32) -> () loc(#loc148)
    }) : (tensor<32x4x4x16xf32>) -> tensor<32x6x6x16xf32> loc(#loc148)
    %188 = "linalg.conv_2d_nhwc_hwcf"(%187, %arg178, %186) <{dilations = dense<1> : tensor<2xi64>, operandSegmentSizes = array<i32: 2, 1>, strides = dense<1> : tensor<2xi64>}> ({
    ^bb0(%arg495: f32 loc(unknown), %arg496: f32 loc(unknown), %arg497: f32 loc(unknown)):
      %442 = "arith.mulf"(%arg495, %arg496) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc148)
      %443 = "arith.addf"(%arg497, %442) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc148)
      "linalg.yield"(%443) : (f32) -> () loc(#loc148)
    }) {linalg.memoized_indexing_maps = [#map, #map1, #map2]} : (tensor<32x6x6x16xf32>, tensor<3x3x16x32xf32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc148)
    %189 = "tensor.empty"() : () -> tensor<1x1x1x32xf32> loc(#loc149)
    %190 = "linalg.generic"(%arg177, %189) <{indexing_maps = [#map3, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg493: f32 loc(unknown), %arg494: f32 loc(unknown)):
      "linalg.yield"(%arg493) : (f32) -> () loc(#loc149)
    }) : (tensor<32xf32>, tensor<1x1x1x32xf32>) -> tensor<1x1x1x32xf32> loc(#loc149)
    %191 = "linalg.generic"(%190, %185) <{indexing_maps = [#map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg491: f32 loc(unknown), %arg492: f32 loc(unknown)):
      "linalg.yield"(%arg491) : (f32) -> () loc(#loc149)
    }) : (tensor<1x1x1x32xf32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc149)
    %192 = "linalg.generic"(%188, %191, %185) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg488: f32 loc(unknown), %arg489: f32 loc(unknown), %arg490: f32 loc(unknown)):
      %441 = "arith.addf"(%arg488, %arg489) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc149)
      "linalg.yield"(%441) : (f32) -> () loc(#loc149)
    }) : (tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc149)
    %193 = "linalg.generic"(%167, %185) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg486: f32 loc(unknown), %arg487: f32 loc(unknown)):
      "linalg.yield"(%arg486) : (f32) -> () loc(#loc124)
    }) : (tensor<f32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc124)
    %194 = "linalg.generic"(%192, %193, %185) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg483: f32 loc(unknown), %arg484: f32 loc(unknown), %arg485: f32 loc(unknown)):
      %440 = "arith.maximumf"(%arg483, %arg484) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc124)
      "linalg.yield"(%440) : (f32) -> () loc(#loc124)
    }) : (tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc124)
    %195 = "tensor.empty"() : () -> tensor<32x4x4x32xi1> loc(#loc124)
    %196 = "linalg.generic"(%192, %193, %195) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg480: f32 loc(unknown), %arg481: f32 loc(unknown), %arg482: i1 loc(unknown)):
      %439 = "arith.cmpf"(%arg480, %arg481) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1 loc(#loc124)
      "linalg.yield"(%439) : (i1) -> () loc(#loc124)
    }) : (tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>, tensor<32x4x4x32xi1>) -> tensor<32x4x4x32xi1> loc(#loc124)
    %197 = "tensor.collapse_shape"(%194) <{reassociation = [[0], [1, 2, 3]]}> : (tensor<32x4x4x32xf32>) -> tensor<32x512xf32> loc(#loc125)
    %198 = "tensor.empty"() : () -> tensor<32x10xf32> loc(#loc126)
    %199 = "linalg.fill"(%168, %198) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg478: f32 loc(unknown), %arg479: f32 loc(unknown)):
      "linalg.yield"(%arg478) : (f32) -> () loc(#loc126)
    }) : (f32, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc126)
    %200 = "linalg.matmul"(%197, %arg180, %199) <{indexing_maps = [#map10, #map11, #map12], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg475: f32 loc(unknown), %arg476: f32 loc(unknown), %arg477: f32 loc(unknown)):
      %437 = "arith.mulf"(%arg475, %arg476) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc126)
      %438 = "arith.addf"(%arg477, %437) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc126)
      "linalg.yield"(%438) : (f32) -> () loc(#loc126)
    }) : (tensor<32x512xf32>, tensor<512x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc126)
    %201 = "tensor.empty"() : () -> tensor<1x10xf32> loc(#loc126)
    %202 = "linalg.generic"(%arg179, %201) <{indexing_maps = [#map13, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg473: f32 loc(unknown), %arg474: f32 loc(unknown)):
      "linalg.yield"(%arg473) : (f32) -> () loc(#loc126)
    }) : (tensor<10xf32>, tensor<1x10xf32>) -> tensor<1x10xf32> loc(#loc126)
    %203 = "linalg.generic"(%202, %198) <{indexing_maps = [#map15, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg471: f32 loc(unknown), %arg472: f32 loc(unknown)):
      "linalg.yield"(%arg471) : (f32) -> () loc(#loc126)
    }) : (tensor<1x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc126)
    %204 = "linalg.generic"(%200, %203, %198) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg468: f32 loc(unknown), %arg469: f32 loc(unknown), %arg470: f32 loc(unknown)):
      %436 = "arith.addf"(%arg468, %arg469) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc126)
      "linalg.yield"(%436) : (f32) -> () loc(#loc126)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc126)
    %205 = "tensor.empty"() : () -> tensor<32xf32> loc(#loc127)
    %206 = "linalg.fill"(%165, %205) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg466: f32 loc(unknown), %arg467: f32 loc(unknown)):
      "linalg.yield"(%arg466) : (f32) -> () loc(#loc127)
    }) : (f32, tensor<32xf32>) -> tensor<32xf32> loc(#loc127)
    %207 = "linalg.generic"(%204, %206) <{indexing_maps = [#map14, #map16], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg464: f32 loc(unknown), %arg465: f32 loc(unknown)):
      %435 = "arith.maximumf"(%arg465, %arg464) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc127)
      "linalg.yield"(%435) : (f32) -> () loc(#loc127)
    }) : (tensor<32x10xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc127)
    %208 = "linalg.generic"(%166, %205) <{indexing_maps = [#map17, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg462: f32 loc(unknown), %arg463: f32 loc(unknown)):
      "linalg.yield"(%arg462) : (f32) -> () loc(#loc127)
    }) : (tensor<f32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc127)
    %209 = "linalg.generic"(%208, %207, %205) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg459: f32 loc(unknown), %arg460: f32 loc(unknown), %arg461: f32 loc(unknown)):
      %434 = "arith.maximumf"(%arg459, %arg460) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc127)
      "linalg.yield"(%434) : (f32) -> () loc(#loc127)
    }) : (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc127)
    %210 = "tensor.empty"() : () -> tensor<32x1xf32> loc(#loc127)
    %211 = "linalg.generic"(%209, %210) <{indexing_maps = [#map16, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg457: f32 loc(unknown), %arg458: f32 loc(unknown)):
      "linalg.yield"(%arg457) : (f32) -> () loc(#loc127)
    }) : (tensor<32xf32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc127)
    %212 = "linalg.generic"(%211, %198) <{indexing_maps = [#map19, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg455: f32 loc(unknown), %arg456: f32 loc(unknown)):
      "linalg.yield"(%arg455) : (f32) -> () loc(#loc127)
    }) : (tensor<32x1xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc127)
    %213 = "linalg.generic"(%204, %212, %198) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg452: f32 loc(unknown), %arg453: f32 loc(unknown), %arg454: f32 loc(unknown)):
      %433 = "arith.subf"(%arg452, %arg453) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc127)
      "linalg.yield"(%433) : (f32) -> () loc(#loc127)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc127)
    %214 = "linalg.generic"(%213, %198) <{indexing_maps = [#map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg450: f32 loc(unknown), %arg451: f32 loc(unknown)):
      %432 = "math.exp"(%arg450) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc127)
      "linalg.yield"(%432) : (f32) -> () loc(#loc127)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc127)
    %215 = "linalg.fill"(%168, %205) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg448: f32 loc(unknown), %arg449: f32 loc(unknown)):
      "linalg.yield"(%arg448) : (f32) -> () loc(#loc127)
    }) : (f32, tensor<32xf32>) -> tensor<32xf32> loc(#loc127)
    %216 = "linalg.generic"(%214, %215) <{indexing_maps = [#map14, #map16], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg446: f32 loc(unknown), %arg447: f32 loc(unknown)):
      %431 = "arith.addf"(%arg447, %arg446) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc127)
      "linalg.yield"(%431) : (f32) -> () loc(#loc127)
    }) : (tensor<32x10xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc127)
    %217 = "linalg.generic"(%216, %210) <{indexing_maps = [#map16, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg444: f32 loc(unknown), %arg445: f32 loc(unknown)):
      "linalg.yield"(%arg444) : (f32) -> () loc(#loc127)
    }) : (tensor<32xf32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc127)
    %218 = "linalg.generic"(%217, %210) <{indexing_maps = [#map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg442: f32 loc(unknown), %arg443: f32 loc(unknown)):
      %430 = "math.log"(%arg442) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc127)
      "linalg.yield"(%430) : (f32) -> () loc(#loc127)
    }) : (tensor<32x1xf32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc127)
    %219 = "linalg.generic"(%218, %198) <{indexing_maps = [#map19, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg440: f32 loc(unknown), %arg441: f32 loc(unknown)):
      "linalg.yield"(%arg440) : (f32) -> () loc(#loc127)
    }) : (tensor<32x1xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc127)
    %220 = "linalg.generic"(%213, %219, %198) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg437: f32 loc(unknown), %arg438: f32 loc(unknown), %arg439: f32 loc(unknown)):
      %429 = "arith.subf"(%arg437, %arg438) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc127)
      "linalg.yield"(%429) : (f32) -> () loc(#loc127)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc127)
    %221 = "tensor.empty"() : () -> tensor<32x1xi32> loc(#loc128)
    %222 = "linalg.generic"(%arg188, %221) <{indexing_maps = [#map16, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg435: i32 loc(unknown), %arg436: i32 loc(unknown)):
      "linalg.yield"(%arg435) : (i32) -> () loc(#loc128)
    }) : (tensor<32xi32>, tensor<32x1xi32>) -> tensor<32x1xi32> loc(#loc128)
    %223 = "linalg.generic"(%164, %221) <{indexing_maps = [#map20, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg433: i32 loc(unknown), %arg434: i32 loc(unknown)):
      "linalg.yield"(%arg433) : (i32) -> () loc(#loc120)
    }) : (tensor<i32>, tensor<32x1xi32>) -> tensor<32x1xi32> loc(#loc120)
    %224 = "tensor.empty"() : () -> tensor<32x1xi1> loc(#loc120)
    %225 = "linalg.generic"(%222, %223, %224) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg430: i32 loc(unknown), %arg431: i32 loc(unknown), %arg432: i1 loc(unknown)):
      %428 = "arith.cmpi"(%arg430, %arg431) <{predicate = 2 : i64}> : (i32, i32) -> i1 loc(#loc120)
      "linalg.yield"(%428) : (i1) -> () loc(#loc120)
    }) : (tensor<32x1xi32>, tensor<32x1xi32>, tensor<32x1xi1>) -> tensor<32x1xi1> loc(#loc120)
    %226 = "linalg.generic"(%163, %221) <{indexing_maps = [#map20, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg428: i32 loc(unknown), %arg429: i32 loc(unknown)):
      "linalg.yield"(%arg428) : (i32) -> () loc(#loc120)
    }) : (tensor<i32>, tensor<32x1xi32>) -> tensor<32x1xi32> loc(#loc120)
    %227 = "linalg.generic"(%222, %226, %221) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg425: i32 loc(unknown), %arg426: i32 loc(unknown), %arg427: i32 loc(unknown)):
      %427 = "arith.addi"(%arg425, %arg426) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32 loc(#loc120)
      "linalg.yield"(%427) : (i32) -> () loc(#loc120)
    }) : (tensor<32x1xi32>, tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x1xi32> loc(#loc120)
    %228 = "linalg.generic"(%225, %227, %222, %221) <{indexing_maps = [#map14, #map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg421: i1 loc(unknown), %arg422: i32 loc(unknown), %arg423: i32 loc(unknown), %arg424: i32 loc(unknown)):
      %426 = "arith.select"(%arg421, %arg422, %arg423) : (i1, i32, i32) -> i32 loc(#loc120)
      "linalg.yield"(%426) : (i32) -> () loc(#loc120)
    }) : (tensor<32x1xi1>, tensor<32x1xi32>, tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x1xi32> loc(#loc120)
    %229 = "tensor.expand_shape"(%228) <{reassociation = [[0], [1, 2]], static_output_shape = array<i64: 32, 1, 1>}> : (tensor<32x1xi32>) -> tensor<32x1x1xi32> loc(#loc120)
    %230 = "tensor.empty"() : () -> tensor<32x1x1xi32> loc(#loc120)
    %231 = "linalg.generic"(%164, %230) <{indexing_maps = [#map21, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg419: i32 loc(unknown), %arg420: i32 loc(unknown)):
      "linalg.yield"(%arg419) : (i32) -> () loc(#loc120)
    }) : (tensor<i32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi32> loc(#loc120)
    %232 = "tensor.empty"() : () -> tensor<32x1x1xi1> loc(#loc120)
    %233 = "linalg.generic"(%229, %231, %232) <{indexing_maps = [#map22, #map22, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg416: i32 loc(unknown), %arg417: i32 loc(unknown), %arg418: i1 loc(unknown)):
      %425 = "arith.cmpi"(%arg416, %arg417) <{predicate = 5 : i64}> : (i32, i32) -> i1 loc(#loc120)
      "linalg.yield"(%425) : (i1) -> () loc(#loc120)
    }) : (tensor<32x1x1xi32>, tensor<32x1x1xi32>, tensor<32x1x1xi1>) -> tensor<32x1x1xi1> loc(#loc120)
    %234 = "tensor.empty"() : () -> tensor<1x1x1xi32> loc(#loc120)
    %235 = "linalg.generic"(%162, %234) <{indexing_maps = [#map23, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg414: i32 loc(unknown), %arg415: i32 loc(unknown)):
      "linalg.yield"(%arg414) : (i32) -> () loc(#loc120)
    }) : (tensor<1xi32>, tensor<1x1x1xi32>) -> tensor<1x1x1xi32> loc(#loc120)
    %236 = "linalg.generic"(%235, %230) <{indexing_maps = [#map24, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg412: i32 loc(unknown), %arg413: i32 loc(unknown)):
      "linalg.yield"(%arg412) : (i32) -> () loc(#loc120)
    }) : (tensor<1x1x1xi32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi32> loc(#loc120)
    %237 = "linalg.generic"(%229, %236, %232) <{indexing_maps = [#map22, #map22, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg409: i32 loc(unknown), %arg410: i32 loc(unknown), %arg411: i1 loc(unknown)):
      %424 = "arith.cmpi"(%arg409, %arg410) <{predicate = 3 : i64}> : (i32, i32) -> i1 loc(#loc120)
      "linalg.yield"(%424) : (i1) -> () loc(#loc120)
    }) : (tensor<32x1x1xi32>, tensor<32x1x1xi32>, tensor<32x1x1xi1>) -> tensor<32x1x1xi1> loc(#loc120)
    %238 = "linalg.generic"(%233, %237, %232) <{indexing_maps = [#map22, #map22, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg406: i1 loc(unknown), %arg407: i1 loc(unknown), %arg408: i1 loc(unknown)):
      %423 = "arith.andi"(%arg406, %arg407) : (i1, i1) -> i1 loc(#loc120)
      "linalg.yield"(%423) : (i1) -> () loc(#loc120)
    }) : (tensor<32x1x1xi1>, tensor<32x1x1xi1>, tensor<32x1x1xi1>) -> tensor<32x1x1xi1> loc(#loc120)
    %239 = "linalg.fill"(%161, %224) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg404: i1 loc(unknown), %arg405: i1 loc(unknown)):
      "linalg.yield"(%arg404) : (i1) -> () loc(#loc120)
    }) : (i1, tensor<32x1xi1>) -> tensor<32x1xi1> loc(#loc120)
    %240 = "linalg.generic"(%238, %239) <{indexing_maps = [#map22, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg402: i1 loc(unknown), %arg403: i1 loc(unknown)):
      %422 = "arith.andi"(%arg403, %arg402) : (i1, i1) -> i1 loc(#loc120)
      "linalg.yield"(%422) : (i1) -> () loc(#loc120)
    }) : (tensor<32x1x1xi1>, tensor<32x1xi1>) -> tensor<32x1xi1> loc(#loc120)
    %241 = "linalg.generic"(%210) <{indexing_maps = [#map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg401: f32 loc(unknown)):
      %416 = "linalg.index"() <{dim = 0 : i64}> : () -> index loc(#loc120)
      %417 = "tensor.extract"(%229, %416, %160, %160) : (tensor<32x1x1xi32>, index, index, index) -> i32 loc(#loc120)
      %418 = "arith.index_cast"(%417) : (i32) -> index loc(#loc120)
      %419 = "arith.maxsi"(%418, %160) : (index, index) -> index loc(#loc120)
      %420 = "arith.minsi"(%419, %159) : (index, index) -> index loc(#loc120)
      %421 = "tensor.extract"(%220, %416, %420) : (tensor<32x10xf32>, index, index) -> f32 loc(#loc120)
      "linalg.yield"(%421) : (f32) -> () loc(#loc120)
    }) : (tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc120)
    %242 = "linalg.generic"(%158, %210) <{indexing_maps = [#map20, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg399: f32 loc(unknown), %arg400: f32 loc(unknown)):
      "linalg.yield"(%arg399) : (f32) -> () loc(#loc120)
    }) : (tensor<f32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc120)
    %243 = "linalg.generic"(%240, %241, %242, %210) <{indexing_maps = [#map14, #map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg395: i1 loc(unknown), %arg396: f32 loc(unknown), %arg397: f32 loc(unknown), %arg398: f32 loc(unknown)):
      %415 = "arith.select"(%arg395, %arg396, %arg397) : (i1, f32, f32) -> f32 loc(#loc120)
      "linalg.yield"(%415) : (f32) -> () loc(#loc120)
    }) : (tensor<32x1xi1>, tensor<32x1xf32>, tensor<32x1xf32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc120)
    %244 = "tensor.collapse_shape"(%243) <{reassociation = [[0, 1]]}> : (tensor<32x1xf32>) -> tensor<32xf32> loc(#loc129)
    %245 = "linalg.generic"(%244, %205) <{indexing_maps = [#map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg393: f32 loc(unknown), %arg394: f32 loc(unknown)):
      %414 = "arith.negf"(%arg393) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc130)
      "linalg.yield"(%414) : (f32) -> () loc(#loc130)
    }) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc130)
    %246 = "tensor.empty"() : () -> tensor<f32> loc(#loc102)
    %247 = "linalg.fill"(%168, %246) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg391: f32 loc(unknown), %arg392: f32 loc(unknown)):
      "linalg.yield"(%arg391) : (f32) -> () loc(#loc102)
    }) : (f32, tensor<f32>) -> tensor<f32> loc(#loc102)
    %248 = "linalg.generic"(%245, %247) <{indexing_maps = [#map18, #map17], iterator_types = [#linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg389: f32 loc(unknown), %arg390: f32 loc(unknown)):
      %413 = "arith.addf"(%arg390, %arg389) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc102)
      "linalg.yield"(%413) : (f32) -> () loc(#loc102)
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<f32> loc(#loc102)
    %249 = "linalg.generic"(%248, %246) <{indexing_maps = [#map25, #map25], iterator_types = [], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg387: f32 loc(unknown), %arg388: f32 loc(unknown)):
      %412 = "arith.divf"(%arg387, %157) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc102)
      "linalg.yield"(%412) : (f32) -> () loc(#loc102)
    }) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc(#loc102)
    %250 = "linalg.generic"(%246) <{indexing_maps = [#map25], iterator_types = [], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg386: f32 loc(unknown)):
      "linalg.yield"(%153) : (f32) -> () loc(#loc103)
    }) : (tensor<f32>) -> tensor<f32> loc(#loc103)
    %251 = "linalg.generic"(%250, %205) <{indexing_maps = [#map17, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg384: f32 loc(unknown), %arg385: f32 loc(unknown)):
      "linalg.yield"(%arg384) : (f32) -> () loc(#loc103)
    }) : (tensor<f32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc103)
    %252 = "linalg.generic"(%251, %205) <{indexing_maps = [#map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg382: f32 loc(unknown), %arg383: f32 loc(unknown)):
      %411 = "arith.negf"(%arg382) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc131)
      "linalg.yield"(%411) : (f32) -> () loc(#loc131)
    }) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc131)
    %253 = "linalg.generic"(%252, %210) <{indexing_maps = [#map16, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg380: f32 loc(unknown), %arg381: f32 loc(unknown)):
      "linalg.yield"(%arg380) : (f32) -> () loc(#loc132)
    }) : (tensor<32xf32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc132)
    %254 = "linalg.generic"(%167, %198) <{indexing_maps = [#map20, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg378: f32 loc(unknown), %arg379: f32 loc(unknown)):
      "linalg.yield"(%arg378) : (f32) -> () loc(#loc133)
    }) : (tensor<f32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc133)
    %255 = "stablehlo.scatter"(%254, %229, %253) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg373: tensor<f32> loc(unknown), %arg374: tensor<f32> loc(unknown)):
      %409 = "linalg.generic"(%arg373, %arg374, %246) <{indexing_maps = [#map25, #map25, #map25], iterator_types = [], operandSegmentSizes = array<i32: 2, 1>}> ({
      ^bb0(%arg375: f32 loc(unknown), %arg376: f32 loc(unknown), %arg377: f32 loc(unknown)):
        %410 = "arith.addf"(%arg375, %arg376) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc133)
        "linalg.yield"(%410) : (f32) -> () loc(#loc133)
      }) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32> loc(#loc133)
      "stablehlo.return"(%409) : (tensor<f32>) -> () loc(#loc133)
    }) : (tensor<32x10xf32>, tensor<32x1x1xi32>, tensor<32x1xf32>) -> tensor<32x10xf32> loc(#loc133)
    %256 = "linalg.generic"(%255, %198) <{indexing_maps = [#map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg371: f32 loc(unknown), %arg372: f32 loc(unknown)):
      %408 = "arith.negf"(%arg371) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc134)
      "linalg.yield"(%408) : (f32) -> () loc(#loc134)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc134)
    %257 = "linalg.generic"(%256, %215) <{indexing_maps = [#map14, #map16], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg369: f32 loc(unknown), %arg370: f32 loc(unknown)):
      %407 = "arith.addf"(%arg370, %arg369) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc134)
      "linalg.yield"(%407) : (f32) -> () loc(#loc134)
    }) : (tensor<32x10xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc134)
    %258 = "tensor.expand_shape"(%257) <{reassociation = [[0, 1]], static_output_shape = array<i64: 32, 1>}> : (tensor<32xf32>) -> tensor<32x1xf32> loc(#loc134)
    %259 = "linalg.generic"(%258, %217, %210) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg366: f32 loc(unknown), %arg367: f32 loc(unknown), %arg368: f32 loc(unknown)):
      %406 = "arith.divf"(%arg366, %arg367) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc134)
      "linalg.yield"(%406) : (f32) -> () loc(#loc134)
    }) : (tensor<32x1xf32>, tensor<32x1xf32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc134)
    %260 = "linalg.generic"(%259, %215) <{indexing_maps = [#map14, #map16], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg364: f32 loc(unknown), %arg365: f32 loc(unknown)):
      %405 = "arith.addf"(%arg365, %arg364) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc134)
      "linalg.yield"(%405) : (f32) -> () loc(#loc134)
    }) : (tensor<32x1xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc134)
    %261 = "linalg.generic"(%260, %198) <{indexing_maps = [#map16, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg362: f32 loc(unknown), %arg363: f32 loc(unknown)):
      "linalg.yield"(%arg362) : (f32) -> () loc(#loc134)
    }) : (tensor<32xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc134)
    %262 = "linalg.generic"(%261, %214, %198) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg359: f32 loc(unknown), %arg360: f32 loc(unknown), %arg361: f32 loc(unknown)):
      %404 = "arith.mulf"(%arg359, %arg360) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc134)
      "linalg.yield"(%404) : (f32) -> () loc(#loc134)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc134)
    %263 = "linalg.generic"(%255, %262, %198) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg356: f32 loc(unknown), %arg357: f32 loc(unknown), %arg358: f32 loc(unknown)):
      %403 = "arith.addf"(%arg356, %arg357) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc134)
      "linalg.yield"(%403) : (f32) -> () loc(#loc134)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc134)
    %264 = "tensor.empty"() : () -> tensor<10xf32> loc(#loc135)
    %265 = "linalg.fill"(%168, %264) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg354: f32 loc(unknown), %arg355: f32 loc(unknown)):
      "linalg.yield"(%arg354) : (f32) -> () loc(#loc135)
    }) : (f32, tensor<10xf32>) -> tensor<10xf32> loc(#loc135)
    %266 = "linalg.generic"(%263, %265) <{indexing_maps = [#map26, #map16], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg352: f32 loc(unknown), %arg353: f32 loc(unknown)):
      %402 = "arith.addf"(%arg353, %arg352) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc135)
      "linalg.yield"(%402) : (f32) -> () loc(#loc135)
    }) : (tensor<32x10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc135)
    %267 = "tensor.expand_shape"(%266) <{reassociation = [[0, 1]], static_output_shape = array<i64: 1, 10>}> : (tensor<10xf32>) -> tensor<1x10xf32> loc(#loc135)
    %268 = "linalg.generic"(%267, %265) <{indexing_maps = [#map26, #map16], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg350: f32 loc(unknown), %arg351: f32 loc(unknown)):
      %401 = "arith.addf"(%arg351, %arg350) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc135)
      "linalg.yield"(%401) : (f32) -> () loc(#loc135)
    }) : (tensor<1x10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc135)
    %269 = "tensor.empty"() : () -> tensor<10x512xf32> loc(#loc135)
    %270 = "linalg.fill"(%168, %269) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg348: f32 loc(unknown), %arg349: f32 loc(unknown)):
      "linalg.yield"(%arg348) : (f32) -> () loc(#loc135)
    }) : (f32, tensor<10x512xf32>) -> tensor<10x512xf32> loc(#loc135)
    %271 = "linalg.generic"(%263, %197, %270) <{indexing_maps = [#map27, #map11, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg345: f32 loc(unknown), %arg346: f32 loc(unknown), %arg347: f32 loc(unknown)):
      %399 = "arith.mulf"(%arg345, %arg346) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc134)
      %400 = "arith.addf"(%arg347, %399) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc135)
      "linalg.yield"(%400) : (f32) -> () loc(#loc135)
    }) : (tensor<32x10xf32>, tensor<32x512xf32>, tensor<10x512xf32>) -> tensor<10x512xf32> loc(#loc135)
    %272 = "tensor.empty"() : () -> tensor<512x10xf32> loc(#loc135)
    %273 = "linalg.generic"(%271, %272) <{indexing_maps = [#map26, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg343: f32 loc(unknown), %arg344: f32 loc(unknown)):
      "linalg.yield"(%arg343) : (f32) -> () loc(#loc135)
    }) : (tensor<10x512xf32>, tensor<512x10xf32>) -> tensor<512x10xf32> loc(#loc135)
    %274 = "tensor.empty"() : () -> tensor<32x512xf32> loc(#loc135)
    %275 = "linalg.fill"(%168, %274) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg341: f32 loc(unknown), %arg342: f32 loc(unknown)):
      "linalg.yield"(%arg341) : (f32) -> () loc(#loc135)
    }) : (f32, tensor<32x512xf32>) -> tensor<32x512xf32> loc(#loc135)
    %276 = "linalg.generic"(%263, %arg180, %275) <{indexing_maps = [#map10, #map28, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg338: f32 loc(unknown), %arg339: f32 loc(unknown), %arg340: f32 loc(unknown)):
      %397 = "arith.mulf"(%arg338, %arg339) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc134)
      %398 = "arith.addf"(%arg340, %397) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc135)
      "linalg.yield"(%398) : (f32) -> () loc(#loc135)
    }) : (tensor<32x10xf32>, tensor<512x10xf32>, tensor<32x512xf32>) -> tensor<32x512xf32> loc(#loc135)
    %277 = "tensor.expand_shape"(%276) <{reassociation = [[0], [1, 2, 3]], static_output_shape = array<i64: 32, 4, 4, 32>}> : (tensor<32x512xf32>) -> tensor<32x4x4x32xf32> loc(#loc136)
    %278 = "linalg.generic"(%196, %277, %193, %185) <{indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg334: i1 loc(unknown), %arg335: f32 loc(unknown), %arg336: f32 loc(unknown), %arg337: f32 loc(unknown)):
      %396 = "arith.select"(%arg334, %arg335, %arg336) : (i1, f32, f32) -> f32 loc(#loc137)
      "linalg.yield"(%396) : (f32) -> () loc(#loc137)
    }) : (tensor<32x4x4x32xi1>, tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc137)
    %279 = "linalg.generic"(%278, %215) <{indexing_maps = [#map29, #map30], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg332: f32 loc(unknown), %arg333: f32 loc(unknown)):
      %395 = "arith.addf"(%arg333, %arg332) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc150)
      "linalg.yield"(%395) : (f32) -> () loc(#loc150)
    }) : (tensor<32x4x4x32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc150)
    %280 = "tensor.expand_shape"(%279) <{reassociation = [[0, 1, 2, 3]], static_output_shape = array<i64: 1, 1, 1, 32>}> : (tensor<32xf32>) -> tensor<1x1x1x32xf32> loc(#loc150)
    %281 = "linalg.generic"(%280, %215) <{indexing_maps = [#map29, #map30], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg330: f32 loc(unknown), %arg331: f32 loc(unknown)):
      %394 = "arith.addf"(%arg331, %arg330) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc150)
      "linalg.yield"(%394) : (f32) -> () loc(#loc150)
    }) : (tensor<1x1x1x32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc150)
    %282 = "tensor.empty"() : () -> tensor<3x3x16x32xf32> loc(#loc151)
    %283 = "linalg.fill"(%168, %282) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg328: f32 loc(unknown), %arg329: f32 loc(unknown)):
      "linalg.yield"(%arg328) : (f32) -> () loc(#loc151)
    }) : (f32, tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32> loc(#loc151)
    %284 = "linalg.generic"(%187, %278, %283) <{indexing_maps = [#map31, #map32, #map33], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg325: f32 loc(unknown), %arg326: f32 loc(unknown), %arg327: f32 loc(unknown)):
      %392 = "arith.mulf"(%arg325, %arg326) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc151)
      %393 = "arith.addf"(%arg327, %392) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc151)
      "linalg.yield"(%393) : (f32) -> () loc(#loc151)
    }) : (tensor<32x6x6x16xf32>, tensor<32x4x4x32xf32>, tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32> loc(#loc151)
    %285 = "linalg.generic"(%arg178, %282) <{indexing_maps = [#map34, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg323: f32 loc(unknown), %arg324: f32 loc(unknown)):
      "linalg.yield"(%arg323) : (f32) -> () loc(#loc151)
    }) : (tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32> loc(#loc151)
    %286 = "tensor.pad"(%278) <{operandSegmentSizes = array<i32: 1, 0, 0>, static_high = array<i64: 0, 1, 1, 0>, static_low = array<i64: 0, 1, 1, 0>}> ({
    ^bb0(%arg319: index loc(unknown), %arg320: index loc(unknown), %arg321: index loc(unknown), %arg322: index loc(unknown)):
      "tensor.yield"(%168) : (f32) -> () loc(#loc151)
    }) : (tensor<32x4x4x32xf32>) -> tensor<32x6x6x32xf32> loc(#loc151)
    %287 = "linalg.fill"(%168, %182) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg317: f32 loc(unknown), %arg318: f32 loc(unknown)):
      "linalg.yield"(%arg317) : (f32) -> () loc(#loc151)
    }) : (f32, tensor<32x4x4x16xf32>) -> tensor<32x4x4x16xf32> loc(#loc151)
    %288 = "linalg.generic"(%286, %285, %287) <{indexing_maps = [#map35, #map36, #map37], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg314: f32 loc(unknown), %arg315: f32 loc(unknown), %arg316: f32 loc(unknown)):
      %390 = "arith.mulf"(%arg314, %arg315) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc151)
      %391 = "arith.addf"(%arg316, %390) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc151)
      "linalg.yield"(%391) : (f32) -> () loc(#loc151)
    }) : (tensor<32x6x6x32xf32>, tensor<3x3x16x32xf32>, tensor<32x4x4x16xf32>) -> tensor<32x4x4x16xf32> loc(#loc151)
    %289 = "tensor.empty"() : () -> tensor<32x4x4x16xi32> loc(#loc144)
    %290 = "linalg.fill"(%156, %289) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg312: i32 loc(unknown), %arg313: i32 loc(unknown)):
      "linalg.yield"(%arg312) : (i32) -> () loc(#loc144)
    }) : (i32, tensor<32x4x4x16xi32>) -> tensor<32x4x4x16xi32> loc(#loc144)
    %291:2 = "linalg.generic"(%178, %181, %182, %290) <{indexing_maps = [#map7, #map8, #map9, #map9], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 2>}> ({
    ^bb0(%arg308: f32 loc(unknown), %arg309: f32 loc(unknown), %arg310: f32 loc(unknown), %arg311: i32 loc(unknown)):
      %380 = "arith.cmpf"(%arg308, %arg310) <{fastmath = #arith.fastmath<none>, predicate = 3 : i64}> : (f32, f32) -> i1 loc(#loc144)
      %381 = "arith.cmpi"(%arg311, %156) <{predicate = 0 : i64}> : (i32, i32) -> i1 loc(#loc144)
      %382 = "arith.ori"(%380, %381) : (i1, i1) -> i1 loc(#loc144)
      %383 = "linalg.index"() <{dim = 4 : i64}> : () -> index loc(#loc144)
      %384 = "linalg.index"() <{dim = 5 : i64}> : () -> index loc(#loc144)
      %385 = "arith.muli"(%383, %155) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index loc(#loc144)
      %386 = "arith.addi"(%385, %384) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index loc(#loc144)
      %387 = "arith.index_cast"(%386) : (index) -> i32 loc(#loc144)
      %388 = "arith.select"(%382, %387, %arg311) : (i1, i32, i32) -> i32 loc(#loc144)
      %389 = "arith.select"(%382, %arg308, %arg310) : (i1, f32, f32) -> f32 loc(#loc144)
      "linalg.yield"(%389, %388) : (f32, i32) -> () loc(#loc144)
    }) : (tensor<32x8x8x16xf32>, tensor<2x2xf32>, tensor<32x4x4x16xf32>, tensor<32x4x4x16xi32>) -> (tensor<32x4x4x16xf32>, tensor<32x4x4x16xi32>) loc(#loc144)
    %292 = "tensor.empty"() : () -> tensor<32x4x2x4x2x16xf32> loc(#loc144)
    %293 = "linalg.fill"(%168, %292) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg306: f32 loc(unknown), %arg307: f32 loc(unknown)):
      "linalg.yield"(%arg306) : (f32) -> () loc(#loc144)
    }) : (f32, tensor<32x4x2x4x2x16xf32>) -> tensor<32x4x2x4x2x16xf32> loc(#loc144)
    %294 = "linalg.generic"(%291#1, %288, %293) <{indexing_maps = [#map38, #map38, #map39], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg303: i32 loc(unknown), %arg304: f32 loc(unknown), %arg305: f32 loc(unknown)):
      %372 = "arith.addf"(%arg304, %arg305) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc144)
      %373 = "linalg.index"() <{dim = 2 : i64}> : () -> index loc(#loc144)
      %374 = "linalg.index"() <{dim = 4 : i64}> : () -> index loc(#loc144)
      %375 = "arith.muli"(%373, %155) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index loc(#loc144)
      %376 = "arith.addi"(%375, %374) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index loc(#loc144)
      %377 = "arith.index_cast"(%376) : (index) -> i32 loc(#loc144)
      %378 = "arith.cmpi"(%377, %arg303) <{predicate = 0 : i64}> : (i32, i32) -> i1 loc(#loc144)
      %379 = "arith.select"(%378, %372, %arg305) : (i1, f32, f32) -> f32 loc(#loc144)
      "linalg.yield"(%379) : (f32) -> () loc(#loc144)
    }) : (tensor<32x4x4x16xi32>, tensor<32x4x4x16xf32>, tensor<32x4x2x4x2x16xf32>) -> tensor<32x4x2x4x2x16xf32> loc(#loc144)
    %295 = "tensor.collapse_shape"(%294) <{reassociation = [[0], [1, 2], [3, 4], [5]]}> : (tensor<32x4x2x4x2x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc144)
    %296 = "linalg.generic"(%180, %295, %177, %169) <{indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg299: i1 loc(unknown), %arg300: f32 loc(unknown), %arg301: f32 loc(unknown), %arg302: f32 loc(unknown)):
      %371 = "arith.select"(%arg299, %arg300, %arg301) : (i1, f32, f32) -> f32 loc(#loc138)
      "linalg.yield"(%371) : (f32) -> () loc(#loc138)
    }) : (tensor<32x8x8x16xi1>, tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc138)
    %297 = "tensor.empty"() : () -> tensor<16xf32> loc(#loc152)
    %298 = "linalg.fill"(%168, %297) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg297: f32 loc(unknown), %arg298: f32 loc(unknown)):
      "linalg.yield"(%arg297) : (f32) -> () loc(#loc152)
    }) : (f32, tensor<16xf32>) -> tensor<16xf32> loc(#loc152)
    %299 = "linalg.generic"(%296, %298) <{indexing_maps = [#map29, #map30], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg295: f32 loc(unknown), %arg296: f32 loc(unknown)):
      %370 = "arith.addf"(%arg296, %arg295) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc152)
      "linalg.yield"(%370) : (f32) -> () loc(#loc152)
    }) : (tensor<32x8x8x16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc152)
    %300 = "tensor.expand_shape"(%299) <{reassociation = [[0, 1, 2, 3]], static_output_shape = array<i64: 1, 1, 1, 16>}> : (tensor<16xf32>) -> tensor<1x1x1x16xf32> loc(#loc152)
    %301 = "linalg.generic"(%300, %298) <{indexing_maps = [#map29, #map30], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg293: f32 loc(unknown), %arg294: f32 loc(unknown)):
      %369 = "arith.addf"(%arg294, %arg293) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc152)
      "linalg.yield"(%369) : (f32) -> () loc(#loc152)
    }) : (tensor<1x1x1x16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc152)
    %302 = "tensor.empty"() : () -> tensor<3x3x1x16xf32> loc(#loc153)
    %303 = "linalg.fill"(%168, %302) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg291: f32 loc(unknown), %arg292: f32 loc(unknown)):
      "linalg.yield"(%arg291) : (f32) -> () loc(#loc153)
    }) : (f32, tensor<3x3x1x16xf32>) -> tensor<3x3x1x16xf32> loc(#loc153)
    %304 = "linalg.generic"(%171, %296, %303) <{indexing_maps = [#map31, #map32, #map33], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg288: f32 loc(unknown), %arg289: f32 loc(unknown), %arg290: f32 loc(unknown)):
      %367 = "arith.mulf"(%arg288, %arg289) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc153)
      %368 = "arith.addf"(%arg290, %367) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc153)
      "linalg.yield"(%368) : (f32) -> () loc(#loc153)
    }) : (tensor<32x10x10x1xf32>, tensor<32x8x8x16xf32>, tensor<3x3x1x16xf32>) -> tensor<3x3x1x16xf32> loc(#loc153)
    %305:6 = "stablehlo.custom_call"(%301, %304, %281, %284, %268, %273) <{api_version = 4 : i32, backend_config = {reduction = "MEAN"}, call_target_name = "replica.all_reduce", has_side_effect = true}> : (tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>) -> (tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>) loc(#loc87)
    %306 = "linalg.generic"(%154, %297) <{indexing_maps = [#map17, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg286: f32 loc(unknown), %arg287: f32 loc(unknown)):
      "linalg.yield"(%arg286) : (f32) -> () loc(#loc104)
    }) : (tensor<f32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc104)
    %307 = "linalg.generic"(%306, %arg181, %297) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg283: f32 loc(unknown), %arg284: f32 loc(unknown), %arg285: f32 loc(unknown)):
      %366 = "arith.mulf"(%arg283, %arg284) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%366) : (f32) -> () loc(#loc104)
    }) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc104)
    %308 = "linalg.generic"(%307, %305#0, %297) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg280: f32 loc(unknown), %arg281: f32 loc(unknown), %arg282: f32 loc(unknown)):
      %365 = "arith.addf"(%arg280, %arg281) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%365) : (f32) -> () loc(#loc104)
    }) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc104)
    %309 = "linalg.generic"(%154, %302) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg278: f32 loc(unknown), %arg279: f32 loc(unknown)):
      "linalg.yield"(%arg278) : (f32) -> () loc(#loc104)
    }) : (tensor<f32>, tensor<3x3x1x16xf32>) -> tensor<3x3x1x16xf32> loc(#loc104)
    %310 = "linalg.generic"(%309, %arg182, %302) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg275: f32 loc(unknown), %arg276: f32 loc(unknown), %arg277: f32 loc(unknown)):
      %364 = "arith.mulf"(%arg275, %arg276) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%364) : (f32) -> () loc(#loc104)
    }) : (tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>) -> tensor<3x3x1x16xf32> loc(#loc104)
    %311 = "linalg.generic"(%310, %305#1, %302) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg272: f32 loc(unknown), %arg273: f32 loc(unknown), %arg274: f32 loc(unknown)):
      %363 = "arith.addf"(%arg272, %arg273) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%363) : (f32) -> () loc(#loc104)
    }) : (tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>) -> tensor<3x3x1x16xf32> loc(#loc104)
    %312 = "linalg.generic"(%154, %205) <{indexing_maps = [#map17, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg270: f32 loc(unknown), %arg271: f32 loc(unknown)):
      "linalg.yield"(%arg270) : (f32) -> () loc(#loc104)
    }) : (tensor<f32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc104)
    %313 = "linalg.generic"(%312, %arg183, %205) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg267: f32 loc(unknown), %arg268: f32 loc(unknown), %arg269: f32 loc(unknown)):
      %362 = "arith.mulf"(%arg267, %arg268) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%362) : (f32) -> () loc(#loc104)
    }) : (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc104)
    %314 = "linalg.generic"(%313, %305#2, %205) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg264: f32 loc(unknown), %arg265: f32 loc(unknown), %arg266: f32 loc(unknown)):
      %361 = "arith.addf"(%arg264, %arg265) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%361) : (f32) -> () loc(#loc104)
    }) : (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc104)
    %315 = "linalg.generic"(%154, %282) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg262: f32 loc(unknown), %arg263: f32 loc(unknown)):
      "linalg.yield"(%arg262) : (f32) -> () loc(#loc104)
    }) : (tensor<f32>, tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32> loc(#loc104)
    %316 = "linalg.generic"(%315, %arg184, %282) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg259: f32 loc(unknown), %arg260: f32 loc(unknown), %arg261: f32 loc(unknown)):
      %360 = "arith.mulf"(%arg259, %arg260) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%360) : (f32) -> () loc(#loc104)
    }) : (tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32> loc(#loc104)
    %317 = "linalg.generic"(%316, %305#3, %282) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg256: f32 loc(unknown), %arg257: f32 loc(unknown), %arg258: f32 loc(unknown)):
      %359 = "arith.addf"(%arg256, %arg257) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%359) : (f32) -> () loc(#loc104)
    }) : (tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32> loc(#loc104)
    %318 = "linalg.generic"(%154, %264) <{indexing_maps = [#map17, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg254: f32 loc(unknown), %arg255: f32 loc(unknown)):
      "linalg.yield"(%arg254) : (f32) -> () loc(#loc104)
    }) : (tensor<f32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc104)
    %319 = "linalg.generic"(%318, %arg185, %264) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg251: f32 loc(unknown), %arg252: f32 loc(unknown), %arg253: f32 loc(unknown)):
      %358 = "arith.mulf"(%arg251, %arg252) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%358) : (f32) -> () loc(#loc104)
    }) : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc104)
    %320 = "linalg.generic"(%319, %305#4, %264) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg248: f32 loc(unknown), %arg249: f32 loc(unknown), %arg250: f32 loc(unknown)):
      %357 = "arith.addf"(%arg248, %arg249) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%357) : (f32) -> () loc(#loc104)
    }) : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc104)
    %321 = "linalg.generic"(%154, %272) <{indexing_maps = [#map20, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg246: f32 loc(unknown), %arg247: f32 loc(unknown)):
      "linalg.yield"(%arg246) : (f32) -> () loc(#loc104)
    }) : (tensor<f32>, tensor<512x10xf32>) -> tensor<512x10xf32> loc(#loc104)
    %322 = "linalg.generic"(%321, %arg186, %272) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg243: f32 loc(unknown), %arg244: f32 loc(unknown), %arg245: f32 loc(unknown)):
      %356 = "arith.mulf"(%arg243, %arg244) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%356) : (f32) -> () loc(#loc104)
    }) : (tensor<512x10xf32>, tensor<512x10xf32>, tensor<512x10xf32>) -> tensor<512x10xf32> loc(#loc104)
    %323 = "linalg.generic"(%322, %305#5, %272) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg240: f32 loc(unknown), %arg241: f32 loc(unknown), %arg242: f32 loc(unknown)):
      %355 = "arith.addf"(%arg240, %arg241) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc104)
      "linalg.yield"(%355) : (f32) -> () loc(#loc104)
    }) : (tensor<512x10xf32>, tensor<512x10xf32>, tensor<512x10xf32>) -> tensor<512x10xf32> loc(#loc104)
    %324 = "linalg.generic"(%arg189, %297) <{indexing_maps = [#map17, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg238: f32 loc(unknown), %arg239: f32 loc(unknown)):
      "linalg.yield"(%arg238) : (f32) -> () loc(#loc105)
    }) : (tensor<f32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc105)
    %325 = "linalg.generic"(%324, %308, %297) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg235: f32 loc(unknown), %arg236: f32 loc(unknown), %arg237: f32 loc(unknown)):
      %354 = "arith.mulf"(%arg235, %arg236) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc105)
      "linalg.yield"(%354) : (f32) -> () loc(#loc105)
    }) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc105)
    %326 = "linalg.generic"(%arg175, %325, %297) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg232: f32 loc(unknown), %arg233: f32 loc(unknown), %arg234: f32 loc(unknown)):
      %353 = "arith.subf"(%arg232, %arg233) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc106)
      "linalg.yield"(%353) : (f32) -> () loc(#loc106)
    }) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc(#loc106)
    %327 = "linalg.generic"(%arg189, %302) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg230: f32 loc(unknown), %arg231: f32 loc(unknown)):
      "linalg.yield"(%arg230) : (f32) -> () loc(#loc105)
    }) : (tensor<f32>, tensor<3x3x1x16xf32>) -> tensor<3x3x1x16xf32> loc(#loc105)
    %328 = "linalg.generic"(%327, %311, %302) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg227: f32 loc(unknown), %arg228: f32 loc(unknown), %arg229: f32 loc(unknown)):
      %352 = "arith.mulf"(%arg227, %arg228) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc105)
      "linalg.yield"(%352) : (f32) -> () loc(#loc105)
    }) : (tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>) -> tensor<3x3x1x16xf32> loc(#loc105)
    %329 = "linalg.generic"(%arg176, %328, %302) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg224: f32 loc(unknown), %arg225: f32 loc(unknown), %arg226: f32 loc(unknown)):
      %351 = "arith.subf"(%arg224, %arg225) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc106)
      "linalg.yield"(%351) : (f32) -> () loc(#loc106)
    }) : (tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>) -> tensor<3x3x1x16xf32> loc(#loc106)
    %330 = "linalg.generic"(%arg189, %205) <{indexing_maps = [#map17, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg222: f32 loc(unknown), %arg223: f32 loc(unknown)):
      "linalg.yield"(%arg222) : (f32) -> () loc(#loc105)
    }) : (tensor<f32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc105)
    %331 = "linalg.generic"(%330, %314, %205) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg219: f32 loc(unknown), %arg220: f32 loc(unknown), %arg221: f32 loc(unknown)):
      %350 = "arith.mulf"(%arg219, %arg220) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc105)
      "linalg.yield"(%350) : (f32) -> () loc(#loc105)
    }) : (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc105)
    %332 = "linalg.generic"(%arg177, %331, %205) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg216: f32 loc(unknown), %arg217: f32 loc(unknown), %arg218: f32 loc(unknown)):
      %349 = "arith.subf"(%arg216, %arg217) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc106)
      "linalg.yield"(%349) : (f32) -> () loc(#loc106)
    }) : (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc106)
    %333 = "linalg.generic"(%arg189, %282) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg214: f32 loc(unknown), %arg215: f32 loc(unknown)):
      "linalg.yield"(%arg214) : (f32) -> () loc(#loc105)
    }) : (tensor<f32>, tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32> loc(#loc105)
    %334 = "linalg.generic"(%333, %317, %282) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg211: f32 loc(unknown), %arg212: f32 loc(unknown), %arg213: f32 loc(unknown)):
      %348 = "arith.mulf"(%arg211, %arg212) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc105)
      "linalg.yield"(%348) : (f32) -> () loc(#loc105)
    }) : (tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32> loc(#loc105)
    %335 = "linalg.generic"(%arg178, %334, %282) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg208: f32 loc(unknown), %arg209: f32 loc(unknown), %arg210: f32 loc(unknown)):
      %347 = "arith.subf"(%arg208, %arg209) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc106)
      "linalg.yield"(%347) : (f32) -> () loc(#loc106)
    }) : (tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32> loc(#loc106)
    %336 = "linalg.generic"(%arg189, %264) <{indexing_maps = [#map17, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg206: f32 loc(unknown), %arg207: f32 loc(unknown)):
      "linalg.yield"(%arg206) : (f32) -> () loc(#loc105)
    }) : (tensor<f32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc105)
    %337 = "linalg.generic"(%336, %320, %264) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg203: f32 loc(unknown), %arg204: f32 loc(unknown), %arg205: f32 loc(unknown)):
      %346 = "arith.mulf"(%arg203, %arg204) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc105)
      "linalg.yield"(%346) : (f32) -> () loc(#loc105)
    }) : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc105)
    %338 = "linalg.generic"(%arg179, %337, %264) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg200: f32 loc(unknown), %arg201: f32 loc(unknown), %arg202: f32 loc(unknown)):
      %345 = "arith.subf"(%arg200, %arg201) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc106)
      "linalg.yield"(%345) : (f32) -> () loc(#loc106)
    }) : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32> loc(#loc106)
    %339 = "linalg.generic"(%arg189, %272) <{indexing_maps = [#map20, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg198: f32 loc(unknown), %arg199: f32 loc(unknown)):
      "linalg.yield"(%arg198) : (f32) -> () loc(#loc105)
    }) : (tensor<f32>, tensor<512x10xf32>) -> tensor<512x10xf32> loc(#loc105)
    %340 = "linalg.generic"(%339, %323, %272) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg195: f32 loc(unknown), %arg196: f32 loc(unknown), %arg197: f32 loc(unknown)):
      %344 = "arith.mulf"(%arg195, %arg196) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc105)
      "linalg.yield"(%344) : (f32) -> () loc(#loc105)
    }) : (tensor<512x10xf32>, tensor<512x10xf32>, tensor<512x10xf32>) -> tensor<512x10xf32> loc(#loc105)
    %341 = "linalg.generic"(%arg180, %340, %272) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg192: f32 loc(unknown), %arg193: f32 loc(unknown), %arg194: f32 loc(unknown)):
      %343 = "arith.subf"(%arg192, %arg193) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc106)
      "linalg.yield"(%343) : (f32) -> () loc(#loc106)
    }) : (tensor<512x10xf32>, tensor<512x10xf32>, tensor<512x10xf32>) -> tensor<512x10xf32> loc(#loc106)
    %342 = "stablehlo.custom_call"(%249) <{api_version = 4 : i32, backend_config = {reduction = "MEAN"}, call_target_name = "replica.all_reduce", has_side_effect = true}> : (tensor<f32>) -> tensor<f32> loc(#loc90)
    "func.return"(%326, %329, %332, %335, %338, %341, %308, %311, %314, %317, %320, %323, %342) : (tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<f32>) -> () loc(#loc1)
  }) : () -> () loc(#loc1)
  "func.func"() <{arg_attrs = [{replica.variable = "params/conv1/b"}, {replica.variable = "params/conv1/w"}, {replica.variable = "params/conv2/b"}, {replica.variable = "params/conv2/w"}, {replica.variable = "params/dense/b"}, {replica.variable = "params/dense/w"}, {replica.variable = "velocity/conv1/b"}, {replica.variable = "velocity/conv1/w"}, {replica.variable = "velocity/conv2/b"}, {replica.variable = "velocity/conv2/w"}, {replica.variable = "velocity/dense/b"}, {replica.variable = "velocity/dense/w"}, {replica.batch = "mask"}, {replica.batch = "x"}, {replica.batch = "y"}], function_type = (tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<32xf32>, tensor<32x8x8x1xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>), res_attrs = [{replica.sum = "accuracy"}, {replica.count = "accuracy"}, {replica.sum = "loss"}, {replica.count = "loss"}], sym_name = "evaluate", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16xf32> loc("params/conv1/b"), %arg1: tensor<3x3x1x16xf32> loc("params/conv1/w"), %arg2: tensor<32xf32> loc("params/conv2/b"), %arg3: tensor<3x3x16x32xf32> loc("params/conv2/w"), %arg4: tensor<10xf32> loc("params/dense/b"), %arg5: tensor<512x10xf32> loc("params/dense/w"), %arg6: tensor<16xf32> loc("velocity/conv1/b"), %arg7: tensor<3x3x1x16xf32> loc("velocity/conv1/w"), %arg8: tensor<32xf32> loc("velocity/conv2/b"), %arg9: tensor<3x3x16x32xf32> loc("velocity/conv2/w"), %arg10: tensor<10xf32> loc("velocity/dense/b"), %arg11: tensor<512x10xf32> loc("velocity/dense/w"), %arg12: tensor<32xf32> loc("mask"), %arg13: tensor<32x8x8x1xf32> loc("x"), %arg14: tensor<32xi32> loc("y")):
    %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32 loc(#loc91)
    %1 = "arith.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32> loc(#loc107)
    %2 = "arith.constant"() <{value = 9 : index}> : () -> index loc(#loc)
    %3 = "arith.constant"() <{value = 0 : index}> : () -> index loc(#loc)
    %4 = "arith.constant"() <{value = true}> : () -> i1 loc(#loc107)
    %5 = "arith.constant"() <{value = dense<9> : tensor<1xi32>}> : () -> tensor<1xi32> loc(#loc107)
    %6 = "arith.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32> loc(#loc107)
    %7 = "arith.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32> loc(#loc)
    %8 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32 loc(#loc)
    %9 = "arith.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %10 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32> loc(#loc)
    %11 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32 loc(#loc)
    %12 = "tensor.empty"() : () -> tensor<32x8x8x16xf32> loc(#loc139)
    %13 = "linalg.fill"(%11, %12) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg173: f32 loc(unknown), %arg174: f32 loc(unknown)):
      "linalg.yield"(%arg173) : (f32) -> () loc(#loc139)
    }) : (f32, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc139)
    %14 = "tensor.pad"(%arg13) <{operandSegmentSizes = array<i32: 1, 0, 0>, static_high = array<i64: 0, 1, 1, 0>, static_low = array<i64: 0, 1, 1, 0>}> ({
    ^bb0(%arg169: index loc(unknown), %arg170: index loc(unknown), %arg171: index loc(unknown), %arg172: index loc(unknown)):
      "tensor.yield"(%11) : (f32) -> () loc(#loc139)
    }) : (tensor<32x8x8x1xf32>) -> tensor<32x10x10x1xf32> loc(#loc139)
    %15 = "linalg.conv_2d_nhwc_hwcf"(%14, %arg1, %13) <{dilations = dense<1> : tensor<2xi64>, operandSegmentSizes = array<i32: 2, 1>, strides = dense<1> : tensor<2xi64>}> ({
    ^bb0(%arg166: f32 loc(unknown), %arg167: f32 loc(unknown), %arg168: f32 loc(unknown)):
      %150 = "arith.mulf"(%arg166, %arg167) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc139)
      %151 = "arith.addf"(%arg168, %150) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc139)
      "linalg.yield"(%151) : (f32) -> () loc(#loc139)
    }) {linalg.memoized_indexing_maps = [#map, #map1, #map2]} : (tensor<32x10x10x1xf32>, tensor<3x3x1x16xf32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc139)
    %16 = "tensor.empty"() : () -> tensor<1x1x1x16xf32> loc(#loc140)
    %17 = "linalg.generic"(%arg0, %16) <{indexing_maps = [#map3, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg164: f32 loc(unknown), %arg165: f32 loc(unknown)):
      "linalg.yield"(%arg164) : (f32) -> () loc(#loc140)
    }) : (tensor<16xf32>, tensor<1x1x1x16xf32>) -> tensor<1x1x1x16xf32> loc(#loc140)
    %18 = "linalg.generic"(%17, %12) <{indexing_maps = [#map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg162: f32 loc(unknown), %arg163: f32 loc(unknown)):
      "linalg.yield"(%arg162) : (f32) -> () loc(#loc140)
    }) : (tensor<1x1x1x16xf32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc140)
    %19 = "linalg.generic"(%15, %18, %12) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg159: f32 loc(unknown), %arg160: f32 loc(unknown), %arg161: f32 loc(unknown)):
      %149 = "arith.addf"(%arg159, %arg160) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc140)
      "linalg.yield"(%149) : (f32) -> () loc(#loc140)
    }) : (tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc140)
    %20 = "linalg.generic"(%10, %12) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg157: f32 loc(unknown), %arg158: f32 loc(unknown)):
      "linalg.yield"(%arg157) : (f32) -> () loc(#loc109)
    }) : (tensor<f32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc109)
    %21 = "linalg.generic"(%19, %20, %12) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg154: f32 loc(unknown), %arg155: f32 loc(unknown), %arg156: f32 loc(unknown)):
      %148 = "arith.maximumf"(%arg154, %arg155) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc109)
      "linalg.yield"(%148) : (f32) -> () loc(#loc109)
    }) : (tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>, tensor<32x8x8x16xf32>) -> tensor<32x8x8x16xf32> loc(#loc109)
    %22 = "tensor.empty"() : () -> tensor<2x2xf32> loc(#loc141)
    %23 = "tensor.empty"() : () -> tensor<32x4x4x16xf32> loc(#loc141)
    %24 = "linalg.fill"(%8, %23) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg152: f32 loc(unknown), %arg153: f32 loc(unknown)):
      "linalg.yield"(%arg152) : (f32) -> () loc(#loc141)
    }) : (f32, tensor<32x4x4x16xf32>) -> tensor<32x4x4x16xf32> loc(#loc141)
    %25 = "linalg.pooling_nhwc_max"(%21, %22, %24) <{dilations = dense<1> : vector<2xi64>, operandSegmentSizes = array<i32: 2, 1>, strides = dense<2> : vector<2xi64>}> ({
    ^bb0(%arg149: f32 loc(unknown), %arg150: f32 loc(unknown), %arg151: f32 loc(unknown)):
      %147 = "arith.maximumf"(%arg151, %arg149) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc141)
      "linalg.yield"(%147) : (f32) -> () loc(#loc141)
    }) {linalg.memoized_indexing_maps = [#map7, #map8, #map9]} : (tensor<32x8x8x16xf32>, tensor<2x2xf32>, tensor<32x4x4x16xf32>) -> tensor<32x4x4x16xf32> loc(#loc141)
    %26 = "tensor.empty"() : () -> tensor<32x4x4x32xf32> loc(#loc142)
    %27 = "linalg.fill"(%11, %26) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg147: f32 loc(unknown), %arg148: f32 loc(unknown)):
      "linalg.yield"(%arg147) : (f32) -> () loc(#loc142)
    }) : (f32, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc142)
    %28 = "tensor.pad"(%25) <{operandSegmentSizes = array<i32: 1, 0, 0>, static_high = array<i64: 0, 1, 1, 0>, static_low = array<i64: 0, 1, 1, 0>}> ({
    ^bb0(%arg143: index loc(unknown), %arg144: index loc(unknown), %arg145: index loc(unknown), %arg146: index loc(unknown)):
      "tensor.yield"(%11) : (f32) -> () loc(#loc142)
    }) : (tensor<32x4x4x16xf32>) -> tensor<32x6x6x16xf32> loc(#loc142)
    %29 = "linalg.conv_2d_nhwc_hwcf"(%28, %arg3, %27) <{dilations = dense<1> : tensor<2xi64>, operandSegmentSizes = array<i32: 2, 1>, strides = dense<1> : tensor<2xi64>}> ({
    ^bb0(%arg140: f32 loc(unknown), %arg141: f32 loc(unknown), %arg142: f32 loc(unknown)):
      %145 = "arith.mulf"(%arg140, %arg141) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc142)
      %146 = "arith.addf"(%arg142, %145) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc142)
      "linalg.yield"(%146) : (f32) -> () loc(#loc142)
    }) {linalg.memoized_indexing_maps = [#map, #map1, #map2]} : (tensor<32x6x6x16xf32>, tensor<3x3x16x32xf32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc142)
    %30 = "tensor.empty"() : () -> tensor<1x1x1x32xf32> loc(#loc143)
    %31 = "linalg.generic"(%arg2, %30) <{indexing_maps = [#map3, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg138: f32 loc(unknown), %arg139: f32 loc(unknown)):
      "linalg.yield"(%arg138) : (f32) -> () loc(#loc143)
    }) : (tensor<32xf32>, tensor<1x1x1x32xf32>) -> tensor<1x1x1x32xf32> loc(#loc143)
    %32 = "linalg.generic"(%31, %26) <{indexing_maps = [#map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg136: f32 loc(unknown), %arg137: f32 loc(unknown)):
      "linalg.yield"(%arg136) : (f32) -> () loc(#loc143)
    }) : (tensor<1x1x1x32xf32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc143)
    %33 = "linalg.generic"(%29, %32, %26) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg133: f32 loc(unknown), %arg134: f32 loc(unknown), %arg135: f32 loc(unknown)):
      %144 = "arith.addf"(%arg133, %arg134) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc143)
      "linalg.yield"(%144) : (f32) -> () loc(#loc143)
    }) : (tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc143)
    %34 = "linalg.generic"(%10, %26) <{indexing_maps = [#map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg131: f32 loc(unknown), %arg132: f32 loc(unknown)):
      "linalg.yield"(%arg131) : (f32) -> () loc(#loc112)
    }) : (tensor<f32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc112)
    %35 = "linalg.generic"(%33, %34, %26) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg128: f32 loc(unknown), %arg129: f32 loc(unknown), %arg130: f32 loc(unknown)):
      %143 = "arith.maximumf"(%arg128, %arg129) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc112)
      "linalg.yield"(%143) : (f32) -> () loc(#loc112)
    }) : (tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>, tensor<32x4x4x32xf32>) -> tensor<32x4x4x32xf32> loc(#loc112)
    %36 = "tensor.collapse_shape"(%35) <{reassociation = [[0], [1, 2, 3]]}> : (tensor<32x4x4x32xf32>) -> tensor<32x512xf32> loc(#loc113)
    %37 = "tensor.empty"() : () -> tensor<32x10xf32> loc(#loc114)
    %38 = "linalg.fill"(%11, %37) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg126: f32 loc(unknown), %arg127: f32 loc(unknown)):
      "linalg.yield"(%arg126) : (f32) -> () loc(#loc114)
    }) : (f32, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc114)
    %39 = "linalg.matmul"(%36, %arg5, %38) <{indexing_maps = [#map10, #map11, #map12], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg123: f32 loc(unknown), %arg124: f32 loc(unknown), %arg125: f32 loc(unknown)):
      %141 = "arith.mulf"(%arg123, %arg124) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc114)
      %142 = "arith.addf"(%arg125, %141) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc114)
      "linalg.yield"(%142) : (f32) -> () loc(#loc114)
    }) : (tensor<32x512xf32>, tensor<512x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc114)
    %40 = "tensor.empty"() : () -> tensor<1x10xf32> loc(#loc114)
    %41 = "linalg.generic"(%arg4, %40) <{indexing_maps = [#map13, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg121: f32 loc(unknown), %arg122: f32 loc(unknown)):
      "linalg.yield"(%arg121) : (f32) -> () loc(#loc114)
    }) : (tensor<10xf32>, tensor<1x10xf32>) -> tensor<1x10xf32> loc(#loc114)
    %42 = "linalg.generic"(%41, %37) <{indexing_maps = [#map15, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg119: f32 loc(unknown), %arg120: f32 loc(unknown)):
      "linalg.yield"(%arg119) : (f32) -> () loc(#loc114)
    }) : (tensor<1x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc114)
    %43 = "linalg.generic"(%39, %42, %37) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg116: f32 loc(unknown), %arg117: f32 loc(unknown), %arg118: f32 loc(unknown)):
      %140 = "arith.addf"(%arg116, %arg117) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc114)
      "linalg.yield"(%140) : (f32) -> () loc(#loc114)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc114)
    %44 = "tensor.empty"() : () -> tensor<32xf32> loc(#loc115)
    %45 = "linalg.fill"(%8, %44) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg114: f32 loc(unknown), %arg115: f32 loc(unknown)):
      "linalg.yield"(%arg114) : (f32) -> () loc(#loc115)
    }) : (f32, tensor<32xf32>) -> tensor<32xf32> loc(#loc115)
    %46 = "linalg.generic"(%43, %45) <{indexing_maps = [#map14, #map16], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg112: f32 loc(unknown), %arg113: f32 loc(unknown)):
      %139 = "arith.maximumf"(%arg113, %arg112) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc115)
      "linalg.yield"(%139) : (f32) -> () loc(#loc115)
    }) : (tensor<32x10xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc115)
    %47 = "linalg.generic"(%9, %44) <{indexing_maps = [#map17, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg110: f32 loc(unknown), %arg111: f32 loc(unknown)):
      "linalg.yield"(%arg110) : (f32) -> () loc(#loc115)
    }) : (tensor<f32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc115)
    %48 = "linalg.generic"(%47, %46, %44) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg107: f32 loc(unknown), %arg108: f32 loc(unknown), %arg109: f32 loc(unknown)):
      %138 = "arith.maximumf"(%arg107, %arg108) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc115)
      "linalg.yield"(%138) : (f32) -> () loc(#loc115)
    }) : (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc115)
    %49 = "tensor.empty"() : () -> tensor<32x1xf32> loc(#loc115)
    %50 = "linalg.generic"(%48, %49) <{indexing_maps = [#map16, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg105: f32 loc(unknown), %arg106: f32 loc(unknown)):
      "linalg.yield"(%arg105) : (f32) -> () loc(#loc115)
    }) : (tensor<32xf32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc115)
    %51 = "linalg.generic"(%50, %37) <{indexing_maps = [#map19, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg103: f32 loc(unknown), %arg104: f32 loc(unknown)):
      "linalg.yield"(%arg103) : (f32) -> () loc(#loc115)
    }) : (tensor<32x1xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc115)
    %52 = "linalg.generic"(%43, %51, %37) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg100: f32 loc(unknown), %arg101: f32 loc(unknown), %arg102: f32 loc(unknown)):
      %137 = "arith.subf"(%arg100, %arg101) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc115)
      "linalg.yield"(%137) : (f32) -> () loc(#loc115)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc115)
    %53 = "linalg.generic"(%52, %37) <{indexing_maps = [#map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg98: f32 loc(unknown), %arg99: f32 loc(unknown)):
      %136 = "math.exp"(%arg98) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc115)
      "linalg.yield"(%136) : (f32) -> () loc(#loc115)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc115)
    %54 = "linalg.fill"(%11, %44) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg96: f32 loc(unknown), %arg97: f32 loc(unknown)):
      "linalg.yield"(%arg96) : (f32) -> () loc(#loc115)
    }) : (f32, tensor<32xf32>) -> tensor<32xf32> loc(#loc115)
    %55 = "linalg.generic"(%53, %54) <{indexing_maps = [#map14, #map16], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg94: f32 loc(unknown), %arg95: f32 loc(unknown)):
      %135 = "arith.addf"(%arg95, %arg94) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc115)
      "linalg.yield"(%135) : (f32) -> () loc(#loc115)
    }) : (tensor<32x10xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc115)
    %56 = "linalg.generic"(%55, %49) <{indexing_maps = [#map16, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg92: f32 loc(unknown), %arg93: f32 loc(unknown)):
      "linalg.yield"(%arg92) : (f32) -> () loc(#loc115)
    }) : (tensor<32xf32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc115)
    %57 = "linalg.generic"(%56, %49) <{indexing_maps = [#map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg90: f32 loc(unknown), %arg91: f32 loc(unknown)):
      %134 = "math.log"(%arg90) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc115)
      "linalg.yield"(%134) : (f32) -> () loc(#loc115)
    }) : (tensor<32x1xf32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc115)
    %58 = "linalg.generic"(%57, %37) <{indexing_maps = [#map19, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg88: f32 loc(unknown), %arg89: f32 loc(unknown)):
      "linalg.yield"(%arg88) : (f32) -> () loc(#loc115)
    }) : (tensor<32x1xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc115)
    %59 = "linalg.generic"(%52, %58, %37) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg85: f32 loc(unknown), %arg86: f32 loc(unknown), %arg87: f32 loc(unknown)):
      %133 = "arith.subf"(%arg85, %arg86) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc115)
      "linalg.yield"(%133) : (f32) -> () loc(#loc115)
    }) : (tensor<32x10xf32>, tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc(#loc115)
    %60 = "tensor.empty"() : () -> tensor<32x1xi32> loc(#loc116)
    %61 = "linalg.generic"(%arg14, %60) <{indexing_maps = [#map16, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg83: i32 loc(unknown), %arg84: i32 loc(unknown)):
      "linalg.yield"(%arg83) : (i32) -> () loc(#loc116)
    }) : (tensor<32xi32>, tensor<32x1xi32>) -> tensor<32x1xi32> loc(#loc116)
    %62 = "linalg.generic"(%7, %60) <{indexing_maps = [#map20, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg81: i32 loc(unknown), %arg82: i32 loc(unknown)):
      "linalg.yield"(%arg81) : (i32) -> () loc(#loc107)
    }) : (tensor<i32>, tensor<32x1xi32>) -> tensor<32x1xi32> loc(#loc107)
    %63 = "tensor.empty"() : () -> tensor<32x1xi1> loc(#loc107)
    %64 = "linalg.generic"(%61, %62, %63) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg78: i32 loc(unknown), %arg79: i32 loc(unknown), %arg80: i1 loc(unknown)):
      %132 = "arith.cmpi"(%arg78, %arg79) <{predicate = 2 : i64}> : (i32, i32) -> i1 loc(#loc107)
      "linalg.yield"(%132) : (i1) -> () loc(#loc107)
    }) : (tensor<32x1xi32>, tensor<32x1xi32>, tensor<32x1xi1>) -> tensor<32x1xi1> loc(#loc107)
    %65 = "linalg.generic"(%6, %60) <{indexing_maps = [#map20, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg76: i32 loc(unknown), %arg77: i32 loc(unknown)):
      "linalg.yield"(%arg76) : (i32) -> () loc(#loc107)
    }) : (tensor<i32>, tensor<32x1xi32>) -> tensor<32x1xi32> loc(#loc107)
    %66 = "linalg.generic"(%61, %65, %60) <{indexing_maps = [#map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg73: i32 loc(unknown), %arg74: i32 loc(unknown), %arg75: i32 loc(unknown)):
      %131 = "arith.addi"(%arg73, %arg74) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32 loc(#loc107)
      "linalg.yield"(%131) : (i32) -> () loc(#loc107)
    }) : (tensor<32x1xi32>, tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x1xi32> loc(#loc107)
    %67 = "linalg.generic"(%64, %66, %61, %60) <{indexing_maps = [#map14, #map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg69: i1 loc(unknown), %arg70: i32 loc(unknown), %arg71: i32 loc(unknown), %arg72: i32 loc(unknown)):
      %130 = "arith.select"(%arg69, %arg70, %arg71) : (i1, i32, i32) -> i32 loc(#loc107)
      "linalg.yield"(%130) : (i32) -> () loc(#loc107)
    }) : (tensor<32x1xi1>, tensor<32x1xi32>, tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x1xi32> loc(#loc107)
    %68 = "tensor.expand_shape"(%67) <{reassociation = [[0], [1, 2]], static_output_shape = array<i64: 32, 1, 1>}> : (tensor<32x1xi32>) -> tensor<32x1x1xi32> loc(#loc107)
    %69 = "tensor.empty"() : () -> tensor<32x1x1xi32> loc(#loc107)
    %70 = "linalg.generic"(%7, %69) <{indexing_maps = [#map21, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg67: i32 loc(unknown), %arg68: i32 loc(unknown)):
      "linalg.yield"(%arg67) : (i32) -> () loc(#loc107)
    }) : (tensor<i32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi32> loc(#loc107)
    %71 = "tensor.empty"() : () -> tensor<32x1x1xi1> loc(#loc107)
    %72 = "linalg.generic"(%68, %70, %71) <{indexing_maps = [#map22, #map22, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg64: i32 loc(unknown), %arg65: i32 loc(unknown), %arg66: i1 loc(unknown)):
      %129 = "arith.cmpi"(%arg64, %arg65) <{predicate = 5 : i64}> : (i32, i32) -> i1 loc(#loc107)
      "linalg.yield"(%129) : (i1) -> () loc(#loc107)
    }) : (tensor<32x1x1xi32>, tensor<32x1x1xi32>, tensor<32x1x1xi1>) -> tensor<32x1x1xi1> loc(#loc107)
    %73 = "tensor.empty"() : () -> tensor<1x1x1xi32> loc(#loc107)
    %74 = "linalg.generic"(%5, %73) <{indexing_maps = [#map23, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg62: i32 loc(unknown), %arg63: i32 loc(unknown)):
      "linalg.yield"(%arg62) : (i32) -> () loc(#loc107)
    }) : (tensor<1xi32>, tensor<1x1x1xi32>) -> tensor<1x1x1xi32> loc(#loc107)
    %75 = "linalg.generic"(%74, %69) <{indexing_maps = [#map24, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg60: i32 loc(unknown), %arg61: i32 loc(unknown)):
      "linalg.yield"(%arg60) : (i32) -> () loc(#loc107)
    }) : (tensor<1x1x1xi32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi32> loc(#loc107)
    %76 = "linalg.generic"(%68, %75, %71) <{indexing_maps = [#map22, #map22, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg57: i32 loc(unknown), %arg58: i32 loc(unknown), %arg59: i1 loc(unknown)):
      %128 = "arith.cmpi"(%arg57, %arg58) <{predicate = 3 : i64}> : (i32, i32) -> i1 loc(#loc107)
      "linalg.yield"(%128) : (i1) -> () loc(#loc107)
    }) : (tensor<32x1x1xi32>, tensor<32x1x1xi32>, tensor<32x1x1xi1>) -> tensor<32x1x1xi1> loc(#loc107)
    %77 = "linalg.generic"(%72, %76, %71) <{indexing_maps = [#map22, #map22, #map22], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg54: i1 loc(unknown), %arg55: i1 loc(unknown), %arg56: i1 loc(unknown)):
      %127 = "arith.andi"(%arg54, %arg55) : (i1, i1) -> i1 loc(#loc107)
      "linalg.yield"(%127) : (i1) -> () loc(#loc107)
    }) : (tensor<32x1x1xi1>, tensor<32x1x1xi1>, tensor<32x1x1xi1>) -> tensor<32x1x1xi1> loc(#loc107)
    %78 = "linalg.fill"(%4, %63) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg52: i1 loc(unknown), %arg53: i1 loc(unknown)):
      "linalg.yield"(%arg52) : (i1) -> () loc(#loc107)
    }) : (i1, tensor<32x1xi1>) -> tensor<32x1xi1> loc(#loc107)
    %79 = "linalg.generic"(%77, %78) <{indexing_maps = [#map22, #map12], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg50: i1 loc(unknown), %arg51: i1 loc(unknown)):
      %126 = "arith.andi"(%arg51, %arg50) : (i1, i1) -> i1 loc(#loc107)
      "linalg.yield"(%126) : (i1) -> () loc(#loc107)
    }) : (tensor<32x1x1xi1>, tensor<32x1xi1>) -> tensor<32x1xi1> loc(#loc107)
    %80 = "linalg.generic"(%49) <{indexing_maps = [#map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg49: f32 loc(unknown)):
      %120 = "linalg.index"() <{dim = 0 : i64}> : () -> index loc(#loc107)
      %121 = "tensor.extract"(%68, %120, %3, %3) : (tensor<32x1x1xi32>, index, index, index) -> i32 loc(#loc107)
      %122 = "arith.index_cast"(%121) : (i32) -> index loc(#loc107)
      %123 = "arith.maxsi"(%122, %3) : (index, index) -> index loc(#loc107)
      %124 = "arith.minsi"(%123, %2) : (index, index) -> index loc(#loc107)
      %125 = "tensor.extract"(%59, %120, %124) : (tensor<32x10xf32>, index, index) -> f32 loc(#loc107)
      "linalg.yield"(%125) : (f32) -> () loc(#loc107)
    }) : (tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc107)
    %81 = "linalg.generic"(%1, %49) <{indexing_maps = [#map20, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg47: f32 loc(unknown), %arg48: f32 loc(unknown)):
      "linalg.yield"(%arg47) : (f32) -> () loc(#loc107)
    }) : (tensor<f32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc107)
    %82 = "linalg.generic"(%79, %80, %81, %49) <{indexing_maps = [#map14, #map14, #map14, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg43: i1 loc(unknown), %arg44: f32 loc(unknown), %arg45: f32 loc(unknown), %arg46: f32 loc(unknown)):
      %119 = "arith.select"(%arg43, %arg44, %arg45) : (i1, f32, f32) -> f32 loc(#loc107)
      "linalg.yield"(%119) : (f32) -> () loc(#loc107)
    }) : (tensor<32x1xi1>, tensor<32x1xf32>, tensor<32x1xf32>, tensor<32x1xf32>) -> tensor<32x1xf32> loc(#loc107)
    %83 = "tensor.collapse_shape"(%82) <{reassociation = [[0, 1]]}> : (tensor<32x1xf32>) -> tensor<32xf32> loc(#loc117)
    %84 = "linalg.generic"(%83, %44) <{indexing_maps = [#map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg41: f32 loc(unknown), %arg42: f32 loc(unknown)):
      %118 = "arith.negf"(%arg41) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32 loc(#loc118)
      "linalg.yield"(%118) : (f32) -> () loc(#loc118)
    }) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc118)
    %85 = "tensor.empty"() : () -> tensor<32x10xi32> loc(#loc91)
    %86 = "linalg.generic"(%85) <{indexing_maps = [#map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg40: i32 loc(unknown)):
      %116 = "linalg.index"() <{dim = 1 : i64}> : () -> index loc(#loc91)
      %117 = "arith.index_cast"(%116) : (index) -> i32 loc(#loc91)
      "linalg.yield"(%117) : (i32) -> () loc(#loc91)
    }) : (tensor<32x10xi32>) -> tensor<32x10xi32> loc(#loc91)
    %87 = "tensor.empty"() : () -> tensor<32xi32> loc(#loc91)
    %88 = "linalg.fill"(%0, %87) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg38: i32 loc(unknown), %arg39: i32 loc(unknown)):
      "linalg.yield"(%arg38) : (i32) -> () loc(#loc91)
    }) : (i32, tensor<32xi32>) -> tensor<32xi32> loc(#loc91)
    %89:2 = "linalg.generic"(%43, %86, %45, %88) <{indexing_maps = [#map14, #map14, #map16, #map16], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 2>}> ({
    ^bb0(%arg34: f32 loc(unknown), %arg35: i32 loc(unknown), %arg36: f32 loc(unknown), %arg37: i32 loc(unknown)):
      %107 = "arith.cmpf"(%arg36, %arg34) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1 loc(#loc91)
      %108 = "arith.cmpf"(%arg36, %arg36) <{fastmath = #arith.fastmath<none>, predicate = 13 : i64}> : (f32, f32) -> i1 loc(#loc91)
      %109 = "arith.ori"(%107, %108) : (i1, i1) -> i1 loc(#loc91)
      %110 = "arith.cmpf"(%arg36, %arg34) <{fastmath = #arith.fastmath<none>, predicate = 1 : i64}> : (f32, f32) -> i1 loc(#loc91)
      %111 = "arith.cmpi"(%arg37, %arg35) <{predicate = 2 : i64}> : (i32, i32) -> i1 loc(#loc91)
      %112 = "arith.andi"(%110, %111) : (i1, i1) -> i1 loc(#loc91)
      %113 = "arith.ori"(%109, %112) : (i1, i1) -> i1 loc(#loc91)
      %114 = "arith.select"(%109, %arg36, %arg34) : (i1, f32, f32) -> f32 loc(#loc91)
      %115 = "arith.select"(%113, %arg37, %arg35) : (i1, i32, i32) -> i32 loc(#loc91)
      "linalg.yield"(%114, %115) : (f32, i32) -> () loc(#loc91)
    }) : (tensor<32x10xf32>, tensor<32x10xi32>, tensor<32xf32>, tensor<32xi32>) -> (tensor<32xf32>, tensor<32xi32>) loc(#loc91)
    %90 = "tensor.empty"() : () -> tensor<32xi1> loc(#loc91)
    %91 = "linalg.generic"(%89#1, %arg14, %90) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg31: i32 loc(unknown), %arg32: i32 loc(unknown), %arg33: i1 loc(unknown)):
      %106 = "arith.cmpi"(%arg31, %arg32) <{predicate = 0 : i64}> : (i32, i32) -> i1 loc(#loc91)
      "linalg.yield"(%106) : (i1) -> () loc(#loc91)
    }) : (tensor<32xi32>, tensor<32xi32>, tensor<32xi1>) -> tensor<32xi1> loc(#loc91)
    %92 = "linalg.generic"(%91, %44) <{indexing_maps = [#map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg29: i1 loc(unknown), %arg30: f32 loc(unknown)):
      %105 = "arith.uitofp"(%arg29) : (i1) -> f32 loc(#loc94)
      "linalg.yield"(%105) : (f32) -> () loc(#loc94)
    }) : (tensor<32xi1>, tensor<32xf32>) -> tensor<32xf32> loc(#loc94)
    %93 = "tensor.empty"() : () -> tensor<f32> loc(#loc95)
    %94 = "linalg.fill"(%11, %93) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg27: f32 loc(unknown), %arg28: f32 loc(unknown)):
      "linalg.yield"(%arg27) : (f32) -> () loc(#loc95)
    }) : (f32, tensor<f32>) -> tensor<f32> loc(#loc95)
    %95 = "linalg.generic"(%arg12, %94) <{indexing_maps = [#map18, #map17], iterator_types = [#linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg25: f32 loc(unknown), %arg26: f32 loc(unknown)):
      %104 = "arith.addf"(%arg26, %arg25) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc95)
      "linalg.yield"(%104) : (f32) -> () loc(#loc95)
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<f32> loc(#loc95)
    %96 = "linalg.generic"(%84, %arg12, %44) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg22: f32 loc(unknown), %arg23: f32 loc(unknown), %arg24: f32 loc(unknown)):
      %103 = "arith.mulf"(%arg22, %arg23) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc96)
      "linalg.yield"(%103) : (f32) -> () loc(#loc96)
    }) : (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc96)
    %97 = "linalg.generic"(%96, %94) <{indexing_maps = [#map18, #map17], iterator_types = [#linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg20: f32 loc(unknown), %arg21: f32 loc(unknown)):
      %102 = "arith.addf"(%arg21, %arg20) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc97)
      "linalg.yield"(%102) : (f32) -> () loc(#loc97)
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<f32> loc(#loc97)
    %98 = "linalg.generic"(%92, %arg12, %44) <{indexing_maps = [#map18, #map18, #map18], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg17: f32 loc(unknown), %arg18: f32 loc(unknown), %arg19: f32 loc(unknown)):
      %101 = "arith.mulf"(%arg17, %arg18) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc98)
      "linalg.yield"(%101) : (f32) -> () loc(#loc98)
    }) : (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> loc(#loc98)
    %99 = "linalg.generic"(%98, %94) <{indexing_maps = [#map18, #map17], iterator_types = [#linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg15: f32 loc(unknown), %arg16: f32 loc(unknown)):
      %100 = "arith.addf"(%arg16, %arg15) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32 loc(#loc99)
      "linalg.yield"(%100) : (f32) -> () loc(#loc99)
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<f32> loc(#loc99)
    "func.return"(%99, %95, %97, %95) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> () loc(#loc45)
  }) : () -> () loc(#loc45)
}) : () -> () loc(#loc)
#loc1 = loc("model.py":84:1)
#loc19 = loc("model.py":60:12)
#loc20 = loc("model.py":72:9)
#loc21 = loc("model.py":88:18)
#loc22 = loc("model.py":91:19)
#loc23 = loc("model.py":80:14)
#loc24 = loc("model.py":89:25)
#loc25 = loc("model.py":48:9)
#loc26 = loc("model.py":72:30)
#loc27 = loc("model.py":55:12)
#loc28 = loc("model.py":72:18)
#loc29 = loc("model.py":73:21)
#loc30 = loc("model.py":73:9)
#loc31 = loc("model.py":74:9)
#loc32 = loc("model.py":75:12)
#loc33 = loc("model.py":80:34)
#loc34 = loc("model.py":80:62)
#loc35 = loc("model.py":81:13)
#loc36 = loc("model.py":81:12)
#loc37 = loc("model.py":89:16)
#loc38 = loc("model.py":92:13)
#loc39 = loc("model.py":93:42)
#loc40 = loc("model.py":93:16)
#loc41 = loc("model.py":94:44)
#loc42 = loc("model.py":94:14)
#loc43 = loc("model.py":94:40)
#loc44 = loc("model.py":95:24)
#loc45 = loc("model.py":99:1)
#loc47 = loc("model.py":103:14)
#loc48 = loc("model.py":102:14)
#loc49 = loc("model.py":101:14)
#loc50 = loc("model.py":103:13)
#loc51 = loc("model.py":105:13)
#loc52 = loc("model.py":107:26)
#loc53 = loc("model.py":107:18)
#loc54 = loc("model.py":108:30)
#loc55 = loc("model.py":108:22)
#loc56 = loc("max_pool_backward"(#loc19))
#loc57 = loc("logits"(#loc20))
#loc58 = loc("loss_fn"(#loc21))
#loc59 = loc("step"(#loc22))
#loc60 = loc("cross_entropy"(#loc23))
#loc61 = loc("loss_fn"(#loc24))
#loc62 = loc("convolve"(#loc25))
#loc63 = loc("logits"(#loc26))
#loc64 = loc("convolve"(#loc27))
#loc65 = loc("logits"(#loc28))
#loc66 = loc("max_pool"(#loc19))
#loc67 = loc("logits"(#loc29))
#loc68 = loc("logits"(#loc30))
#loc69 = loc("logits"(#loc31))
#loc70 = loc("logits"(#loc32))
#loc71 = loc("cross_entropy"(#loc33))
#loc72 = loc("cross_entropy"(#loc34))
#loc73 = loc("cross_entropy"(#loc35))
#loc74 = loc("cross_entropy"(#loc36))
#loc75 = loc("loss_fn"(#loc37))
#loc76 = loc("loss_fn_backward"(#loc37))
#loc77 = loc("cross_entropy_backward"(#loc36))
#loc78 = loc("cross_entropy_backward"(#loc35))
#loc79 = loc("cross_entropy_backward"(#loc23))
#loc80 = loc("cross_entropy_backward"(#loc33))
#loc81 = loc("logits_backward"(#loc32))
#loc82 = loc("logits_backward"(#loc31))
#loc83 = loc("logits_backward"(#loc30))
#loc84 = loc("convolve_backward"(#loc27))
#loc85 = loc("convolve_backward"(#loc25))
#loc86 = loc("logits_backward"(#loc28))
#loc87 = loc("step"(#loc38))
#loc88 = loc("step"(#loc40))
#loc89 = loc("step"(#loc42))
#loc90 = loc("step"(#loc44))
#loc91 = loc("evaluate"(#loc47))
#loc92 = loc("evaluate"(#loc48))
#loc93 = loc("evaluate"(#loc49))
#loc94 = loc("evaluate"(#loc50))
#loc95 = loc("evaluate"(#loc51))
#loc96 = loc("evaluate"(#loc52))
#loc97 = loc("evaluate"(#loc53))
#loc98 = loc("evaluate"(#loc54))
#loc99 = loc("evaluate"(#loc55))
#loc100 = loc(callsite(#loc58 at #loc59))
#loc101 = loc(callsite(#loc61 at #loc59))
#loc102 = loc(callsite(#loc75 at #loc59))
#loc103 = loc(callsite(#loc76 at #loc59))
#loc104 = loc(callsite(#loc39 at #loc88))
#loc105 = loc(callsite(#loc41 at #loc89))
#loc106 = loc(callsite(#loc43 at #loc89))
#loc107 = loc(callsite(#loc60 at #loc92))
#loc108 = loc(callsite(#loc63 at #loc93))
#loc109 = loc(callsite(#loc65 at #loc93))
#loc110 = loc(callsite(#loc57 at #loc93))
#loc111 = loc(callsite(#loc67 at #loc93))
#loc112 = loc(callsite(#loc68 at #loc93))
#loc113 = loc(callsite(#loc69 at #loc93))
#loc114 = loc(callsite(#loc70 at #loc93))
#loc115 = loc(callsite(#loc71 at #loc92))
#loc116 = loc(callsite(#loc72 at #loc92))
#loc117 = loc(callsite(#loc73 at #loc92))
#loc118 = loc(callsite(#loc74 at #loc92))
#loc119 = loc(callsite(#loc57 at #loc100))
#loc120 = loc(callsite(#loc60 at #loc101))
#loc121 = loc(callsite(#loc63 at #loc100))
#loc122 = loc(callsite(#loc65 at #loc100))
#loc123 = loc(callsite(#loc67 at #loc100))
#loc124 = loc(callsite(#loc68 at #loc100))
#loc125 = loc(callsite(#loc69 at #loc100))
#loc126 = loc(callsite(#loc70 at #loc100))
#loc127 = loc(callsite(#loc71 at #loc101))
#loc128 = loc(callsite(#loc72 at #loc101))
#loc129 = loc(callsite(#loc73 at #loc101))
#loc130 = loc(callsite(#loc74 at #loc101))
#loc131 = loc(callsite(#loc77 at #loc101))
#loc132 = loc(callsite(#loc78 at #loc101))
#loc133 = loc(callsite(#loc79 at #loc101))
#loc134 = loc(callsite(#loc80 at #loc101))
#loc135 = loc(callsite(#loc81 at #loc100))
#loc136 = loc(callsite(#loc82 at #loc100))
#loc137 = loc(callsite(#loc83 at #loc100))
#loc138 = loc(callsite(#loc86 at #loc100))
#loc139 = loc(callsite(#loc62 at #loc108))
#loc140 = loc(callsite(#loc64 at #loc108))
#loc141 = loc(callsite(#loc66 at #loc110))
#loc142 = loc(callsite(#loc62 at #loc111))
#loc143 = loc(callsite(#loc64 at #loc111))
#loc144 = loc(callsite(#loc56 at #loc119))
#loc145 = loc(callsite(#loc62 at #loc121))
#loc146 = loc(callsite(#loc64 at #loc121))
#loc147 = loc(callsite(#loc66 at #loc119))
#loc148 = loc(callsite(#loc62 at #loc123))
#loc149 = loc(callsite(#loc64 at #loc123))
#loc150 = loc(callsite(#loc84 at #loc123))
#loc151 = loc(callsite(#loc85 at #loc123))
#loc152 = loc(callsite(#loc84 at #loc121))
#loc153 = loc(callsite(#loc85 at #loc121))
