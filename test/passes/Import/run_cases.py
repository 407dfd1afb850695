"""Small JAX functions whose lowering has the operations that the import must
support, with arguments.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RNG = np.random.default_rng(0)
CASES = {}


def case(*args):
    """Registers a function, to be called with `args`."""

    def register(function):
        CASES[function.__name__] = (function, [np.asarray(a) for a in args])
        return function

    return register


def normal(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def integers(low, high, *shape, dtype=np.int32):
    return RNG.integers(low, high, shape, dtype=dtype)


# Loops and branches


@case(normal(4))
def while_on_data(x):
    return lax.while_loop(lambda c: jnp.sum(c) < 100.0, lambda c: c * c + 1, x)


@case(normal(4))
def fori(x):
    return lax.fori_loop(0, 10, lambda i, c: c * 2 + i, x)


@case(normal(4), np.int32(3))
def fori_to_argument(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * 2 + i, x)


@case(normal(4), np.int32(-3), np.int32(7))
def fori_from_argument(x, low, high):
    return lax.fori_loop(low, high, lambda i, c: c * 0.5 + i, x)


@case(normal(4), np.int32(3), np.int32(-7))
def fori_without_trips(x, low, high):
    return lax.fori_loop(low, high, lambda i, c: c * 0.5 + i, x)


@case(np.int32(3))
def while_with_step(n):
    """The counter and a second one are results, and the step is not 1."""

    def body(c):
        i, j, x = c
        return i + 3, j - 5, x + i * j

    return lax.while_loop(lambda c: c[0] < 20, body, (n, n + 1, n))


@case(np.uint32(3))
def while_on_unsigned(n):
    def body(c):
        return c[0] + jnp.uint32(0x10000001), c[1] + 1

    return lax.while_loop(lambda c: c[0] < jnp.uint32(0xE0000000), body, (n, n))


@case(normal(4), normal(6, 4))
def scan(x, xs):
    return lax.scan(lambda c, y: (c * 0.5 + y, c.sum()), x, xs)


@case(normal(4), normal(6, 4))
def scan_reverse(x, xs):
    return lax.scan(lambda c, y: (c * 0.5 + y, c.sum()), x, xs, reverse=True)


@case(normal(4), normal(6, 4))
def scan_gradient(x, xs):
    def loss(x):
        def step(c, y):
            return (jnp.tanh(c * 0.5 + y), c.sum())

        return lax.scan(step, x, xs)[1].sum()

    return jax.grad(loss)(x)


@case(normal(3, 4))
def nested_loops(x):
    def inner(i, c):
        return lax.fori_loop(0, i, lambda j, d: d + i * j, c)

    return lax.fori_loop(0, 5, inner, x)


@case(np.bool_(True), normal(4))
def cond_true(p, x):
    return lax.cond(p, lambda x: x * 2, jnp.sin, x)


@case(np.bool_(False), normal(4))
def cond_false(p, x):
    return lax.cond(p, lambda x: x * 2, jnp.sin, x)


@case(integers(-2, 6, 8), normal(4))
def switch(indices, x):
    branches = [lambda x: x * 2, jnp.sin, lambda x: x - 1, lambda x: x * x]
    return lax.map(lambda i: lax.switch(i, branches, x), indices)


# Scatter


@case(normal(8, 3), integers(-9, 12, 20), normal(20, 3))
def scatter_add(x, i, u):
    return x.at[i].add(u)


@case(normal(8, 3), integers(0, 12, 20, dtype=np.uint32), normal(20, 3))
def scatter_add_unsigned_indices(x, i, u):
    return x.at[i].add(u)


@case(integers(0, 99, 8, 3), integers(0, 8, 20), integers(0, 99, 20, 3))
def scatter_max(x, i, u):
    return x.at[i].max(u), x.at[i].min(u), x.at[i].mul(u)


@case(normal(8), np.array([1, 11, 5, 0, 8], np.int32), normal(5))
def scatter_set(x, i, u):
    return x.at[i].set(u), x.at[3].set(u[0])


@case(normal(9, 8), integers(-2, 9, 6), integers(-2, 9, 6), normal(6))
def scatter_two_indices(x, i, j, u):
    return x.at[i, j].add(u), x.T.at[j, i].add(u)


@case(normal(6, 5), integers(-3, 8, 4, 1), normal(4, 3, 2))
def scatter_windows(x, i, u):
    """Windows that overhang are dropped as a whole."""
    numbers = lax.ScatterDimensionNumbers((1, 2), (), (0,))
    return lax.scatter_add(x, i, u, numbers, mode="fill")


@case(normal(8, 3), integers(0, 3, 5, 1))
def take_along_axis_gradient(x, i):
    def loss(x):
        return jnp.sum(jnp.take_along_axis(x[:5], i, 1) ** 2)

    return jax.grad(loss)(x)


@case(normal(16, 4), integers(0, 16, 2, 5))
def embedding_gradient(e, i):
    return jax.grad(lambda e: jnp.sum(e[i] ** 2))(e)


@case(normal(3, 8), integers(0, 8, 3, 4), normal(3, 4))
def scatter_batched(x, i, u):
    return jax.vmap(lambda x, i, u: x.at[i].add(u))(x, i, u)


@case(integers(0, 9, 8, dtype=np.uint32), integers(0, 8, 4))
def scatter_unsigned(x, i):
    return x.at[i].add(jnp.uint32(0xFFFFFFFF)), x.at[i].max(
        jnp.uint32(0xFFFFFFF0)
    )


# Random numbers and unsigned integers


@case(np.uint32(3), np.int32(2))
def bernoulli(seed, step):
    key = jax.random.fold_in(jax.random.key(seed), step)
    return jax.random.bernoulli(key, 0.9, (30, 5)), jax.random.bits(key, (7,))


@case(np.uint32(0xFFFFFFF3))
def random_numbers(seed):
    keys = jax.random.split(jax.random.key(seed), 4)
    return (
        jax.random.normal(keys[0], (4, 3)),
        jax.random.uniform(keys[1], (5,)),
        jax.random.randint(keys[2], (7,), 0, 13),
        jax.random.permutation(keys[3], 17),
    )


@case(
    np.array([1, 0xFFFFFFFF, 0x80000000, 5], np.uint32),
    np.array([0xFFFFFFFE, 0xFFFFFFFF, 3, 0], np.uint32),
)
def unsigned_arithmetic(a, b):
    return (
        a // jnp.maximum(b, 1),
        a % jnp.maximum(b, 1),
        a < b,
        jnp.maximum(a, b),
        a >> 3,
        a.astype(jnp.float32),
        a.astype(jnp.uint8),
        lax.population_count(a),
        jnp.sum(a),
        jnp.max(a),
        -a,
        a**3,
        jnp.argmax(a),
        jnp.sort(a),
    )


@case(np.array([0.5, 250.9, 3.0], np.float32))
def unsigned_from_float(a):
    return a.astype(jnp.uint32), a.astype(jnp.uint8).astype(jnp.float32)


# Sort


@case(normal(4, 5))
def sort_rows(x):
    return jnp.sort(x, 1), jnp.argsort(x, 0), jnp.sort(x, 1, descending=True)


@case(integers(0, 4, 33))
def sort_is_stable(x):
    return lax.sort((x, jnp.arange(33)), num_keys=1)


@case(normal(3, 1), normal(2, 16), normal(2, 17))
def sort_sizes(a, b, c):
    return tuple(lax.sort((x, -x), dimension=1, num_keys=2) for x in (a, b, c))


@case(np.array([1.0, np.nan, -0.0, 0.0, -np.inf, np.inf, -1.0], np.float32))
def sort_special(x):
    return jnp.sort(x), jnp.argsort(x)


@case(normal(4, 50))
def top_k(x):
    return lax.top_k(x, 5)


# Pooling


def max_pool(x, size, stride, padding):
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding)


@case(normal(2, 4, 4, 3), normal(2, 5, 5, 3))
def max_pool_gradient(x, y):
    def loss(x, *how):
        return jnp.sum(max_pool(x, *how) ** 2)

    return (
        jax.grad(loss)(x, 2, 2, "VALID"),
        jax.grad(loss)(y, 3, 2, "SAME"),
        jax.grad(loss)(y, 3, 1, "SAME"),
        jax.grad(loss)(y, 2, 3, ((0, 0), (1, 2), (2, 2), (0, 0))),
    )


# Others


@case(normal(8))
def checkpoint(x):
    return jax.grad(
        lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())(x)
    )(x)


@case(normal(8, 3), normal(2, 3), np.int32(7))
def dynamic_update_slice(x, u, i):
    return lax.dynamic_update_slice(x, u, (i, 0)), lax.dynamic_slice(
        x, (i, 0), (2, 3)
    )
