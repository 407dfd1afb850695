"""The two outcomes of a case without a value."""

CLASSES = frozenset(
    """
    E_CONTEXT E_MIXED_STRATEGY E_REDUCE_OP E_OPTION_VALUE E_ARG_TYPE E_STRUCT_MISMATCH E_SHAPE_MISMATCH
    E_RANK_MISMATCH E_DTYPE_MISMATCH E_DTYPE_UNSUPPORTED E_AXIS_RANGE E_SCALAR_GATHER E_SPARSE_GATHER
    E_NON_DISTRIBUTED_SUM E_DEST_LIST E_DEST_NONE E_PER_REPLICA_IN_UPDATE E_AGG_NONE E_SYNC_NONE E_MEAN_INT_VAR
    E_ONREAD_ASSIGN_ADD_SUM E_SCATTER_ONREAD E_SCATTER_AGG E_COLLECTIVE_DIVERGENCE E_COLLECTIVE_IN_CONTROL_FLOW
    E_INDEX E_USER
    """.split()
)


class Rejected(Exception):
    """The program is wrong; `code` is the class of its diagnostic."""

    def __init__(self, code: str, message: str):
        assert code in CLASSES, code
        super().__init__(f"{message} [{code}]")
        self.code = code


class Malformed(ValueError):
    """The case is not one of the language: the case file is wrong, and no
    result is expected.
    """
