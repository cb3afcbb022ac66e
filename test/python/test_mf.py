# SPDX-License-Identifier: Apache-2.0
"""Tests of the package mf, with the command in MF_BIN.

usage: PYTHONPATH=python MF_BIN=build/bin python3 test/python/test_mf.py
"""

import contextlib
import importlib.util
import io
import json
import os
import stat
import subprocess
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

import mf
from mf import _command

ROOT = Path(__file__).resolve().parents[2]
RANKS = ROOT / "examples" / "llama_ranks.yaml"
TINY = ROOT / "examples" / "llama_tiny.yaml"
DYNAMIC = ROOT / "test" / "data" / "dynamic" / "anchor_dsv3mini_measured.yaml"


def ask(verb, *words):
    """What the command itself answers."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = [mf.find_command(), verb, "--json=%s" % answer, *map(str, words)]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(answer.read_text())


class FakeCommand:
    """A folder for MF_BIN whose mf is a shell script."""

    def __init__(self, script):
        self.script = script

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        program = Path(self.folder.name, "mf")
        program.write_text("#!/bin/sh\n" + self.script)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.patch = mock.patch.dict(os.environ, MF_BIN=self.folder.name)
        self.patch.start()
        return program

    def __exit__(self, *exception):
        self.patch.stop()
        self.folder.cleanup()


class ConfigurationTest(unittest.TestCase):
    def test_sections_become_changes_of_keys(self):
        changed = mf.load(RANKS).with_(
            hbm="30GB",
            use_parallel=True,
            recompute_config={"recompute": [1, 0], "select_recompute": {r"feed_forward\.mul": True}},
            model={"model_config": {"offset": None}},
        )
        self.assertEqual(
            changed.changes,
            (
                ("context.max_device_memory", '"30GB"'),
                ("use_parallel", "True"),
                ("recompute_config.recompute", "[1, 0]"),
                ("recompute_config.select_recompute", r'{"feed_forward\\.mul": True}'),
                ("model.model_config.offset", "null"),
            ),
        )

    def test_a_later_change_of_a_key_replaces_the_earlier(self):
        step = mf.load(RANKS).with_(hbm="30GB").with_(hbm="40GB")
        self.assertEqual(step.changes, (("context.max_device_memory", '"40GB"'),))

    def test_with_leaves_the_configuration_alone(self):
        step = mf.load(RANKS)
        step.with_(hbm="30GB")
        self.assertEqual(step.changes, ())

    def test_a_value_that_yaml_lacks_is_refused(self):
        with self.assertRaisesRegex(TypeError, "expected a value that YAML has, but got"):
            mf.load(RANKS).with_(use_parallel=object())

    def test_a_missing_file_is_refused_at_once(self):
        with self.assertRaises(FileNotFoundError):
            mf.load("missing.yaml")

    def test_yaml_has_the_changes_and_keeps_the_rest(self):
        step = mf.load(RANKS)
        self.assertEqual(step.yaml(), RANKS.read_text())
        changed = step.with_(hbm="123GB").yaml().splitlines()
        differing = set(changed) ^ set(RANKS.read_text().splitlines())
        self.assertTrue(differing)
        self.assertTrue(all("max_device_memory" in line for line in differing), differing)

    def test_a_comment_may_have_bytes_that_are_no_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "latin.yaml")
            path.write_bytes(b"# caf\xe9\n" + TINY.read_bytes())
            step = mf.load(path)
            self.assertTrue(step.yaml().startswith("# caf\ufffd\n"))
            self.assertTrue(step.with_(hbm="123GB").yaml().startswith("# caf\ufffd\n"))


class AnswerTest(unittest.TestCase):
    def test_memory_is_that_of_the_command(self):
        memory, found = mf.load(RANKS).memory(), ask("memory", RANKS)
        self.assertEqual([stage.trainer_bytes for stage in memory.stages], [stage["trainer_live_bytes"] for stage in found["stages"]])
        self.assertEqual([stage.program_bytes for stage in memory.stages], [stage["program_bytes"] for stage in found["stages"]])
        for stage, row in zip(memory.stages, found["stages"]):
            self.assertEqual(sum(part.bytes for part in stage.parts), sum(row["bytes_at_peak"].values()))
            self.assertEqual(stage.largest.bytes, max(row["bytes_at_peak"].values()))
        self.assertTrue(memory.fits)

    def test_memory_of_a_dynamic_graph_is_what_its_trainer_holds(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mf.YamlWarning)
            memory = mf.load(DYNAMIC).with_(hbm="17GB").memory()
        stage = memory.fullest
        self.assertNotEqual(stage.trainer_bytes, stage.program_bytes)
        self.assertEqual(sum(part.bytes for part in stage.parts), stage.trainer_bytes)
        self.assertEqual(stage.limit_bytes, 17 << 30)
        self.assertEqual(memory.fits, stage.trainer_bytes <= 17 << 30)
        self.assertIn("weights and optimizer states", str(memory))

    def test_a_step_that_does_not_fit_is_no_error(self):
        memory = mf.load(RANKS).with_(hbm="8MB").memory()
        self.assertFalse(memory.fits)
        self.assertTrue(str(memory).startswith("does not fit: "))

    def test_a_simulation_is_that_of_the_command(self):
        step = mf.load(RANKS).with_(recompute_config={"recompute": True})
        simulation = step.simulate("atlas-900-a3")
        found = ask("simulate", RANKS, "--set=recompute_config.recompute=True", "--target=atlas-900-a3")
        self.assertEqual(simulation.seconds, found["step_seconds"])
        self.assertEqual(simulation.target, "atlas-900-a3")
        self.assertAlmostEqual(simulation.tokens_per_second, found["tokens_per_step"] / found["step_seconds"], places=5)
        self.assertAlmostEqual(sum(limit.share for limit in simulation.limits), 1, places=2)
        self.assertEqual([row["stage"] for row in simulation.records()], [0, 1])

    def test_a_plan_is_a_yaml_that_fits_and_is_as_fast_as_it_says(self):
        plan = mf.load(RANKS).with_(recompute_config={"recompute": True}).plan(hbm="16MB")
        self.assertLess(plan.seconds, plan.given_seconds)
        self.assertIn("<html", plan.html())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "planned.yaml")
            path.write_text(plan.yaml())
            planned = mf.load(path)
            self.assertTrue(planned.with_(hbm="16MB").memory().fits)
            self.assertAlmostEqual(planned.simulate().seconds, plan.seconds, places=9)

    def test_a_comparison_is_that_of_the_command(self):
        step = mf.load(RANKS)
        comparison = mf.compare(step, step.with_(hbm="14MB", recompute_config={"recompute": True}), TINY)
        found = ask("compare", RANKS, "--set=recompute_config.recompute=True")["rows"]
        self.assertEqual([row.seconds for row in comparison.rows[:2]], [row["seconds"] for row in found])
        self.assertEqual(comparison.rows[1].trainer_bytes, max(stage["held_bytes"] for stage in found[1]["stages"]))
        self.assertIn("recompute: True", comparison.rows[1].changes)
        self.assertEqual([row.fits for row in comparison.rows], [True, True, True])
        self.assertEqual(comparison.rows[2].name, "llama_tiny.yaml")
        self.assertFalse(mf.compare(step.with_(hbm="10MB"), step).rows[0].fits)

    def test_losses_are_those_of_the_command(self):
        training = mf.load(TINY).train(ROOT / "LICENSE", steps=2, seed=3)
        found = ask("train", TINY, "--data=%s" % (ROOT / "LICENSE"), "--steps=2", "--seed=3")
        self.assertEqual(training.losses, [step["loss"] for step in found["steps"]])
        self.assertEqual(len(training.losses), 2)


class ResultTest(unittest.TestCase):
    def test_a_table_has_aligned_columns_and_safe_html(self):
        table = mf.Table(["a", "long"], [["<b>", "1"], ["x", "10"]])
        self.assertEqual(str(table), "a    long\n<b>     1\nx      10")
        self.assertIn("&lt;b&gt;", table._repr_html_())
        self.assertNotIn("<b>", table._repr_html_())

    def test_a_result_converts_to_dicts_and_frames(self):
        memory = mf.load(RANKS).memory()
        self.assertEqual(memory.to_dict()["fits"], True)
        self.assertIn("<table>", memory._repr_html_())
        pandas = mock.Mock()
        with mock.patch.dict("sys.modules", pandas=pandas):
            self.assertIs(memory.to_frame(), pandas.DataFrame.return_value)
        pandas.DataFrame.assert_called_once_with(memory.records())

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_a_frame_has_the_records(self):
        memory = mf.load(RANKS).memory()
        self.assertEqual(memory.to_frame().to_dict("records"), memory.records())


class ErrorTest(unittest.TestCase):
    def test_each_question_says_what_is_wrong_and_where(self):
        lines = RANKS.read_text().splitlines(keepends=True)
        line = lines.index("  recompute: False\n")
        with tempfile.TemporaryDirectory() as folder:
            wrong = Path(folder, "wrong.yaml")
            wrong.write_text("".join(lines[:line] + ["  recomput: True\n"] + lines[line + 1 :]))
            # A key that is added to a file has no line in it.
            added = mf.load(RANKS).with_(recompute_config={"recomput": True})
            for step, file, place in ((mf.load(wrong), wrong, (line + 1, 3)), (added, RANKS, (None, None))):
                for ask_step in (step.memory, step.simulate, step.plan, lambda: mf.compare(step, RANKS), lambda: step.train(RANKS)):
                    with self.assertRaises(mf.Error) as caught:
                        ask_step()
                    error = caught.exception
                    self.assertEqual(error.file, str(file))
                    self.assertEqual((error.line, error.column), place)
                    self.assertIn("unknown key 'recomput'", error.message)
                    self.assertEqual(error.advice, "did you mean 'recompute'?")

    def test_a_plan_that_does_not_exist_is_an_error(self):
        with self.assertRaisesRegex(mf.Error, "fit into 1048576 bytes"):
            mf.load(RANKS).plan(hbm="1MB")

    def test_notes_belong_to_the_error(self):
        with FakeCommand("echo 'a.yaml:1:2: warning: w' >&2; echo 'a.yaml:3:4: error: e' >&2; echo 'note: do this' >&2; exit 1"):
            with self.assertRaises(mf.Error) as caught:
                mf.load(RANKS).memory()
        self.assertEqual(str(caught.exception), "a.yaml:3:4: error: e\nnote: do this")
        self.assertEqual(caught.exception.advice, "do this")

    def test_a_command_that_ends_by_a_signal_is_an_error(self):
        with FakeCommand("echo 'no such luck' >&2; kill -9 $$"):
            with self.assertRaisesRegex(mf.Error, "mf check ended with signal 9: no such luck"):
                mf.load(RANKS).memory()

    def test_a_command_without_an_answer_is_an_error(self):
        with FakeCommand("exit 0"):
            with self.assertRaisesRegex(mf.Error, "mf simulate ended with exit code 0"):
                mf.load(RANKS).simulate()

    def test_a_folder_without_the_command_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, MF_BIN=folder):
            with self.assertRaisesRegex(mf.Error, "MF_BIN is '.*', which has no program mf"):
                mf.load(RANKS).memory()

    def test_warnings_of_a_yaml_are_python_warnings(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "warned.yaml")
            path.write_text("unknown_key: 1\n" + TINY.read_text())
            with self.assertWarnsRegex(mf.YamlWarning, "warned.yaml:1:1: warning: .*unknown_key"):
                mf.load(path).memory()


class ProgressTest(unittest.TestCase):
    def run_on(self, terminal):
        script = 'for word; do case $word in --json=*) echo "{}" > "${word#--json=}";; esac; done; sleep 0.5'
        with FakeCommand(script), contextlib.redirect_stderr(terminal):
            _command.run("simulate", [])
        return terminal.getvalue()

    def test_a_terminal_shows_the_time_so_far(self):
        terminal = io.StringIO()
        terminal.isatty = lambda: True
        shown = self.run_on(terminal)
        self.assertIn("\rmf simulate: 0 s", shown)
        self.assertTrue(shown.endswith("\r"), repr(shown))

    def test_a_file_stays_clean(self):
        self.assertEqual(self.run_on(io.StringIO()), "")


if __name__ == "__main__":
    unittest.main()
