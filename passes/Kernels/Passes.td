#ifndef LOCKSTEP_PASSES_KERNELS_PASSES_TD
#define LOCKSTEP_PASSES_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckElementTypesPass : Pass<"check-element-types", "::mlir::func::FuncOp"> {
  let summary = "refuses element types that kernels do not support, and unknown ranks";
  let description = [{
    Elements in memory occupy whole bytes, and have a type that the artifact,
    the collectives and the data can name: i1, i8, i16, i32, i64, f16, bf16, f32
    and f64. A tensor of another type, such as `i4`, `f8E4M3FN` or
    `complex<f32>`, is an error at the operation that creates it, and so is one
    of unknown rank. The pass does not change the program.

    ```mlir
    // error: there are no kernels for elements of type 'i4': expected i1, i8, i16, i32, i64, f16, bf16, f32 or f64
    %0 = arith.trunci %a : tensor<8xi8> to tensor<8xi4>
    ```
  }];
}

def NormalizeTensorsPass : Pass<"normalize-tensors", "::mlir::func::FuncOp"> {
  let summary = "removes operations that compute no elements, and converts rare forms to those that later passes support";
  let description = [{
    A tensor without elements becomes `tensor.empty`. A reduction over no
    elements is replaced by its initial value. The stride of a slice in a
    dimension of size one becomes one. An operation that does not write all
    elements of its result, such as one that writes a diagonal, becomes loops
    that insert one element at a time: later passes, also upstream's, assume
    that a destination which is not read is overwritten completely.

    ```mlir
    // before
    %0 = tensor.collapse_shape %a [[0, 1]] : tensor<4x0xf32> into tensor<0xf32>
    %1 = tensor.extract_slice %b[7, 1] [1, 2] [3, 1] : tensor<8x4xf32> to tensor<2xf32>
    // after
    %0 = tensor.empty() : tensor<0xf32>
    %1 = tensor.extract_slice %b[7, 1] [1, 2] [1, 1] : tensor<8x4xf32> to tensor<2xf32>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def ExpandAttentionPass : Pass<"expand-attention", "::mlir::func::FuncOp"> {
  let summary = "replaces attention by the operations that define it";
  let description = [{
    With `library`, those that a library of a GPU may compute are kept, and
    become a kernel each, unless there is an `obstacle`:
    `runtime::GpuAttention::findObstacle` knows which ones. Remarks say why
    others are replaced. With `most-bytes`, one with more bytes of scores
    becomes a loop over slices of examples, or of heads of one example, so that
    the scores of one slice take the place of those of the one before. A
    gradient then computes scores again, instead of finding those of its
    attention.

    ```mlir
    // before
    %o:2 = device.attention scale 1.250000e-01
        ins(%q, %k, %v : ...) outs(%e, %f : ...)
        -> tensor<8x1024x12x64xf32>, tensor<8x12x1024xf32>
    // after
    %scores = linalg.generic ... ins(%q, %k : ...) ...
        -> tensor<8x12x1024x1024xf32>
    ...
    ```
  }];
  let options = [Option<"library", "library", "bool", /*default=*/"false",
                        "a library computes attention">,
                 Option<"obstacle", "obstacle", "std::string",
                        /*default=*/"\"\"",
                        "why it computes none nevertheless">,
                 Option<"mostBytes", "most-bytes", "uint64_t",
                        /*default=*/"0",
                        "bytes of the scores that are computed at a time, or "
                        "of one head if it has more; 0: any number">];
  let dependentDialects = ["::lockstep::device::DeviceDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FuseOperationsPass : Pass<"fuse-operations", "::mlir::func::FuncOp"> {
  let summary = "fuses element-wise operations with each other and folds broadcasts and transposes";
  let description = [{
    An element-wise operation is fused into its users, unless recomputing it
    would cost more than storing its result. The derivative of a ReLU compares
    the result of the ReLU with zero instead of its operand, which may then stay
    in registers together with the product that it is computed from. Broadcasts
    and transposes are folded into the indexing maps of their users. A reduction
    over loops of one iteration, such as the derivative of a broadcast that
    repeats nothing, is element-wise, too. So is padding of dimensions of size
    one, the derivative of a slice. A convolution by a filter of one element is
    a product of matrices. Zeros between the elements of a factor, which the
    gradients of a convolution with strides have, are left out: a sum takes no
    others, and a large convolution is divided into those of elements that do
    not multiply zeros. Slices of one element of a dimension are read in the
    whole tensor, and a gather takes elements of the operands of an element-wise
    operation instead of its result. A large product that all users round first
    is stored rounded. With `library-products` and `library-convolutions`, so is
    what a library computes, even if the only user could have been computed
    while the product is in registers.

    ```mlir
    // before
    %0 = linalg.generic ... ins(%a : tensor<8xf32>) ... { ... %2 = math.exp %x : f32 ... } -> tensor<8xf32>
    %1 = linalg.generic ... ins(%0, %b : tensor<8xf32>, tensor<8xf32>) ... { ... %3 = arith.addf %y, %z : f32 ... } -> tensor<8xf32>
    // after
    %1 = linalg.generic ... ins(%a, %b : tensor<8xf32>, tensor<8xf32>) ... {
      ...
      %2 = math.exp %x : f32
      %3 = arith.addf %2, %z : f32
      linalg.yield %3 : f32
    } -> tensor<8xf32>
    ```
  }];
  let options = [Option<"libraryProducts", "library-products", "bool",
                        /*default=*/"false",
                        "a library computes products of matrices">,
                 Option<"libraryConvolutions", "library-convolutions", "bool",
                        /*default=*/"false", "a library computes convolutions">,
                 Option<"leastSplit", "least-split", "int64_t",
                        /*default=*/"1 << 24",
                        "divide convolutions of at least so many multiply-adds "
                        "to leave out zeros between the elements of a factor">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def PeelAccumulationPass : Pass<"peel-accumulation", "::mlir::func::FuncOp"> {
  let summary = "peels the last iteration of loops whose results are exchanged";
  let description = [{
    Gradients that are accumulated over micro-batches leave a loop all at once.
    Behind the loop, the last iteration computes them one after the other, and
    the exchange of each can hide behind the computation of the next. Only where
    exchanges hide behind kernels at all, for loops without collectives, with
    two or more results that are exchanged, and a constant trip count of at
    least 2. No result changes: the iteration has the operations of the others,
    whose fusion has ended. Only element-wise operations behind the loop are
    fused with it, such as a division for the mean.

    ```mlir
    // before
    %g:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %zero, %b = %zero) -> (tensor<4xf32>, tensor<4xf32>) {
      %a1 = arith.addf %a, %da : tensor<4xf32>
      %b1 = arith.addf %b, %db : tensor<4xf32>
      scf.yield %a1, %b1 : tensor<4xf32>, tensor<4xf32>
    }
    // after
    %g:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %zero, %b = %zero) -> (tensor<4xf32>, tensor<4xf32>) {
      ...
    }
    %a1 = arith.addf %g#0, %da : tensor<4xf32>
    %b1 = arith.addf %g#1, %db : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SplitUniformResultsPass : Pass<"split-uniform-results", "::mlir::ModuleOp"> {
  let summary = "splits loops and branches into those that compute uniform values and those that compute varying ones";
  let description = [{
    A loop or branch that becomes a kernel is a single operation to the analysis
    of uniformity: if one of its operands is varying, all of its results count
    as varying, also those that do not depend on it. So it is split: uniform
    results remain provably uniform, and are computed once per process. Both
    parts compute the values that both need, such as the trip count. Dead
    results are removed, with values that are carried and computed only for
    these.

    ```mlir
    // before: %scale and %bad are equal on all replicas, %gradient is not
    %s, %g = scf.if %bad -> (tensor<f32>, tensor<8xf32>) {
      scf.yield %half, %zeros : tensor<f32>, tensor<8xf32>
    } else {
      scf.yield %scale, %gradient : tensor<f32>, tensor<8xf32>
    }
    // after
    %s = scf.if %bad -> tensor<f32> { scf.yield %half : tensor<f32> } else { scf.yield %scale : tensor<f32> }
    %g = scf.if %bad -> tensor<8xf32> { scf.yield %zeros : tensor<8xf32> } else { scf.yield %gradient : tensor<8xf32> }
    ```
  }];
}

def CarryTensorsPass : Pass<"carry-tensors", "::mlir::func::FuncOp"> {
  let summary = "converts scalars that loops and branches of a step carry to tensors, and loop counters to indices";
  let description = [{
    Loops and branches that stay in the step, because they contain collectives
    or products, carry tensors in memory. Their counters are registers: a
    counter of another integer type becomes an index, which is converted to that
    type in the body.

    ```mlir
    // before
    %r = scf.for %i = %lb to %ub step %c1 iter_args(%n = %init) -> i32 { ... scf.yield %m : i32 }
    // after
    %0 = tensor.from_elements %init : tensor<i32>
    %1 = scf.for %i = %lb to %ub step %c1 iter_args(%t = %0) -> tensor<i32> {
      %n = tensor.extract %t[] : tensor<i32>
      ...
      %2 = tensor.from_elements %m : tensor<i32>
      scf.yield %2 : tensor<i32>
    }
    %r = tensor.extract %1[] : tensor<i32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def FormKernelsPass : Pass<"form-kernels", "::mlir::ModuleOp"> {
  let summary = "outlines computations into kernels";
  let description = [{
    From here on a step is a graph of kernel invocations, collectives and
    control flow: loops and branches with collectives or products, and those of
    which one execution of the body, or of both sides, computes a million
    elements or more; others are in kernels. A kernel never mixes uniform and
    varying results. Small operations share one, and so do larger ones that have
    outer loops in common, if an iteration of these needs only what it computes
    itself, and little enough for a cache: a softmax, or a norm, with what is
    computed of it. What follows a product is in its kernel, but with
    `library-products` only a rounding, and with `library-convolutions` the same
    goes for a convolution. Large operations whose result is exchanged do not wait for others.
    With `merge-updates`, those that update small variables share kernels, too,
    and with `merge-padding` an element-wise operation has the kernel that pads
    its result, and writes it to where that is.
    With `recompute`, a kernel computes element-wise operations of another one
    again instead of reading their results, if that takes less time on a GPU, no
    kernel needs the results in memory, and no more memory is in use: a softmax
    does not store exponentials for its derivative.
    Without `fuse`, every operation becomes a kernel of its own. A kernel is
    named after the step, a number, the function of the user's program that its
    main operation is in, if its location has one
    (`loc("norm"("model.py":8:3))`), and that operation.

    ```mlir
    // before
    %0 = linalg.generic ... ins(%a, %b : tensor<8xf32>, tensor<8xf32>) ...
        loc("norm"("model.py":8:3))
    // after
    device.kernel @step_0_norm_elementwise(
        %a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> { ... }
    %0 = device.invoke @step_0_norm_elementwise(%a, %b)
        : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let options = [Option<"fuse", "fuse", "bool", /*default=*/"true", "put several operations into one kernel">,
                 Option<"libraryProducts", "library-products", "bool", /*default=*/"false",
                        "a library computes products of matrices: what follows "
                        "one, but for a rounding or a bias, is computed with "
                        "the operations after it">,
                 Option<"libraryConvolutions", "library-convolutions", "bool",
                        /*default=*/"false",
                        "a library computes convolutions, in the same manner">,
                 Option<"libraryActivations", "library-activations", "bool",
                        /*default=*/"false",
                        "these libraries also apply activations">,
                 Option<"tf32", "tf32", "bool", /*default=*/"false",
                        "they multiply factors of f32 on tensor cores">,
                 Option<"mergeUpdates", "merge-updates", "bool",
                        /*default=*/"false",
                        "put updates of small variables into common kernels">,
                 Option<"mergePadding", "merge-padding", "bool",
                        /*default=*/"false",
                        "compute what is only padded in the kernel that pads "
                        "it">,
                 Option<"recompute", "recompute", "bool",
                        /*default=*/"false",
                        "compute values again in later kernels, where that "
                        "takes a GPU less time than storing and reading them">];
  let dependentDialects = ["::lockstep::device::DeviceDialect", "::mlir::tensor::TensorDialect", "::mlir::linalg::LinalgDialect"];
}

def PadRowsPass : Pass<"pad-rows", "::mlir::ModuleOp"> {
  let summary = "gives matrices rows that a library multiplies faster";
  let description = [{
    On tensor cores, a library has much slower code for matrices whose rows in
    memory are no multiples of eight elements. If only kernels access such a
    matrix, and large products read it, it gets more elements in memory, and so
    does the result of such a product. Products have more iterations then. Other
    kernels read and write the part that has all elements of the original, and
    write zeros behind it. What a product writes there may be no zeros, if a
    factor is infinite: another product that adds it up copies it instead. Only
    for products of f16 and bf16, and with `tf32` of f32. Where a matrix cannot
    be padded, since the step itself uses it, or only one of two factors can be,
    code generation copies the matrices within the kernel of the product.

    ```mlir
    // before
    %y = device.invoke @product(%x, %w)
        : (tensor<8192x768xbf16>, tensor<768x50257xbf16>)
        -> tensor<8192x50257xbf16>
    // after
    %y = device.invoke @product(%x, %w)
        : (tensor<8192x768xbf16>, tensor<768x50264xbf16>)
        -> tensor<8192x50264xbf16>
    ```
  }];
  let options = [Option<"tf32", "tf32", "bool", /*default=*/"false",
                        "products of f32 round their factors, too">,
                 Option<"large", "large", "int64_t", /*default=*/"1 << 30",
                        "the multiply-adds of the smallest products for which "
                        "it is done">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif
