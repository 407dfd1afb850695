// Differences between a run and its simulation. The run, written by hand, has three steps of two replicas: kernels of 8 us, a slow step, a late replica.

// RUN: lockstep-translate --emit-artifact %S/simulation.mlir -o %t.lockstep
// RUN: %python %S/Inputs/compare.py %t.traces
// RUN: lockstep-inspect %t.lockstep --compare %t.traces/run.json | FileCheck %s --match-full-lines --strict-whitespace

// A transfer ends when the last replica that waits for it continues; if none waits, its end is not known. One of two replicas waits for the once
// section that the other one executes.
//      CHECK:'step': the median of steps 0 to 2 on 2 tracks in run '{{.*}}run.json', compared with the simulation on 'pair'
// CHECK-NEXT:                 predicted  measured  difference  ratio
// CHECK-NEXT:  step             52.0 us   55.0 us    +3.00 us   1.06
// CHECK-NEXT:  kernels          40.0 us   32.0 us    -8.00 us   0.80
// CHECK-NEXT:  communication    32.0 us         -           -      -
// CHECK-NEXT:  waits            12.0 us   30.0 us    +18.0 us   2.50
// CHECK-EMPTY:
// CHECK-NEXT:by command (times of one execution; differences of a step; executions: predicted, measured)
// CHECK-NEXT:  what      command                   executions  predicted  measured  difference  line
// CHECK-NEXT:  wait      wait channel 1                     1    11.0 us   23.0 us    +12.0 us  model.py:9
// CHECK-NEXT:  transfer  all_reduce sum channel 1           1    21.0 us   30.0 us    +9.00 us  model.py:9
// CHECK-NEXT:  wait      wait channel 2                0, 0.5          -   7.00 us    +3.50 us  model.py:10
// CHECK-NEXT:  kernel    backward1                          1    10.0 us   8.00 us    -2.00 us  model.py:4
// CHECK-NEXT:  kernel    backward2                          1    10.0 us   8.00 us    -2.00 us  model.py:3
// CHECK-NEXT:  kernel    update                             1    10.0 us   8.00 us    -2.00 us  model.py:10
// CHECK-NEXT:  kernel    update                             1    10.0 us   8.00 us    -2.00 us  model.py:10
// CHECK-NEXT:  wait      wait channel 0                  1, 0    1.00 us         -    -1.00 us  model.py:9
// CHECK-NEXT:  transfer  all_reduce sum channel 0           1    11.0 us         -           -  model.py:9
// CHECK-NEXT:  -: no replica waits for the transfer, so that a run does not show its end

// A simulation agrees with itself.
// RUN: lockstep-simulate %t.lockstep --trace=%t.json > %t.text
// RUN: lockstep-inspect %t.lockstep --compare %t.json | FileCheck %s --check-prefix=SAME
// RUN: lockstep-inspect %t.lockstep --compare %t.json --format=json | %python -c "import json, sys; (p,) = json.load(sys.stdin)['programs']; assert p['simulated'] and p['steps'] == 1; assert all(abs(c['difference']) < 2e-9 for c in p['commands']); assert {c['kind'] for c in p['commands']} == {'kernel', 'transfer', 'wait'}"
// SAME: 'step': step 0 on 1 track in simulation '{{.*}}', compared with the simulation on 'pair'
// SAME: step {{ *}}52.0 us 52.0 us 0.00 us 1.00
// SAME: communication {{ *}}32.0 us 32.0 us 0.00 us 1.00
// SAME: waits {{ *}}12.0 us 12.0 us 0.00 us 1.00

// In a simulation, a track stands for all replicas that behave alike: of four, one has kernels that take 30 us instead of 10 us. On average they take 15 us.
// RUN: lockstep-simulate %t.lockstep --replicas=4 --slow=3 --trace=%t.slow.json > %t.text
// RUN: lockstep-inspect %t.lockstep --compare %t.slow.json | FileCheck %s --check-prefix=SLOW
// SLOW: 'step': step 0 on 2 tracks in simulation
// SLOW: kernel backward1 {{ *}}1 {{ *}}10.0 us {{ *}}15.0 us {{ *}}+5.00 us model.py:4
// RUN: sed 's/"replicas":3/"replicas":0/' %t.slow.json > %t.nobody.json
// RUN: not lockstep-inspect %t.lockstep --compare %t.nobody.json 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: expected a trace of lockstep-run --trace or lockstep-simulate --trace, found a track of no replicas

// Files that are not traces, and traces of another artifact.
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/absent.json 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: lockstep-inspect: error: cannot open trace '{{.*}}absent.json': No such file or directory
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/text.json 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: lockstep-inspect: error: trace '{{.*}}text.json': expected a trace of lockstep-run --trace or lockstep-simulate --trace, found no JSON
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/list.json 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: found no array 'traceEvents'
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/empty.json 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: found no event of a command
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/time.json 2>&1 | FileCheck %s --check-prefix=TIME
// TIME: event 1: expected a trace of {{.*}}, found an event without name, category, time, or the command of a program
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/category.json 2>&1 | FileCheck %s --check-prefix=CATEGORY
// CATEGORY: event 1: category 'idle': expected kernel, copy, collective or wait
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/program.json 2>&1 | FileCheck %s --check-prefix=PROGRAM
// PROGRAM: event 1: program 'train': expected one of those of the artifact, 'step'
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/command.json 2>&1 | FileCheck %s --check-prefix=COMMAND
// COMMAND: event 1: program 'step': expected a command below 13, found 99: the trace is of another artifact
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/name.json 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: event 1: command 1 of program 'step': expected 'all_reduce sum channel 0' (model.py:9) as in the artifact, found 'start all_reduce max channel 0' (model.py:9): the trace is of another artifact
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/line.json 2>&1 | FileCheck %s --check-prefix=LINE
// LINE: expected 'all_reduce sum channel 0' (model.py:9) as in the artifact, found 'start all_reduce sum channel 0' (other.py:9): the trace is of another artifact
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/kind.json 2>&1 | FileCheck %s --check-prefix=WAIT
// WAIT: expected 'wait channel 0' (model.py:9) as in the artifact, found 'wait channel 7' (model.py:9)
// RUN: not lockstep-inspect %t.lockstep --compare %t.traces/run.json --format=html 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: lockstep-inspect: error: --compare: expected --format=text or json and no --show
