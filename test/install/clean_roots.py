# SPDX-License-Identifier: Apache-2.0
"""Tries what is released in roots of Debian that debootstrap makes, in an empty environment, and prints a transcript.

usage: clean_roots.py archive BUILD_FOLDER WORK_FOLDER [SUITE]
       clean_roots.py container BUILD_FOLDER WORK_FOLDER

`archive` unpacks what scripts/release.sh wrote in a root of SUITE (default: bullseye, which has glibc 2.31), times the
first answer about a YAML, compares the help of all tools with that of the tools in the build, and runs README's tour.
`container` does in a root of Debian 12 what docker/Dockerfile says, with the packages of scripts/package.sh. Both build
first what they try. BUILD_FOLDER may be a build for AArch64, where the kernel hands its programs to an emulator. Says
`skipped: REASON` where there is no such build, no debootstrap, no right to use it, or no network.
"""

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Debian's names of processors.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
EXAMPLE = os.path.join(ROOT, "examples", "llama_tiny.yaml")


def skip(reason):
    print("skipped: " + reason)
    sys.exit(0)


def run(*command, **options):
    """What a command prints; ends if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit("error: '%s' ended with %d:\n%s" % (" ".join(command), done.returncode, done.stdout))
    return done.stdout


def read_cache(build, name):
    """A variable of the build's CMake; nothing where there is none."""
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        match = re.search(r"^%s:\w+=(.*)$" % name, file.read(), re.MULTILINE)
    return match[1] if match else ""


def write_release(build, script):
    """Runs a script that writes what is released, and prints what it says; skips what cannot be tried here."""
    if os.path.realpath(build) == os.path.realpath(os.path.join(ROOT, "build")):
        return run(os.path.join(ROOT, "scripts", script))
    if not os.path.exists(os.path.join(build, "CMakeCache.txt")):
        skip("there is no build in %s (docs/install.md)" % os.path.relpath(build, ROOT))
    text = run(os.path.join(ROOT, "scripts", script), build)
    # The program itself, not the script that runs it in the emulator.
    program = os.path.join(build, "emulated" if read_cache(build, "MF_SYSROOT") else "", "bin", "mf-static")
    try:
        subprocess.run([program, "--version"], check=True, stdout=subprocess.DEVNULL)
    except OSError:
        skip("the kernel runs no programs for %s; expected qemu-user-static and binfmt-support" % read_cache(build, "MF_PROCESSOR"))
    return text


class CleanRoot:
    def __init__(self, work, suite, processor):
        architecture = ARCHITECTURES[processor]
        self.folder = folder = os.path.join(work, "%s-%s" % (suite, architecture))
        tool = shutil.which("debootstrap", path=PATH)
        if not tool:
            skip("there is no debootstrap")
        if os.geteuid() != 0:
            skip("debootstrap needs root")
        if not os.path.exists(os.path.join(folder, "etc", "debian_version")):
            shutil.rmtree(folder, ignore_errors=True)
            if subprocess.run([tool, "--arch=" + architecture, "--variant=minbase", suite, folder], stdout=subprocess.DEVNULL).returncode != 0:
                skip("debootstrap cannot make a root of '%s'" % suite)

    def run(self, command, **options):
        return run("env", "-i", "PATH=" + PATH, "/usr/sbin/chroot", self.folder, "/bin/sh", "-c", command, **options)

    def show(self, command):
        """Runs a command and prints it with its time and the first lines of what it prints."""
        begin = time.monotonic()
        text = self.run(command)
        print("$ %s    # %.2f s" % (command, time.monotonic() - begin))
        print("".join("  %s\n" % line for line in text.splitlines()[:6]), end="", flush=True)
        return text


def compare_help(build, bin_folder):
    """A tool of the one program has the options of the program of its own."""
    tools = sorted(os.listdir(bin_folder))
    for tool in tools:
        released, built = (run(os.path.join(folder, tool), "--help") for folder in (bin_folder, os.path.join(build, "bin")))
        if released != built:
            sys.exit("error: the help of %s differs from that of the build" % tool)
    print("%d tools with the help of the build" % len(tools))


def try_archive(build, work, suite="bullseye"):
    text = write_release(build, "release.sh")
    root = CleanRoot(work, suite, read_cache(build, "MF_PROCESSOR"))
    # Behind what the build says.
    print("".join(line + "\n" for line in text.splitlines() if line.endswith(" MB")), end="")
    (archive,) = glob.glob(os.path.join(build, "release", "mf-*-linux-*.tar.xz"))
    name = os.path.basename(archive)[: -len(".tar.xz")]
    shutil.rmtree(os.path.join(root.folder, "opt", name), ignore_errors=True)
    print(root.run("cat /etc/os-release | head -n 1; ldd --version | head -n 1"), end="")
    begin = time.monotonic()
    run("tar", "--extract", "--file", archive, "--directory", os.path.join(root.folder, "opt"))
    shutil.copy(EXAMPLE, os.path.join(root.folder, "tmp", "mine.yaml"))
    root.show("/opt/%s/bin/mf check /tmp/mine.yaml" % name)
    print("%.1f s from the archive to the first answer" % (time.monotonic() - begin))
    # Nothing in it knows where it was unpacked.
    moved = os.path.join(root.folder, "srv", "mf")
    shutil.rmtree(moved, ignore_errors=True)
    shutil.move(os.path.join(root.folder, "opt", name), moved)
    compare_help(build, os.path.join(moved, "bin"))
    shared = root.run("ldd /srv/mf/bin/mf 2>&1 || true")
    if "not a dynamic executable" not in shared:
        sys.exit("error: mf of the release needs shared libraries:\n" + shared)
    tour = os.path.join(ROOT, "test", "docs", "tour.py")
    print(run(sys.executable, tour, "--root=" + root.folder, "/srv/mf/bin"), end="")


def read_dockerfile():
    """Pairs of an instruction and what stands behind it."""
    with open(os.path.join(ROOT, "docker", "Dockerfile")) as file:
        text = re.sub(r"^#.*\n", "", file.read(), flags=re.MULTILINE)
    return re.findall(r"^([A-Z]+) (.*)$", re.sub(r"\s*\\\n\s*", " ", text), re.MULTILINE)


def try_container(build, work):
    write_release(build, "package.sh")
    root = CleanRoot(work, "bookworm", read_cache(build, "MF_PROCESSOR"))
    # The image has its release's security updates, with LLVM among them; debootstrap leaves them out.
    sources = os.path.join(root.folder, "etc", "apt", "sources.list")
    with open(sources) as file:
        line = re.match(r"deb (\S+?)/? bookworm main", file.read())
    with open(sources, "w") as file:
        file.write("deb %s bookworm main\ndeb %s-security bookworm-security main\n" % (line[1], line[1]))
    folder, entry = "/", None
    for instruction, rest in read_dockerfile():
        if instruction == "FROM":
            if rest != "debian:bookworm-slim":
                sys.exit("error: docker/Dockerfile begins with '%s'; expected debian:bookworm-slim, which is tried here" % rest)
        elif instruction == "COPY":
            *patterns, to = rest.split()
            os.makedirs(root.folder + to, exist_ok=True)
            for pattern in patterns:
                for path in glob.glob(os.path.join(build, pattern)) or sys.exit("error: there is no " + pattern):
                    shutil.copy(path, root.folder + to)
        elif instruction == "RUN":
            root.show(rest)
        elif instruction == "WORKDIR":
            folder = rest
            os.makedirs(root.folder + folder, exist_ok=True)
        elif instruction == "ENTRYPOINT":
            entry = " ".join(map(shlex.quote, json.loads(rest)))
        else:
            sys.exit("error: docker/Dockerfile has %s, which is not tried here" % instruction)
    shutil.copy(EXAMPLE, root.folder + folder)
    shutil.copy(os.path.join(ROOT, "README.md"), root.folder + folder)
    for words in ("check llama_tiny.yaml", "simulate llama_tiny.yaml", "train llama_tiny.yaml --steps 2 --data README.md"):
        root.show("cd %s && %s %s" % (folder, entry, words))


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("archive", "container"):
        sys.exit(__doc__)
    what, build, work, *suite = sys.argv[1:]
    {"archive": try_archive, "container": try_container}[what](os.path.abspath(build), os.path.abspath(work), *suite)


if __name__ == "__main__":
    main()
