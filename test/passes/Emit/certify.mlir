// What is written is proven: programs whose ranks may wait for each other for ever are errors, told as a story.

// RUN: lockstep-translate --emit-artifact --split-input-file --verify-diagnostics %s

// Two roles take two groups in opposite order.
module attributes {device.replicas = 1 : i64} {
  collective.group @a {ranks = array<i64: 0, 1>}
  collective.group @b {ranks = array<i64: 0, 1>}
  device.role @worker ranks 0 count 1
  device.role @server ranks 1 count 1
  device.program @step role "worker" replica 64 shared 0 input 0 registers 0 channels 3 {
    device.barrier @a channel 2
    // expected-error @below {{replicas of program 'step' may wait for each other for ever: rank 0 (worker) waits at}}
    // expected-note @below {{rank 0 (worker) waits here, after}}
    device.barrier @a channel 0
    device.barrier @b channel 1
    device.return
  }
  device.program @step.server role "server" replica 64 shared 0 input 0 registers 0 channels 3 attributes {step = "step"} {
    device.barrier @a channel 2
    // expected-note @below {{rank 1 (server) waits here, after}}
    device.barrier @b channel 1
    device.barrier @a channel 0
    device.return
  }
}

// -----

// The server does not come at all.
module attributes {device.replicas = 1 : i64} {
  collective.group @a {ranks = array<i64: 0, 1>}
  device.role @worker ranks 0 count 1
  device.role @server ranks 1 count 1
  device.scalar "more"[0] : tensor<i1>
  device.program @step role "worker" replica 64 shared 0 input 0 registers 0 channels 1 {
    // expected-error @below {{replicas of program 'step' may wait for each other for ever}}
    // expected-note @below {{rank 0 (worker) waits here, and has met nobody before}}
    device.barrier @a channel 0
    device.return
  }
  device.program @step.server role "server" replica 64 shared 0 input 0 registers 0 channels 1 attributes {step = "step"} {
    %more = device.slice scalar[0] : !device.buffer<tensor<i1>>
    // expected-note @below {{rank 1 finds this condition false}}
    device.branch_unless %more ^end else ^meet : !device.buffer<tensor<i1>>
  ^meet:
    device.barrier @a channel 0
    device.jump ^end
  ^end:
    // expected-note @below {{rank 1 (server) has ended here, and has met nobody before}}
    device.return
  }
}

// -----

// Whether two kernels find the same for one scalar is not known.
// expected-error @below {{expected that the replicas of program 'step' provably do not wait for each other for ever}}
module attributes {device.replicas = 1 : i64} {
  collective.group @a {ranks = array<i64: 0, 1>}
  device.role @worker ranks 0 count 1
  device.role @server ranks 1 count 1
  device.scalar "n"[0] : tensor<i32>
  device.entry @worker_test grid 1 flops 0 bytes 5
  device.entry @server_test grid 1 flops 0 bytes 5
  device.program @step role "worker" replica 64 shared 0 input 0 registers 0 channels 1 {
    %n = device.slice scalar[0] : !device.buffer<tensor<i32>>
    %more = device.slice replica[0] : !device.buffer<tensor<i1>>
    device.launch @worker_test reads(%n : !device.buffer<tensor<i32>>) writes(%more : !device.buffer<tensor<i1>>)
    // expected-note @below {{this condition of role 'worker' is decided when it is executed}}
    device.branch_unless %more ^end else ^meet : !device.buffer<tensor<i1>>
  ^meet:
    device.barrier @a channel 0
    device.jump ^end
  ^end:
    device.return
  }
  device.program @step.server role "server" replica 64 shared 0 input 0 registers 0 channels 1 attributes {step = "step"} {
    %n = device.slice scalar[0] : !device.buffer<tensor<i32>>
    %more = device.slice replica[0] : !device.buffer<tensor<i1>>
    device.launch @server_test reads(%n : !device.buffer<tensor<i32>>) writes(%more : !device.buffer<tensor<i1>>)
    // expected-note @below {{this condition of role 'server' is decided when it is executed}}
    device.branch_unless %more ^end else ^meet : !device.buffer<tensor<i1>>
  ^meet:
    device.barrier @a channel 0
    device.jump ^end
  ^end:
    device.return
  }
}
