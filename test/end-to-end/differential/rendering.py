"""Programs as Python text: a whole `model.py`, and single statements, which are
evaluated while a program is generated.
"""

from differential.facts import ROUNDED
from differential.program import Function, Input, Program, Statement
from differential.values import KINDS

_INDENT = "    "

_MODEL = '''"""{title}"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import lockstep

jax.config.update("jax_enable_x64", {x64})

{helpers}
def init(seed):
    return {init}


def data(replicas):
    """The batch of all replicas."""
    return {data}


batch_spec = {batch_spec}


def step(state, batch, scalars):
{body}'''

_DRAW = '''
def draw(kind, seed, s, d):
    """An array of shape `s` and dtype `d`."""
    return np.asarray(kind(np.random.default_rng(seed), s)).astype(d)

'''

_PERTURB = '''
def perturbed(x, seed):
    """Floats, each changed by one or a few units in its last place."""
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return x
    signs = np.random.default_rng([seed, {seed}]).choice([-1, 1], x.shape)
    units = {units} if x.dtype.itemsize > 2 else 1
    return x * (1 + units * signs * float(jnp.finfo(x.dtype).eps)).astype(x.dtype)

'''


def render(program: Program, perturbation: int | None = None) -> str:
    """The text of a model file.

    Besides what `lockstep.capture` reads, it defines `data(replicas)`: the
    batch of all replicas, a dict of arrays.

    Args:
      program: the program.
      perturbation: if given, every float that is not exact is changed by
        `4**perturbation` units in its last place, by one if it has 16 bits, in
        directions that depend on this number. Where roundings cancel,
        differences grow faster than they do.
    """
    types = program.types
    perturbs = perturbation is not None
    init, data, spec, lines = [], [], [], []
    for entry in program.inputs:
        rows, shape = _rows_and_rest(program, entry)
        if entry.place == "state":
            init.append(
                f'"{entry.name}": {_drawn(program, entry, entry.type.shape)}'
            )
            lines.append(f'{entry.name} = state["{entry.name}"]')
        else:
            data.append(
                f'"{entry.name}": {_drawn(program, entry, (f"{rows} * replicas", *shape))}'
            )
            spec.append(
                f'"{entry.name}": ({_tuple((rows, *shape))}, "{entry.type.dtype}")'
            )
            has_rows = len(shape) < len(entry.type.shape)
            lines.append(
                f'{entry.name} = batch["{entry.name}"]'
                + ("" if has_rows else "[0]")
            )
        if perturbs and KINDS[entry.kind].facts.level == ROUNDED:
            lines.append(_perturb(entry.name))
    if not spec:
        # A batch has at least one array.
        data.append('"unused": np.zeros((replicas, 1), "float32")')
        spec.append('"unused": ((1, 1), "float32")')
    init += [
        f'"{name}": np.zeros({_tuple(types[name].shape)}, "{types[name].dtype}")'
        for name in program.results
    ]
    for statement in program.statements:
        lines += statement_lines(statement, perturbs)
    kept = ", ".join(f'"{name}": {name}' for name in program.results)
    lines.append(f"return {{**state, {kept}}}, {{}}")
    return _MODEL.format(
        title=f"Random program, seed {program.seed}.",
        x64=program.x64,
        helpers=(_DRAW if program.inputs else "")
        + (
            _PERTURB.format(seed=perturbation, units=4**perturbation)
            if perturbs
            else ""
        ),
        init=_dict(init, 1),
        data=_dict(data, 1),
        batch_spec=_dict(spec, 0),
        body="".join(f"{_INDENT}{line}\n" for line in lines),
    )


def statement_lines(statement: Statement, perturbs: bool = False) -> list[str]:
    """The lines of a statement, those of its functions first."""
    lines = [
        line
        for function in statement.functions
        for line in _function_lines(function, perturbs)
    ]
    comment = ", ".join(map(str, statement.types))
    lines.append(
        f"{', '.join(statement.names)} = {statement.text}"
        + (f"  # {comment}" if comment else "")
    )
    if perturbs:
        lines += [
            _perturb(name)
            for name, exact in zip(
                statement.names, statement.exact, strict=True
            )
            if not exact
        ]
    return lines


def _function_lines(function: Function, perturbs: bool) -> list[str]:
    body = [
        line
        for statement in function.statements
        for line in statement_lines(statement, perturbs)
    ]
    return [
        f"def {function.name}({', '.join(function.parameters)}):",
        *(_INDENT + line for line in [*body, f"return {function.result}"]),
    ]


def _perturb(name: str) -> str:
    return f"{name} = perturbed({name}, {int(name[1:])})"


def _rows_and_rest(
    program: Program, entry: Input
) -> tuple[int, tuple[int, ...]]:
    """Shape of an input in a batch: an array that has not as many rows as the
    batch is its only row, where it has one.
    """
    shape = entry.type.shape
    return (
        (program.rows, shape[1:])
        if shape[:1] == (program.rows,)
        else (1, shape)
    )


def _drawn(program: Program, entry: Input, shape: tuple) -> str:
    seed = f"[{program.seed}, {int(entry.name[1:])}]"
    kind = KINDS[entry.kind].text.replace("{d}", f'"{entry.type.dtype}"')
    return f'draw(lambda r, s: {kind}, {seed}, {_tuple(shape)}, "{entry.type.dtype}")'


def _tuple(items) -> str:
    items = list(map(str, items))
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _dict(entries: list[str], depth: int) -> str:
    lines = "".join(f"{_INDENT * (depth + 1)}{entry},\n" for entry in entries)
    return f"{{\n{lines}{_INDENT * depth}}}" if entries else "{}"
