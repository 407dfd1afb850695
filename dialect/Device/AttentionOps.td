//===- AttentionOps.td - Attention as one operation --------*- tablegen -*-===//
//
// On tensors, and, where a library of a device computes them, in kernels on
// memory. Elsewhere `expand-attention` replaces them by the operations that
// define them.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_DEVICE_ATTENTIONOPS_TD
#define LOCKSTEP_DIALECT_DEVICE_ATTENTIONOPS_TD

include "dialect/Device/DeviceBase.td"
include "mlir/Dialect/Linalg/IR/LinalgInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Device_AttentionBase<string mnemonic> : Op<Device_Dialect, mnemonic, [
    AggregatedOpInterface, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
}

def Device_AttentionOp : Device_AttentionBase<"attention"> {
  let summary = "softmax(scale * query . key) . value, for each head";
  let description = [{
    Queries are [examples, positions, heads, size of a head], of f16, bf16, f32
    or f64; keys and values have the same shape but for the number of positions,
    and the same type. With `causal`, position `i` of the queries attends to
    positions up to `i` only: the score of a later one is the lowest number of
    f32 or, where a library computes it, minus infinity. Products, and the
    softmax, are in f32, or in f64 for operands of f64; the weights are rounded
    to the type of the operands before they multiply the values. `statistics`
    is, for each example, head and query, the logarithm of the sum of the
    exponentials of its scores, in f32 or f64.

    ```mlir
    %o:2 = device.attention causal scale 1.250000e-01
        ins(%q, %k, %v : tensor<8x1024x12x64xbf16>, tensor<8x1024x12x64xbf16>,
                         tensor<8x1024x12x64xbf16>)
        outs(%e, %f : tensor<8x1024x12x64xbf16>, tensor<8x12x1024xf32>)
        -> tensor<8x1024x12x64xbf16>, tensor<8x12x1024xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$query, AnyShaped:$key, AnyShaped:$value,
                       AnyShaped:$output, AnyShaped:$statistics, F64Attr:$scale,
                       UnitAttr:$causal);
  let assemblyFormat = [{
    (`causal` $causal^)? `scale` $scale attr-dict
    `ins` `(` $query `,` $key `,` $value `:`
      type($query) `,` type($key) `,` type($value) `)`
    `outs` `(` $output `,` $statistics `:`
      type($output) `,` type($statistics) `)`
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 3, 2);
    }
    ::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>
    decomposeOperation(::mlir::OpBuilder &builder);
  }];
}

def Device_AttentionGradientOp : Device_AttentionBase<"attention_gradient"> {
  let summary = "the gradients of an attention with respect to its operands";
  let description = [{
    `output` and `statistics` are what a `device.attention` of the same operands
    and attributes has computed, and `cotangent` is the gradient of its output.
    The weights are computed again: `exp(scale * query . key - statistics)`.
    Sums are in f32, or in f64 for operands of f64; weights and gradients of
    scores are rounded to the type of the operands before they are multiplied.

    ```mlir
    %g:3 = device.attention_gradient causal scale 1.250000e-01
        ins(%q, %k, %v, %o, %s, %d : ...) outs(%a, %b, %c : ...)
        -> tensor<8x1024x12x64xbf16>, tensor<8x1024x12x64xbf16>,
           tensor<8x1024x12x64xbf16>
    ```
  }];
  let arguments = (ins AnyShaped:$query, AnyShaped:$key, AnyShaped:$value,
                       AnyShaped:$output, AnyShaped:$statistics,
                       AnyShaped:$cotangent, AnyShaped:$query_gradient,
                       AnyShaped:$key_gradient, AnyShaped:$value_gradient,
                       F64Attr:$scale, UnitAttr:$causal);
  let assemblyFormat = [{
    (`causal` $causal^)? `scale` $scale attr-dict
    `ins` `(` $query `,` $key `,` $value `,` $output `,` $statistics `,`
      $cotangent `:` type($query) `,` type($key) `,` type($value) `,`
      type($output) `,` type($statistics) `,` type($cotangent) `)`
    `outs` `(` $query_gradient `,` $key_gradient `,` $value_gradient `:`
      type($query_gradient) `,` type($key_gradient) `,`
      type($value_gradient) `)`
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 6, 3);
    }
    ::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>
    decomposeOperation(::mlir::OpBuilder &builder);
  }];
}

#endif
