// RUN: lockstep-opt %s --partition-variables -verify-diagnostics

replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 2 : i64, partitioner = #replica.partitioner<fixed 2>}
// expected-error@+1 {{expected dense elements as the initial value of a variable with shards, found dense_resource<rows>}}
replica.variable @w : tensor<2x1xf32> {initial = dense_resource<rows> : tensor<2x1xf32>}
{-#
  dialect_resources: {
    builtin: {
      rows: "0x040000000000803f00000040"
    }
  }
#-}
