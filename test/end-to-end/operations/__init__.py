"""Every StableHLO operation in its forms and element types, compiled and
compared with JAX.

`table.GROUPS` lists the cases, `outcomes` executes them, `page` writes the
results to `docs/reference/operations.md`. As a program,

    LOCKSTEP_BIN=build/release/bin build/venv/bin/python
    test/end-to-end/operations

writes that page anew.
"""
