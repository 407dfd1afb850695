"""Random tensor programs in IR, executed by the interpreter and compiled at
several levels, and compared.

A program is data (`program.py`), made of operations (`scalar_ops.py`,
`structured_ops.py`, ...). For each value, the possible numbers and the allowed
difference between executions are known statically (`facts.py`), so that a
larger difference is a defect.
"""
