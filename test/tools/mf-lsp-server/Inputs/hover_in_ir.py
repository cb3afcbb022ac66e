#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what hover shows on operators of a model and on instructions of a program, also after edits.

usage: hover_in_ir.py SERVER STEP_FILE
"""

import sys

from editor import Editor

MODEL = """mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<16x8xf32> init <ones>
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x16xf32> {
    %w = mf.get_param @w : tensor<16x8xf32>
    %a = mf.silu %x {name = "act.silu", recompute = #mf.recompute<select>} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    %m = mf.matmul %a, %w {name = "w.matmul", swap = #mf.swap<distance = 3>, transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %r = mf.reshape %m {name = "reshape"} : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    mf.return %r : tensor<1x4x16xf32>
  }
}
"""


def main():
    server, step = sys.argv[1:]
    editor = Editor([server])
    editor.uri = "file:///model.mlir"
    print(*editor.show(MODEL, "mlir"), sep="\n")
    for words in ("mf.silu", "mf.matmul", "%r = mf.reshape", "mf.return", "layers.0 body"):
        print("== model: %s\n%s" % (words, editor.hover(words)))

    # The text is edited, broken, mended and closed.
    editor.show(MODEL.replace("<select>", "<full>"), "mlir")
    print("== edited: mf.silu\n%s" % editor.hover("mf.silu"))
    broken = editor.show(MODEL.replace("mf.return %r", "mf.return %q"), "mlir")
    print("== broken: %d messages\n%s" % (len(broken), editor.hover("mf.silu")))
    editor.show(MODEL, "mlir")
    print("== mended: mf.silu\n%s" % editor.hover("mf.silu"))
    editor.notify("textDocument/didClose", {"textDocument": {"uri": editor.uri}})

    editor.uri, editor.version = "file:///step.mlir", 0
    with open(step) as file:
        editor.show(file.read(), "mlir")
    for words in ('ascend.launch "aclnnMatmul"', "ascend.alloc", "ascend.collective"):
        print("== step: %s\n%s" % (words, editor.hover(words)))
    print("exit code", editor.leave())


if __name__ == "__main__":
    main()
