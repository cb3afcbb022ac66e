"""Checks that emitted programs on CANN compute on the host's CANN what mf-run computes.

usage: cann_programs.py BUILD_FOLDER WORK_FOLDER

A small Llama on one rank, lowered for CANN: plain, and in two micro-batches with layers that are recomputed and swapped.
The program is written, compiled and run for three steps, with the checks of the host's CANN on. Parameters and gradients
must be the bytes of mf-run's, and so must the printed losses and norms.
"""

import os
import re
import subprocess
import sys

import safetensors
import training

STEPS = 3
SIZES = dict(training.MODEL, num_layers=2, seq_length=16)
SWAP = {"layer_swap": "[{backward_prefetch: 5, layers: [1]}]"}
CASES = {
    "plain": {},
    "options": dict(micro_batches=2, recompute={"recompute": "[0]"}, swap=SWAP),
}
LIBRARIES = ["Step/libmfStep.a", "Exec/Ranks/libmfRanks.a", "Exec/Data/libmfData.a", "Program/libmfProgram.a",
             "Program/Signatures/libmfSignatures.a", "Pipeline/libmfPipeline.a", "Support/libmfSupport.a"]  # fmt: skip


def compile_program(build, source, folder):
    program, cann = os.path.join(folder, "step"), os.path.join(build, "host-cann", "lib")
    llvm = subprocess.run(["/usr/lib/llvm-22/bin/llvm-config", "--libdir"], capture_output=True, text=True, check=True)
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(source, "include"),
               "-I", os.path.join(source, "lib", "HostCann", "include"), os.path.join(folder, "step.cpp"), "-o", program]  # fmt: skip
    command += [os.path.join(build, "lib", library) for library in LIBRARIES]
    command += ["-L" + cann, "-Wl,-rpath," + cann, "-lascendcl", "-lnnopbase", "-lopapi"]
    command += ["-L" + llvm.stdout.strip(), "-lLLVM-22", "-lpthread"]
    subprocess.run(command, check=True)
    return program


def run_program(program, data, files):
    command = [program, "--steps=%d" % STEPS, "--data=" + data, "--save-params=" + files[0], "--dump-gradients=" + files[1]]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, MF_HOST_CANN_REPORT="1"))
    if done.returncode != 0:
        sys.exit("%s failed (%d):\n%s%s" % (program, done.returncode, done.stdout, done.stderr))
    return done.stdout


def read_steps(text):
    """Losses and norms as they are printed."""
    return re.findall(r"loss: ([0-9.e+-]+).*?global_norm: ([\[\]0-9.e+-]+)", text)


def check(tools, build, source, name, options):
    _, step = tools.lower(name, SIZES, lowering=["--for-cann"], **options)
    folder, data = tools.path(name), tools.path("text.txt")
    tools.run("mf-translate", "--ascend-to-cpp", step, "-o", folder)
    files = [[tools.path(name + kind + end) for kind in (".parameters.", ".gradients.")] for end in ("mf", "cann")]
    expected = tools.run("mf-run", step, "--steps", STEPS, "--data", data, "--save-params", files[0][0],
                         "--dump-gradients", files[0][1])  # fmt: skip
    printed = run_program(compile_program(build, source, folder), data, files[1])
    problems = [] if read_steps(expected) else ["mf-run prints no steps"]
    if read_steps(printed) != read_steps(expected):
        problems.append("prints\n%s\nbut mf-run prints\n%s" % (printed, expected))
    for mine, theirs in zip(files[1], files[0]):
        if safetensors.load_bytes(mine) != safetensors.load_bytes(theirs):
            problems.append("%s has other bytes than %s" % (mine, theirs))
    print("%-10s %s" % (name, "ok" if not problems else "WRONG"))
    return problems


def main():
    build, work = map(os.path.abspath, sys.argv[1:])
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    tools = training.Tools(os.path.join(build, "bin"), work)
    training.start_drawing(tools.path("text.txt"), 3)
    problems = [problem for name, options in CASES.items() for problem in check(tools, build, source, name, options)]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
