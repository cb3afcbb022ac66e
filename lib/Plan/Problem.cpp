//===- Problem.cpp - What a planner decides, and what it costs ------------===//

#include "mf/Plan/Problem.h"
#include <numeric>

using namespace mf::plan;

int64_t ChunkPlan::getNumLayers() const {
  int64_t layers = 0;
  for (const std::vector<int64_t> &byTreatment : counts)
    layers = std::accumulate(byTreatment.begin(), byTreatment.end(), layers);
  return layers;
}

int64_t ChunkPlan::getTreated(size_t treatment) const {
  int64_t layers = 0;
  for (const std::vector<int64_t> &byTreatment : counts)
    layers += byTreatment[treatment];
  return layers;
}

int64_t Problem::getNumLayers() const {
  int64_t layers = 0;
  for (const LayerKind &kind : kinds)
    layers += kind.count;
  return layers;
}
