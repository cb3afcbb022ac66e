# SPDX-License-Identifier: Apache-2.0
"""Says which tensors of a fine-tuned model have the bits that they started with, and which are saved alone.

usage: compare_adapters.py BASE ALL TRAINED
"""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import safetensors  # noqa: E402


def main():
    base, every, trained = map(safetensors.load_bytes, sys.argv[1:])
    assert set(every) == set(base) | set(trained) and not set(base) & set(trained)
    assert all(every[name] == value for name, value in trained.items())
    same = sum(every[name] == value for name, value in base.items())
    changed = sum(any(value) for value in trained.values())
    print("%d weights have the same bits, %d adapters are saved alone, and %d of these are not zero" % (same, len(trained), changed))


if __name__ == "__main__":
    main()
