// RUN: lockstep-opt %s --split-input-file --verify-diagnostics -o /dev/null

func.func @rank(%q: tensor<4x3x8xf32>, %s: tensor<3x4xf32>) {
  // expected-error@+1 {{expected queries and keys of f16, bf16, f32 or f64, [examples, positions, heads, size of a head], of static shape and not empty, found 'tensor<4x3x8xf32>'}}
  %o:2 = device.attention scale 1.000000e+00 ins(%q, %q, %q : tensor<4x3x8xf32>, tensor<4x3x8xf32>, tensor<4x3x8xf32>)
      outs(%q, %s : tensor<4x3x8xf32>, tensor<3x4xf32>) -> tensor<4x3x8xf32>, tensor<3x4xf32>
  return
}

// -----

func.func @heads(%q: tensor<1x4x3x8xf32>, %k: tensor<1x4x2x8xf32>, %s: tensor<1x3x4xf32>) {
  // expected-error@+1 {{expected keys of type 'tensor<1x4x3x8xf32>', found 'tensor<1x4x2x8xf32>'}}
  %o:2 = device.attention scale 1.000000e+00 ins(%q, %k, %k : tensor<1x4x3x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
      outs(%q, %s : tensor<1x4x3x8xf32>, tensor<1x3x4xf32>) -> tensor<1x4x3x8xf32>, tensor<1x3x4xf32>
  return
}

// -----

func.func @values(%q: tensor<1x4x3x8xf32>, %v: tensor<1x5x3x8xf32>, %s: tensor<1x3x4xf32>) {
  // expected-error@+1 {{expected values of type 'tensor<1x4x3x8xf32>', found 'tensor<1x5x3x8xf32>'}}
  %o:2 = device.attention scale 1.000000e+00 ins(%q, %q, %v : tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x5x3x8xf32>)
      outs(%q, %s : tensor<1x4x3x8xf32>, tensor<1x3x4xf32>) -> tensor<1x4x3x8xf32>, tensor<1x3x4xf32>
  return
}

// -----

func.func @statistics(%q: tensor<1x4x3x8xbf16>, %s: tensor<1x3x4xbf16>) {
  // expected-error@+1 {{expected statistics of type 'tensor<1x3x4xf32>', found 'tensor<1x3x4xbf16>'}}
  %o:2 = device.attention scale 1.000000e+00 ins(%q, %q, %q : tensor<1x4x3x8xbf16>, tensor<1x4x3x8xbf16>, tensor<1x4x3x8xbf16>)
      outs(%q, %s : tensor<1x4x3x8xbf16>, tensor<1x3x4xbf16>) -> tensor<1x4x3x8xbf16>, tensor<1x3x4xbf16>
  return
}

// -----

func.func @cotangent(%q: tensor<1x4x3x8xf32>, %s: tensor<1x3x4xf32>, %d: tensor<1x4x3x8xf16>) {
  // expected-error@+1 {{expected cotangents of type 'tensor<1x4x3x8xf32>', found 'tensor<1x4x3x8xf16>'}}
  %o:3 = device.attention_gradient scale 1.000000e+00
      ins(%q, %q, %q, %q, %s, %d : tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x3x4xf32>, tensor<1x4x3x8xf16>)
      outs(%q, %q, %q : tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) -> tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>
  return
}

// -----

func.func @gradients(%q: tensor<1x4x3x8xf32>, %k: tensor<1x6x3x8xf32>, %s: tensor<1x3x4xf32>) {
  // expected-error@+1 {{expected gradients of keys of type 'tensor<1x6x3x8xf32>', found 'tensor<1x4x3x8xf32>'}}
  %o:3 = device.attention_gradient scale 1.000000e+00
      ins(%q, %k, %k, %q, %s, %q : tensor<1x4x3x8xf32>, tensor<1x6x3x8xf32>, tensor<1x6x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x3x4xf32>, tensor<1x4x3x8xf32>)
      outs(%q, %q, %k : tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x6x3x8xf32>) -> tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x6x3x8xf32>
  return
}

// -----

func.func @types(%q: tensor<1x4x3x8xf128>, %s: tensor<1x3x4xf32>) {
  // expected-error@+1 {{expected queries and keys of f16, bf16, f32 or f64, [examples, positions, heads, size of a head], of static shape and not empty, found 'tensor<1x4x3x8xf128>'}}
  %o:2 = device.attention scale 1.000000e+00 ins(%q, %q, %q : tensor<1x4x3x8xf128>, tensor<1x4x3x8xf128>, tensor<1x4x3x8xf128>)
      outs(%q, %s : tensor<1x4x3x8xf128>, tensor<1x3x4xf32>) -> tensor<1x4x3x8xf128>, tensor<1x3x4xf32>
  return
}
