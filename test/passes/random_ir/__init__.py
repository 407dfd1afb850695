"""Random tensor programs in IR, executed by the interpreter and compiled at
several levels, and compared.

A program is data (`program.py`), made of operations (`scalar_ops.py`,
`structured_ops.py`, ...). Of each value it is known statically which numbers it
may be and how far executions may differ in it (`facts.py`), so that a
difference beyond that is a defect.
"""
