"""Nearly valid programs: each has one error, and the class of its diagnostic is
known.
"""

from __future__ import annotations

from building import case

from . import context_faults, operand_faults, variable_faults
from .draw import Draw
from .given import given

# Each fault, the class of its diagnostic, and whether it applies only to
# strategies with several copies of a variable.
FAULTS = (
    (context_faults.diverging, "E_COLLECTIVE_DIVERGENCE", False),
    (
        context_faults.in_varying_control_flow,
        "E_COLLECTIVE_IN_CONTROL_FLOW",
        False,
    ),
    (context_faults.wrong_context, "E_CONTEXT", False),
    (operand_faults.wrong_axis, "E_AXIS_RANGE", False),
    (operand_faults.wrong_shape, "E_SHAPE_MISMATCH", False),
    (operand_faults.wrong_gather_shape, "E_SHAPE_MISMATCH", False),
    (operand_faults.wrong_rank, "E_RANK_MISMATCH", False),
    (operand_faults.scalar_gather, "E_SCALAR_GATHER", False),
    (operand_faults.sparse_gather, "E_SPARSE_GATHER", False),
    (operand_faults.wrong_reduce_op, "E_REDUCE_OP", False),
    (operand_faults.wrong_option, "E_OPTION_VALUE", False),
    (operand_faults.sum_of_bools, "E_DTYPE_UNSUPPORTED", False),
    (operand_faults.sum_of_one_value, "E_NON_DISTRIBUTED_SUM", False),
    (variable_faults.per_replica_write, "E_PER_REPLICA_IN_UPDATE", True),
    (variable_faults.no_aggregation, "E_AGG_NONE", False),
    (variable_faults.wrong_element_type, "E_DTYPE_MISMATCH", False),
    (variable_faults.on_read_sum, "E_ONREAD_ASSIGN_ADD_SUM", True),
    (variable_faults.on_read_scatter, "E_SCATTER_ONREAD", True),
    (variable_faults.unsummable_scatter, "E_SCATTER_AGG", True),
    (operand_faults.wrong_destination, "E_DEST_LIST", False),
    (context_faults.other_structure, "E_STRUCT_MISMATCH", False),
    (context_faults.mixed_strategies, "E_MIXED_STRATEGY", False),
    (variable_faults.no_synchronization, "E_SYNC_NONE", True),
    (variable_faults.mean_of_integers, "E_MEAN_INT_VAR", True),
    (operand_faults.no_destination, "E_DEST_NONE", False),
)


def fault(draw: Draw) -> tuple[dict, str]:
    """A case and the class of its diagnostic."""
    make, code, mirrors = draw.pick(FAULTS)
    spec = draw.several()
    while (mirrors and spec["kind"] == "central_storage") or (
        make is context_faults.other_structure
        and spec["kind"] == "multi_worker_mirrored"
    ):
        spec = draw.several()
    environment = given(draw, spec["replicas"])
    program = make(draw, environment)
    return case(
        program,
        inputs=environment.inputs,
        variables=environment.variables,
        **spec,
    ), code
