"""Random exchanges between replicas, at places that all of them reach."""

from ..facts import Invalid
from ..operations.collectives import AllGather, AllReduce, ReplicaId


def check(builder):
    if not builder.may_exchange:
        raise Invalid("no exchange at this place")


def all_reduce(builder):
    check(builder)
    reductions = ["sum", "sum", "mean", "product", "min", "max"]
    builder.add(AllReduce(builder.random.choice(reductions)), builder.tensor())


def all_gather(builder):
    check(builder)
    value = builder.tensor(lambda type: type.rank > 0)
    axis = builder.random.randrange(builder.type(value).rank)
    builder.check_size([builder.type(value).size * builder.context.replicas])
    builder.add(AllGather(axis), value)


def replica_id(builder):
    check(builder)
    builder.add(ReplicaId())
