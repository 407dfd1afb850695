// RUN: lockstep-opt %s --split-input-file --verify-diagnostics -o /dev/null

// What commands of a program must be like, and what they are to each other.

// Sizes are counts of bytes.
// expected-error@+1 {{expected 'shared' not to be negative, found -1}}
device.program @p role "worker" replica 64 shared -1 input 64 registers 2 channels 2 {
  device.return
}

// -----

// Slices lie inside of their memory ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{ends at byte 68, outside of the 64 bytes of space 'replica'}}
  %a = device.slice replica[36] : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// The same for the bound of a dynamic one.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{ends at byte 96, outside of the 64 bytes of space 'shared'}}
  %a = device.slice shared[32] {size_registers = array<i64: 0>, bound = 64 : i64} : !device.buffer<tensor<?xf32>>
  device.return
}

// -----

// ... do not start before it ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected an offset that is not negative and a multiple of the element's 4 bytes, found -4}}
  %a = device.slice shared[-4] : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// ... and are aligned to their elements.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected an offset that is not negative and a multiple of the element's 4 bytes, found 2}}
  %a = device.slice shared[2] : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// Only inputs have names.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{names the batch tensor 'x', but lies in space 'shared'}}
  %a = device.slice shared[0] "x" : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// Dynamic sizes are held in registers ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected 'size_registers' for the dynamic sizes of 'tensor<?xf32>'}}
  %a = device.slice shared[0] : !device.buffer<tensor<?xf32>>
  device.return
}

// -----

// ... one for each dimension ...
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

// ... that is dynamic ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected -1 for dimension 0 of 'tensor<8xf32>', found 0}}
  %a = device.slice shared[0] {size_registers = array<i64: 0>} : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// ... and that the program has.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a register in [0, 2), found 2}}
  %a = device.slice shared[0] {bound = 8 : i64, size_registers = array<i64: 2>} : !device.buffer<tensor<?xf32>>
  device.return
}

// -----

// A launch names a kernel ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{unknown kernel @k}}
  device.launch @k reads(%a : !device.buffer<tensor<8xf32>>)
  device.return
}

// -----

// ... with as many reads ...
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

// ... and writes as it has ...
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

// ... of the same types ...
device.kernel @k(tensor<8xf32>, index) -> tensor<8xf32>
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<4xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a buffer of 'tensor<8xf32>' at position 0 of the reads of kernel @k, found '!device.buffer<tensor<4xf32>>'}}
  device.launch @k reads(%a : !device.buffer<tensor<4xf32>>) writes(%b : !device.buffer<tensor<8xf32>>) {registers = array<i64: 0>}
  device.return
}

// -----

// ... its registers ...
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

// ... which the program has ...
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

// ... and scratch memory for each tile.
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

// ... in one buffer ...
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

// ... and what native code takes, of which only the sizes are known.
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

// Nothing is written to what belongs to the caller ...
device.kernel @k(tensor<8xf32>, index) -> tensor<8xf32>
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-note@+1 {{the buffer is defined here}}
  %x = device.slice input[0] "x" : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{writes to a buffer in space 'input', which is read only}}
  device.launch @k reads(%x : !device.buffer<tensor<8xf32>>) writes(%x : !device.buffer<tensor<8xf32>>) {registers = array<i64: 0>}
  device.return
}

// -----

// ... by a copy either ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-note@+1 {{the buffer is defined here}}
  %x = device.slice constant[0] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{writes to a buffer in space 'constant', which is read only}}
  device.copy %s to %x : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// ... or a collective.
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

// Copies are between buffers of one type.
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

// A collective names a group ...
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

// ... so does a barrier.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{unknown group @all}}
  device.barrier @all channel 0
  device.return
}

// -----

// Some kinds reduce ...
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

// ... others do not.
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

// A gather has an axis.
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

// Each operand has a result ...
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

// ... of its type.
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

// Channels are counted ...
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a channel in [0, 2), found 2}}
  device.barrier @all channel 2
  device.return
}

// -----

// ... each is one place of the program ...
collective.group @all
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-note@+1 {{the channel is that of this 'device.barrier'}}
  device.barrier @all channel 1
  // expected-error@+1 {{uses channel 1, which has an owner already}}
  device.barrier @all channel 1
  device.return
}

// -----

// ... what is started is waited for ...
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

// ... and nothing else.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{waits for channel 0, on which nothing starts}}
  device.wait channel 0
  device.return
}

// -----

// A section that one replica executes is not inside of another ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  device.once channel 0 {
    // expected-error@+1 {{expects parent op 'device.program'}}
    device.once channel 1 {
    }
  }
  device.return
}

// -----

// ... meets nobody ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  device.once channel 0 {
    // expected-error@+1 {{expects parent op 'device.program'}}
    device.wait channel 1
  }
  device.return
}

// -----

// ... holds launches and copies only ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  device.once channel 0 {
    // expected-error@+1 {{expected launches and copies in 'device.once'}}
    %0 = arith.constant 0 : i32
  }
  device.return
}

// -----

// ... and writes where all replicas see it.
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

// Registers are counted: set ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a register in [0, 2), found 2}}
  device.set_register 2 to 0
  device.return
}

// -----

// ... add ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a register in [0, 2), found -1}}
  device.add_register 0, -1
  device.return
}

// -----

// ... load ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %n = device.slice scalar[0] : !device.buffer<tensor<i32>>
  // expected-error@+1 {{expected a register in [0, 2), found 5}}
  device.load_register 5, %n : !device.buffer<tensor<i32>>
  device.return
}

// -----

// ... compare.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a register in [0, 2), found 3}}
  device.branch_ge 3, 0 ^bb1 else ^bb1
^bb1:
  device.return
}

// -----

// A register holds one integer.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a buffer of one integer, found 'tensor<8xf32>'}}
  device.load_register 0, %a : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// A branch asks one truth value.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %n = device.slice scalar[0] : !device.buffer<tensor<i32>>
  // expected-error@+1 {{expected a condition of type 'tensor<i1>', found 'tensor<i32>'}}
  device.branch_unless %n ^bb1 else ^bb1 : !device.buffer<tensor<i32>>
^bb1:
  device.return
}

// -----

// The host reads metrics, sums, counts and results ...
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %a = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %b = device.slice replica[32] : !device.buffer<tensor<8xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a metric, sum, count or result, found 'batch'}}
  device.output <batch "x"> %a : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// ... that the program has made.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  %x = device.slice input[0] "x" : !device.buffer<tensor<8xf32>>
  // expected-error@+1 {{expected a buffer that the program owns, found space 'input'}}
  device.output <metric "x"> %x : !device.buffer<tensor<8xf32>>
  device.return
}

// -----

// A program holds commands only.
device.program @p role "worker" replica 64 shared 64 input 64 registers 2 channels 2 {
  // expected-error@+1 {{expected a command of the device dialect in a program}}
  %0 = arith.constant 0 : i32
  device.return
}

// -----

// An output that is no tensor is what JSON can say.
// expected-error@+1 {{expected a value of strings, booleans, i64 and finite f64, found tensor<f32>}}
device.constant_output "type" = tensor<f32> of "p"

// -----

// expected-error@+1 {{expected a value of strings, booleans, i64 and finite f64, found [0x7FF0000000000000 : f64]}}
device.constant_output "infinite" = [0x7FF0000000000000 : f64] of "p"

// -----

// expected-error@+1 {{unknown role @server0}}
device.variable @w variable[0] : tensor<4xf32> {synchronization = 0 : i32, aggregation = 0 : i32, role = @server0}
