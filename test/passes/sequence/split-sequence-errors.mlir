// RUN: mkdir -p %t
// RUN: sed -e 's/ {name = "attention.flash_attention", scale/ {causal = false, name = "attention.flash_attention", scale/' %S/Inputs/one_layer.mlir > %t/all.mlir
// RUN: not %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-sequence))' %t/all.mlir 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: error: 'mf.flash_attention' op cannot run in 2 pieces of the sequence (seq_split_num): it reads the whole sequence at once; expected flash attention (use_flash_attention: True) and operators that work on each token alone
// RUN: sed -e 's/sequence_pieces = 2/sequence_pieces = 3/' %S/Inputs/one_layer.mlir > %t/odd.mlir
// RUN: not %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-sequence))' %t/odd.mlir 2>&1 | FileCheck %s --check-prefix=ODD
// ODD: error: 'mf.embedding' op cannot run in 3 pieces of the sequence (seq_split_num): a sequence of 4 does not divide into 3 pieces
// RUN: sed -e 's/ attributes {placement.*chunk = 0>}//' %S/Inputs/one_layer.mlir > %t/unplaced.mlir
// RUN: not %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-sequence))' %t/unplaced.mlir 2>&1 | FileCheck %s --check-prefix=UNPLACED
// UNPLACED: error: 'mf.layer' op has no placement; run mf-partition first
