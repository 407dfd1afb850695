// RUN: lockstep-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Rules for programs: for each command, and between commands.

// The sizes of a program's memories are not negative.
// expected-error@+1 {{expected 'shared' not to be negative, found -1}}
device.program @p role "worker" replica 64 shared -1 input 64 registers 2 channels 2 {
  device.return
}

// -----

// A slice ends inside of its memory space.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{ends at byte 68, outside of the 64 bytes of space 'replica'}}
  %a = device.slice replica[36] : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// A slice of dynamic size ends inside of its memory space when it has its largest size.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{ends at byte 96, outside of the 64 bytes of space 'shared'}}
  %a = device.slice shared[32] {size_registers = array<i64: 0>, bound = 64 : i64} : !device.buffer<tensor<?xf32>>
  device.return
}

// -----

// The offset of a slice is not negative.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected an offset that is not negative and a multiple of the element's 4 bytes, found -4}}
  %a = device.slice shared[-4] : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// The offset of a slice is a multiple of its element's size.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected an offset that is not negative and a multiple of the element's 4 bytes, found 2}}
  %a = device.slice shared[2] : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// Only slices of space 'input' have names.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{names the batch tensor 'x', but lies in space 'shared'}}
  %a = device.slice shared[0] "x" : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// A slice of dynamic size names the registers that hold its sizes.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected 'size_registers' for the dynamic sizes of 'tensor<?xf32>'}}
  %a = device.slice shared[0] : !device.buffer<tensor<?xf32>>
  device.return
}

// -----

// A slice of dynamic size has a bound.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a 'bound' for the dynamic sizes of 'tensor<?xf32>'}}
  %a = device.slice shared[0] {size_registers = array<i64: 0>} : !device.buffer<tensor<?xf32>>
  device.return
}

// -----

device.program @p role "worker" replica 0 shared 64 input 0 registers 2 channels 0 {
  // expected-error@+1 {{expected no 'bound' for the static sizes of 'tensor<8xf32>'}}
  %a = device.slice shared[0] {bound = 8 : i64} : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

device.program @p role "worker" replica 0 shared 64 input 0 registers 2 channels 0 {
  // expected-error@+1 {{expected 'size_registers' to have 1 entries, found 2}}
  %a = device.slice shared[0] {size_registers = array<i64: 0, 1>} : !device.buffer<tensor<?xf32>>
  device.return
}

// -----

// A static dimension has no register.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected -1 for dimension 0 of 'tensor<8xf32>', found 0}}
  %a = device.slice shared[0] {size_registers = array<i64: 0>} : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// The registers of a slice are registers of the program.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a register in [0, 2), found 2}}
  %a = device.slice shared[0] {bound = 8 : i64, size_registers = array<i64: 2>} : !device.buffer<tensor<?xf32>>
  device.return
}

// -----

// A launch names a kernel that the module declares.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{unknown kernel @k}}
  device.launch @k reads(%a : !device.buffer<tensor<8xf32>>)
  device.return
}

// -----

// A launch has as many reads as its kernel has tensor arguments.
device.kernel @k(tensor<8xf32>, index) -> tensor<8xf32>
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected 1 reads for kernel @k, found 2}}
  device.launch @k reads(%a, %b : !device.buffer<tensor<8xf32>>, !device.buffer<tensor<8xf32>>) writes(%b : !device.buffer<tensor<8xf32>>) {registers = array<i64: 0>}
  device.return
}

// -----

// A launch has as many writes as its kernel has results.
device.kernel @k(tensor<8xf32>, index) -> tensor<8xf32>
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected 1 writes for kernel @k, found 0}}
  device.launch @k reads(%a : !device.buffer<tensor<8xf32>>) {registers = array<i64: 0>}
  device.return
}

// -----

// The buffers of a launch have the types of the kernel's arguments and results.
device.kernel @k(tensor<8xf32>, index) -> tensor<8xf32>
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<4xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a buffer of 'tensor<8xf32>' at position 0 of the reads of kernel @k, found '!device.buffer<tensor<4xf32>>'}}
  device.launch @k reads(%a : !device.buffer<tensor<4xf32>>) writes(%b : !device.buffer<tensor<8xf32>>) {registers = array<i64: 0>}
  device.return
}

// -----

// A launch has as many registers as its kernel has index arguments.
device.kernel @k(tensor<8xf32>, index) -> tensor<8xf32>
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected 1 registers for kernel @k, found 0}}
  device.launch @k reads(%a : !device.buffer<tensor<8xf32>>) writes(%b : !device.buffer<tensor<8xf32>>)
  device.return
}

// -----

// The registers of a launch are registers of the program.
device.kernel @k(tensor<8xf32>, index) -> tensor<8xf32>
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a register in [0, 2), found 7}}
  device.launch @k reads(%a : !device.buffer<tensor<8xf32>>) writes(%b : !device.buffer<tensor<8xf32>>) {registers = array<i64: 7>}
  device.return
}

// -----

// A launch has scratch memory for each tile of its kernel.
device.kernel @k(tensor<8xf32>) -> tensor<8xf32> attributes {grid = 2 : i64, scratch = 32 : i64}
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected 64 bytes of scratch memory for the 2 tiles of kernel @k, found 32}}
  device.launch @k reads(%a : !device.buffer<tensor<8xf32>>) writes(%b : !device.buffer<tensor<8xf32>>) scratch(%s : !device.buffer<tensor<8xf32>>)
  device.return
}

// -----

// A kernel without scratch memory gets no buffer for it.
device.kernel @k(tensor<8xf32>) -> tensor<8xf32>
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected 0 buffers of scratch memory for kernel @k, found 1}}
  device.launch @k reads(%a : !device.buffer<tensor<8xf32>>) writes(%b : !device.buffer<tensor<8xf32>>) scratch(%s : !device.buffer<tensor<8xf32>>)
  device.return
}

// -----

// For compiled code, of whose arguments only sizes are known, counts and sizes of buffers are compared.
device.entry @k takes <reads [32] writes [32, 4] in_place [] dynamic [] scratch 0 registers 0> grid 1 flops 0 bytes 0
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected 2 writes for kernel @k, found 1}}
  device.launch @k reads(%a : !device.buffer<tensor<8xf32>>) writes(%b : !device.buffer<tensor<8xf32>>)
  device.return
}

// -----

device.entry @k takes <reads [8192] writes [32] in_place [] dynamic [] scratch 0 registers 0> grid 1 flops 0 bytes 0
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a buffer of 8192 bytes at position 0 of the reads of kernel @k, found '!device.buffer<tensor<8xf32>>'}}
  device.launch @k reads(%a : !device.buffer<tensor<8xf32>>) writes(%b : !device.buffer<tensor<8xf32>>)
  device.return
}

// -----

device.entry @k takes <reads [4] writes [32] in_place [] dynamic [1, 0] scratch 0 registers 1> grid 1 flops 0 bytes 0
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a buffer of 4 bytes times 1 sizes at position 0 of the reads of kernel @k, found '!device.buffer<tensor<8xf32>>'}}
  device.launch @k reads(%a : !device.buffer<tensor<8xf32>>) writes(%b : !device.buffer<tensor<8xf32>>) {registers = array<i64: 0>}
  device.return
}

// -----

// A launch does not write to memory of the caller.
device.kernel @k(tensor<8xf32>, index) -> tensor<8xf32>
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-note@+1 {{the buffer is defined here}}
  %x = device.slice input[0] "x" : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{writes to a buffer in space 'input', which is read only}}
  device.launch @k reads(%x : !device.buffer<tensor<8xf32>>) writes(%x : !device.buffer<tensor<8xf32>>) {registers = array<i64: 0>}
  device.return
}

// -----

// A copy does not write to read-only memory.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-note@+1 {{the buffer is defined here}}
  %x = device.slice constant[0] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{writes to a buffer in space 'constant', which is read only}}
  device.copy %s to %x : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// A collective does not write to read-only memory.
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-note@+1 {{the buffer is defined here}}
  %x = device.slice scalar[0] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{writes to a buffer in space 'scalar', which is read only}}
  device.start all_reduce sum @all channel 0 (%s : !device.buffer<tensor<8xf32>>) to (%x : !device.buffer<tensor<8xf32>>)
  device.wait channel 0
  device.return
}

// -----

// The buffers of a copy have the same type.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  %c = device.slice shared[0] : !device.buffer<tensor<4xf32>>
  // expected-error@+1 {{requires all operands to have the same type}}
  "device.copy"(%a, %c) : (!device.buffer<tensor<8xf32>>, !device.buffer<tensor<4xf32>>) -> ()
  device.return
}

// -----

// A collective names a group that the module declares.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{unknown group @all}}
  device.start all_reduce sum @all channel 0 (%a : !device.buffer<tensor<8xf32>>) to (%b : !device.buffer<tensor<8xf32>>)
  device.wait channel 0
  device.return
}

// -----

// A barrier names a group that the module declares.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{unknown group @all}}
  device.barrier @all channel 0
  device.return
}

// -----

// A kind that reduces needs a reduction.
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a reduction for kind 'all_reduce', found 'none'}}
  device.start all_reduce none @all channel 0 (%a : !device.buffer<tensor<8xf32>>) to (%b : !device.buffer<tensor<8xf32>>)
  device.wait channel 0
  device.return
}

// -----

// A kind that does not reduce has no reduction.
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected no reduction for kind 'all_gather', found 'sum'}}
  device.start all_gather sum @all channel 0 (%a : !device.buffer<tensor<8xf32>>) to (%b : !device.buffer<tensor<8xf32>>) {axis = 0 : i64}
  device.wait channel 0
  device.return
}

// -----

// An all_gather needs an axis.
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected an axis for kind 'all_gather'}}
  device.start all_gather none @all channel 0 (%a : !device.buffer<tensor<8xf32>>) to (%b : !device.buffer<tensor<8xf32>>)
  device.wait channel 0
  device.return
}

// -----

// A collective has a result buffer for each operand.
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected one buffer for the result of each of 2 operands, found 1}}
  device.start all_reduce sum @all channel 0 (%a, %b : !device.buffer<tensor<8xf32>>, !device.buffer<tensor<8xf32>>) to (%s : !device.buffer<tensor<8xf32>>)
  device.wait channel 0
  device.return
}

// -----

// The result buffer of an all_reduce has the type of the operand.
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  %c = device.slice shared[0] : !device.buffer<tensor<4xf32>>
  // expected-error@+1 {{expected a buffer of type '!device.buffer<tensor<8xf32>>' for the result, found '!device.buffer<tensor<4xf32>>'}}
  device.start all_reduce sum @all channel 0 (%a : !device.buffer<tensor<8xf32>>) to (%c : !device.buffer<tensor<4xf32>>)
  device.wait channel 0
  device.return
}

// -----

// A channel is less than the program's number of channels.
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a channel in [0, 2), found 2}}
  device.barrier @all channel 2
  device.return
}

// -----

// No two commands own the same channel.
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-note@+1 {{the channel is that of this 'device.barrier'}}
  device.barrier @all channel 1
  // expected-error@+1 {{uses channel 1, which has an owner already}}
  device.barrier @all channel 1
  device.return
}

// -----

// Each start has a wait.
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{starts channel 0, for which nothing waits}}
  device.start all_reduce sum @all channel 0 (%a : !device.buffer<tensor<8xf32>>) to (%b : !device.buffer<tensor<8xf32>>)
  device.return
}

// -----

// Each wait has a start.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{waits for channel 0, on which nothing starts}}
  device.wait channel 0
  device.return
}

// -----

// A once section, which one replica executes for all, is not nested in another one.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  device.once channel 0 {
    // expected-error@+1 {{expects parent op 'device.program'}}
    device.once channel 1 {
    }
  }
  device.return
}

// -----

// A once section has no collectives, barriers or waits.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  device.once channel 0 {
    // expected-error@+1 {{expects parent op 'device.program'}}
    device.wait channel 1
  }
  device.return
}

// -----

// A once section has launches and copies only.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  device.once channel 0 {
    // expected-error@+1 {{expected launches and copies in 'device.once'}}
    %0 = arith.constant 0 : i32
  }
  device.return
}

// -----

// A once section writes only to memory that all replicas share.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  device.once channel 0 {
    // expected-error@+1 {{writes to space 'replica' in 'device.once', but only one replica would have the result}}
    device.copy %s to %a : !device.buffer<tensor<8xf32>>
  }
  device.return
}

// -----

// The register that set_register writes is one of the program.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a register in [0, 2), found 2}}
  device.set_register 2 to 0
  device.return
}

// -----

// The register that add_register reads is one of the program.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a register in [0, 2), found -1}}
  device.add_register 0, -1
  device.return
}

// -----

// The register that load_register writes is one of the program.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %n = device.slice scalar[0] : !device.buffer<tensor<i32>>
  // expected-error@+1 {{expected a register in [0, 2), found 5}}
  device.load_register 5, %n : !device.buffer<tensor<i32>>
  device.return
}

// -----

// The registers that branch_ge compares are registers of the program.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a register in [0, 2), found 3}}
  device.branch_ge 3, 0 ^bb1 else ^bb1
^bb1:
  device.return
}

// -----

// A register is loaded from a buffer of one integer.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a buffer of one integer, found 'tensor<8xf32>'}}
  device.load_register 0, %a : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// The condition of a branch is one boolean.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %n = device.slice scalar[0] : !device.buffer<tensor<i32>>
  // expected-error@+1 {{expected a condition of type 'tensor<i1>', found 'tensor<i32>'}}
  device.branch_unless %n ^bb1 else ^bb1 : !device.buffer<tensor<i32>>
^bb1:
  device.return
}

// -----

// An output is a metric, sum, count or result.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a metric, sum, count or result, found 'batch'}}
  device.output <batch "x"> %a : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// An output is in memory of the program, not of the caller.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %x = device.slice input[0] "x" : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a buffer that the program owns, found space 'input'}}
  device.output <metric "x"> %x : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// A program has only operations of the device dialect.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a command of the device dialect in a program}}
  %0 = arith.constant 0 : i32
  device.return
}

// -----

// A constant output is not a tensor, and has a value that JSON can represent.
// expected-error@+1 {{expected a value of strings, booleans, i64 and finite f64, found tensor<f32>}}
device.constant_output "type" = tensor<f32> of "p"

// -----

// expected-error@+1 {{expected a value of strings, booleans, i64 and finite f64, found [0x7FF0000000000000 : f64]}}
device.constant_output "infinite" = [0x7FF0000000000000 : f64] of "p"

// -----

// expected-error@+1 {{unknown role @server0}}
device.variable @w variable[0] : tensor<4xf32> {synchronization = 0 : i32, aggregation = 0 : i32, role = @server0}
