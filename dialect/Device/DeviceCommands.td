//===- DeviceCommands.td - The commands of a program -------*- tablegen -*-===//
//
// The commands that a process executes, on buffers and registers.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_DEVICE_DEVICECOMMANDS_TD
#define LOCKSTEP_DIALECT_DEVICE_DEVICECOMMANDS_TD

/// A command of a program, or of a `device.once` section of it.
class Device_Command<string mnemonic, list<Trait> traits = []>
    : Device_Op<mnemonic, traits # [ParentOneOf<["ProgramOp", "OnceOp"]>]>;

/// Commands for control flow or communication: not allowed in a section that
/// one replica executes.
class Device_ProgramCommand<string mnemonic, list<Trait> traits = []>
    : Device_Op<mnemonic, traits # [HasParent<"ProgramOp">]>;

def Device_SliceOp : Device_ProgramCommand<"slice", [Pure]> {
  let summary = "a slice of a memory, by its offset in bytes";
  let description = [{
    `input` names the batch tensor that the slice holds. `size_registers` has
    for each dimension the register with its size, or -1 where it is static;
    then `bound` is the maximum size of the slice in bytes.

    ```mlir
    %x = device.slice input[0] "x" : <tensor<32x64xf32>>
    %r = device.slice replica[0] {bound = 384 : i64, size_registers = array<i64: 0, -1>} : <tensor<?x3xf32>>
    ```
  }];
  let arguments = (ins Device_SpaceAttr:$space, I64Attr:$offset, OptionalAttr<StrAttr>:$input, UnitAttr:$is_unsigned,
    OptionalAttr<DenseI64ArrayAttr>:$size_registers, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$bound);
  let results = (outs Device_Buffer:$result);
  let assemblyFormat = "`` $space `[` $offset `]` ($input^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The maximum size of the slice in bytes.
    int64_t getByteSize();
  }];
}

def Device_OutputOp : Device_ProgramCommand<"output"> {
  let summary = "a buffer that the host reads after the program has ended";
  let description = [{
    ```mlir
    device.output <metric "loss"> %loss : <tensor<f32>>
    ```
  }];
  let arguments = (ins Device_Binding:$binding, Device_Buffer:$buffer);
  let assemblyFormat = "$binding $buffer attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Device_LaunchOp : Device_Command<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs the tiles of a kernel";
  let description = [{
    `reads` are the kernel's tensors, `writes` its results, `scratch` its
    working memory; `registers` are passed as its `index` arguments. The code
    receives all of them in this order. A buffer may be both read and written if
    the kernel computes in place.

    ```mlir
    device.launch @add reads(%a, %b : !device.buffer<tensor<8xf32>>, !device.buffer<tensor<8xf32>>)
        writes(%a : !device.buffer<tensor<8xf32>>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Device_Buffer>:$reads, Variadic<Device_Buffer>:$writes,
    Variadic<Device_Buffer>:$scratch, OptionalAttr<DenseI64ArrayAttr>:$registers);
  let assemblyFormat = [{
    $kernel (`reads` `(` $reads^ `:` type($reads) `)`)? (`writes` `(` $writes^ `:` type($writes) `)`)?
    (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Device_StartOp : Device_ProgramCommand<"start", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "starts a collective on buffers";
  let description = [{
    The buffers belong to the collective until the wait on its channel. Several
    buffers are one bucket.

    ```mlir
    device.start all_reduce sum @all channel 0 (%dw : !device.buffer<tensor<64x10xf32>>)
        to (%gw : !device.buffer<tensor<64x10xf32>>)
    ```
  }];
  let arguments = (ins Collective_KindAttr:$kind, Collective_ReductionAttr:$reduction, FlatSymbolRefAttr:$group, I64Attr:$channel,
    Variadic<Device_Buffer>:$inputs, Variadic<Device_Buffer>:$outputs, OptionalAttr<I64Attr>:$axis, OptionalAttr<I64Attr>:$root,
    OptionalAttr<DenseI64ArrayAttr>:$sources);
  let assemblyFormat = [{
    `` $kind `` $reduction $group (`root` $root^)? `channel` $channel `(` ($inputs^ `:` type($inputs))? `)`
    `to` `(` ($outputs^ `:` type($outputs))? `)` attr-dict
  }];
  let hasVerifier = 1;
}

def Device_WaitOp : Device_ProgramCommand<"wait"> {
  let summary = "waits for the collective of a channel";
  let description = [{
    ```mlir
    device.wait channel 0
    ```
  }];
  let arguments = (ins I64Attr:$channel);
  let assemblyFormat = "`channel` $channel attr-dict";
}

def Device_BarrierOp : Device_ProgramCommand<"barrier", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "all ranks of a group arrive before any of them continues";
  let description = [{
    ```mlir
    device.barrier @all channel 1
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, I64Attr:$channel);
  let assemblyFormat = "$group `channel` $channel attr-dict";
}

def Device_OnceOp : Device_ProgramCommand<"once", [SingleBlock, NoTerminator]> {
  let summary = "commands that one replica of the process executes for all of them, when all have arrived";
  let description = [{
    Contains launches and copies, which write to memory that the replicas share.
    Replicas continue when the section has ended.

    ```mlir
    device.once channel 2 {
      device.launch @sgd reads(%w, %gw : !device.buffer<tensor<8xf32>>, !device.buffer<tensor<8xf32>>)
          writes(%w : !device.buffer<tensor<8xf32>>)
    }
    ```
  }];
  let arguments = (ins I64Attr:$channel);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`channel` $channel attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Device_CopyOp : Device_Command<"copy", [SameTypeOperands]> {
  let summary = "copies a buffer";
  let description = [{
    ```mlir
    device.copy %a to %b : <tensor<8xf32>>
    ```
  }];
  let arguments = (ins Device_Buffer:$source, Device_Buffer:$destination);
  let assemblyFormat = "$source `to` $destination attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Device_SetRegisterOp : Device_ProgramCommand<"set_register"> {
  let summary = "sets a register to a constant";
  let description = [{
    ```mlir
    device.set_register 0 to 4
    ```
  }];
  let arguments = (ins I64Attr:$index, I64Attr:$value);
  let assemblyFormat = "$index `to` $value attr-dict";
}

def Device_AddRegisterOp : Device_ProgramCommand<"add_register"> {
  let summary = "adds one register to another";
  let description = [{
    Adds register 1 to register 0:

    ```mlir
    device.add_register 0, 1
    ```
  }];
  let arguments = (ins I64Attr:$index, I64Attr:$source);
  let assemblyFormat = "$index `,` $source attr-dict";
}

def Device_LoadRegisterOp : Device_ProgramCommand<"load_register"> {
  let summary = "loads an integer from a buffer into a register";
  let description = [{
    ```mlir
    device.load_register 0, %n : <tensor<i32>>
    ```
  }];
  let arguments = (ins I64Attr:$index, Device_Buffer:$source);
  let assemblyFormat = "$index `,` $source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Device_NextOp : Device_ProgramCommand<"next"> {
  let summary = "advances to the next batch: space `input` is its memory from here on";
  let description = [{
    A run that requests more batches than the host has supplied ends with an
    error.

    ```mlir
    device.next
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Device_JumpOp : Device_ProgramCommand<"jump", [Terminator]> {
  let summary = "jumps to another block";
  let description = [{
    ```mlir
    device.jump ^bb1
    ```
  }];
  let successors = (successor AnySuccessor:$target);
  let assemblyFormat = "$target attr-dict";
}

def Device_BranchUnlessOp : Device_ProgramCommand<"branch_unless", [Terminator]> {
  let summary = "branches to the first block if the condition is false, otherwise to the second, which is the next block";
  let description = [{
    ```mlir
    device.branch_unless %c ^bb2 else ^bb1 : <tensor<i1>>
    ```
  }];
  let arguments = (ins Device_Buffer:$condition);
  let successors = (successor AnySuccessor:$target, AnySuccessor:$next);
  let assemblyFormat = "$condition $target `else` $next attr-dict `:` type($condition)";
  let hasVerifier = 1;
}

def Device_BranchGreaterEqualOp : Device_ProgramCommand<"branch_ge", [Terminator]> {
  let summary = "branches to the first block if lhs >= rhs, otherwise to the second, which is the next block";
  let description = [{
    Leaves a loop when register 0 has reached register 1:

    ```mlir
    device.branch_ge 0, 1 ^exit else ^body
    ```
  }];
  let arguments = (ins I64Attr:$lhs, I64Attr:$rhs);
  let successors = (successor AnySuccessor:$target, AnySuccessor:$next);
  let assemblyFormat = "$lhs `,` $rhs $target `else` $next attr-dict";
}

def Device_ReturnOp : Device_ProgramCommand<"return", [Terminator]> {
  let summary = "ends a program";
  let description = [{
    ```mlir
    device.return
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif
