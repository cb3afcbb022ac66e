// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer))' -verify-diagnostics %s

// expected-error @below {{has no training configuration; run mf-read-config first}}
mf.model @without_training attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
}
