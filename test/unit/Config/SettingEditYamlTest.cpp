//===- SettingEditYamlTest.cpp - Settings in YAMLs of every form ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "SettingEdits.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

TEST(SettingEditYamlTest, SaysWhatToDoAboutAliases) {
  const std::string advice = "; expected the value itself, write it here "
                             "instead of the alias";
  EXPECT_EQ(edit("runner_config: {batch_size: &n 2}\n"
                 "parallel_config:\n"
                 "  pipeline_stage: *n\n",
                 withStages(4)),
            "a.yaml:3:19: 'parallel_config.pipeline_stage' is the alias '*n', "
            "which cannot be changed in place" +
                advice);
  EXPECT_EQ(edit("a: &p {pipeline_stage: 2}\n"
                 "parallel_config: *p\n",
                 withStages(4)),
            "a.yaml:2:18: 'parallel_config' is the alias '*p', which cannot be "
            "changed in place" +
                advice);
  EXPECT_EQ(edit("parallel_config:\n"
                 "  pipeline_stage: &n 2\n"
                 "  model_parallel: *n\n",
                 withStages(4)),
            "a.yaml:3:19: 'parallel_config.model_parallel' is an alias of a "
            "setting that becomes 4" +
                advice);
}

TEST(SettingEditYamlTest, FindsValuesInEveryLayout) {
  struct Case {
    const char *before, *after;
  };
  const Case cases[] = {
      // Text that already has the wanted value may stay an alias, other
      // aliases of a value follow, and what is merged is overridden.
      {"runner_config: {batch_size: &n 4}\nparallel_config: {pipeline_stage: "
       "*n}\n",
       "runner_config: {batch_size: &n 4}\nparallel_config: {pipeline_stage: "
       "*n}\n"},
      {"parallel_config:\n  pipeline_stage: &n 2\ncallbacks:\n  - x: *n\n",
       "parallel_config:\n  pipeline_stage: &n 4\ncallbacks:\n  - x: *n\n"},
      {"a: &p {pipeline_stage: 2}\nparallel_config:\n  <<: *p\n",
       "a: &p {pipeline_stage: 2}\nparallel_config:\n  <<: *p\n"
       "  pipeline_stage: 4\n"},
      {"", "parallel_config:\n  pipeline_stage: 4\n"},
      {"# nothing", "# nothing\nparallel_config:\n  pipeline_stage: 4"},
      {"---\na: 1\n...\n",
       "---\na: 1\nparallel_config:\n  pipeline_stage: 4\n...\n"},
      {"--- # c\nparallel_config:\n  pipeline_stage: 2\n",
       "--- # c\nparallel_config:\n  pipeline_stage: 4\n"},
      {"\xef\xbb\xbfparallel_config:\n  pipeline_stage: 2\n",
       "\xef\xbb\xbfparallel_config:\n  pipeline_stage: 4\n"},
      {"{a: 1}", "{a: 1, parallel_config: {pipeline_stage: 4}}"},
      {"{}", "{parallel_config: {pipeline_stage: 4}}"},
      {"{parallel_config}", "{parallel_config: {pipeline_stage: 4}}"},
      {"{parallel_config: , a: b}",
       "{parallel_config: {pipeline_stage: 4} , a: b}"},
      {"parallel_config: {data_parallel: 1,\n  model_parallel: 2, # c\n}\n",
       "parallel_config: {data_parallel: 1,\n  model_parallel: 2, "
       "pipeline_stage: 4, # c\n}\n"},
      {"parallel_config: ~ # c\n",
       "parallel_config: # c\n  pipeline_stage: 4\n"},
      {"parallel_config: {}\n", "parallel_config: {pipeline_stage: 4}\n"},
      {"parallel_config: &p # c\nb: *p\n",
       "parallel_config: &p # c\n  pipeline_stage: 4\nb: *p\n"},
      {"  parallel_config:\n     data_parallel: 1\n  a: 1",
       "  parallel_config:\n     data_parallel: 1\n     pipeline_stage: 4\n"
       "  a: 1"},
      {"\"parallel_config\":\t\n  'pipeline_stage':\t2\t# two\n",
       "\"parallel_config\":\t\n  'pipeline_stage':\t4\t# two\n"},
      {"? parallel_config\n: pipeline_stage: 2\n",
       "? parallel_config\n: pipeline_stage: 4\n"},
      {"parallel_config:\n  pipeline_stage: !!int \"2\" # c\n",
       "parallel_config:\n  pipeline_stage: !!int 4 # c\n"},
      {"parallel_config:\n  # first\n\n  pipeline_stage:\n    2\na: |\n  b\n\n",
       "parallel_config:\n  # first\n\n  pipeline_stage:\n    4\na: |\n  "
       "b\n\n"},
      {"parallel_config:\n  pipeline_stage: 1\n  pipeline_stage: 2\n",
       "parallel_config:\n  pipeline_stage: 1\n  pipeline_stage: 4\n"},
      {"parallel_config: {pipeline_stage: 2}\nparallel_config: {}\n",
       "parallel_config: {pipeline_stage: 2}\n"
       "parallel_config: {pipeline_stage: 4}\n"},
      {"parallel_config:\n  context_parallel_algo: \"ulysses\\\n    _cp\"\na: "
       "1",
       "parallel_config:\n  context_parallel_algo: \"ulysses\\\n    _cp\"\n"
       "  pipeline_stage: 4\na: 1"},
      {"parallel_config:\n  context_parallel_algo: >-\n    ulysses_cp\n\na: 1",
       "parallel_config:\n  context_parallel_algo: >-\n    ulysses_cp\n"
       "  pipeline_stage: 4\n\na: 1"},
  };
  for (const Case &one : cases)
    EXPECT_EQ(edit(one.before, withStages(4)), one.after) << one.before;
}

TEST(SettingEditYamlTest, KeepsQuotes) {
  MemorySettings settings;
  settings.scheduler = "gpipe";
  EXPECT_EQ(edit("parallel: {pipeline_config: {pipeline_scheduler: '1f1b'}}\n",
                 settings),
            "parallel: {pipeline_config: {pipeline_scheduler: 'gpipe'}}\n");
  EXPECT_EQ(
      edit("parallel: {pipeline_config: {pipeline_scheduler: \"1f1b\"}}\n",
           settings),
      "parallel: {pipeline_config: {pipeline_scheduler: \"gpipe\"}}\n");
}

TEST(SettingEditYamlTest, ChangesKeysByTheirPaths) {
  auto change = [](llvm::StringRef yaml,
                   const std::vector<KeyChange> &changes) {
    auto edited = applyKeyChanges(yaml, "a.yaml", changes);
    return edited ? *edited : llvm::toString(edited.takeError());
  };
  EXPECT_EQ(change("recompute_config:\n  mp_comm_recompute: False # why\n",
                   {{"recompute_config.mp_comm_recompute", true}}),
            "recompute_config:\n  mp_comm_recompute: True # why\n");
  EXPECT_EQ(change("parallel: {parallel_optimizer_config: "
                   "{parallel_optimizer_threshold: 64}}\n",
                   {{"parallel.parallel_optimizer_config."
                     "parallel_optimizer_threshold",
                     int64_t(0)},
                    {"parallel.parallel_optimizer_config.optimizer_level",
                     std::string("level3")}}),
            "parallel: {parallel_optimizer_config: "
            "{parallel_optimizer_threshold: 0, optimizer_level: level3}}\n");
  EXPECT_EQ(change("recompute_config: [\n",
                   {{"recompute_config.mp_comm_recompute", true}})
                .substr(0, 7),
            "a.yaml:");
}

TEST(SettingEditYamlTest, SwitchesInterleaving) {
  auto makeYaml = [](llvm::StringRef interleaves, llvm::StringRef scheduler,
                     llvm::StringRef chunks) {
    return ("parallel: {pipeline_config: {pipeline_interleave: " + interleaves +
            ", pipeline_scheduler: " + scheduler +
            "}}\nmodel: {model_config: {pp_interleave_num: " + chunks + "}}\n")
        .str();
  };
  const std::string yaml = makeYaml("True", "seqsmartvpp", "2");
  MemorySettings settings;
  settings.lessMemoryInterleave = false;
  EXPECT_EQ(edit(yaml, settings), makeYaml("True", "1f1b", "2"));
  settings.interleave = 1;
  EXPECT_EQ(edit(yaml, settings), makeYaml("False", "1f1b", "1"));
  settings.lessMemoryInterleave = true;
  EXPECT_EQ(edit(yaml, settings), makeYaml("True", "seqsmartvpp", "1"));
  settings.scheduler = "gpipe";
  EXPECT_EQ(edit(yaml, settings),
            "a.yaml:1:77: settings: pipeline_scheduler 'gpipe' has no memory "
            "variant; expected 1f1b, seqpipe, seqvpp or seqsmartvpp");
}

} // namespace
