#!/usr/bin/env python3
"""Prints what hover shows on an operator of the mf dialect.

usage: hover_in_ir.py SERVER
"""

import sys

from editor import Editor

MODEL = """mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %a = mf.silu %x {name = "act.silu", recompute = #mf.recompute<select>} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    mf.return %a : tensor<1x4x8xf32>
  }
}
"""

editor = Editor([sys.argv[1]])
editor.uri = "file:///model.mlir"
messages = editor.show(MODEL, "mlir")
print(*messages, sep="\n")
print(editor.hover("mf.silu"))
