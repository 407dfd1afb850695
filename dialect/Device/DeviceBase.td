//===- DeviceBase.td - The device dialect and its types ----*- tablegen -*-===//

#ifndef LOCKSTEP_DIALECT_DEVICE_DEVICEBASE_TD
#define LOCKSTEP_DIALECT_DEVICE_DEVICEBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Device_Dialect : Dialect {
  let name = "device";
  let cppNamespace = "::lockstep::device";
  let summary = "What a device executes: launches of kernels, collectives, buffers at planned offsets";
  let description = [{
    The dialect has two forms. On tensors, a `device.kernel` is a function and
    `device.invoke` calls it. On buffers, a `device.program` is a list of
    commands. They correspond one to one to the commands of the artifact, the
    compiled file that the runtime executes.

    Attention is an operation on tensors from the import on, since a library of
    a device may compute it as one.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  // For the attributes of the kinds of collectives and of their reductions, and
  // for the operations that an attention consists of.
  let dependentDialects = ["::lockstep::collective::CollectiveDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

class Device_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::lockstep::device";
  let genSpecializedAttr = 0;
}

// The numbers are those in the schema of the artifact. Memories of the spaces
// `replica`, `replica_variable`, `input` and `rank` exist once for each
// replica, the others once for each process. `rank` holds the number of the
// replica.
def Device_Space : Device_Enum<"Space", "the memory space of a buffer", [
  I32EnumAttrCase<"Replica", 0, "replica">, I32EnumAttrCase<"Shared", 1, "shared">,
  I32EnumAttrCase<"Constant", 2, "constant">, I32EnumAttrCase<"Variable", 3, "variable">,
  I32EnumAttrCase<"ReplicaVariable", 4, "replica_variable">, I32EnumAttrCase<"Input", 5, "input">,
  I32EnumAttrCase<"Scalar", 6, "scalar">, I32EnumAttrCase<"Rank", 7, "rank">]>;
def Device_SpaceAttr : EnumAttr<Device_Dialect, Device_Space, "space">;

def Device_Role : Device_Enum<"BindingKind", "what an argument or result of a step is bound to", [
  I32EnumAttrCase<"Variable", 0, "variable">, I32EnumAttrCase<"Batch", 1, "batch">,
  I32EnumAttrCase<"Scalar", 2, "scalar">, I32EnumAttrCase<"Metric", 3, "metric">,
  I32EnumAttrCase<"Sum", 4, "sum">, I32EnumAttrCase<"Count", 5, "count">, I32EnumAttrCase<"Result", 6, "result">,
  I32EnumAttrCase<"Rank", 7, "rank">]>;

def Device_Binding : AttrDef<Device_Dialect, "Binding"> {
  let mnemonic = "binding";
  let summary = "binds an argument or a result of a step to a variable, a batch tensor, a scalar or an output";
  let description = [{
    `rank` is the rank of the replica, which the executor supplies.
  }];
  let parameters = (ins EnumParameter<Device_Role>:$kind, StringRefParameter<"name that the host uses">:$name);
  let assemblyFormat = "`<` $kind $name `>`";
}

def Device_Shard : AttrDef<Device_Dialect, "Shard"> {
  let mnemonic = "shard";
  let summary = "the rows of a variable that a shard holds";
  let description = [{
    The name of the whole variable, the first row of the shard and the number of
    rows of the whole: `#device.shard<"w" row 3 of 13>`.
  }];
  let parameters = (ins StringRefParameter<"name of the whole variable">:$of, "int64_t":$first_row, "int64_t":$rows);
  let assemblyFormat = "`<` $of `row` $first_row `of` $rows `>`";
}

def Device_Arguments : AttrDef<Device_Dialect, "Arguments"> {
  let mnemonic = "arguments";
  let summary = "the arguments of a launch of a kernel that is native code";
  let description = [{
    `reads` and `writes` are the sizes in bytes of the tensors that the kernel
    reads and of its results; dynamic dimensions count as 1. `dynamic` has the
    number of dynamic dimensions of each read and result, or is empty if there
    are none. `in_place` has for each result the index of the read in whose
    memory it may be computed, or -1; it may be empty. `scratch` is the number
    of bytes of working memory of all tiles together. `registers` is the number
    of index arguments, the first of which are the sizes of the dynamic
    dimensions.

    `#device.arguments<reads [32, 32] writes [32] in_place [0] dynamic [] scratch 0 registers 0>`
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$reads, "::mlir::DenseI64ArrayAttr":$writes, "::mlir::DenseI64ArrayAttr":$in_place,
    "::mlir::DenseI64ArrayAttr":$dynamic, "int64_t":$scratch, "int64_t":$registers);
  let assemblyFormat = "`<` `reads` $reads `writes` $writes `in_place` $in_place `dynamic` $dynamic `scratch` $scratch `registers` $registers `>`";
  let genVerifyDecl = 1;
}

def Device_Buffer : TypeDef<Device_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a slice of a memory that holds a tensor in row-major order";
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

#endif
