#ifndef LOCKSTEP_PASSES_CODEGEN_PASSES_TD
#define LOCKSTEP_PASSES_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrepareKernelsPass : Pass<"prepare-kernels", "::mlir::ModuleOp"> {
  let summary = "converts the bodies of kernels to the few forms that code is generated for";
  let description = [{
    Named operations become `linalg.generic`, padding and concatenation become
    slices, large constants of one value become fills, and remaining
    element-wise operations are fused. Reductions of products become
    `math.fma`-shaped: `arith.mulf` and `arith.addf` of an accumulator are
    marked `contract`, so that every code path rounds once.

    ```mlir
    // before
    %1 = linalg.transpose ins(%w : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
    %2 = linalg.matmul ins(%x, %1 : tensor<2x4xf32>, tensor<4x8xf32>) outs(%z : tensor<2x8xf32>) -> tensor<2x8xf32>
    // after
    %2 = linalg.generic {indexing_maps = [(m, n, k) -> (m, k), (m, n, k) -> (n, k), (m, n, k) -> (m, n)], ...} ins(%x, %w ...)
    ```
  }];
  let options = [Option<"optimize", "optimize", "bool", /*default=*/"true", "fuse element-wise operations">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect",
                           "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect", "::mlir::math::MathDialect"];
}

def BufferizeKernelsPass : Pass<"bufferize-kernels", "::mlir::ModuleOp"> {
  let summary = "converts kernels to functions on memory that write their results to arguments";
  let description = [{
    A `device.kernel` becomes a `func.func` whose arguments are the tensor
    arguments, the results, the scalars, and the number of the tile. A result
    that may be in the memory of an argument (`in_place`) remains in place if no
    element of the argument is read after the same element of the result may
    have been written. If the result is an updated copy of the argument, the
    copy is skipped at run time if both are the same memory. In all other cases
    the permission is revoked.

    ```mlir
    // before
    device.kernel @twice(%a: tensor<8xf32>) -> tensor<8xf32> { ... device.yield %0 : tensor<8xf32> }
    // after
    func.func @twice(%a: memref<8xf32>, %r: memref<8xf32>, %tile: index) attributes {lockstep.in_place = array<i64: -1>} { ... }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect", "::mlir::func::FuncDialect",
                           "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect"];
}

def LowerKernelLoopsPass : Pass<"lower-kernel-loops", "::mlir::func::FuncOp"> {
  let summary = "lowers structured operations on memory to loops and vectors";
  let description = [{
    Contractions become packed, register-tiled products with the element-wise
    operations after them fused into the store; two of their loops that all
    operands have as consecutive indices become one. Element-wise operations and
    reductions become loops, those with the same outer dimension in one loop,
    whose iterations are divided into tiles; a reduction along a contiguous
    dimension keeps a fixed number of partial results. Without `optimize`, every
    operation becomes plain loops. The number of tiles is stored in the
    attribute `lockstep.grid`; it does not depend on the target.

    ```mlir
    // before
    linalg.generic {indexing_maps = [(i) -> (i), (i) -> (i)], iterator_types = ["parallel"]}
        ins(%a : memref<64xf32>) outs(%r : memref<64xf32>) { ... %0 = arith.mulf %x, %x : f32 ... }
    // after
    scf.for %i = %c0 to %c64 step %c8 {
      %0 = vector.load %a[%i] : memref<64xf32>, vector<8xf32>
      %1 = arith.mulf %0, %0 : vector<8xf32>
      vector.store %1, %r[%i] : memref<64xf32>, vector<8xf32>
    }
    ```
  }];
  let options = [Option<"target", "target", "std::string", /*default=*/"\"x86-64-v3\"", "instruction set whose registers are filled">,
                 Option<"optimize", "optimize", "bool", /*default=*/"true", "tile, fuse and vectorize">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerKernelPhasesPass : Pass<"lower-kernel-phases", "::mlir::ModuleOp"> {
  let summary = "lowers structured operations on memory to GPU threads";
  let description = [{
    A kernel becomes a sequence of functions, its phases, that are launched one
    after the other, each on a grid of blocks of threads. Operations that share
    outer loops are one phase: a thread executes one iteration of these loops,
    or a block does if there are inner loops to share among its threads, or long
    reductions, which end in a tree in shared memory. Where many rows are added
    up, a block has eight columns, and its threads share the rows. A long
    reduction that would occupy few multiprocessors is divided into parts first,
    whose results another phase reduces. Of a product,
    a block computes a tile from slices of the factors in shared memory, by
    tensor cores if the factors have 16 bits, or with the option `tf32`. Of
    loops that update single elements, such as a scatter, a thread executes the
    accesses to the elements that belong to it. All else, such as other loops
    that carry tensors, is executed by a single block. What only one phase needs
    is in registers, or a row of it in shared memory; other intermediate buffers
    are in working memory. What is left of the kernel is a declaration with
    `lockstep.launches`, the number of blocks and threads of each phase.

    With the option `library-products`, a product of matrices is a phase without
    its epilogue, but for a rounding. The attribute `lockstep.products` of the
    kernel then has the words of `runtime::GpuProduct`, which describe it to a
    library: phase, rows, columns, depth, and so on. In a large product on
    tensor cores, matrices whose rows are no multiples of eight elements are
    replaced by such in working memory. With `library-convolutions`, the same
    goes for convolutions, in the words of `runtime::GpuConvolution` in
    `lockstep.convolutions`.

    ```mlir
    // before
    func.func @twice(%a: memref<512xf32>, %r: memref<512xf32>, %tile: index) {
      linalg.generic {indexing_maps = [(i) -> (i), (i) -> (i)],
                      iterator_types = ["parallel"]}
          ins(%a : memref<512xf32>) outs(%r : memref<512xf32>) { ... }
      return
    }
    // after
    func.func private @twice(memref<512xf32>, memref<512xf32>)
        attributes {lockstep.launches = array<i64: 2, 256>}
    func.func @twice$0(%a: memref<512xf32>, %r: memref<512xf32>)
        attributes {lockstep.blocks = 2 : i64, lockstep.threads = 256 : i64} {
      %thread = nvvm.read.ptx.sreg.tid.x : i32
      %block = nvvm.read.ptx.sreg.ctaid.x : i32
      ...
      memref.store %2, %r[%i] : memref<512xf32>
      return
    }
    ```
  }];
  let options = [Option<"tf32", "tf32", "bool", /*default=*/"false", "round the factors of products of f32 to tf32">,
                 Option<"libraryProducts", "library-products", "bool",
                        /*default=*/"false",
                        "describe products of matrices for cuBLASLt">,
                 Option<"libraryConvolutions", "library-convolutions", "bool",
                        /*default=*/"false",
                        "describe convolutions for cuDNN">,
                 Option<"libraryActivations", "library-activations", "bool",
                        /*default=*/"false",
                        "describe activations for these libraries, too">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def PlaceBuffersPass : Pass<"place-buffers", "::mlir::func::FuncOp"> {
  let summary = "allocates every intermediate buffer of a kernel on the stack or in scratch memory";
  let description = [{
    Small buffers are allocated in up to 512 KB of stack, which a worker reuses
    for every tile, so that it stays in its cache. The other buffers become
    slices of an additional argument, `lockstep.scratch` bytes for each tile.
    Nothing is allocated while a kernel runs.

    ```mlir
    // before
    %0 = memref.alloc() : memref<1024xf32>
    %1 = memref.alloc() : memref<262144xf32>
    // after: the function has the argument %scratch and the attribute lockstep.scratch = 1048576
    %stack = memref.alloca() {alignment = 64 : i64} : memref<4096xi8>
    %0 = memref.view %stack[%c0][] : memref<4096xi8> to memref<1024xf32>
    %1 = memref.view %scratch[%c0][] : memref<?xi8> to memref<262144xf32>
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def ExpandMathPass : Pass<"expand-math", "::mlir::func::FuncOp"> {
  let summary = "replaces mathematical functions by arithmetic, so that no library is called";
  let description = [{
    Uses polynomial approximations for f32 and f64; f16 and bf16 are computed in
    f32. An operation without an expansion is an error at its location. With
    `gpu`, the instructions of NVIDIA's GPUs for f32 are used: maxima and
    minima, powers of two in `exp`, and roundings to bf16.

    ```mlir
    // before
    %0 = math.rsqrt %x : f32
    // after
    %one = arith.constant 1.0 : f32
    %1 = math.sqrt %x : f32
    %0 = arith.divf %one, %1 : f32
    ```
  }];
  let options = [Option<"gpu", "gpu", "bool", /*default=*/"false",
                        "use instructions of NVIDIA's GPUs">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect",
    "::mlir::LLVM::LLVMDialect"
  ];
}

def HoistInvariantsPass : Pass<"hoist-invariants", "::mlir::func::FuncOp"> {
  let summary = "hoists loop-invariant code, including loads";
  let description = [{
    Like upstream's `loop-invariant-code-motion`, but also hoists loads of
    elements that the loop does not write: buffers of a kernel are disjoint,
    except for a result in the memory of an argument. So a computation from a
    scalar that all elements use is executed once.

    ```mlir
    // before
    scf.for %i = %c0 to %c8 step %c1 {
      %0 = memref.load %rate[] : memref<f32>
      %1 = math.exp %0 : f32
      %2 = memref.load %a[%i] : memref<8xf32>
      %3 = arith.mulf %2, %1 : f32
      memref.store %3, %r[%i] : memref<8xf32>
    }
    // after
    %0 = memref.load %rate[] : memref<f32>
    %1 = math.exp %0 : f32
    scf.for %i = %c0 to %c8 step %c1 {
      %2 = memref.load %a[%i] : memref<8xf32>
      %3 = arith.mulf %2, %1 : f32
      memref.store %3, %r[%i] : memref<8xf32>
    }
    ```
  }];
}

def CheckBoundsPass : Pass<"check-bounds", "::mlir::ModuleOp"> {
  let summary = "makes a kernel return where an assertion fails, or an access would be out of bounds";
  let description = [{
    `cf.assert` becomes a branch that records the message and returns from the
    kernel. With `accesses`, every access is checked, too. Before an element, a
    vector or a slice of a buffer is accessed, its indices are compared with the
    sizes of the buffer; before a cast to a static size, that is compared with
    the actual one. If a check fails, the kernel records the message and the two
    numbers and returns, so that no memory outside of its buffers is read or
    written. The runtime tests for such a record after each launch. On a GPU,
    the thread records the number of the text in `lockstep_fault`, and loops
    whose condition may then never change end in the other threads, too.

    ```mlir
    // before
    %0 = memref.load %m[%i] : memref<8xf32>
    // after
      %c8 = arith.constant 8 : index
      %fits = arith.cmpi ult, %i, %c8 : index
      %text = llvm.mlir.addressof @lockstep_check_0 : !llvm.ptr
      cf.cond_br %fits, ^access, ^failure(%text, %i, %c8 : !llvm.ptr, index, index)
    ^access:
      %0 = memref.load %m[%i] : memref<8xf32>
      ...
    ^failure(%message: !llvm.ptr, %value: index, %bound: index):
      ...
      llvm.call @lockstep_fail(%message, %value64, %bound64) : (!llvm.ptr, i64, i64) -> ()
      return
    ```
  }];
  let options = [Option<"accesses", "accesses", "bool", /*default=*/"true",
                        "check every access, not assertions alone">,
                 Option<"gpu", "gpu", "bool", /*default=*/"false",
                        "functions are phases on a GPU, whose threads record "
                        "the number of the text">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def ConvertKernelAbiPass : Pass<"convert-kernel-abi", "::mlir::ModuleOp"> {
  let summary = "converts functions to the signature `void kernel(void *const *buffers, const int64_t *scalars, int64_t tile)`";
  let description = [{
    The runtime calls every kernel with the addresses of its arguments and
    results, its scalars, and the number of the tile. A phase on a GPU gets the
    addresses and scalars themselves. Dynamic sizes are passed as scalars. A
    buffer is passed as an address only; static sizes and strides follow from
    its type.

    ```mlir
    // before
    func.func @twice(%a: memref<8xf32>, %r: memref<8xf32>, %n: index, %tile: index) { ... }
    // after
    llvm.func @twice(%buffers: !llvm.ptr, %scalars: !llvm.ptr, %tile: i64) {
      %a = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def BFloatsAsBitsPass : Pass<"bfloats-as-bits", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "represents values of bf16 as 16-bit integers";
  let description = [{
    `expand-math` leaves no arithmetic on bf16. Operations that only move such
    values are done on their bits: these targets have no registers for bf16, and
    LLVM would call a library to round a selected value again.

    ```mlir
    // before
    %b = llvm.bitcast %i : i16 to bf16
    llvm.store %b, %p : bf16, !llvm.ptr
    // after
    llvm.store %i, %p : i16, !llvm.ptr
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LowerKernelsPass : Pass<"lower-kernels", "::mlir::ModuleOp"> {
  let summary = "lowers kernels to the LLVM dialect: all of the passes above, then the conversions";
  let description = [{
    The part of `generate-code` for one target, up to the translation to LLVM
    IR: for tests, and to read the code of a kernel. The module should contain
    only kernels, since the conversions apply to all functions.

    ```mlir
    // before
    device.kernel @twice(%a: tensor<8xf32>) -> tensor<8xf32> { ... device.yield %0 : tensor<8xf32> }
    // after
    llvm.func @twice(%buffers: !llvm.ptr, %scalars: !llvm.ptr, %tile: i64) { ... }
    ```
  }];
  let options = [Option<"target", "target", "std::string", /*default=*/"\"x86-64-v3\"", "instruction set to generate code for">,
                 Option<"level", "level", "std::string", /*default=*/"\"O2\"", "O0: plain loops, O2: tiled, fused and vectorized">,
                 Option<"checkBounds", "check-bounds", "bool", /*default=*/"false", "check every access against its buffer">,
                 Option<"tf32", "tf32", "bool", /*default=*/"false", "on GPUs, round the factors of products of f32 to tf32">,
                 Option<"libraryProducts", "library-products", "bool",
                        /*default=*/"false",
                        "on GPUs, describe products of matrices for cuBLASLt">,
                 Option<"libraryConvolutions", "library-convolutions", "bool",
                        /*default=*/"false",
                        "on GPUs, describe convolutions for cuDNN">,
                 Option<"libraryActivations", "library-activations", "bool",
                        /*default=*/"false",
                        "on GPUs, describe activations for these "
                        "libraries, too">];
  let dependentDialects = ["::lockstep::device::DeviceDialect"];
}

def GenerateCodePass : Pass<"generate-code", "::mlir::ModuleOp"> {
  let summary = "compiles all kernels to one native object for each target";
  let description = [{
    Sets `grid`, `scratch`, `flops` and `bytes` of each `device.kernel` and adds
    one `device.binary` for each target: a shared object whose symbols are the
    kernels' names, and which depends on no library.

    ```mlir
    // before
    device.kernel @twice(%a: tensor<8xf32>) -> tensor<8xf32> { ... device.yield %0 : tensor<8xf32> }
    // after --generate-code=targets=x86-64-v3
    device.kernel @twice(%a: tensor<8xf32>) -> tensor<8xf32> attributes {bytes = 64 : i64, flops = 8 : i64, grid = 1 : i64, scratch = 0 : i64} { ... }
    device.binary @x86_64_v3 target "x86-64-v3" {object = dense<"0x7F454C46..."> : tensor<1464xi8>}
    ```
  }];
  let options = [Option<"targets", "targets", "std::string", /*default=*/"\"x86-64-v3,x86-64-v4\"", "instruction sets, separated by commas">,
                 Option<"level", "level", "std::string", /*default=*/"\"O2\"", "O0: plain loops, O2: tiled, fused and vectorized">,
                 Option<"checkBounds", "check-bounds", "bool", /*default=*/"false", "check every access against its buffer">,
                 Option<"tf32", "tf32", "bool", /*default=*/"false", "on GPUs, round the factors of products of f32 to tf32">,
                 Option<"libraryProducts", "library-products", "bool",
                        /*default=*/"false",
                        "on GPUs, describe products of matrices for cuBLASLt">,
                 Option<"libraryConvolutions", "library-convolutions", "bool",
                        /*default=*/"false",
                        "on GPUs, describe convolutions for cuDNN">,
                 Option<"libraryActivations", "library-activations", "bool",
                        /*default=*/"false",
                        "on GPUs, describe activations for these "
                        "libraries, too">];
  let dependentDialects = ["::lockstep::device::DeviceDialect", "::mlir::LLVM::LLVMDialect"];
}

def AssembleGpuCodePass : Pass<"assemble-gpu-code", "::mlir::ModuleOp"> {
  let summary = "assembles the code for GPUs by NVIDIA's ptxas";
  let description = [{
    Adds the cubin to each `device.binary` for GPUs, which has PTX. GPUs of the
    same capability, or of a later one with the same major version, execute it
    without a translation by the driver; others use the PTX.

    ```mlir
    // before
    device.binary @sm_90 device "cuda" target "sm_90"
        {object = dense<...> : tensor<2048xi8>}
    // after --assemble-gpu-code=ptxas=ptxas
    device.binary @sm_90 device "cuda" target "sm_90"
        {cubin = dense<"0x7F454C46..."> : tensor<4096xi8>,
         object = dense<...> : tensor<2048xi8>}
    ```
  }];
  let options = [Option<"ptxas", "ptxas", "std::string",
                        /*default=*/"\"ptxas\"",
                        "path of ptxas, or a name that is looked up in PATH">];
  let dependentDialects = ["::lockstep::device::DeviceDialect"];
}

#endif
