"""The productions, a module for each subject; importing them fills the table."""

from differential.productions import (  # noqa: F401
    control,
    derivatives,
    elementwise,
    indexing,
    integers,
    library,
    movement,
    products,
    randomness,
    reductions,
    replicas,
    sorts,
    windows,
)
