// RUN: lockstep-opt %s --generate-code --split-input-file -verify-diagnostics

#id = affine_map<(i) -> (i)>
device.kernel @no_code(%a: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf64>) outs(%e : tensor<8xf64>) {
  ^bb0(%x: f64, %y: f64):
    // expected-error@+1 {{no code for 'math.erf' on 'f64'}}
    %s = math.erf %x : f64
    linalg.yield %s : f64
  } -> tensor<8xf64>
  device.yield %r : tensor<8xf64>
}
