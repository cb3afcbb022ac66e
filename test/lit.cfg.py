# SPDX-License-Identifier: Apache-2.0
#
# lit configuration: the tests of dialects, passes and tools.
#
# `%roundtrip` is mf-opt with --verify-roundtrip: its input, printed and parsed
# again as text and as bytecode, must be the same IR. Tests of dialects and passes
# use it.

import os
import shutil
import subprocess
import sys

# lit's processes find the format there, too.
sys.path.insert(0, os.path.dirname(__file__))
import each_test

config.name = "mf"
config.test_format = each_test.EachTest(config.mf_source_root)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "data", "unit", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.mf_build_root, "test")

# For hangs: a hundred times what the slowest test takes. --timeout says otherwise.
if lit_config.maxIndividualTestTime == 0:
    lit_config.maxIndividualTestTime = 1200

# Ours first, then MLIR's: FileCheck, not, split-file, mlir-opt.
config.environment["PATH"] = os.pathsep.join(
    [config.mf_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
)
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
if config.mf_sanitize:
    # libMLIR's allocator poisons by hand and is not instrumented itself.
    config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0"
for name in ("CI", "LSAN_OPTIONS", "MF_SEED", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions += [
    ("%roundtrip", os.path.join(config.mf_tools_dir, "mf-opt") + " --verify-roundtrip"),
    ("%variants", "%s %s" % (config.python, os.path.join(config.test_source_root, "variants.py"))),
    ("%prints-itself", "%s %s" % (config.python, os.path.join(config.test_source_root, "prints_itself.py"))),
    ("%messages", "%s %s" % (config.python, os.path.join(config.test_source_root, "message_table.py"))),
    ("%python", config.python),
    ("%test-data", os.path.join(config.test_source_root, "data")),
    ("%examples", os.path.join(config.mf_source_root, "examples")),
    ("%mf-source", config.mf_source_root),
    ("%mf-build", config.mf_build_root),
    ("%mf-plugin", config.mf_plugin),
    ("%mf-cxx", config.mf_cxx),
    ("%llvm-tools", config.llvm_tools_dir),
    ("%llvm-include", config.llvm_include_dir),
]


def has_python_module(module):
    check = "import importlib.util, sys; sys.exit(importlib.util.find_spec(%r) is None)"
    return subprocess.run([config.python, "-c", check % module]).returncode == 0


for module in ("torch", "numpy", "scipy"):
    if has_python_module(module):
        config.available_features.add(module)
# Both install a wheel into an environment of its own.
if has_python_module("ensurepip") and has_python_module("venv"):
    config.available_features.add("pip")
if config.mf_sanitize:
    config.available_features.add("sanitize")
# All tools as one program, where the archives for it are installed.
if os.path.exists(os.path.join(config.mf_tools_dir, "mf-static")):
    config.available_features.add("static")

config.available_features.add(config.mf_processor)
# For tests that run programs that they compile, or have other programs load what this build made.
if not config.mf_emulator:
    config.available_features.add("native")
# A build for AArch64 beside this one, whose programs run in an emulator.
if not config.mf_emulator and os.path.exists(os.path.join(config.mf_aarch64, "emulated", "bin", "mf-run")):
    config.available_features.add("aarch64-build")
config.substitutions.append(("%aarch64", os.path.join(config.mf_aarch64, "bin")))

if shutil.which("mkdocs"):
    config.available_features.add("mkdocs")

# The browser that shows the pages that are written.
chromium = shutil.which("chromium")
if chromium:
    config.available_features.add("chromium")
    config.substitutions.append(("%chromium", chromium))

# Several processes, as many as a test says, also as root in a container.
if config.mf_mpirun and os.access(config.mf_mpirun, os.X_OK):
    config.available_features.add("mpi")
    config.substitutions.append(("%mpirun", "timeout 1200 " + config.mf_mpirun + " -q"))
    config.environment.update(
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        OMPI_MCA_hwloc_base_binding_policy="none",
    )
