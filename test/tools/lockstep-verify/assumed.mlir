// Loops that end depending on data, of each replica or of all replicas: the proof assumes that they end, and lists them. Loops that count
// up to a number, as training loops do, are not among them.

// RUN: env LOCKSTEP_CACHE=%t.cache lockstep-verify %s --replicas=2 > %t.txt
// RUN: FileCheck %s < %t.txt
// RUN: env LOCKSTEP_CACHE=%t.cache lockstep-verify %s --replicas=2 --json | FileCheck %s --check-prefix=JSON

// CHECK:      program 'step': proven
// CHECK:      decided when it runs: role worker, {{.*}}assumed.mlir:[[@LINE+28]]: branch
// CHECK-NEXT: assumed to end: role worker, {{.*}}assumed.mlir:[[@LINE+15]]: loop
// CHECK-NOT:  assumed to end
// CHECK:      sequence of role worker

// JSON:      "assumed_to_end": [
// JSON-NEXT:   {
// JSON-NEXT:     "role": "worker",
// JSON-NEXT:     "command": {{[0-9]+}},
// JSON-NEXT:     "text": "{{.*}}assumed.mlir:[[@LINE+7]]: loop"
// JSON-NEXT:   }
// JSON-NEXT: ]

replica.step @step(%x: tensor<64x64xf32> {replica.batch = "x"}) -> (tensor<64x64xf32> {replica.result = "loss"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.while (%a = %x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
    %p = tensor.extract %a[%c0, %c0] : tensor<64x64xf32>
    %c = arith.cmpf ogt, %p, %zero : f32
    scf.condition(%c) %a : tensor<64x64xf32>
  } do {
  ^bb0(%a: tensor<64x64xf32>):
    %z = arith.constant dense<0.0> : tensor<64x64xf32>
    %b = linalg.matmul ins(%a, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %b : tensor<64x64xf32>
  }
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %s = scf.for %i = %c0 to %c50 step %c1 iter_args(%a = %r) -> tensor<64x64xf32> {
    %m = replica.all_reduce mean %a : tensor<64x64xf32>
    scf.yield %m : tensor<64x64xf32>
  }
  replica.return %s : tensor<64x64xf32>
}
