# SPDX-License-Identifier: Apache-2.0
"""Runs many steps with checkpoints, kills the run at random steps and resumes it on another number of ranks and processes: the
parameters at the end are those of a run on one rank that was not killed, and a process has no more files, threads or
memory late in a run than early.

usage: resumed_elsewhere.py BIN_FOLDER WORK_FOLDER YAML STEPS KILLS [SEED [MPIRUN]]

The model of the YAML is made small, and lowered for one, two and four stages. Without MPIRUN there is one process.
"""

import collections
import os
import random
import re
import shutil
import signal
import subprocess
import sys

tools, folder, yaml, steps, kills = sys.argv[1:4] + [int(number) for number in sys.argv[4:6]]
draws = random.Random(int(sys.argv[6]) if len(sys.argv) > 6 else 1)
mpirun = sys.argv[7].split() if len(sys.argv) > 7 and shutil.which(sys.argv[7].split()[0]) else []
SMALL = {"hidden_size": 16, "num_heads": 2, "n_kv_heads": 2, "intermediate_size": 32, "seq_length": 16, "batch_size": 1, "warmup_steps": 2}
# The memory that an allocator may still gather after a tenth of a run's steps.
SLACK_KIB = 4096
Place = collections.namedtuple("Place", "ranks processes")
PLACES = [Place(ranks, processes) for ranks in (1, 2, 4) for processes in (1, 2, 4) if processes <= (ranks if mpirun else 1)]
# Runs of one and of several processes whose sizes were compared.
measured = [0, 0]
mf_run = os.path.realpath(os.path.join(tools, "mf-run"))
path = lambda name: os.path.join(folder, name)


def lower():
    with open(yaml) as file:
        text = file.read()
    for key, value in SMALL.items():
        text = re.sub(r"(?m)^( *%s:).*" % key, r"\1 %d" % value, text)
    with open(path("model.yaml"), "w") as file:
        file.write(text)
    subprocess.run([os.path.join(tools, "mf-translate"), "--import-mindformers", path("model.yaml"), "-o", path("model.mlir")], check=True)
    for ranks in (1, 2, 4):
        with open(path("layout.yaml"), "w") as file:
            if ranks > 1:
                file.write("parallel_config: {pipeline_stage: %d, micro_batch_num: 4}\n" % ranks)
            else:
                file.write("runner_config: {gradient_accumulation_steps: 4}\n")
        command = [os.path.join(tools, "mf-opt"), "--quiet", "--recompute-config=" + path("layout.yaml"), path("model.mlir")]
        subprocess.run([*command, "-o", path("step%d.mlir" % ranks)], check=True)


def find_processes():
    """The processes of mf-run in this folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink("/proc/%s/exe" % pid) == mf_run and os.readlink("/proc/%s/cwd" % pid) == os.path.realpath(folder):
                found.append(int(pid))
        except OSError:
            continue
    return sorted(found)


def measure():
    """The most files, threads and resident memory in KiB of a process of the run."""
    sizes = []
    for pid in find_processes():
        try:
            with open("/proc/%d/status" % pid) as file:
                status = file.read()
            numbers = (int(re.search(name + r":\s+(\d+)", status)[1]) for name in ("Threads", "VmRSS"))
            sizes.append((len(os.listdir("/proc/%d/fd" % pid)), *numbers))
        except (OSError, TypeError):
            continue
    return [max(column) for column in zip(*sizes)] if sizes else None


def run(name, place, last_step=None):
    """Runs to the end, or kills a process of the run when it says `last_step`; true if it came to its end, as it may on a busy machine
    before this process reads what it says."""
    command = [mf_run, "step%d.mlir" % place.ranks, "--data", "text.txt", "--steps=%d" % steps, "--checkpoint-dir=" + name]
    command += ["--checkpoint-every=10", "--resume", "--save-params=%s.safetensors" % name]
    if place.processes > 1:
        command = [*mpirun, "-n", str(place.processes), *command]
    end = last_step or steps
    early, late, first, killed = [], [], None, False
    errors = open(path("errors.txt"), "w")
    with errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder) as process:
        for line in process.stdout:
            said = re.search(r"step:\[ *(\d+)/", line)
            if not said:
                continue
            step = int(said[1])
            first = first or step
            share = (step - first) / max(end - first, 1)
            # Rank threads and files of a checkpoint come and go: a leak is what even the least of many late samples shows.
            if step % 3 == 0 and 0.1 < share < 0.95:
                (early if share < 0.3 else late if share > 0.8 else []).append(measure())
            if last_step and step >= last_step and not killed:
                killed = True
                for pid in find_processes()[-1:]:
                    os.kill(pid, signal.SIGKILL)
    if process.returncode and not killed:
        with open(path("errors.txt")) as file:
            sys.exit("error: %d ranks in %d processes ended with code %d:\n%s" % (*place, process.returncode, file.read()))
    early, late = [list(filter(None, samples)) for samples in (early, late)]
    if len(early) > 5 and len(late) > 5:
        most, least = [max(column) for column in zip(*early)], [min(column) for column in zip(*late)]
        print("%d ranks in %d processes, steps %d to %d: files, threads, KiB at most %s early, at least %s late"
              % (*place, first, end, most, least))  # fmt: skip
        assert least[0] <= most[0] and least[1] <= most[1] and least[2] <= most[2] + SLACK_KIB, "the run grew"
        measured[place.processes > 1] += 1
    return process.returncode == 0


def read(name):
    with open(path(name + ".safetensors"), "rb") as file:
        return file.read()


shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
with open(path("text.txt"), "w") as file:
    file.write("".join(chr(draws.randrange(32, 127)) for _ in range(20000)))
lower()
run("whole", Place(1, 1))
places, killed = [draws.choice(PLACES)], 0
for step in sorted(draws.sample(range(steps // 10, steps * 9 // 10), kills)):
    killed += not run("killed", places[-1], step)
    places.append(draws.choice([place for place in PLACES if place != places[-1]]))
run("killed", places[-1])
assert read("whole") == read("killed"), "other bits"
assert not [name for name in os.listdir(path("whole")) if name.endswith((".tmp", ".partial"))], "unfinished files stay"
print("on ranks/processes " + ", ".join("%d/%d" % place for place in places))
print("sizes of %d runs of one process and %d of several compared" % tuple(measured))
print("%d steps, %d kills, same bits" % (steps, killed))
