"""Cases at random: `generate(count, seed)`. The same numbers give the same
cases.

draw             random choices: element types, shapes, values, strategies
collectives      all-reduces and gathers of nests, in chains
crossing         cross-replica context: reductions, gathers, merge_call, updates
state            variables with every synchronization and aggregation, scatters
control          control flow and gradients
corners          host numbers of each replica, empty nests, casts, slices as
                 tensors, variables that replicas make
faults           programs with one known error
context_faults   the errors in where operations are
operand_faults   those in the operands of collectives
variable_faults  those in the use of variables
given            the inputs and variables of programs with an error
variants         recorded cases with other values, shapes, types, replica counts
                 and strategies
exactness        whether a result depends on how it is rounded: such a case is
                 dropped
"""

from .cases import generate

__all__ = ["generate"]
