# SPDX-License-Identifier: Apache-2.0
"""Breaks a step that sends rows to experts of other ranks and back.

usage: row_exchange_mutations.py [--seed=N] [--count=N] BIN_FOLDER WORK_FOLDER

Rows go where counts say (all_to_all_v), are doubled there, come back and change their sign. Each
collective is left out, put behind the one that follows, put over another axis,
or given the counts the wrong way round; each wait and each event is left out.
The verifier must refuse the step, a run of it must end with what is wrong with
the counts, or it must change no bit. Then counts themselves are changed at
random, --count times: a run ends with an error or gives what the counts say. Prints how often
what happened.
"""

import argparse
import collections
import os
import random
import re
import struct
import subprocess
import sys

import detection
import numpy
import safetensors

GROUPS, MEMBERS, EXPERTS, ROWS, ROOM, WIDTH = 2, 2, 2, 6, 12, 2
RANKS = GROUPS * MEMBERS
STEP = """module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, ep = 2>} {
  ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
    ascend.stream @compute compute
    ascend.stream @ep communication
    ascend.static @rows parameter of "rows" : !ascend.buffer<1x6x2xf32, hbm> slice <[4, 6, 2] over [[dp, ep], [], []]> {init = #mf.init<ones>}
    ascend.static @send parameter of "send" : !ascend.buffer<2x2xf32, hbm> slice <[8, 2] over [[dp, ep], []]> {init = #mf.init<zeros>}
    ascend.static @result parameter of "result" : !ascend.buffer<1x6x2xf32, hbm> slice <[4, 6, 2] over [[dp, ep], [], []]> {init = #mf.init<zeros>}
    ascend.routine @layer() {
      %rows = ascend.global @rows : !ascend.buffer<1x6x2xf32, hbm>
      %send = ascend.global @send : !ascend.buffer<2x2xf32, hbm>
      %result = ascend.global @result : !ascend.buffer<1x6x2xf32, hbm>
      %noise = ascend.alloc : !ascend.buffer<2x2xf32, hbm>
      %receive = ascend.alloc : !ascend.buffer<2x2xf32, hbm>
      %there = ascend.alloc : !ascend.buffer<1x12x2xf32, hbm>
      %doubled = ascend.alloc : !ascend.buffer<1x12x2xf32, hbm>
      %back = ascend.alloc : !ascend.buffer<1x6x2xf32, hbm>
      ascend.launch "aclnnNeg"(%send) -> (%noise) {} cell "noise" : (!ascend.buffer<2x2xf32, hbm>) -> !ascend.buffer<2x2xf32, hbm>
      %e0 = ascend.record @compute
      %e1 = ascend.collective all_to_all %send to %receive over <ep> channel "ep" cell "counts" on @ep after %e0 : !ascend.buffer<2x2xf32, hbm> to !ascend.buffer<2x2xf32, hbm> -> !ascend.event
      ascend.wait @compute for %e1
      %e2 = ascend.record @compute
      %e3 = ascend.collective all_to_all_v %rows to %there counts %send, %receive over <ep> channel "ep" cell "dispatch" on @ep after %e2 {fill = -1.0} : !ascend.buffer<1x6x2xf32, hbm> to !ascend.buffer<1x12x2xf32, hbm> counts !ascend.buffer<2x2xf32, hbm>, !ascend.buffer<2x2xf32, hbm> -> !ascend.event
      ascend.wait @compute for %e3
      ascend.launch "aclnnAdd"(%there, %there) -> (%doubled) {} cell "experts" : (!ascend.buffer<1x12x2xf32, hbm>, !ascend.buffer<1x12x2xf32, hbm>) -> !ascend.buffer<1x12x2xf32, hbm>
      %e4 = ascend.record @compute
      %e5 = ascend.collective all_to_all_v %doubled to %back counts %receive, %send over <ep> channel "ep" cell "combine" on @ep after %e4 {fill = -3.0} : !ascend.buffer<1x12x2xf32, hbm> to !ascend.buffer<1x6x2xf32, hbm> counts !ascend.buffer<2x2xf32, hbm>, !ascend.buffer<2x2xf32, hbm> -> !ascend.event
      ascend.wait @compute for %e5
      ascend.launch "aclnnNeg"(%back) -> (%result) {} cell "result" : (!ascend.buffer<1x6x2xf32, hbm>) -> !ascend.buffer<1x6x2xf32, hbm>
    }
    ascend.step {
      ascend.call @layer() : () -> ()
    }
  }
}
"""
SEND = [[2, 0, 1, 2], [0, 3, 0, 1], [1, 0, 4, 0], [0, 0, 2, 3]]
REFUSALS = {
    "axis": "which over '",
    "end of the step": "the step leaves in it",
    "memory": r"\breads\b|\bwrites\b|is not written by the step",
    "progress": "never comes to its end",
    "parser": "undeclared SSA|undefined|does not dominate|expected",
}


def get_result(rows, send):
    """Rows that are sent come back doubled, all others are filled; then signs change."""
    result = numpy.full((RANKS, ROWS, WIDTH), 3, numpy.float32)
    for rank in range(RANKS):
        count = int(sum(send[rank]))
        result[rank, :count] = -2 * rows[rank, :count]
    return result


class Checks:
    def __init__(self, bin_folder, work):
        self.bin, self.work = bin_folder, work
        self.rows = numpy.arange(1, 1 + RANKS * ROWS * WIDTH, dtype=numpy.float32).reshape(RANKS, ROWS, WIDTH)
        self.counts = collections.Counter()
        self.problems = 0

    def path(self, name):
        return os.path.join(self.work, name)

    def tool(self, name, *arguments):
        return subprocess.run(
            [os.path.join(self.bin, name), *arguments], capture_output=True, text=True, timeout=600
        )

    def run(self, step, send):
        """The result of a step, or why there is none."""
        given = {"rows": self.rows, "send": numpy.array(send, numpy.float32).reshape(RANKS * MEMBERS, EXPERTS),
                 "result": numpy.zeros_like(self.rows)}  # fmt: skip
        safetensors.save(self.path("in.safetensors"), given)
        done = self.tool("mf-run", step, "--init-params", self.path("in.safetensors"), "--quiet",
                         "--save-params", self.path("out.safetensors"), "--debug-memory")  # fmt: skip
        if done.returncode == 0:
            return safetensors.load(self.path("out.safetensors"))["result"], ""
        assert done.returncode == 1, done.stderr
        return None, done.stderr

    def plan(self, text):
        with open(self.path("step.mlir"), "w") as file:
            file.write(text)
        return self.tool("mf-opt", "--ascend-plan-memory", self.path("step.mlir"), "-o", self.path("planned.mlir"))

    def note(self, kind, outcome, problem=None):
        self.counts[kind, "wrong" if problem else outcome] += 1
        if problem:
            self.problems += 1
            print("%s: %s" % (kind, problem))

    def check_step(self, kind, text):
        """What becomes of a step that is broken."""
        step = self.path("mutated.mlir")
        with open(step, "w") as file:
            file.write(text)
        refused = self.tool("mf-opt", "--ascend-verify-program", step, "-o", os.devnull)
        if refused.returncode != 0:
            message = next((line for line in refused.stderr.split("\n") if "error:" in line), "")
            rule = next((rule for rule, words in REFUSALS.items() if re.search(words, message)), None)
            return self.note(kind, "refused by %s" % rule, None if rule else "refused without a reason that helps: " + message)
        result, error = self.run(step, SEND)
        if result is None:
            ended = re.search(r"error: rank \d .*all_to_all_v of '\w+': ", error)
            return self.note(kind, "ended by its counts", None if ended else error)
        same = numpy.array_equal(result, get_result(self.rows, SEND))
        self.note(kind, "same bits", None if same else "not refused, and changes the step")

    def get_mutations(self, text):
        """Kinds and texts, of a step whose memory is planned."""
        lines = text.split("\n")
        join = lambda changed: "\n".join(changed)
        places = [i for i, line in enumerate(lines) if "ascend.collective" in line]
        for number, place in enumerate(places):
            line = lines[place]
            event = re.match(r"\s*(%\w+) =", line).group(1)
            yield "left out", join(
                "" if other is line or other.endswith("for " + event) else other for other in lines
            )
            yield "over another axis", join(
                lines[:place] + [line.replace('over <ep> channel "ep"', 'over <dp> channel "dp"')] + lines[place + 1 :]
            )
            yield "over all", join(
                lines[:place] + [line.replace('over <ep> channel "ep"', 'over <dp, ep> channel "all"')] + lines[place + 1 :]
            )
            if number + 1 < len(places):
                after = places[number + 1]
                yield "delayed", join(
                    lines[:place] + lines[place + 1 : after + 1] + [line] + lines[after + 1 :]
                )
            swapped = re.sub(r"counts (%\w+), (%\w+)", r"counts \2, \1", line)
            if swapped != line:
                yield "counts swapped", join(lines[:place] + [swapped] + lines[place + 1 :])
                for kept in (r"\1", r"\2"):
                    once = re.sub(r"counts (%\w+), (%\w+)", "counts %s, %s" % (kept, kept), line)
                    yield "counts taken twice", join(lines[:place] + [once] + lines[place + 1 :])
                yield "another kind", join(lines[:place] + [line.replace("all_to_all_v", "all_to_all")] + lines[place + 1 :])
            yield "event left out", join(lines[:place] + [re.sub(r" after %\w+", "", line)] + lines[place + 1 :])
        for i, line in enumerate(lines):
            if "ascend.wait" in line:
                yield "wait left out", join(lines[:i] + lines[i + 1 :])

    def check_counts(self, step, number):
        """What becomes of counts of which one is something else."""
        draw = random.Random(number)
        send = [[float(count) for count in member] for member in SEND]
        any_float = struct.unpack("<f", struct.pack("<I", draw.getrandbits(32)))[0]
        rank, place = draw.randrange(RANKS), draw.randrange(MEMBERS * EXPERTS)
        send[rank][place] = draw.choice([0, 1, 2, 3, 4, 5, 7, 1e9, -1, 0.25, float("nan"), float("inf"), any_float])
        result, error = self.run(step, send)
        isFine = all(count >= 0 and float(count).is_integer() for member in send for count in member) and all(
            sum(member) <= ROWS for member in send
        )
        if result is not None:
            same = isFine and numpy.array_equal(result, get_result(self.rows, send))
            return self.note("counts", "as they say", None if same else "%s gives %s" % (send, result))
        named = re.search(r"error: rank %d .*all_to_all_v of 'dispatch': expected " % rank, error)
        self.note("counts", "refused", None if named and not isFine else "%s: %s" % (send, error))

    def check(self, seed, count):
        planned = self.plan(STEP)
        assert planned.returncode == 0, planned.stderr
        verified = self.tool("mf-opt", "--ascend-verify-program", self.path("planned.mlir"), "-o", os.devnull)
        assert verified.returncode == 0, verified.stderr
        planned = open(self.path("planned.mlir")).read()
        result, error = self.run(self.path("planned.mlir"), SEND)
        assert not error, error
        assert numpy.array_equal(result, get_result(self.rows, SEND)), result
        for kind, text in self.get_mutations(planned):
            assert text != planned, kind
            self.check_step(kind, text)
        for number in range(seed, seed + count):
            self.check_counts(self.path("planned.mlir"), number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("bin_folder")
    parser.add_argument("work_folder")
    options = parser.parse_args()
    checks = Checks(options.bin_folder, options.work_folder)
    checks.check(options.seed, options.count)
    for (kind, outcome), count in sorted(checks.counts.items()):
        print("%s: %d %s" % (kind, count, outcome))
    total = sum(checks.counts.values())
    harmless = sum(count for (_, outcome), count in checks.counts.items() if outcome == "same bits")
    detection.print_detection("exchanges of rows", total - harmless - checks.problems, harmless, checks.problems)
    print("%d mutations, %d problems" % (total, checks.problems))
    sys.exit(1 if checks.problems else 0)


if __name__ == "__main__":
    main()
