"""Differential testing of tensor code: random JAX functions, executed by JAX,
by the interpreter and as compiled programs.

`python test/end-to-end/differential --count=1000 --seed=1` generates programs,
compares, and reduces programs that differ; `docs/testing.md` describes it.
"""
