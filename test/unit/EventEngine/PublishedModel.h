//===- PublishedModel.h - Inputs of the published pipeline model -*- C++ -*-==//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_EVENTENGINE_PUBLISHEDMODEL_H
#define MF_TEST_UNIT_EVENTENGINE_PUBLISHEDMODEL_H

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "llvm/Support/JSON.h"

/// Returns what a JSON file says, an object; fails the test if it cannot.
llvm::json::Object readJson(llvm::StringRef path);

/// A schedule and its costs. Transfers are free, but their time is set.
struct PublishedModel {
  mf::schedule::Schedule schedule;
  mf::events::PipelineCosts costs;
};

/// From the model's own arguments: block_time, micro_num and, if they are
/// there, comm_time (default 0.1), backward_ratio (2), layer_recompute (none),
/// block_mem (as block_time), block_mem_par, constant_mem, method.
llvm::Expected<PublishedModel>
readPublishedModel(const llvm::json::Object &arguments);

#endif // MF_TEST_UNIT_EVENTENGINE_PUBLISHEDMODEL_H
