// The plans of the examples, with and without reuse, from unoptimized and from optimized steps.
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 -O0 --stop-after=codegen -o %t-mlp-0.mlir && lockstep-check-plan %t-mlp-0.mlir
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=4 -O2 --stop-after=codegen -o %t-mlp-2.mlir && lockstep-check-plan %t-mlp-2.mlir
// RUN: lockstep-compile %examples/digits-mlp/step.mlir --replicas=1 -O2 --stop-after=codegen -o %t-mlp-1.mlir && lockstep-check-plan %t-mlp-1.mlir
// RUN: lockstep-compile %examples/digits-cnn/step.mlir --replicas=4 -O0 --stop-after=schedule -o %t-cnn-0.mlir && lockstep-check-plan %t-cnn-0.mlir
// RUN: lockstep-compile %examples/digits-cnn/step.mlir --replicas=4 -O2 --stop-after=codegen -o %t-cnn-2.mlir && lockstep-check-plan %t-cnn-2.mlir
// RUN: lockstep-compile %examples/language-model/step.mlir --replicas=4 -O0 --stop-after=schedule -o %t-lm-0.mlir && lockstep-check-plan %t-lm-0.mlir
// RUN: lockstep-compile %examples/language-model/step.mlir --replicas=4 -O2 --stop-after=codegen -o %t-lm-2.mlir && lockstep-check-plan %t-lm-2.mlir
