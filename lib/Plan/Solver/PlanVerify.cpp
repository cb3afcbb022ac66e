//===- PlanVerify.cpp - Checks a plan -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Checks all plans that are made anywhere. It states each rule once and as
// simply as possible, and shares no code with the solver.
//
//===----------------------------------------------------------------------===//

#include "mf/Plan/Solver/Problem.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using llvm::createStringError;
using llvm::Error;
using llvm::Twine;
using mf::schedule::Phase;
using mf::schedule::Task;
using namespace mf::solver;

namespace {

class Verifier {
public:
  Verifier(const Problem &problem, const Plan &plan)
      : problem(problem), chunks(plan.chunks) {}

  Error run() const {
    for (auto rule : {&Verifier::checkShape, &Verifier::checkNumbersOfLayers,
                      &Verifier::checkKinds, &Verifier::checkFixedTreatments,
                      &Verifier::checkFollowers, &Verifier::checkExclusive,
                      &Verifier::checkOrderOfTreatments, &Verifier::checkCopies,
                      &Verifier::checkForbidden, &Verifier::checkMemory})
      if (Error error = (this->*rule)())
        return error;
    return Error::success();
  }

private:
  Error checkShape() const {
    const int64_t expected = problem.schedule.pipeline.getNumChunks();
    if (static_cast<int64_t>(chunks.size()) != expected)
      return createStringError("the plan has " + Twine(chunks.size()) +
                               " chunks, expected " + Twine(expected));
    for (auto [chunk, plan] : llvm::enumerate(chunks)) {
      if (plan.counts.size() != problem.kinds.size())
        return createStringError("chunk " + Twine(chunk) + " has layers of " +
                                 Twine(plan.counts.size()) +
                                 " kinds, expected counts of " +
                                 Twine(problem.kinds.size()));
      for (const std::vector<int64_t> &counts : plan.counts) {
        if (counts.size() != problem.getNumTreatments())
          return createStringError("chunk " + Twine(chunk) + " has " +
                                   Twine(counts.size()) +
                                   " treatments, expected counts of " +
                                   Twine(problem.getNumTreatments()));
        for (int64_t count : counts)
          if (count < 0)
            return createStringError(
                "chunk " + Twine(chunk) + " has " + Twine(count) +
                " layers of a kind, expected no fewer than 0");
      }
    }
    return Error::success();
  }

  Error checkNumbersOfLayers() const {
    for (auto [chunk, plan] : llvm::enumerate(chunks)) {
      const int64_t layers = plan.getNumLayers();
      if (layers < problem.minLayersPerChunk)
        return createStringError("chunk " + Twine(chunk) + " has " +
                                 Twine(layers) + " layers, expected at least " +
                                 Twine(problem.minLayersPerChunk));
      if (problem.maxLayersPerChunk > 0 && layers > problem.maxLayersPerChunk)
        return createStringError("chunk " + Twine(chunk) + " has " +
                                 Twine(layers) + " layers, expected at most " +
                                 Twine(problem.maxLayersPerChunk));
      if (!problem.fixedLayers.empty() && layers != problem.fixedLayers[chunk])
        return createStringError(
            "chunk " + Twine(chunk) + " has " + Twine(layers) +
            " layers, expected the given " + Twine(problem.fixedLayers[chunk]));
    }
    return Error::success();
  }

  Error checkKinds() const {
    std::vector<int64_t> dealt(problem.kinds.size(), 0);
    size_t current = 0;
    for (auto [chunk, plan] : llvm::enumerate(chunks)) {
      for (auto [kind, counts] : llvm::enumerate(plan.counts)) {
        const int64_t layers =
            std::accumulate(counts.begin(), counts.end(), int64_t(0));
        if (layers == 0)
          continue;
        if (kind < current)
          return createStringError(
              "chunk " + Twine(chunk) + " has layers of kind '" +
              problem.kinds[kind].name + "' behind layers of kind '" +
              problem.kinds[current].name +
              "', expected the kinds in their order");
        current = kind;
        dealt[kind] += layers;
      }
    }
    for (auto [kind, layers] : llvm::zip_equal(problem.kinds, dealt))
      if (layers != kind.count)
        return createStringError("the chunks have " + Twine(layers) +
                                 " layers of kind '" + kind.name +
                                 "', expected " + Twine(kind.count));
    return Error::success();
  }

  Error checkFixedTreatments() const {
    for (auto [treatment, fixed] : llvm::enumerate(problem.fixedTreatments)) {
      for (auto [chunk, given] : llvm::enumerate(fixed)) {
        const ChunkPlan counted =
            chunks[chunk].takeFront(problem.getNumLeaders());
        const int64_t expected = std::min(given, counted.getNumLayers());
        const int64_t treated = counted.getTreated(treatment);
        if (treated != expected)
          return createStringError("chunk " + Twine(chunk) + " has " +
                                   Twine(treated) + " layers of treatment '" +
                                   getTreatmentName(treatment) +
                                   "', expected the given " + Twine(expected));
      }
    }
    return Error::success();
  }

  /// The leader is the only layer of its kind, so that its treatment is the
  /// only one of that kind.
  Error checkFollowers() const {
    if (problem.numFollowers == 0)
      return Error::success();
    const size_t leader = problem.getNumLeaders() - 1;
    std::optional<size_t> expected = problem.followed;
    for (const ChunkPlan &plan : chunks)
      for (size_t kind = leader; kind < problem.kinds.size(); ++kind)
        for (auto [treatment, count] : llvm::enumerate(plan.counts[kind])) {
          if (count == 0)
            continue;
          if (!expected)
            expected = treatment;
          if (treatment != *expected)
            return createStringError(
                "a layer of kind '" + problem.kinds[kind].name +
                "' has treatment '" + getTreatmentName(treatment) +
                "', expected '" + getTreatmentName(*expected) +
                "', that of the layer that it follows");
        }
    return Error::success();
  }

  Error checkExclusive() const {
    for (auto [first, second] : problem.exclusive)
      for (auto [chunk, plan] : llvm::enumerate(chunks))
        if (plan.getTreated(first) > 0 && plan.getTreated(second) > 0)
          return createStringError(
              "chunk " + Twine(chunk) + " has layers of treatment '" +
              getTreatmentName(first) + "' and of treatment '" +
              getTreatmentName(second) + "', expected one of them only");
    return Error::success();
  }

  Error checkOrderOfTreatments() const {
    if (!problem.treatmentsInOrder)
      return Error::success();
    for (auto [chunk, plan] : llvm::enumerate(chunks)) {
      size_t current = 0;
      for (const std::vector<int64_t> &counts : plan.counts) {
        for (auto [treatment, count] : llvm::enumerate(counts)) {
          if (count == 0)
            continue;
          if (treatment < current)
            return createStringError(
                "chunk " + Twine(chunk) + " has a layer of treatment '" +
                getTreatmentName(treatment) + "' behind one of treatment '" +
                getTreatmentName(current) +
                "', expected the treatments in their order");
          current = treatment;
        }
      }
    }
    return Error::success();
  }

  Error checkCopies() const {
    struct Direction {
      const char *copies, *task;
      double Treatment::*copy;
      double Treatment::*ofLayer;
      double ChunkExtra::*ofExtra;
    };
    const Direction directions[] = {
        {"copies to the host", "forward", &Treatment::copyOut,
         &Treatment::forward, &ChunkExtra::forward},
        {"copies from the host", "backward", &Treatment::copyIn,
         &Treatment::backward, &ChunkExtra::backward}};
    for (const Direction &direction : directions) {
      for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
        const double copy =
            add(static_cast<int64_t>(chunk), direction.copy, nullptr);
        const double time = add(static_cast<int64_t>(chunk), direction.ofLayer,
                                direction.ofExtra);
        if (exceeds(copy, time))
          return createStringError(
              Twine(direction.copies) + " of chunk " + Twine(chunk) + " take " +
              mf::formatAmount(copy) + ", expected no more than the " +
              mf::formatAmount(time) + " of its " + direction.task);
      }
    }
    return Error::success();
  }

  Error checkForbidden() const {
    const auto ofStages = problem.schedule.pipeline.getChunksOfStages();
    for (const ForbiddenStage &forbidden : problem.forbidden) {
      auto isForbidden = [&](auto pair) {
        return chunks[std::get<0>(pair)] == std::get<1>(pair);
      };
      if (llvm::all_of(
              llvm::zip_equal(ofStages[forbidden.stage], forbidden.chunks),
              isForbidden))
        return createStringError("the chunks of stage " +
                                 Twine(forbidden.stage) +
                                 " are forbidden, expected others");
    }
    return Error::success();
  }

  Error checkMemory() const {
    for (int64_t stage = 0; stage < problem.schedule.pipeline.stages; ++stage) {
      const double peak = getPeak(stage);
      const double limit = problem.stages[stage].limit;
      if (exceeds(peak, limit))
        return createStringError(
            "stage " + Twine(stage) + " needs memory of " +
            mf::formatAmount(peak) + ", " + mf::formatAmount(peak - limit) +
            " more than its limit of " + mf::formatAmount(limit));
    }
    return Error::success();
  }

  const std::string &getTreatmentName(size_t treatment) const {
    return problem.kinds.front().treatments[treatment].name;
  }

  /// Adds up a cost of a chunk: that of its layers and that of its extras.
  double add(int64_t chunk, double Treatment::*ofLayer,
             double ChunkExtra::*ofExtra) const {
    double sum = 0;
    for (auto [kind, counts] :
         llvm::zip_equal(problem.kinds, chunks[chunk].counts))
      for (auto [treatment, count] : llvm::zip_equal(kind.treatments, counts))
        sum += static_cast<double>(count) * treatment.*ofLayer;
    if (ofExtra)
      for (const ChunkExtra &extra : problem.extras)
        if (extra.chunk == chunk)
          sum += extra.*ofExtra;
    return sum;
  }

  double getPeak(int64_t stage) const {
    const mf::schedule::Schedule &schedule = problem.schedule;
    const std::vector<int32_t> ofStage =
        schedule.pipeline.getChunksOfStages()[stage];
    double standing = problem.stages[stage].constant + getTransient(ofStage);
    std::vector<double> activation(chunks.size(), 0);
    std::vector<double> recomputed(chunks.size(), 0);
    for (int32_t chunk : ofStage) {
      activation[chunk] = add(chunk, &Treatment::activationMemory,
                              &ChunkExtra::activationMemory) /
                          static_cast<double>(schedule.pipeline.pieces);
      if (!schedule.pipeline.recomputed.empty())
        recomputed[chunk] = add(chunk, &Treatment::recomputedMemory, nullptr) /
                            static_cast<double>(schedule.pipeline.pieces);
      for (auto [kind, counts] :
           llvm::zip_equal(problem.kinds, chunks[chunk].counts))
        for (int64_t count : counts)
          standing += static_cast<double>(count) * kind.parameterMemory;
      for (const ChunkExtra &extra : problem.extras)
        if (extra.chunk == chunk)
          standing += extra.parameterMemory;
    }

    const Phase last =
        schedule.splitsBackward ? Phase::WeightGradient : Phase::Backward;
    // Tasks are counted, because a running sum of their memory would accumulate
    // rounding errors.
    std::vector<int64_t> held(chunks.size(), 0), heldRecomputed = held;
    double most = 0;
    for (const Task &task : schedule.stages[stage]) {
      if (task.phase == last) {
        --held[task.chunk];
        --heldRecomputed[task.chunk];
      }
      if (task.phase == Phase::Forward)
        ++held[task.chunk];
      if (task.phase ==
          (schedule.pipeline.recomputes(task.chunk, task.microBatch)
               ? Phase::Recompute
               : Phase::Forward))
        ++heldRecomputed[task.chunk];
      double sum = 0;
      for (int32_t chunk : ofStage)
        sum += static_cast<double>(held[chunk]) * activation[chunk] +
               static_cast<double>(heldRecomputed[chunk]) * recomputed[chunk];
      most = std::max(most, sum);
    }
    return standing + most;
  }

  double getTransient(llvm::ArrayRef<int32_t> ofStage) const {
    double most = 0;
    for (int32_t chunk : ofStage) {
      for (auto [kind, counts] :
           llvm::zip_equal(problem.kinds, chunks[chunk].counts))
        for (auto [treatment, count] : llvm::zip_equal(kind.treatments, counts))
          if (count > 0)
            most = std::max(most, treatment.transientMemory);
      for (const ChunkExtra &extra : problem.extras)
        if (extra.chunk == chunk)
          most = std::max(most, extra.transientMemory);
    }
    return most;
  }

  const Problem &problem;
  const std::vector<ChunkPlan> &chunks;
};

} // namespace

Error Plan::verify(const Problem &problem) const {
  return Verifier(problem, *this).run();
}
