"""Unwritten memory reads as zero, on all replicas, at every level, independent
of its earlier contents.
"""

import struct

import pytest

#: A tensor<4xf32> of zeros that is partly overwritten by 1.0 in some form, as
#: `%t`; `%trips` is an index, `%go` a flag, `%one` a tensor of one element.
FORMS = {
    "for": """
  %t = scf.for %j = %c0 to %trips step %c1 iter_args(%held = %empty) -> (tensor<4xf32>) {
    %next = tensor.insert %f1 into %held[%j] : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }""",
    "while": """
  %r:2 = scf.while (%goes = %go, %held = %empty) : (i1, tensor<4xf32>) -> (i1, tensor<4xf32>) {
    scf.condition(%goes) %goes, %held : i1, tensor<4xf32>
  } do {
  ^bb0(%goes: i1, %held: tensor<4xf32>):
    %next = tensor.insert %f1 into %held[%c0] : tensor<4xf32>
    scf.yield %false, %next : i1, tensor<4xf32>
  }
  %t = tensor.cast %r#1 : tensor<4xf32> to tensor<4xf32>""",
    "forall": """
  %t = scf.forall (%i) in (1) shared_outs(%held = %empty) -> (tensor<4xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %one into %held[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }""",
    "strided": """
  %two = tensor.concat dim(0) %one, %one : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %t = tensor.insert_slice %two into %empty[0] [2] [2] : tensor<2xf32> into tensor<4xf32>""",
    "diagonal": """
  %two = tensor.concat dim(0) %one, %one : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %square = tensor.empty() : tensor<2x2xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, i)>], iterator_types = ["parallel"]}
      ins(%two : tensor<2xf32>) outs(%square : tensor<2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2xf32>
  %t = tensor.collapse_shape %d [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>""",
    "allocation": """
  %allocated = bufferization.alloc_tensor() : tensor<4xf32>
  %t = tensor.insert_slice %one into %allocated[3] [1] [1] : tensor<1xf32> into tensor<4xf32>""",
}

EXPECTED = {
    "for": {0: [0, 0, 0, 0], 1: [1, 0, 0, 0], 4: [1, 1, 1, 1]},
    "while": {0: [0, 0, 0, 0], 1: [1, 0, 0, 0]},
    "forall": {0: [1, 0, 0, 0]},
    "strided": {0: [1, 0, 1, 0]},
    "diagonal": {0: [1, 0, 0, 1]},
    "allocation": {0: [0, 0, 0, 1]},
}


def module(form, trips):
    """A step in which a branch with a collective depends on the last
    element.
    """
    return f"""replica.variable @trips : tensor<i32> {{initial = dense<{trips}> : tensor<i32>}}
replica.variable @found : tensor<4xf32> {{initial = dense<7.0> : tensor<4xf32>}}
replica.variable @sum : tensor<4xf32> {{initial = dense<0.0> : tensor<4xf32>}}
replica.step @step() -> (tensor<4xf32> {{replica.metric = "m"}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %f1 = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %false = arith.constant false
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %k = replica.read @trips : tensor<i32>
  %n = tensor.extract %k[] : tensor<i32>
  %trips = arith.index_cast %n : i32 to index
  %go = arith.cmpi ne, %trips, %c0 : index
  %empty = tensor.empty() : tensor<4xf32>{FORMS[form]}
  replica.assign @found, %t : tensor<4xf32>
  %last = tensor.extract %t[%c3] : tensor<4xf32>
  %c = arith.cmpf olt, %last, %half : f32
  scf.if %c {{
    %all = replica.all_reduce sum %t : tensor<4xf32>
    replica.assign @sum, %all : tensor<4xf32>
  }}
  replica.return %t : tensor<4xf32>
}}
"""


@pytest.mark.parametrize(
    "form, trips",
    [(form, trips) for form, cases in EXPECTED.items() for trips in cases],
)
@pytest.mark.parametrize("replicas", [1, 3])
def test_unwritten_elements_are_zero(interpreted, form, trips, replicas):
    expected = EXPECTED[form][trips]
    found = interpreted(
        module(form, trips), replicas, options=((), ("--simplify=false",))
    )
    assert list(struct.unpack("<4f", found["found"][2])) == expected
    assert list(struct.unpack("<4f", found["sum"][2])) == [
        replicas * x if expected[3] == 0 else 0 for x in expected
    ]
