"""Operations between processes and with the host, and random numbers."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from operations.control_flow import NEGATED, TOKEN, same_type
from operations.element_types import UNSIGNED, like
from operations.emitted import computation, emit, emit_body
from operations.forms import Group, operation
from operations.special_values import of_shape

ROW = of_shape((4,))
ONE_GROUP = "replica_groups = dense<0> : tensor<1x1xi64>"
SUM = computation("add")
TO_HOST = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true"
FROM_HOST = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true"
ASYNC = (
    '%f = "stablehlo.async_start"(%a0) ({^bb0(%x: T): %y = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, '
    + ONE_GROUP
    + "}> : (T) -> T "
    '"stablehlo.return"(%y) : (T) -> ()}) : (T) -> !stablehlo.future<T> '
    '%r = "stablehlo.async_done"(%f) : (!stablehlo.future<T>) -> T'
)


def _collective(name, attributes="", regions=""):
    attributes = ", ".join(filter(None, (attributes, ONE_GROUP)))
    return operation(
        name,
        ("f32",),
        ROW,
        ("one group", emit(name, same_type, attributes, regions)),
    )


def _with_token(name, body):
    return operation(
        name, ("f32",), ROW, ("all", emit_body(name, same_type, TOKEN + body))
    )


def _no_inputs(dtype):
    return []


COLLECTIVES = Group(
    "Collectives",
    "A step communicates by `lockstep.all_reduce`, `lockstep.all_gather` and `lockstep.merge_call` ([semantics](../semantics.md)).",
    [
        *_collective("all_gather", "all_gather_dim = 0 : i64"),
        *_collective("all_reduce", "", SUM),
        *_collective(
            "all_to_all",
            "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 1 : i64",
        ),
        *operation(
            "async_done",
            ("f32",),
            ROW,
            (
                "of an all_gather",
                emit_body("async_done", same_type, ASYNC),
                {"error": "all_gather"},
            ),
        ),
        *operation(
            "async_start",
            ("f32",),
            ROW,
            (
                "of an all_gather",
                emit_body("async_start", same_type, ASYNC),
                {"error": "all_gather"},
            ),
        ),
        *_collective("collective_broadcast"),
        *operation(
            "collective_permute",
            ("f32",),
            ROW,
            (
                "one pair",
                emit(
                    "collective_permute",
                    same_type,
                    "source_target_pairs = dense<0> : tensor<1x2xi64>",
                ),
            ),
        ),
        *_collective("cross-replica-sum"),
        *operation(
            "partition_id",
            ("ui32",),
            _no_inputs,
            ("all", emit("partition_id", like((), np.uint32))),
        ),
        *_collective("reduce_scatter", "scatter_dimension = 0 : i64", SUM),
        *operation(
            "replica_id",
            ("ui32",),
            _no_inputs,
            ("all", emit("replica_id", like((), np.uint32))),
        ),
    ],
)

HOST = Group(
    "Transfers",
    "A step takes what it needs from its state, batch and scalars, and gives back its state and metrics.",
    [
        *_with_token(
            "infeed",
            '%r, %u = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> (T, !stablehlo.token)',
        ),
        *_with_token(
            "outfeed",
            '%u = "stablehlo.outfeed"(%a0, %t) <{outfeed_config = ""}> : (T, !stablehlo.token) -> !stablehlo.token'
            + NEGATED,
        ),
        *_with_token(
            "recv",
            f'%r, %u = "stablehlo.recv"(%t) <{{{FROM_HOST}}}> : (!stablehlo.token) -> (T, !stablehlo.token)',
        ),
        *_with_token(
            "send",
            f'%u = "stablehlo.send"(%a0, %t) <{{{TO_HOST}}}> : (T, !stablehlo.token) -> !stablehlo.token'
            + NEGATED,
        ),
    ],
)


def _normal(mean, deviation):
    return emit(
        "rng",
        lambda *_: like((4,), mean.dtype),
        "rng_distribution = #stablehlo<rng_distribution NORMAL>",
    )(mean, deviation, jnp.array([4]))


RANDOM = Group(
    "Random numbers",
    "`jax.random` with its default generator needs neither: it is made of integer operations.",
    [
        *operation(
            "rng",
            ("f32", "f64"),
            lambda dtype: [np.array(0, dtype), np.array(1, dtype)],
            ("uniform", lambda low, high: lax.rng_uniform(low, high, (4,))),
            ("normal", _normal),
        ),
        *operation(
            "rng_bit_generator",
            UNSIGNED,
            lambda dtype: [
                np.arange(1, 5, dtype=np.uint32),
                np.zeros((0,), dtype),
            ],
            *(
                (
                    name,
                    lambda key, like, algorithm=name: lax.rng_bit_generator(
                        key,
                        (33,),
                        like.dtype,
                        algorithm=getattr(lax.RandomAlgorithm, algorithm),
                    ),
                )
                for name in ("RNG_DEFAULT", "RNG_THREE_FRY", "RNG_PHILOX")
            ),
        ),
    ],
)
