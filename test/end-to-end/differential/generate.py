"""Makes the random program of a seed."""

import jax

# Fills the table of productions.
import differential.productions  # noqa: F401
from differential.block import Block, program
from differential.builder import Builder
from differential.productions.replicas import shared
from differential.program import NAME, Program, Type, texts, without_unused
from differential.table import SUBJECTS
from lockstep import context

#: How many replicas there are where a program is traced to find types, none of
#: which depends on it.
REPLICAS = 3

#: Most results of a program.
RESULTS = 8


def generate(seed: int) -> Program:
    """The program of a seed: always the same one for one version of the
    generator.
    """
    builder = Builder(seed, SUBJECTS)
    with jax.enable_x64(builder.x64), context.capturing(REPLICAS):
        block = Block(builder)
        for _ in range(builder.random.randint(1, 3)):
            shape = (
                (builder.rows, *block.shape((0, 2)))
                if builder.rows > 1
                else block.shape((1, 3))
            )
            block.input(Type(shape, builder.random.choice(builder.floats)))
        block.grow(builder.random.choice((6, 10, 14, 18, 24)))
        return without_unused(program(block, _results(block)))


def _results(block: Block) -> list[str]:
    """Chooses the kept values: unused ones, and some of the rest."""
    used = {
        name for text in texts(block.statements) for name in NAME.findall(text)
    }
    computed = [value for value in block.values if value.text.startswith("v")]
    last = [value for value in computed if value.text not in used]
    others = [
        value for value in computed if value.text in used and block.chance(0.1)
    ]
    chosen = (last[-RESULTS:] + others)[:RESULTS]
    return list(dict.fromkeys(str(shared(block, value)) for value in chosen))
