// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --target=x86-64-v3 --topology=ethernet-25g -o %t.lockstep
// RUN: lockstep-simulate %t.lockstep | FileCheck %s
// RUN: lockstep-translate --import-artifact %t.lockstep | FileCheck %s --check-prefix=STORED

// The artifact has the topology of the schedule.
// STORED: device.topology = "ethernet-25g"
// CHECK:      program 'step' of 4 replicas on 'ethernet-25g'
// CHECK-NEXT:   time {{.*}} us
// CHECK-NEXT:   kernels {{.*}} us, {{[0-9]+}} kernels
// CHECK-NEXT:   communication {{.*}} us, {{[0-9]+}} collective{{s?}}, 37.5 KiB from each replica
// CHECK-NEXT:   hidden {{.*}} % of it behind kernels
// CHECK-NEXT:   exposed {{.*}} us
// CHECK-NEXT:   utilization {{.*}} % of the time in kernels
// CHECK-NEXT:   lower bound {{.*}} us, {{.*}} times as long
// CHECK-NEXT:   memory {{.*}} KiB of each replica
// CHECK:      critical path
// CHECK:        all_reduce sum channel 0 {{ *}}model.py:55

// Another number of replicas, another topology, a slow and a late replica; and a program of the artifact by name.
// RUN: lockstep-simulate %t.lockstep --replicas=100000 --topology=torus-3d | FileCheck %s --check-prefix=LARGE
// LARGE: program 'step' of 100000 replicas on 'torus-3d'
// RUN: lockstep-simulate %t.lockstep --slow=2 --skew=0.5 | FileCheck %s --check-prefix=SLOW
// SLOW: time {{ *}}50{{[01]}} ms
// RUN: lockstep-simulate %t.lockstep --program=evaluate | FileCheck %s --check-prefix=EVALUATE
// EVALUATE: program 'evaluate' of 4 replicas
// RUN: lockstep-simulate %t.lockstep --fail=0 | FileCheck %s --check-prefix=FAIL
// FAIL: failure {{ *}}replica 3 stops; replicas 0 to 2 wait for it at wait channel 0 (model.py:55)

// Two buckets whose latencies overlap, on streams with a lane each.
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --target=x86-64-v3 --topology=ethernet-25g --shard-update=off --bucket=none -o %t.buckets.lockstep
// RUN: lockstep-simulate %t.buckets.lockstep --format=json > %t.one
// RUN: lockstep-simulate %t.buckets.lockstep --format=json --streams=4 --trace=%t.streams.json > %t.four
// RUN: %python -c "import json, sys; one, four = (json.load(open(p)) for p in sys.argv[1:3]); assert four['seconds'] < one['seconds']; assert four['communication_seconds'] < one['communication_seconds']; names = {e['args']['name'] for e in json.load(open(sys.argv[3]))['traceEvents'] if e['name'] == 'thread_name'}; assert 'link, stream 3' in names, names" %t.one %t.four %t.streams.json
// So they are simulated, and planned, if the topology says so.
// RUN: echo '{"name": "four", "compute": {"flops_per_second": 5e10, "bytes_per_second": 1e10, "launch_seconds": 1e-6}, "reduces_on_compute": false, "streams": 4, "algorithm": "direct", "levels": [{"name": "wire", "latency_seconds": 2.5e-5, "bytes_per_second": 3e9}]}' > %t.four.json
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 --target=x86-64-v3 --topology=%t.four.json --shard-update=off -o %t.planned.lockstep
// RUN: lockstep-simulate %t.planned.lockstep --format=json --trace=%t.planned.json > %t.planned
// RUN: lockstep-simulate %t.planned.lockstep --format=json --streams=1 > %t.serial
// RUN: %python -c "import json, sys; planned, serial = (json.load(open(p)) for p in sys.argv[1:3]); assert planned['collectives'] > 1; assert planned['least_seconds'] <= planned['seconds'] < serial['seconds']" %t.planned %t.serial
// The lanes of the streams are those of one link.
// RUN: lockstep-inspect %t.planned.lockstep --compare %t.planned.json | FileCheck %s --check-prefix=COMPARED
// COMPARED: 'step': step 0 on 1 track in simulation '{{.*}}', compared with the simulation on 'four'
// RUN: lockstep-inspect %t.planned.lockstep --format=json > %t.inspected
// RUN: %python -c "import json, sys; s = next(p for p in json.load(open(sys.argv[1]))['programs'] if p['name'] == 'step')['simulation']; assert s['streams'] == 4; assert {e['stream'] for e in s['events'] if e['kind'] == 'collective'} > {0}; assert all(e['end'] <= s['seconds'] for e in s['events'])" %t.inspected
// RUN: not lockstep-simulate %t.lockstep --streams=65 2>&1 | FileCheck %s --check-prefix=STREAMS
// STREAMS: lockstep-simulate: error: --streams: expected a number of at most 64, found 65 (see --help)

// RUN: lockstep-simulate %t.lockstep --format=json --trace=%t.json > %t.result
// RUN: %python -c "import json, sys; r = json.load(open(sys.argv[1])); assert r['seconds'] >= r['least_seconds'] > 0; assert r['exchanged_bytes'] == 38444; t = json.load(open(sys.argv[2]))['traceEvents']; assert {e['cat'] for e in t if e['ph'] == 'X'} >= {'kernel', 'collective'}" %t.result %t.json

// The times of kernels come from a trace, here a simulated one of slow kernels, also for another number of replicas.
// RUN: echo '{"name": "slow", "compute": {"flops_per_second": 1e6, "bytes_per_second": 1e6, "launch_seconds": 1}, "reduces_on_compute": false, "algorithm": "direct", "levels": [{"name": "wire", "latency_seconds": 1e-6, "bytes_per_second": 1e9}]}' > %t.slow.json
// RUN: lockstep-simulate %t.lockstep --topology=%t.slow.json --trace=%t.slow.trace > %t.slow
// RUN: lockstep-simulate %t.lockstep --profile=%t.slow.trace --replicas=8 | FileCheck %s --check-prefix=PROFILE
// PROFILE: program 'step' of 8 replicas on 'ethernet-25g'
// PROFILE:   kernels {{ *}}{{[0-9.]+}} s,
// RUN: not lockstep-simulate %t.lockstep --profile=%t.none 2>&1 | FileCheck %s --check-prefix=NO-TRACE
// NO-TRACE: lockstep-simulate: error: cannot read trace '{{.*}}.none': No such file or directory
// RUN: not lockstep-simulate %t.lockstep --profile=%t.result 2>&1 | FileCheck %s --check-prefix=RESULT
// RESULT: lockstep-simulate: error: '{{.*}}.result': expected a trace of lockstep-run --trace

// RUN: not lockstep-simulate %t.lockstep --slow=0 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: lockstep-simulate: error: --slow: expected a positive number of at most 1000000000, found '0' (see --help)
// RUN: not lockstep-simulate %t.lockstep --skew=-1 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: lockstep-simulate: error: --skew: expected 0 or a positive number of at most 1000000000, found '-1' (see --help)
// RUN: not lockstep-simulate %t.lockstep --replicas=0 2>&1 | FileCheck %s --check-prefix=NO-REPLICA
// NO-REPLICA: lockstep-simulate: error: --replicas: expected a number of at least 1, found 0 (see --help)

// RUN: not lockstep-simulate %t.none 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: lockstep-simulate: error: cannot open artifact '{{.*}}.none': No such file or directory
// RUN: not lockstep-simulate %t.lockstep --topology=mesh 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: lockstep-simulate: error: topology 'mesh': expected one of host, ethernet-25g, ethernet-100g, dgx-h100, torus-3d, or a file that can be read
// RUN: not lockstep-simulate %t.lockstep --program=train 2>&1 | FileCheck %s --check-prefix=PROGRAM
// PROGRAM: lockstep-simulate: error: program 'train': expected one of {{.*}}step
// RUN: not lockstep-simulate %t.lockstep --trace=%t.folder/x.json 2>&1 | FileCheck %s --check-prefix=TRACE
// TRACE: lockstep-simulate: error: cannot write trace '{{.*}}x.json': No such file or directory
