// The page is self-contained: its data is the JSON, in which no text can end the script element around it.

// RUN: lockstep-translate --emit-artifact %s -o %t.lockstep
// RUN: lockstep-inspect %t.lockstep --format=html -o %t.html
// RUN: FileCheck %s < %t.html --implicit-check-not=://
// RUN: lockstep-inspect %t.lockstep --format=json -o %t.json
// RUN: %python %S/Inputs/page.py %t.html %t.json

// The namespace of SVG elements is a name, and is not loaded.
// CHECK: <!DOCTYPE html>
// CHECK: <script type="application/json" id="data">{
// CHECK: "name": "w\u003c/script>"
// CHECK: createElementNS("http://www.w3.org/2000/svg", name)
// CHECK: </html>
module @page attributes {device.replicas = 2 : i64} {
  device.variable @"w</script>" variable[0] : tensor<4xf32> {synchronization = 0 : i32, aggregation = 0 : i32}
  device.binary @x86_64_v3 target "x86-64-v3" {object = dense<0> : tensor<4xi8>}
  device.program @step role "worker" replica 0 shared 0 input 0 registers 0 channels 0 {
    device.return
  }
}
