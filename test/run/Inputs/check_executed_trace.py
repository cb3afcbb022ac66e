# SPDX-License-Identifier: Apache-2.0
"""Checks a trace of an executed step against what the program says, and its report.

usage: check_executed_trace.py TRACE REPORT

Spans of a thread must be in order, apart and inside the step, and a receive begin with the send of its message. Prints
what there is of spans and arrows.
"""

import collections
import json
import sys


def main():
    events = json.load(open(sys.argv[1]))
    events = events["traceEvents"] if isinstance(events, dict) else events
    report = json.load(open(sys.argv[2]))
    end = report["step_seconds"] * 1e6
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    spans = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            spans[event["pid"], event["tid"]].append(event)
    for thread, ofThread in spans.items():
        last = 0
        for span in ofThread:
            if span["ts"] < last - 2e-3 or span["dur"] < 0 or span["ts"] + span["dur"] > end + 2e-3:
                print("%s: %s from %s for %s, behind %s, in a step of %s" % (
                    names[thread], span["name"], span["ts"], span["dur"], last, end))
            last = span["ts"] + span["dur"]
    print("%d threads with spans" % len(spans))
    sent, received = ([span for ofThread in spans.values() for span in ofThread if span["name"] == name]
                      for name in ("send", "receive"))
    for send, receive in zip(sent, received):
        if abs(send["ts"] - receive["ts"]) > 2e-3:
            print("sent from %s, but received from %s" % (send["ts"], receive["ts"]))
    counts = collections.Counter(span["name"] for ofThread in spans.values() for span in ofThread)
    print(", ".join("%s %d" % item for item in sorted(counts.items())))
    arrows = collections.Counter(event["ph"] for event in events if event["ph"] in "sf")
    print("%d arrows from, %d to" % (arrows["s"], arrows["f"]))
    print("stages %d, source %s, peaks %s" % (
        len(report["stages"]), report["source"], [stage["peak_bytes"] for stage in report["stages"]]))


if __name__ == "__main__":
    main()
