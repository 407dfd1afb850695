"""Types of expressions, as JAX infers them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import lockstep
from differential.program import NAME, Statement, Type, texts
from differential.rendering import statement_lines

#: Names other than values that the text of a statement may use.
GLOBALS = {"jax": jax, "jnp": jnp, "lax": lax, "lockstep": lockstep, "np": np}


class NotTypedError(Exception):
    """JAX rejects an expression; the text is the reason."""


def infer(
    statement: Statement, environment: dict[str, Type]
) -> Type | list[Type]:
    """The type of a statement's value, a list for a tuple, from the types of
    all names that it may use.

    Raises:
      NotTypedError: if JAX does not accept it.
    """
    mentioned = {
        name for text in texts([statement]) for name in NAME.findall(text)
    }
    operands = {
        name: type_ for name, type_ in environment.items() if name in mentioned
    }
    *definitions, last = statement_lines(statement)
    expression = last.partition(" = ")[2]
    source = "".join(
        f"    {line}\n" for line in [*definitions, f"return {expression}"]
    )
    scope = dict(GLOBALS)
    exec(
        compile(
            f"def evaluate({', '.join(operands)}):\n{source}",
            "<statement>",
            "exec",
        ),
        scope,
    )
    try:
        result = jax.eval_shape(
            scope["evaluate"],
            *(
                jax.ShapeDtypeStruct(t.shape, t.dtype)
                for t in operands.values()
            ),
        )
    except (
        TypeError,
        ValueError,
        IndexError,
        NotImplementedError,
        ZeroDivisionError,
        OverflowError,
        AssertionError,
    ) as error:
        raise NotTypedError(
            f"{last}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        ) from error
    types = [
        Type(tuple(array.shape), array.dtype.name)
        for array in jax.tree.leaves(result)
    ]
    return types if isinstance(result, tuple | list) else types[0]
