//===- ReplicaContext.td - The two contexts of a program ---*- tablegen -*-===//
//
// `tf.distribute` programs have two halves: replica context, where one function runs once a
// replica, and cross-replica context, where one computation sees the values of all replicas.
// Ops say which of the two they belong to by a trait; ops with regions say which one a region
// opens through an interface. One verifier serves all of them.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_REPLICACONTEXT_TD
#define LOCKSTEP_DIALECT_INTERFACES_REPLICACONTEXT_TD

include "mlir/IR/OpBase.td"

def OpensContextInterface : OpInterface<"OpensContextInterface"> {
  let cppNamespace = "::lockstep";
  let description = [{
    An operation whose regions run in a context of their own.
  }];
  let methods = [
    InterfaceMethod<"The context in which the regions of this operation run.",
      "::lockstep::Context", "getOpenedContext", (ins)>
  ];
}

/// The operation must stand in replica context.
def InReplicaContext : NativeOpTrait<"InReplicaContext"> { let cppNamespace = "::lockstep"; }

/// The operation must stand in cross-replica context.
def InCrossReplicaContext : NativeOpTrait<"InCrossReplicaContext"> { let cppNamespace = "::lockstep"; }

/// The operation may stand in both contexts, but needs one of them.
def InAnyContext : NativeOpTrait<"InAnyContext"> { let cppNamespace = "::lockstep"; }

#endif
