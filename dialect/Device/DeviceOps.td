//===- DeviceOps.td - Operations of the device dialect -----*- tablegen -*-===//

#ifndef LOCKSTEP_DIALECT_DEVICE_DEVICEOPS_TD
#define LOCKSTEP_DIALECT_DEVICE_DEVICEOPS_TD

include "dialect/Collective/CollectiveBase.td"
include "dialect/Device/DeviceBase.td"
include "dialect/Interfaces/Uniformity.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Device_Op<string mnemonic, list<Trait> traits = []> : Op<Device_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// On tensors
//===----------------------------------------------------------------------===//

def Device_KernelOp : Device_Op<"kernel", [FunctionOpInterface, IsolatedFromAbove, AffineScope, AutomaticAllocationScope]> {
  let summary = "a kernel: a pure function on tensors, compiled to native code";
  let description = [{
    Tensor arguments come first, then `index` arguments, which are passed in
    registers: first the sizes of all dynamic dimensions, of the arguments and
    then of the results, in order, then others. `bounds` are upper bounds of the
    dynamic dimensions of results. `grid` is the number of tiles that may run at
    the same time, `scratch` the bytes of working memory of one tile, both set
    by the stage that generates code. `in_place` has for each result the
    argument in whose memory it may be computed, or -1. `code` is the name of an
    equal kernel whose code is used; absent: the kernel has code of its own.

    Code has the form
    `void kernel(void *const *buffers, const int64_t *scalars, int64_t tile)`;
    buffers are the tensor arguments, then the results, then scratch.

    ```mlir
    device.kernel @add(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> attributes {in_place = array<i64: 0>} {
      ...
      device.yield %0 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
    DefaultValuedAttr<I64Attr, "1">:$grid, DefaultValuedAttr<I64Attr, "0">:$scratch,
    OptionalAttr<DenseI64ArrayAttr>:$in_place, OptionalAttr<StrAttr>:$code, OptionalAttr<DenseI64ArrayAttr>:$bounds, DefaultValuedAttr<I64Attr, "0">:$flops, DefaultValuedAttr<I64Attr, "0">:$bytes);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The argument in whose memory the result may be computed, or nullopt.
    std::optional<unsigned> getInPlaceArgument(unsigned result);
    /// Number of arguments that are tensors; they come before the scalars.
    unsigned getNumTensorArguments();
    /// The arguments of a launch of the native code.
    ArgumentsAttr getLaunchArguments();
    /// Upper bounds of the dynamic dimensions of one result, in order.
    ::llvm::ArrayRef<int64_t> getResultBounds(unsigned result);
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Device_YieldOp : Device_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"KernelOp">]> {
  let summary = "ends the body of a kernel";
  let description = [{
    ```mlir
    device.yield %0 : tensor<8xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
}

def Device_InvokeOp : Device_Op<"invoke", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a kernel on tensors";
  let description = [{
    Types of operands and results are those of the kernel. The memory planner
    converts it to a `device.launch`.

    ```mlir
    %2 = device.invoke @add(%0, %1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$operands);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$kernel `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
  let extraClassDeclaration = [{
    /// The sizes of the dynamic dimensions of one result, in order.
    ::mlir::ValueRange getResultSizes(unsigned result);
  }];
}

def Device_LoadBatchOp : Device_Op<"load_batch", [DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "the tensors of the next batch of the program's data";
  let description = [{
    Each replica loads its own tensors. They are valid until the next
    `device.load_batch` is executed.

    ```mlir
    %x, %y = device.load_batch ["x", "y"] : tensor<32x64xf32>, tensor<32xi32>
    ```
  }];
  let arguments = (ins StrArrayAttr:$names);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = "$names attr-dict (`:` type($results)^)?";
  let hasVerifier = 1;
}

def Device_BinaryOp : Device_Op<"binary", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "the native code of all kernels for one target";
  let description = [{
    A shared object, as bytes. When an artifact is loaded, one of its binaries
    for the kind of the executing device is selected. `device` is that kind,
    `cpu` by default. The code for `cuda` is PTX; `cubin` is the same code after
    `assemble-gpu-code`.

    ```mlir
    device.binary @x86_64_v3 target "x86-64-v3" {object = dense<...> : tensor<4096xi8>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$target,
                       OptionalAttr<StrAttr>:$device, ElementsAttr:$object,
                       OptionalAttr<ElementsAttr>:$cubin);
  let assemblyFormat = "$sym_name (`device` $device^)? `target` $target attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// On buffers
//===----------------------------------------------------------------------===//

def Device_EntryOp : Device_Op<"entry", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a kernel that is native code, by its symbol in the binaries";
  let description = [{
    Replaces a `device.kernel` when its body is not needed any more. A launch
    runs `grid` tiles; `flops` and `bytes` are estimates for one launch. `takes`
    describes the arguments that every launch must have; without it, the code
    must accept any arguments, and declare that in its constant
    `<symbol>.arguments`. `code` is the symbol in the binaries where it is not
    the entry's own: kernels that differ only in name and location share their
    code.

    ```mlir
    device.entry @step_0_matmul takes <reads [8192, 8192] writes [32768] in_place [-1] dynamic [] scratch 0 registers 0>
        grid 2 flops 262144 bytes 45056
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Device_Arguments>:$arguments, I64Attr:$grid, I64Attr:$flops, I64Attr:$bytes, OptionalAttr<StrAttr>:$code);
  let assemblyFormat = "$sym_name (`code` $code^)? (`takes` $arguments^)? `grid` $grid `flops` $flops `bytes` $bytes attr-dict";
  let hasVerifier = 1;
}

def Device_RoleOp : Device_Op<"role", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a role of processes, and its ranks";
  let description = [{
    Each role has its own programs and variables. The replicas have the first
    ranks. A module without this operation has one role, `worker`, of all
    replicas.

    ```mlir
    device.role @worker ranks 0 count 4
    device.role @server0 ranks 4 count 1
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ConfinedAttr<I64Attr, [IntNonNegative]>:$first_rank, ConfinedAttr<I64Attr, [IntPositive]>:$ranks);
  let assemblyFormat = "$sym_name `ranks` $first_rank `count` $ranks attr-dict";
}

def Device_VariableOp : Device_Op<"variable", [Symbol, HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a variable and its place in memory";
  let description = [{
    In space `variable` there is one copy per process, in `replica_variable` one
    per replica. `synchronization` and `aggregation` are the numbers of the
    replica dialect's enums; without `initial` the value is read by name from a
    file. The name there is `path`, or else the symbol.

    ```mlir
    device.variable @w variable[0] : tensor<64x10xf32> {synchronization = 0 : i32, aggregation = 0 : i32}
    ```

    It is stored in the processes of `role`, by default in those of the
    replicas. `shard` describes its rows if it is a shard of a variable. With
    `whole_shape`, the elements of a variable of that shape are divided among
    the replicas, in row-major order: each has the next ones, as many as the
    type says; behind the last element, the parts of the last replicas are
    padding.

    ```mlir
    device.variable @m replica_variable[0] : tensor<160xf32>
        {aggregation = 0 : i32, synchronization = 0 : i32,
         whole_shape = array<i64: 64, 10>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Device_SpaceAttr:$space, I64Attr:$offset, TypeAttrOf<AnyRankedTensor>:$type,
    I32Attr:$synchronization, I32Attr:$aggregation, OptionalAttr<ElementsAttr>:$initial, UnitAttr:$is_unsigned,
    OptionalAttr<StrAttr>:$path, OptionalAttr<FlatSymbolRefAttr>:$role, OptionalAttr<Device_Shard>:$shard,
    OptionalAttr<DenseI64ArrayAttr>:$whole_shape);
  let extraClassDeclaration = [{
    /// The name in files: the path if there is one, otherwise the symbol.
    ::llvm::StringRef getStoredName() { return getPath().value_or(getSymName()); }
  }];
  let assemblyFormat = "$sym_name `` $space `[` $offset `]` `:` $type attr-dict";
  let hasVerifier = 1;
}

def Device_ScalarOp : Device_Op<"scalar", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "a scalar from the host, and the place where it is stored before a step";
  let description = [{
    The offset is in space `scalar`. Without a default value, the host must
    supply the value.

    ```mlir
    device.scalar "lr"[0] : tensor<f32> {default_value = dense<1.0e-01> : tensor<f32>}
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$offset, TypeAttrOf<AnyRankedTensor>:$type,
    OptionalAttr<ElementsAttr>:$default_value, UnitAttr:$is_unsigned);
  let assemblyFormat = "$name `[` $offset `]` `:` $type attr-dict";
  let hasVerifier = 1;
}

def Device_ConstantsOp : Device_Op<"constants", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "the bytes of all constants";
  let description = [{
    The memory of space `constant`.

    ```mlir
    device.constants {bytes = dense<[0, 0, -128, 63]> : tensor<4xi8>}
    ```
  }];
  let arguments = (ins ElementsAttr:$bytes);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Device_RemarkOp : Device_Op<"remark", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "a decision of the compiler and its reason, stored for the inspection of the artifact";
  let description = [{
    The stage that decided, the kind (`passed`, `missed`, `analysis` or
    `failed`), the decision with its reason, and the program it is about. The
    location is the line of the user's program.

    ```mlir
    device.remark "schedule" "missed" "nothing runs between start and wait" in "step"
    ```
  }];
  let arguments = (ins StrAttr:$stage, StrAttr:$kind, StrAttr:$message, OptionalAttr<StrAttr>:$program);
  let assemblyFormat = "$stage $kind $message (`in` $program^)? attr-dict";
}

def Device_ConstantOutputOp : Device_Op<"constant_output", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "an output of a program that is not a tensor";
  let description = [{
    A constant known at compile time: a string, a boolean, an `i64`, a finite
    `f64`, or an array or dictionary of such values. The artifact stores it as
    JSON. It originates from `replica.run_steps`.

    ```mlir
    device.constant_output "labels" = ["cat", "dog"] of "main"
    ```
  }];
  let arguments = (ins StrAttr:$name, AnyAttr:$value, StrAttr:$program);
  let assemblyFormat = "$name `=` $value `of` $program attr-dict";
  let hasVerifier = 1;
}

def Device_ProgramOp : Device_Op<"program", [Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "the commands of one device role";
  let description = [{
    A list of commands; the targets of jumps are blocks. If several roles take
    part in a step, each has its own program, and `step` is the name that these
    programs share. Sizes of memories are in bytes: `replica` and `input` exist
    once per replica, `shared` once per process. A channel identifies one start,
    one barrier or one once section; each start has a wait. Registers hold
    64-bit integers, one set per replica.

    ```mlir
    device.program @step role "worker" replica 81920 shared 40960 input 8448 registers 2 channels 4 {
      %x = device.slice input[0] "x" : <tensor<32x64xf32>>
      %dw = device.slice replica[0] : <tensor<64x10xf32>>
      %gw = device.slice shared[0] : <tensor<64x10xf32>>
      device.launch @backward reads(%x : !device.buffer<tensor<32x64xf32>>) writes(%dw : !device.buffer<tensor<64x10xf32>>)
      device.start all_reduce sum @all channel 0 (%dw : !device.buffer<tensor<64x10xf32>>)
          to (%gw : !device.buffer<tensor<64x10xf32>>)
      device.wait channel 0
      device.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$role, I64Attr:$replica_size, I64Attr:$shared_size,
    I64Attr:$input_size, I64Attr:$registers, I64Attr:$channels, OptionalAttr<StrAttr>:$step);
  let extraClassDeclaration = [{
    /// The name by which the host runs it.
    ::llvm::StringRef getStepName() { return getStep().value_or(getSymName()); }
  }];
  let regions = (region MinSizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `role` $role `replica` $replica_size `shared` $shared_size `input` $input_size
    `registers` $registers `channels` $channels attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

include "dialect/Device/AttentionOps.td"
include "dialect/Device/DeviceCommands.td"

#endif
