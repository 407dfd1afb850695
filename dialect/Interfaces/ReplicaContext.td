//===- ReplicaContext.td - The two contexts of a program ---*- tablegen -*-===//
//
// Code of `tf.distribute` programs runs in one of two contexts: replica
// context, where a function runs once per replica, and cross-replica context,
// where one computation has access to the values of all replicas. A trait of an
// operation declares the context that it requires; an interface declares the
// context of its regions. One verifier checks all of them.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_REPLICACONTEXT_TD
#define LOCKSTEP_DIALECT_INTERFACES_REPLICACONTEXT_TD

include "mlir/IR/OpBase.td"

def OpensContextInterface : OpInterface<"OpensContextInterface"> {
  let cppNamespace = "::lockstep";
  let description = [{
    An operation that determines the context of its regions.
  }];
  let methods = [
    InterfaceMethod<"The context in which the regions of this operation run.",
      "::lockstep::Context", "getOpenedContext", (ins)>
  ];
}

/// The operation must be in replica context.
def InReplicaContext : NativeOpTrait<"InReplicaContext"> { let cppNamespace = "::lockstep"; }

/// The operation must be in cross-replica context.
def InCrossReplicaContext : NativeOpTrait<"InCrossReplicaContext"> { let cppNamespace = "::lockstep"; }

/// The operation must be in one of the two contexts.
def InAnyContext : NativeOpTrait<"InAnyContext"> { let cppNamespace = "::lockstep"; }

#endif
