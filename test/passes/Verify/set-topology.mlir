// RUN: split-file %s %t
// RUN: lockstep-opt %t/module.mlir --set-topology="topology=dgx-h100" | FileCheck %s --check-prefix=PRESET
// RUN: lockstep-opt %t/module.mlir --set-topology="topology=%t/pair.json" | FileCheck %s --check-prefix=FILE
// RUN: lockstep-opt %t/module.mlir --set-topology | FileCheck %s --check-prefix=NONE
// RUN: not lockstep-opt %t/module.mlir --set-topology="topology=%t/wrong.json" 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not lockstep-opt %t/stored.mlir --pass-pipeline="builtin.module(func.func(bucket-collectives))" 2>&1 | FileCheck %s --check-prefix=STORED
// RUN: not lockstep-opt %t/number.mlir --pass-pipeline="builtin.module(func.func(bucket-collectives))" 2>&1 | FileCheck %s --check-prefix=NUMBER

// The option is the name of a preset, or a file whose contents are stored; without it, the module does not change.
// PRESET: module attributes {device.topology = "dgx-h100"}
// FILE: module attributes {device.topology = "{{.*}}\22name\22:\22pair\22
// NONE: module {
// WRONG: error: {{.*}}wrong.json: 'levels': expected a list that is not empty, found nothing
// STORED: error: 'device.topology': topology 'mesh': expected one of host,

// NUMBER: error: 'device.topology': expected a string, found 3

//--- module.mlir
module {
}

//--- stored.mlir
module attributes {device.topology = "mesh"} {
  func.func @step() {
    return
  }
}

//--- number.mlir
module attributes {device.topology = 3} {
  func.func @step() {
    return
  }
}

//--- pair.json
{"name": "pair", "compute": {"flops_per_second": 1, "bytes_per_second": 1, "launch_seconds": 1},
 "reduces_on_compute": false, "algorithm": "direct",
 "levels": [{"name": "wire", "latency_seconds": 1, "bytes_per_second": 1}]}

//--- wrong.json
{"name": "pair", "compute": {"flops_per_second": 1, "bytes_per_second": 1, "launch_seconds": 1},
 "reduces_on_compute": false, "algorithm": "direct"}
