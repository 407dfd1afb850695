// Emission proves that the ranks of a program do not block each other. Where it cannot, the error and its notes name both places.

// RUN: lockstep-translate --emit-artifact --split-input-file --verify-diagnostics %s

// Two roles reach barriers of two groups in opposite order.
module attributes {device.replicas = 1 : i64} {
  collective.group @a {ranks = array<i64: 0, 1>}
  collective.group @b {ranks = array<i64: 0, 1>}
  device.role @worker ranks 0 count 1
  device.role @server ranks 1 count 1
  device.program @step role "worker" replica 64 shared 0 input 0 registers 0 channels 3 {
    device.barrier @a channel 2
    // expected-error @below {{could not prove that the replicas of program 'step' do not wait for each other forever: roles start exchanges in different orders: role 'worker' at}}
    device.barrier @a channel 0
    // expected-note @below {{in role 'worker'}}
    device.barrier @b channel 1
    device.return
  }
  device.program @step.server role "server" replica 64 shared 0 input 0 registers 0 channels 3 attributes {step = "step"} {
    device.barrier @a channel 2
    // expected-note @below {{in role 'server'}}
    device.barrier @b channel 1
    // expected-note @below {{in role 'server'}}
    device.barrier @a channel 0
    device.return
  }
}

// -----

// The server may branch around a barrier that the worker reaches.
module attributes {device.replicas = 1 : i64} {
  collective.group @a {ranks = array<i64: 0, 1>}
  device.role @worker ranks 0 count 1
  device.role @server ranks 1 count 1
  device.scalar "more"[0] : tensor<i1>
  device.program @step role "worker" replica 64 shared 0 input 0 registers 0 channels 1 {
    // expected-error @below {{could not prove that the replicas of program 'step' do not wait for each other forever: role 'worker' at}}
    device.barrier @a channel 0
    device.return
  }
  device.program @step.server role "server" replica 64 shared 0 input 0 registers 0 channels 1 attributes {step = "step"} {
    %more = device.slice scalar[0] : !device.buffer<tensor<i1>>
    device.branch_unless %more ^end else ^arrive : !device.buffer<tensor<i1>>
  ^arrive:
    // expected-note @below {{in role 'server'}}
    device.barrier @a channel 0
    device.jump ^end
  ^end:
    device.return
  }
}

// -----

// It is not known whether two kernels compute the same condition from one scalar.
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
    // expected-note @below {{in role 'worker'}}
    device.branch_unless %more ^end else ^arrive : !device.buffer<tensor<i1>>
  ^arrive:
    device.barrier @a channel 0
    device.jump ^end
  ^end:
    device.return
  }
  device.program @step.server role "server" replica 64 shared 0 input 0 registers 0 channels 1 attributes {step = "step"} {
    %n = device.slice scalar[0] : !device.buffer<tensor<i32>>
    %more = device.slice replica[0] : !device.buffer<tensor<i1>>
    device.launch @server_test reads(%n : !device.buffer<tensor<i32>>) writes(%more : !device.buffer<tensor<i1>>)
    // expected-error @below {{could not prove that the replicas of program 'step' do not wait for each other forever: could not show that role 'server' at}}
    device.branch_unless %more ^end else ^arrive : !device.buffer<tensor<i1>>
  ^arrive:
    device.barrier @a channel 0
    device.jump ^end
  ^end:
    device.return
  }
}
