# SPDX-License-Identifier: Apache-2.0
"""Checks that emitted programs on CANN compute on the host's CANN what mf-run computes.

usage: cann_programs.py [--cxx=COMPILER] BUILD_FOLDER WORK_FOLDER CASE...

A small Llama, lowered for CANN: plain, in two micro-batches with layers that are recomputed and swapped, with fused
SwiGLU, rotary embedding and Muon, with Came and PmaAdamW, on two stages, on 8 ranks that share weights, vocabulary, sequence and optimizer out, and with
adapters and context parallel; then experts with a capacity and without, which are distributed over ranks, experts of groups, and DeepSeek-V3 and V4 with small sizes.
Each rank is a process. The program is written, compiled and run for three
steps, with the checks of the host's CANN on. Parameters and gradients must be the bytes of mf-run's, and so must the printed losses and norms.
A run of stages that one of the two began and left a checkpoint of is ended by the other. Prints for each case what the program calls.
In each case `mf-run --compare-with` finds that all operators make the same bits, but for sums that CANN adds up in another order; in the case "difference" it finds the operator that a changed
program computes otherwise.
"""

import argparse
import collections
import glob
import math
import os
import re
import subprocess
import sys

import deepseek_on_ranks
import dynamic_configurations
import expert_layouts
import safetensors
import training

STEPS = 3
SIZES = dict(training.MODEL, num_layers=2, seq_length=16)
SWAP = {"layer_swap": "[{backward_prefetch: 5, layers: [1]}]"}
RANKS = {"data_parallel": 2, "model_parallel": 2}
SHARDS = {"enable_parallel_optimizer": True}
# Other optimizers than AdamW have keys of their own.
OWN_KEYS = {"betas": None, "eps": None}
CASES = {
    "plain": {},
    "options": dict(micro_batches=2, recompute={"recompute": "[0]"}, swap=SWAP, optimizer={"type": "AdamWeightDecayX"}),
    "stages": dict(stages=2, micro_batches=2, optimizer={"type": "FP32StateAdamWeightDecay"}),
    "fused": dict(model=dict(use_fused_rope=True, use_fused_swiglu=True), optimizer=dict(OWN_KEYS, type="Muon")),
    "ranks": dict(stages=2, micro_batches=2, ranks=dict(RANKS, use_seq_parallel=True), parallel=SHARDS),
    "sharded": dict(stages=2, micro_batches=2, ranks=RANKS, parallel=SHARDS,
                    optimizer_shard={"optimizer_level": "level3", "parallel_optimizer_threshold": 1}),
}  # fmt: skip
ADAPTERS = "{pet_type: lora, lora_rank: 4, lora_alpha: 8, lora_dropout: 0.0, target_modules: '.*wq|.*wk|.*wv|.*wo'}"
CASES["adapters"] = dict(stages=2, micro_batches=2, ranks={"context_parallel": 2}, model={"pet_config": ADAPTERS})
# GPT-2 has layer norms, and with flash attention and its fast GELU the dropout of scores. Ranks share the masks of TeleChat out.
GPT2 = {
    "seq_length": 16, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "vocab_size": 256, "pad_token_id": -1, "expand_ratio": 3,
    "embedding_dropout_prob": 0.3, "hidden_dropout_rate": 0.1, "attention_dropout_rate": 0.2, "compute_dtype": "float32",
    "use_flash_attention": True, "hidden_act": "fast_gelu",
}  # fmt: skip
# Frozen layer norms have no gradients of their weights.
FROZEN = "{pet_type: lora, lora_rank: 4, lora_alpha: 8, lora_dropout: 0.1, target_modules: '.*dense1|.*dense2|.*dense3'}"
DROPS = {"hidden_dropout_prob": 0.1, "attention_dropout_prob": 0.2, "embed_dropout_prob": 0.3}
CASES["norms"] = dict(sizes=GPT2, micro_batches=2, model_type="GPT2Config", arch="GPT2LMHeadModel")
CASES["frozen"] = dict(CASES["norms"], model={"pet_config": FROZEN})
# Its attention stays within documents, too.
DOCUMENTS = {"vocab_size": 256, "eod_reset": True, "eos_token_id": 97}
CASES["dropout"] = dict(stages=2, micro_batches=2, ranks=dict(RANKS, use_seq_parallel=True), model=dict(DROPS, **DOCUMENTS),
                        recompute={"recompute": "True"}, model_type="TelechatConfig", arch="TelechatForCausalLM")  # fmt: skip
# Experts of some groups, whose tokens keep their places, and a loss by pieces of the sequence.
GROUPS = {
    "routing_policy": "TopkRouterV2", "expert_num": 8, "num_experts_chosen": 3, "capacity_factor": 2.0, "enable_sdrop": True,
    "topk_method": "group_limited_greedy", "n_group": 4, "topk_group": 2, "expert_group_size": 4, "norm_topk_prob": False,
    "aux_loss_types": '["expert"]', "aux_loss_factors": "[0.003]",
}  # fmt: skip
CASES["groups"] = dict(micro_batches=2, experts=GROUPS, lowering=["--loss-chunks=2"], model=dict(vocab_size=256),
                       model_type="TelechatConfig", arch="TelechatForCausalLM")  # fmt: skip
CASES["alibi"] = dict(micro_batches=2, arch="Baichuan13BV2ForCausalLM", model_type="LlamaConfig")
TYPES = ["compute_dtype", "param_init_type", "softmax_compute_type"]
CONTEXT = {"context_parallel": 2, "model_parallel": 2}
# Cases that no test of the suite runs.
MORE = {
    "fp16": dict(micro_batches=2, optimizer={"type": "FP32StateAdamWeightDecay"}, model={key: '"float16"' for key in TYPES}),
    "bf16": dict(micro_batches=2, ranks=CONTEXT, parallel=SHARDS, model={"compute_dtype": '"bfloat16"'}),
    "ulysses": dict(micro_batches=2, ranks=dict(CONTEXT, context_parallel_algo="ulysses_cp"), model={"n_kv_heads": 4}),
    "pieces": dict(stages=2, micro_batches=2, scheduler="seqpipe", ranks={"seq_split_num": 2}),
    "muon": dict(stages=2, micro_batches=2, ranks=RANKS, parallel=SHARDS, optimizer=dict(OWN_KEYS, type="Muon")),
    "averages": dict(optimizer={"type": "PmaAdamW", "fused_num": 2, "interleave_step": 1, "fused_algo": "ema"}),
    "came": dict(optimizer=dict(OWN_KEYS, type="Came")),
    "glm": dict(micro_batches=2, model_type="GLMConfig", arch="GLMForPreTraining", sizes={
        "seq_length": 16, "vocab_size": 256, "hidden_size": 32, "inner_hidden_size": 64, "num_layers": 2, "num_heads": 2,
        "activation_func": "GELU", "bos_token_id": 95, "mask_token_id": 90, "gmask_token_id": 91, "is_enhanced_encoder": True,
    }),
}  # fmt: skip
CASES.update(MORE)
for kind, layout in {
    "capacity": expert_layouts.SMALL.change(level=1, micro_batches=2), "dropless": expert_layouts.DROPLESS.change(micro_batches=2),
}.items():  # fmt: skip
    keys = layout.get_options()
    CASES[kind] = dict(keys, sizes=keys.pop("model"))
# DeepSeek-V3's public YAML with small sizes: latent attention, experts whose bias balances them, and a later token's prediction.
DEEPSEEK = {"deepseek": "2x2x1x2", "short deepseek": "1x2x1x2"}
# DeepSeek-V4 with layers of all ratios, whose experts are shared out; with one layer, on ranks that share sequences; and with
# latent attention.
FUSED_DEEPSEEK4 = dict(
    dynamic_configurations.DEEPSEEK4, **dynamic_configurations.FUSED_ATTENTION, num_attention_heads=2, num_hash_layers=0,
    num_nextn_predict_layers=0, seq_length=130, params_dtype="bfloat16", compute_dtype="bfloat16",
)
DEEPSEEK4 = {
    "deepseek4": dynamic_configurations.Configuration(
        dict(dynamic_configurations.DEEPSEEK4, num_hidden_layers=3, compress_ratios=[0, 4, 128], seq_length=128, num_nextn_predict_layers=0),
        {"data": 2, "shard": 2, "expert": 2}, {}, (2, 1),
    ),
    "parts of deepseek4": dynamic_configurations.Configuration(
        dict(dynamic_configurations.DEEPSEEK4, num_hidden_layers=1, compress_ratios=[4], num_hash_layers=0, num_nextn_predict_layers=0),
        {"context": 2}, {}, (1, 2),
    ),
    # Attention within documents, which fused attention does not have.
    "documents of deepseek4": dynamic_configurations.Configuration(
        dict(
            dynamic_configurations.DEEPSEEK4, num_hidden_layers=2, compress_ratios=[0, 4], num_hash_layers=0, first_k_dense_replace=2,
            num_nextn_predict_layers=0,
        ), {}, {}, (1, 2), documents=101,
    ),
    # Fused streams, which CANN has in 16 bits only.
    "streams of deepseek4": dynamic_configurations.Configuration(
        dict(
            dynamic_configurations.DEEPSEEK4_LATENT, num_hidden_layers=1, num_hash_layers=0, num_nextn_predict_layers=0,
            params_dtype="bfloat16", compute_dtype="bfloat16", **dynamic_configurations.FUSED_STREAMS,
        ), {}, {}, (1, 1),
    ),
    # Fused attention, in 16 bits only too: layers of all ratios, and an indexer whose loss has a factor of 0, or trains it.
    "attention of deepseek4": dynamic_configurations.Configuration(
        dict(FUSED_DEEPSEEK4, num_hidden_layers=3, first_k_dense_replace=3, compress_ratios=[0, 4, 128], dsa_indexer_loss_coeff=0),
        {}, {}, (1, 2),
    ),
    "parts of fused deepseek4": dynamic_configurations.Configuration(
        dict(FUSED_DEEPSEEK4, num_hidden_layers=2, first_k_dense_replace=2, compress_ratios=[4, 128], dsa_indexer_loss_coeff=0, seq_length=256),
        {"tensor": 2}, {}, (1, 2),
    ),
    # Keys of a rank's part of the sequence alone, of which ranks have the queries of a half.
    "blocks of fused deepseek4": dynamic_configurations.Configuration(
        dict(FUSED_DEEPSEEK4, num_hidden_layers=2, first_k_dense_replace=2, compress_ratios=[0, 4], dsa_indexer_loss_coeff=0, seq_length=256),
        {"context": 2, "tensor": 2}, {}, (1, 2),
    ),
    "indexer of deepseek4": dynamic_configurations.Configuration(
        dict(FUSED_DEEPSEEK4, num_hidden_layers=1, compress_ratios=[4], index_n_heads=16), {}, {}, (1, 2),
    ),
}  # fmt: skip
# What CANN adds up in another order: the shares of entries, and the gradients of an indexer. With a factor of 0 nothing else depends on them.
OTHER_SUMS = {"attention of deepseek4", "parts of fused deepseek4", "blocks of fused deepseek4", "indexer of deepseek4"}
# Steps behind the first one begin with other parameters.
ONE_STEP = {"indexer of deepseek4"}
# In the middle of such a step the host reads how many rows each rank has, or draws masks.
CANNOT_CAPTURE = {"dropless", "frozen", "norms", "dropout", *DEEPSEEK, *DEEPSEEK4} - {"attention of deepseek4"}
EXCHANGES = ["allReduce", "allGather", "reduceScatter", "allToAll", "allToAllV", "broadcast", "send", "receive"]
LIBRARIES = ["Step/libmfStep.a", "Exec/Ranks/libmfRanks.a", "Exec/Data/libmfData.a", "Frontend/Families/libmfFamilies.a", "Program/libmfProgram.a",
             "Program/Signatures/libmfSignatures.a", "Pipeline/libmfPipeline.a", "Support/libmfSupport.a"]  # fmt: skip


def link_program(build, objects, program, compiler, *options, **others):
    """Links objects with what they need of the build, for the host's CANN."""
    cann = os.path.join(build, "host-cann", "lib")
    llvm = subprocess.run(["/usr/lib/llvm-22/bin/llvm-config", "--libdir"], capture_output=True, text=True, check=True)
    # As the build does: GNU's linker takes half a second.
    options += ("-fuse-ld=lld",) * ("clang" in os.path.basename(compiler))
    command = [compiler, *options, *objects, "-o", program, *(os.path.join(build, "lib", library) for library in LIBRARIES)]
    command += ["-L" + cann, "-Wl,-rpath," + cann, "-lascendcl", "-lnnopbase", "-lopapi", "-lhccl"]
    command += ["-L" + llvm.stdout.strip(), "-lLLVM-22", "-lpthread"]
    subprocess.run(command, check=True, **others)


def compile_program(build, source, folder, compiler="g++"):
    """All sources at once, so that headers are read once. What all programs share, mf_*.cpp, is in a library of the build."""
    sources = sorted(glob.glob(os.path.join(folder, "[!m]*.cpp"))) + [os.path.join(folder, "main.cpp")]
    includes = [folder, os.path.join(source, "include"), *(os.path.join(top, "lib", "Cann", "Headers", "include") for top in (source, build))]
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", *("-I" + path for path in includes), "-x", "c++", "-", "-x", "none"]
    program, shared = os.path.join(folder, "step"), os.path.join(build, "host-cann", "lib", "libmfCannSupport.a")
    link_program(build, [shared], program, compiler, *flags, input="".join('#include "%s"\n' % path for path in sources), text=True)
    return program


def start_ranks(program, ranks, arguments, meeting=None, environment=lambda rank: {}):
    """A process for each rank, with more variables of its environment."""
    meeting = meeting or program + ".meeting"
    os.makedirs(meeting, exist_ok=True)
    started = []
    for rank in range(ranks):
        variables = dict(os.environ, MF_HOST_CANN_REPORT="1", MF_ROOT_INFO_DIR=meeting, RANK_ID=str(rank), RANK_SIZE=str(ranks),
                         HCCL_EXEC_TIMEOUT="300")  # fmt: skip
        variables.update(environment(rank))
        started.append(subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables))
    return started


def run_program(program, ranks, data, files, *options):
    """Runs all ranks; the first one prints and writes."""
    arguments = ["--steps=%d" % STEPS, "--data=" + data, "--save-params=" + files[0], "--dump-gradients=" + files[1], *options]
    return wait_for_ranks(program, start_ranks(program, ranks, arguments))


def wait_for_ranks(program, started):
    """What the first rank prints."""
    done = [process.communicate() for process in started]
    if any(process.returncode for process in started):
        sys.exit("%s failed:\n%s" % (program, "\n".join(printed + errors for printed, errors in done)))
    return done[0][0]


def check_checkpoints(tools, program, ranks, step, data, expected):
    """Each of the two engines ends a run that the other one began."""
    problems = []
    for first in ("program", "mf-run"):
        folder, result = tools.path("checkpoints-of-" + first), tools.path("resumed.safetensors")
        for engine, steps in ((first, STEPS - 1), ("mf-run" if first == "program" else "program", STEPS)):
            arguments = ["--steps=%d" % steps, "--data=" + data, "--checkpoint-dir=" + folder, "--resume", "--save-params=" + result]
            if engine == "mf-run":
                tools.run("mf-run", step, *arguments)
            else:
                wait_for_ranks(program, start_ranks(program, ranks, arguments))
        if safetensors.load_bytes(result) != safetensors.load_bytes(expected):
            problems.append("a run that %s began ends with other parameters" % first)
    return problems


def check_capture(tools, program, ranks, data, files):
    """Work that is captured computes the same bits."""
    captured = [tools.path("captured-" + os.path.basename(path)) for path in files[1]]
    run_program(program, ranks, data, captured, "--capture")
    return ["with --capture %s has other bytes" % mine for mine, theirs in zip(captured, files[0])
            if safetensors.load_bytes(mine) != safetensors.load_bytes(theirs)]  # fmt: skip


def read_yaml():
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(tests, "data", "mindformers", "yamls", "pretrain_deepseek3_671b.yaml")) as file:
        return file.read()


def lower(tools, name):
    """The step of a case, and its ranks."""
    if name in CASES:
        options = dict(CASES[name])
        sizes = dict(options.pop("sizes", SIZES), **options.pop("model", {}))
        lowering = ["--for-cann", *options.pop("lowering", [])]
        return tools.lower(name, sizes, lowering=lowering, **options)[1], count_ranks(options)
    if name in DEEPSEEK:
        layout, yaml = deepseek_on_ranks.Layout(DEEPSEEK[name]), tools.path(name + ".yaml")
        with open(yaml, "w") as file:
            file.write(deepseek_on_ranks.place(deepseek_on_ranks.shrink(read_yaml(), layout.pp), layout, 1, 0))
        return tools.lower_yaml(yaml, lowering=["--for-cann"])[1], layout.pp * layout.dp * layout.mp
    return DEEPSEEK4[name].lower(tools, name, lowering=["--for-cann"])[1], DEEPSEEK4[name].get_ranks()


def count_ranks(options):
    sizes = [options.get("ranks", {}).get(axis, 1) for axis in ("data_parallel", "context_parallel", "model_parallel")]
    return options.get("stages", 1) * math.prod(sizes)


def describe_calls(folder, ranks):
    """The ranks, and how often the program's text calls kernels and exchanges."""
    text = "".join(open(path).read() for path in sorted(glob.glob(os.path.join(folder, "stage*.cpp")) + [os.path.join(folder, "main.cpp")]))
    found = collections.Counter(re.findall(r"(?m)^  (\w+)\(\{rank, ", text))
    exchanges = ["%d %s" % (found[name], name) for name in EXCHANGES if found[name]]
    channels = text.count("  addChannel(")
    return ", ".join(["%d ranks" % ranks, "%d kernels" % text.count("  kernels::"), "%d channels" % channels, *exchanges])


def read_steps(text):
    """Losses and norms as they are printed."""
    return re.findall(r"loss: ([0-9.e+-]+).*?global_norm: ([\[\]0-9.e+-]+)", text)


def check_tensors(tools, name, step, data, ranks, steps=STEPS):
    """All operators make the same bits, or what differs by rounding where sums have another order."""
    printed = tools.run("mf-run", step, "--steps", steps, "--data", data, "--quiet", "--compare-with", tools.path(name))
    found = re.fullmatch(r"compared with .*/step: (\d+) tensors of (\d+) ranks?, (\d+) of them equal\n(.* not in the program.*\n)?", printed)
    is_right = found and int(found.group(2)) == ranks
    if is_right and (found.group(1) != found.group(3)) == (name in OTHER_SUMS):
        print("%-10s %s" % ("", printed.split(": ", 1)[1].strip()))
        return []
    return ["--compare-with prints\n" + printed]


def check_sums(tools, step, program, data):
    """The sums of which CANN has another order differ by the roundings of their own type alone."""
    options, files = ["--dump-tensors=*core_attention*", "-o"], [tools.path("sums." + end) for end in ("mf", "cann")]
    tools.run("mf-run", step, "--steps", 1, "--data", data, "--quiet", *options, files[0])
    wait_for_ranks(program, start_ranks(program, 1, ["--steps=1", "--data=" + data, options[0], "-o=" + files[1]]))
    ours, theirs = (safetensors.load(path) for path in files)
    names = [name for name in ours if re.search(r"entry_shares$|topk\.grad:", name)]
    # Shares have fp32, and an indexer's gradients bf16.
    bounds = {name: 1e-5 if name.endswith("entry_shares") else 2**-7 for name in names}
    distances = {name: abs(ours[name] - theirs[name]).max() / abs(ours[name]).max() for name in names}
    if len(names) == 4 and all(distances[name] <= bounds[name] for name in names):
        return []
    return ["sums of another order are %s off" % distances]


def check_difference(tools, build, source, compiler):
    """A program with another scale in attention is found by the operator."""
    step, _ = lower(tools, "plain")
    folder, data = tools.path("wrong"), tools.path("text.txt")
    tools.run("mf-translate", "--ascend-to-cpp", step, "-o", folder)
    kernels = os.path.join(folder, "kernels.cpp")
    with open(kernels) as file:
        text = file.read()
    changed = re.sub(r"nullptr, scale, 1 - rate,", "nullptr, 1.01 * scale, 1 - rate,", text, count=1)
    with open(kernels, "w") as file:
        file.write(changed)
    compile_program(build, source, folder, compiler)
    command = [os.path.join(tools.bin, "mf-run"), step, "--data", data, "--quiet", "--compare-with", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout.replace(tools.work, "..."))
    if changed != text and done.returncode == 2 and re.search(r"first wrong: step\.1/micro\.0/layers\.0\.attention\.flash_attention", done.stdout):
        return []
    return ["--compare-with ends with %d:\n%s%s" % (done.returncode, done.stdout, done.stderr)]


def check(tools, build, source, name, compiler):
    step, ranks = lower(tools, name)
    folder, data = tools.path(name), tools.path("text.txt")
    tools.run("mf-translate", "--ascend-to-cpp", step, "-o", folder)
    if name in ONE_STEP:
        program = compile_program(build, source, folder, compiler)
        problems = check_tensors(tools, name, step, data, ranks, steps=1) + check_sums(tools, step, program, data)
        print("%-10s %s: %s" % (name, "ok" if not problems else "WRONG", describe_calls(folder, ranks)))
        return problems
    files = [[tools.path(name + kind + end) for kind in (".parameters.", ".gradients.")] for end in ("mf", "cann")]
    expected = tools.run("mf-run", step, "--steps", STEPS, "--data", data, "--save-params", files[0][0],
                         "--dump-gradients", files[0][1])  # fmt: skip
    program = compile_program(build, source, folder, compiler)
    printed = run_program(program, ranks, data, files[1])
    problems = [] if read_steps(expected) else ["mf-run prints no steps"]
    if read_steps(printed) != read_steps(expected):
        problems.append("prints\n%s\nbut mf-run prints\n%s" % (printed, expected))
    for mine, theirs in zip(files[1], files[0]):
        if safetensors.load_bytes(mine) != safetensors.load_bytes(theirs):
            problems.append("%s has other bytes than %s" % (mine, theirs))
    if name != "plain" and name not in CANNOT_CAPTURE:
        problems += check_capture(tools, program, ranks, data, files)
    if name == "stages":
        problems += check_checkpoints(tools, program, ranks, step, data, files[0][0])
    problems += check_tensors(tools, name, step, data, ranks)
    print("%-10s %s: %s" % (name, "ok" if not problems else "WRONG", describe_calls(folder, ranks)))
    return problems


def read_options(*arguments, cases=()):
    """The options of a script that compiles programs, with folders that are absolute, the source's too; and a folder of tools
    with data to train on."""
    parser = argparse.ArgumentParser()
    for name, options in arguments:
        parser.add_argument(name, **options)
    parser.add_argument("--cxx", default="g++", help="the compiler of the programs")
    parser.add_argument("build")
    parser.add_argument("work")
    if cases:
        parser.add_argument("cases", nargs="+", choices=cases, metavar="CASE")
    options = parser.parse_args()
    options.build, options.work = os.path.abspath(options.build), os.path.abspath(options.work)
    options.source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    tools = training.Tools(os.path.join(options.build, "bin"), options.work)
    training.start_drawing(tools.path("text.txt"), 3)
    return options, tools


def main():
    options, tools = read_options(cases=[*CASES, *DEEPSEEK, *DEEPSEEK4, "difference"])
    problems = []
    for name in options.cases:
        if name == "difference":
            problems += check_difference(tools, options.build, options.source, options.cxx)
        else:
            problems += check(tools, options.build, options.source, name, options.cxx)
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
