# SPDX-License-Identifier: Apache-2.0
"""Reads the files of a profile back, checks that they agree, and prints sums.

usage: check_profile.py PROFILE REPORT

Sums of rows are those of step_trace_time.csv, all times lie within the step, and
busy times and peaks are those of the report of the same step.
"""

import csv
import decimal
import json
import os
import sys

TIMES = [
    "Computing",
    "Communication(Not Overlapped)",
    "Overlapped",
    "Communication",
    "Free",
    "Stage",
    "Bubble",
    "Communication(Not Overlapped and Exclude Receive)",
    "Preparing",
]
COLUMNS = {
    "kernel_details.csv": "Step ID,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,"
    "Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,"
    "Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID",
    "step_trace_time.csv": "Device_id,Step," + ",".join(TIMES),
    "memory_record.csv": "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Device Type",
    "op_statistic.csv": "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),"
    "Ratio(%)",
    "operator_memory.csv": "Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(MB),"
    "Allocation Total Reserved(MB),Release Total Allocated(MB),Release Total Reserved(MB),Device Type",
}
MEGABYTE = 1 << 20


def check(condition, *what):
    if not condition:
        sys.exit("check_profile.py: " + " ".join(map(str, what)))


def read_table(folder, name):
    with open(os.path.join(folder, name), newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file, strict=True)
        check(rows.fieldnames == COLUMNS[name].split(","), name, "has columns", rows.fieldnames)
        rows = list(rows)
    for row in rows:
        check(None not in row and None not in row.values(), name, "has a row of another length", row)
    return rows


def read_json(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file, parse_float=decimal.Decimal)


def to_us(text):
    check(len(text.split(".")[1]) == 3, text, "has no three digits")
    return decimal.Decimal(text)


def check_kernels(folder, step, end):
    rows = read_table(folder, "kernel_details.csv")
    computing = receiving = total = 0
    for row in rows:
        duration = to_us(row["Duration(us)"])
        check(0 <= to_us(row["Start Time(us)"]) <= end - duration, "a row beyond the step", row)
        total += duration
        if row["Accelerator Core"] != "COMMUNICATION":
            computing += duration
            for side in "Input", "Output":
                lengths = {len(row[side + part].split(";")) for part in (" Shapes", " Data Types", " Formats")}
                check(len(lengths) == 1, "operands that do not match", row)
        receiving += duration * (row["Type"] == "hcom_receive_")
    check(computing == step["Computing"], "kernels take", computing)
    check(receiving >= step["Bubble"], "receives take", receiving)
    types = read_table(folder, "op_statistic.csv")
    check(sum(int(row["Count"]) for row in types) == len(rows), "op_statistic.csv counts other rows")
    check(sum(to_us(row["Total Time(us)"]) for row in types) == total, "op_statistic.csv has another time")
    return rows


def check_memory(folder, rank, peak, end):
    rows = read_table(folder, "memory_record.csv")
    for row in rows:
        check(row["Device Type"] == "NPU:%d" % rank, "another device", row)
        check(decimal.Decimal(row["Total Reserved(MB)"]) * MEGABYTE == peak, "not the arena", row)
        check(decimal.Decimal(row["Total Allocated(MB)"]) * MEGABYTE <= peak, "more than the arena", row)
    check(to_us(rows[-1]["Timestamp(us)"]) == end, "the record ends before the step")
    highest = max(decimal.Decimal(row["Total Allocated(MB)"]) for row in rows) * MEGABYTE
    allocations = read_table(folder, "operator_memory.csv")
    reached = max(decimal.Decimal(row["Allocation Total Allocated(MB)"]) for row in allocations) * MEGABYTE
    check(highest == reached, "allocations reach", reached)
    return round(highest)


def check_communication(folder, rows):
    step = read_json(folder, "communication.json")["step1"]
    groups = read_json(os.path.dirname(folder), "profiler_metadata.json")["parallel_group_info"]
    transfers = {**step["p2p"], **step["collective"]}
    named = {row["Name"]: row for row in rows if row["Accelerator Core"] == "COMMUNICATION"}
    check(set(named) == {key.split("@")[0] for key in transfers}, "other transfers than kernel_details.csv")
    for key, transfer in transfers.items():
        name, group = key.split("@")
        check(len(groups[group]["global_ranks"]) == groups[group]["rank_size"] > 1, "no ranks of", group)
        times = transfer["Communication Time Info"]
        check(times["Elapse Time(ms)"] * 1000 == to_us(named[name]["Duration(us)"]), key, "takes another time")
        check(times["Wait Time(ms)"] + times["Transit Time(ms)"] == times["Elapse Time(ms)"], key, "does not add up")
        for link in transfer["Communication Bandwidth Info"].values():
            check(link["Transit Size(MB)"] > 0, key, "moves nothing")
    return len(transfers)


def check_rank(folder, rank, stage, seconds):
    (row,) = read_table(folder, "step_trace_time.csv")
    check(int(row["Device_id"]) == rank, "another device", row)
    step = {name: to_us(row[name]) for name in TIMES}
    end = step["Computing"] + step["Communication(Not Overlapped)"] + step["Free"]
    check(abs(float(end) - seconds * 1e6) < 0.001, "the step takes", end)
    check(step["Stage"] + step["Bubble"] == end, "stage and bubble are not the step")
    check(step["Communication"] == step["Communication(Not Overlapped)"] + step["Overlapped"], "overlap")
    check(abs(float(step["Computing"]) - stage["busy_seconds"] * 1e6) < 0.01, "computing is not the report's busy time")
    rows = check_kernels(folder, step, end)
    highest = check_memory(folder, rank, stage["peak_bytes"], end)
    transfers = check_communication(folder, rows)
    read_json(folder, "trace_view.json")
    counts = rank, len(rows), transfers, highest, stage["peak_bytes"]
    print("rank %d: %d rows, %d transfers, at most %d bytes of %d" % counts)


def main():
    profile, report = sys.argv[1:]
    report = json.load(open(report, encoding="utf-8"))
    for stage in report["stages"]:
        worker = "rank%04d_00000000000000_ascend_ms" % stage["rank"]
        folder = os.path.join(profile, worker, "ASCEND_PROFILER_OUTPUT")
        check_rank(folder, stage["rank"], stage, report["step_seconds"])
    check(len(os.listdir(profile)) == len(report["stages"]), "other folders than ranks:", os.listdir(profile))


if __name__ == "__main__":
    main()
