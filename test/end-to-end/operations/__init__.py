"""Every StableHLO operation in its forms and element types, compiled and
compared with JAX.

`table.GROUPS` lists what is tried, `outcomes` tries it, `page` writes what was
found to `docs/reference/operations.md`. As a program,

    LOCKSTEP_BIN=build/release/bin build/venv/bin/python
    test/end-to-end/operations

writes that page anew.
"""
