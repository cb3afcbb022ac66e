# SPDX-License-Identifier: Apache-2.0
"""Reads a trace as strictly as Perfetto's importer and prints what is in it.

usage: check_trace.py TRACE

Refuses what a viewer would drop or draw wrongly: slices of a track that overlap
or go back in time, tracks without a name, arrows whose ends are not within a
slice of their track, counters that go back, times finer than nanoseconds.
"""

import bisect
import collections
import decimal
import json
import sys


class TraceError(Exception):
    pass


def expect(condition, message, event):
    if not condition:
        raise TraceError("%s: %s" % (message, json.dumps(event, default=str)))


def reject_duplicates(members):
    names = [name for name, _ in members]
    if len(set(names)) != len(names):
        raise TraceError("a member is there twice: %s" % names)
    return dict(members)


def reject_constant(text):
    raise TraceError("%s is not JSON" % text)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(
            file,
            parse_float=decimal.Decimal,
            parse_constant=reject_constant,
            object_pairs_hook=reject_duplicates,
        )


def to_nanoseconds(event, key):
    value = event.get(key)
    expect(isinstance(value, (int, decimal.Decimal)), "no number '%s'" % key, event)
    nanoseconds = decimal.Decimal(value) * 1000
    expect(nanoseconds == nanoseconds.to_integral_value(), "'%s' is finer than a nanosecond" % key, event)
    return int(nanoseconds)


class Trace:
    def __init__(self, events):
        self.processes = {}
        self.threads = {}
        # (process, thread) -> [(start, end, name)], (process, name) -> [(time, value)]
        self.slices = collections.defaultdict(list)
        self.counters = collections.defaultdict(list)
        self.flows = {"s": {}, "f": {}}
        readers = {
            "M": self.read_name,
            "X": self.read_slice,
            "C": self.read_counter,
            "s": self.read_flow,
            "f": self.read_flow,
        }
        for event in events:
            expect(event.get("ph") in readers, "an unknown phase", event)
            expect(isinstance(event.get("pid"), int), "no process", event)
            expect(isinstance(event.get("name"), str) and event["name"], "no name", event)
            readers[event["ph"]](event)
        self.check_flows()

    def read_name(self, event):
        kind, (key, value) = event["name"], *event["args"].items()
        if kind == "process_name":
            expect(event["pid"] not in self.processes, "a process is named twice", event)
            self.processes[event["pid"]] = value
        elif kind == "thread_name":
            track = event["pid"], event["tid"]
            expect(track not in self.threads, "a thread is named twice", event)
            expect(event["tid"] != event["pid"], "a thread would be taken for the main one", event)
            self.threads[track] = value

    def read_slice(self, event):
        track = event["pid"], event["tid"]
        expect(event["pid"] in self.processes and track in self.threads, "a track without a name", event)
        start, length = to_nanoseconds(event, "ts"), to_nanoseconds(event, "dur")
        expect(length >= 0, "a slice that ends before it begins", event)
        slices = self.slices[track]
        expect(not slices or start >= slices[-1][1], "slices that overlap or go back", event)
        slices.append((start, start + length, event["name"]))

    def read_counter(self, event):
        expect(event["pid"] in self.processes, "a process without a name", event)
        (value,) = event["args"].values()
        expect(isinstance(value, int) and value >= 0, "a counter that is no number of bytes", event)
        time = to_nanoseconds(event, "ts")
        values = self.counters[event["pid"], event["name"]]
        expect(not values or time >= values[-1][0], "a counter that goes back", event)
        values.append((time, value))

    def read_flow(self, event):
        ends = self.flows[event["ph"]]
        expect(event["id"] not in ends, "an arrow with two ends of a kind", event)
        expect(event["ph"] == "s" or event["id"] in self.flows["s"], "an arrow that ends before it begins", event)
        expect(event["ph"] == "s" or event.get("bp") == "e", "an arrow to the next slice, not the one around", event)
        ends[event["id"]] = event

    def check_flows(self):
        for number, begin in self.flows["s"].items():
            expect(number in self.flows["f"], "an arrow without an end", begin)
            end = self.flows["f"][number]
            expect(to_nanoseconds(begin, "ts") <= to_nanoseconds(end, "ts"), "an arrow back in time", begin)
            expect((begin["name"], begin["cat"]) == (end["name"], end["cat"]), "ends of other names", begin)
            for event in begin, end:
                time = to_nanoseconds(event, "ts")
                slices = self.slices[event["pid"], event["tid"]]
                place = bisect.bisect_right(slices, (time, float("inf"))) - 1
                expect(place >= 0 and slices[place][0] <= time < slices[place][1], "an arrow beside its slice", event)

    def print(self):
        for process, name in self.processes.items():
            print(name)
            for (owner, thread), label in self.threads.items():
                slices = self.slices[owner, thread]
                if owner != process or not slices:
                    continue
                busy = sum(end - start for start, end, _ in slices)
                names = [name for _, _, name in slices]
                if label != "tasks":
                    names = sorted(set(names))
                print("  %s: %d slices, %.3f us: %s" % (label, len(slices), busy / 1000, ", ".join(names)))
            for (owner, label), values in self.counters.items():
                if owner == process:
                    highest = max(value for _, value in values)
                    print("  %s: at most %d bytes, last at %.3f us" % (label, highest, values[-1][0] / 1000))
        print("arrows: %d" % len(self.flows["s"]))
        for begin, end in zip(self.flows["s"].values(), self.flows["f"].values()):
            print("  %s -> %s" % (self.processes[begin["pid"]], self.processes[end["pid"]]))


def main():
    try:
        trace = Trace(load(sys.argv[1])["traceEvents"])
    except (TraceError, ValueError, KeyError) as error:
        sys.exit("%s: %s: %s" % (sys.argv[1], type(error).__name__, error))
    trace.print()


if __name__ == "__main__":
    main()
