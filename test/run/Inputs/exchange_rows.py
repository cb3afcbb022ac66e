# SPDX-License-Identifier: Apache-2.0
"""Parameters for test/run/exchange-rows.mlir, and what its step makes of them.

usage: exchange_rows.py make FOLDER
       exchange_rows.py check PARAMETERS RESULT
"""

import json
import math
import os
import struct
import sys

GROUPS, MEMBERS, EXPERTS, ROWS, ROOM, WIDTH = 2, 3, 2, 6, 11, 2
RANKS = GROUPS * MEMBERS
FILL = 0.5
SHAPES = {
    "rows": [RANKS, ROWS, WIDTH],
    "send": [RANKS, MEMBERS, EXPERTS],
    "given": [RANKS, MEMBERS, EXPERTS],
    "arrived": [RANKS, ROOM, WIDTH],
}


def save(path, tensors):
    header, data = {}, b""
    for name, values in sorted(tensors.items()):
        raw = struct.pack("<%df" % len(values), *values)
        header[name] = {"dtype": "F32", "shape": SHAPES[name], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def load(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(*struct.unpack("<Q", file.read(8))))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = list(struct.unpack("<%df" % ((end - begin) // 4), data[begin:end]))
    return tensors


def receive(send):
    """What each rank gets of each member for each of its experts."""
    result = []
    for group in range(GROUPS):
        for to in range(MEMBERS):
            for source in range(MEMBERS):
                first = ((group * MEMBERS + source) * MEMBERS + to) * EXPERTS
                result += send[first : first + EXPERTS]
    return result


def make(send, given=None):
    counts = [float(count) for member in send for count in member]
    return {
        "rows": [1 + i / 8 for i in range(RANKS * ROWS * WIDTH)],
        "send": counts,
        "given": given or receive(counts),
        "arrived": [math.nan] * (RANKS * ROOM * WIDTH),
    }


def write_all(folder):
    fine = [[1, 0, 2, 0, 0, 1], [0, 0, 0, 3, 0, 0], [1, 1, 1, 1, 1, 1],
            [0, 0, 0, 0, 0, 0], [0, 6, 0, 0, 0, 0], [1, 2, 0, 2, 0, 0]]  # fmt: skip
    # All rows are sent, and all members get some of each.
    full = [[1] * 6, [2, 0, 2, 0, 2, 0], [0, 1, 1, 2, 2, 0], [0, 2, 0, 2, 0, 2], [1] * 6, [0, 0, 3, 2, 1, 0]]

    def write(name, changes=(), given=None, counts=fine):
        send = [list(member) for member in counts]
        for rank, place, count in changes:
            send[rank][place] = count
        save(os.path.join(folder, name + ".safetensors"), make(send, given))

    write("fine")
    write("full", counts=full)
    # 6 + 4 + 2 rows to the second rank of the second group, which is rank 4.
    write("room", [(3, 2, 2), (3, 3, 4), (4, 1, 1), (4, 2, 3), (4, 3, 1), (5, 0, 0), (5, 1, 0)])
    write("negative", [(2, 5, -1)])
    write("fraction", [(0, 0, 1.5)])
    write("nan", [(5, 1, math.nan)])
    write("many", [(1, 0, 4)])
    given = receive([float(count) for member in fine for count in member])
    # Rank 3's count of its second expert's rows from rank 5.
    given[(3 * MEMBERS + 2) * EXPERTS + 1] += 1
    write("corrupt", given=given)


def check(parameters, result):
    before, after = load(parameters), load(result)
    for name in ("rows", "send", "given"):
        assert after[name] == before[name], name
    for rank in range(RANKS):
        group, place = divmod(rank, MEMBERS)
        expected = []
        for source in range(group * MEMBERS, (group + 1) * MEMBERS):
            row = 0
            for index in range(MEMBERS * EXPERTS):
                for _ in range(int(before["send"][source * MEMBERS * EXPERTS + index])):
                    first = (source * ROWS + row) * WIDTH
                    if index // EXPERTS == place:
                        expected += before["rows"][first : first + WIDTH]
                    row += 1
        expected += [FILL] * (ROOM * WIDTH - len(expected))
        got = after["arrived"][rank * ROOM * WIDTH : (rank + 1) * ROOM * WIDTH]
        if got != expected:
            sys.exit("rank %d: expected %s, but got %s" % (rank, expected, got))
    print("%d ranks: as the counts say" % RANKS)


if sys.argv[1] == "make":
    write_all(sys.argv[2])
else:
    check(sys.argv[2], sys.argv[3])
