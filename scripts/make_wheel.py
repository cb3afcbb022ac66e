#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel of the package python/mf that holds tools.

usage: make_wheel.py [--output FOLDER] TOOL...

TOOL is a built program. The wheel has the program without symbols, and a command of its name. A symbolic link is a command,
too: the command runs the program of the link. Programs without shared libraries run on any Linux, and the name of the wheel says so. The
same files make the same bytes. Prints the path of the wheel and its size.
"""

import argparse
import base64
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# By the number of the machine in an ELF header.
MACHINES = {62: "x86_64", 183: "aarch64"}
METADATA = """Metadata-Version: 2.1
Name: mf
Version: %s
Summary: Memory, time and plans of a training step of MindSpore Transformers, without an NPU
License: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.9
Description-Content-Type: text/markdown

%s"""
WHEEL = """Wheel-Version: 1.0
Generator: make_wheel
Root-Is-Purelib: false
%s"""
# What pip calls a Linux with any glibc since 2014, and one with musl.
ANY_LINUX = ("manylinux2014", "musllinux_1_1")


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def read_version():
    return re.search(r"project\(mf VERSION ([\d.]+)", read(ROOT, "CMakeLists.txt").decode())[1]


def read_machine(tool):
    header = read(tool)[:20]
    number = int.from_bytes(header[18:20], "little")
    if header[:4] != b"\x7fELF" or number not in MACHINES:
        sys.exit("error: '%s' is not a program for %s" % (tool, " or ".join(MACHINES.values())))
    return MACHINES[number]


def is_static(tool):
    """Whether no header of the program names an interpreter, which would load shared libraries."""
    data = read(tool)
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    interpreter = 3
    return all(struct.unpack_from("<I", data, offset + i * size)[0] != interpreter for i in range(count))


def strip(tool):
    program = shutil.which("llvm-strip-22") or shutil.which("strip")
    if not program:
        sys.exit("error: there is no strip; expected binutils or llvm-22")
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped")
        subprocess.run([program, "-o", stripped, tool], check=True)
        return read(stripped)


def list_files(tools, platforms, version):
    """Pairs of a name and the bytes, without RECORD."""
    package = os.path.join(ROOT, "python", "mf")
    for name in sorted(os.listdir(package)):
        if name.endswith((".py", ".typed")):
            yield "mf/" + name, read(package, name)
    for tool in tools:
        if os.path.islink(tool):
            continue
        yield "mf/bin/" + os.path.basename(tool), strip(tool)
    info = "mf-%s.dist-info/" % version
    commands = "".join("%s = mf._command:main\n" % os.path.basename(tool) for tool in tools)
    yield info + "METADATA", (METADATA % (version, read(ROOT, "docs", "python.md").decode())).encode()
    yield info + "WHEEL", (WHEEL % "".join("Tag: py3-none-%s\n" % platform for platform in platforms)).encode()
    yield info + "entry_points.txt", ("[console_scripts]\n" + commands).encode()
    yield info + "LICENSE", read(ROOT, "LICENSE")


def write(path, files, record):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(name, data):
            # The earliest time that a zip has.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.startswith("mf/bin/") else 0o100644) << 16
            wheel.writestr(entry, data)

        lines = []
        for name, data in files:
            add(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append("%s,sha256=%s,%d\n" % (name, digest, len(data)))
        add(record, "".join([*lines, record + ",,\n"]).encode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default=".")
    parser.add_argument("tools", nargs="+", metavar="TOOL")
    options = parser.parse_args()
    machines = {read_machine(tool) for tool in options.tools}
    if len(machines) > 1:
        sys.exit("error: the tools are for %s; expected one machine" % " and ".join(sorted(machines)))
    machine, version = machines.pop(), read_version()
    os.makedirs(options.output, exist_ok=True)
    kinds = ANY_LINUX if all(map(is_static, options.tools)) else ["linux"]
    platforms = ["%s_%s" % (kind, machine) for kind in kinds]
    path = os.path.join(options.output, "mf-%s-py3-none-%s.whl" % (version, ".".join(platforms)))
    write(path, list_files(options.tools, platforms, version), "mf-%s.dist-info/RECORD" % version)
    print("%s %.1f MB" % (path, os.path.getsize(path) / 1e6))


if __name__ == "__main__":
    main()
