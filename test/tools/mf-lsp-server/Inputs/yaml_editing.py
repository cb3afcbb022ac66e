#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Edits training YAMLs of both formats as a user does, with a language server.

usage: yaml_editing.py SERVER SOURCE_FOLDER [--mutations=N] [--seed=N]

What the server says of a key, a wrong name and a pattern is checked. Then texts are damaged
at random; the server must answer each time, and say the same of the whole text afterwards.
"""

import argparse
import pathlib
import random
import re

from editor import Editor

NAMES = "selec_recompute pipeline_stage 'feed_forward\\.mul' op_swap type layers [[1,0],[2]] 4096 -1 1e99 True null é𝕏 \udcff".split(" ")
SYMBOLS = list(":-{}[]&*!|>'\"%@`#,\t\n \\") + ["\n  ", "\n- ", "<<: ", "---\n", "&a ", "*a "]


def check_static(editor, text):
    assert editor.show(text) == [], "a file that mf-opt takes without a message"
    assert "Takes: an int from 1 to 65536" in editor.hover("pipeline_stage")
    assert "operators that run again in backward" in editor.hover("select_recompute")
    assert "Default: False" in editor.hover("select_recompute")
    assert "Effect: none on a step: first values" in editor.hover("seed:")
    # Keys of model_config are those that the model's class reads, with its defaults.
    assert "elements of a token between layers" in editor.hover("hidden_size")
    assert "Takes: an int of at least 1" in editor.hover("num_layers") and "Default: 32" in editor.hover("num_layers")
    assert "Takes: float32, float16 or bfloat16" in editor.hover("compute_dtype")

    offered = editor.complete("\n  pipeline_st")
    assert offered["pipeline_stage"]["textEdit"]["newText"] == "pipeline_stage" and "select_recompute" not in offered
    # A key that is there already, by this or another name, is not offered again.
    assert "micro_batch_num" not in offered
    editor.show(text.replace("    num_layers:", "    qkv_\n    num_layers:"))
    offered = editor.complete("    qkv_")
    assert "qkv_has_bias" in offered and not {"num_layers", "num_hidden_layers", "hidden_size"} & set(offered)
    # In a flow map, and where a value is one of a few.
    editor.show("swap_config: {swap: True, de}\n")
    assert "default_prefetch" in editor.complete("True, de") and "swap" not in editor.complete("True, de")
    editor.show(text)
    assert set(editor.complete("compute_dtype: ")) == {"float32", "float16", "bfloat16"}
    assert set(editor.complete("mp_comm_recompute: ")) == {"True", "False"}

    # Errors in different sections, which different readers find, are shown together. Those that follow are not.
    wrong = text
    for right, other in (
        ("pipeline_stage: ", "pipeline_stage: -"),
        ("mp_comm_recompute: ", "mp_comm_recompute: 7 # "),
        ("hidden_size: ", "hidden_size: wide # "),
        ("type: AdamW", "type: Lion"),
    ):
        assert right in wrong, right
        wrong = wrong.replace(right, other, 1)
    errors = [message["message"] for message in editor.show(wrong) if message["severity"] == 1]
    assert len(errors) == 4, errors
    for part in ("'pipeline_stage'", "'mp_comm_recompute'", "'hidden_size'", "optimizer 'Lion'"):
        assert any(part in error for error in errors), errors

    # A name that is nearly right has a fix.
    wrong = text.replace("  select_recompute:", "  selec_recompute:")
    (message,) = editor.show(wrong)
    assert message["severity"] == 1 and message["message"] == "unknown key 'selec_recompute' in recompute_config; did you mean 'select_recompute'?"
    assert message["range"]["start"] == editor.find("selec_recompute")
    assert message["range"]["end"] == editor.find("selec_recompute", behind=True)
    (fix,) = editor.fixes(message["range"])
    assert fix["isPreferred"] and editor.fixed(fix) == text

    # Patterns come from the model's Cell tree, while the text is no YAML as well.
    editor.show(text.replace("  select_recompute: False", "  select_recompute:\n    'feed_forward\\.m"))
    pattern = "feed_forward\\.mul"
    assert editor.complete("'feed_forward\\.m")[pattern]["textEdit"]["newText"] == pattern
    assert "attention\\.wq\\.matmul" in editor.complete("'feed_forward\\.m")
    swap = "\nswap_config: {swap: True, op_swap: [{op_name: "
    editor.show(text + swap)
    assert editor.complete(swap)[pattern]["textEdit"]["newText"] == f"'{pattern}'"
    misspelt = text.replace("  select_recompute: False", "  select_recompute: {'é𝕏': False, 'feed_forward\\.mull': True}")
    messages = [message for message in editor.show(misspelt) if "'feed_forward\\.mull'" in message["message"]]
    fixes = [editor.fixed(fix) for message in messages for fix in editor.fixes(message["range"])]
    assert misspelt.replace("mull", "mul") in fixes, messages


def check_dynamic(editor, text):
    editor.show(text)
    assert "stages of the pipeline" in editor.hover("pipeline_parallel:")
    assert "Effect: the trainer never reads it" in editor.hover("data_parallel_shard_strategy")
    assert "tensor_parallel" not in editor.complete("\n  pipeline_parallel"), "it is there already"
    assert "elements of a token between layers" in editor.hover("hidden_size")
    editor.show(text.replace("  mode: full\n", "  mode: select\n  select_module:\n    layers.*.mlp"))
    assert "layers.*.mlp" in editor.complete("layers.*.mlp")
    messages = editor.show(text.replace("  tensor_parallel:", "  tensor_paralel:"))
    message = next(message for message in messages if "tensor_paralel" in message["message"])
    (fix,) = editor.fixes(message["range"])
    assert editor.fixed(fix) == text


def check_models(editor, folder):
    """Each key of a published YAML's model that the server takes has a meaning, or the reason why it has no effect."""
    number = 0
    for path in sorted(folder.rglob("*.yaml")):
        text = path.read_text()
        warned = " ".join(message["message"] for message in editor.show(text))
        lines = text.split("\n")
        begin = next((i for i, line in enumerate(lines) if re.match(r" *model_config:", line)), None)
        if begin is None:
            continue
        inner = len(lines[begin]) - len(lines[begin].lstrip()) + 2
        for line in range(begin + 1, len(lines)):
            key = re.match(r" {%d}(\w+):" % inner, lines[line])
            if lines[line].strip() and not lines[line].startswith(" " * inner):
                break
            if not key or f"unknown key '{key[1]}'" in warned:
                continue
            answer = editor.ask("hover", {"line": line, "character": inner + 1})
            words = answer and answer["contents"]["value"].split("\n\n")
            assert words and len(words) > 1 and not words[1].startswith(("Takes", "Default", "Other")), (path.name, key[1], words)
            number += 1
    assert number > 250, number


def damage(text, random_numbers):
    for _ in range(random_numbers.randint(1, 4)):
        at = random_numbers.randrange(len(text) + 1)
        end = min(len(text), at + random_numbers.choice([0, 1, 1, 5, 40, 400]))
        how = random_numbers.randrange(4)
        if how == 0:
            text = text[:at] + text[end:]
        elif how == 1:
            text = text[:at] + random_numbers.choice(NAMES + SYMBOLS) + text[at:]
        elif how == 2:
            text = text[:at] + text[at:end] * 2 + text[end:]
        else:
            text = text[:at]
    # JSON has no single halves of UTF-16 pairs.
    return text.encode("utf-8", "replace").decode()


def check_damaged(editor, texts, number, seed):
    random_numbers = random.Random(seed)
    before = [editor.show(text) for text in texts]
    for _ in range(number):
        text = damage(random_numbers.choice(texts), random_numbers)
        editor.show(text)
        lines = text.split("\n")
        for _ in range(3):
            line = random_numbers.randrange(len(lines) + 1)
            width = len(lines[line].encode("utf-16-le")) // 2 if line < len(lines) else 0
            position = {"line": line, "character": random_numbers.randint(0, width + 1)}
            editor.ask("hover", position)
            editor.ask("completion", position, context={"triggerKind": 1})
            editor.fixes({"start": {"line": 0, "character": 0}, "end": position})
    assert [editor.show(text) for text in texts] == before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--mutations", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    static = (options.source / "examples/llama_tiny.yaml").read_text()
    dynamic = (options.source / "test/data/dynamic/pynative_ds3.yaml").read_text()
    editor = Editor([options.server, "--yaml"])
    check_static(editor, static)
    check_dynamic(editor, dynamic)
    check_models(editor, options.source / "test/data/mindformers/yamls")
    check_damaged(editor, [static, dynamic], options.mutations, options.seed)
    assert editor.leave() == 0
    print(f"{editor.version} texts, {editor.number} requests")


if __name__ == "__main__":
    main()
