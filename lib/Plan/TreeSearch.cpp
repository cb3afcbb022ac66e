//===- TreeSearch.cpp - Branch and bound over sets of plans ---------------===//

#include "TreeSearch.h"
#include "LocalSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::plan {

TreeSearch::TreeSearch(OptionChain root, StepGraph &graph,
                       const TickProblem &problem, Incumbent &incumbent)
    : root(std::move(root)), graph(graph), problem(problem),
      incumbent(incumbent) {}

OptionChain TreeSearch::makeChain(const Node &node) const {
  OptionChain chain = root;
  if (node.decisions.empty())
    return chain;
  for (const Decision &decision : node.decisions) {
    const StageOptions &options = chain.getStages()[decision.stage];
    chain.filter(decision.stage, [&](int32_t option) {
      return decision.allows(options, option);
    });
  }
  chain.clean();
  return chain;
}

void TreeSearch::addCut(PathCut cut) {
  constexpr size_t most = 24;
  if (llvm::any_of(cuts, [&](const PathCut &other) {
        return other.counts == cut.counts;
      }))
    return;
  cuts.push_back(std::move(cut));
  if (cuts.size() > most)
    cuts.erase(cuts.begin());
}

void TreeSearch::applyCuts(OptionChain &chain, double &bound) {
  for (const PathCut &cut : cuts) {
    if (chain.isEmpty())
      return;
    bound = std::max(bound, chain.eliminate(cut, incumbent.getLimit()));
  }
}

void TreeSearch::expand(Node node) {
  constexpr int64_t rootRounds = 200, rounds = 40;
  constexpr double inertia = 20;
  ++numNodes;
  bool isRoot = node.decisions.empty();
  OptionChain chain = makeChain(node);
  double viaCut = 0;
  if (!node.cut.counts.empty())
    node.bound = std::max(
        node.bound, viaCut = chain.eliminate(node.cut, incumbent.getLimit()));
  applyCuts(chain, node.bound);
  if (chain.isEmpty() || node.bound >= incumbent.getLimit())
    return;
  GameResult game =
      playPathGame(chain, graph, problem, incumbent, node.average,
                   {isRoot ? rootRounds : rounds, isRoot ? 0 : inertia});
  node.bound = std::max(node.bound, game.bound);
  if (chain.isEmpty() || node.bound >= incumbent.getLimit())
    return;
  if (isRoot || numNodes % 8 == 0)
    searchNearby(chain, graph, problem, incumbent, game.average,
                 isRoot ? 20 : 3);
  // What is exact of the last plans: their critical paths.
  for (auto sample = game.samples.rbegin();
       sample != game.samples.rend() && sample - game.samples.rbegin() < 3;
       ++sample) {
    PathCut cut = graph.getCriticalCut(
        getDurations(chain.getStages(), sample->options, problem));
    OptionList answer;
    double bound = chain.getLeast(cut, &answer);
    node.bound = std::max(node.bound, bound);
    incumbent.offer(chain.getStages(), answer);
    chain.eliminate(cut, incumbent.getLimit());
    addCut(std::move(cut));
    if (chain.isEmpty() || node.bound >= incumbent.getLimit())
      return;
  }
  if (isRoot) {
    root = chain;
    optionsLeft = chain.getNumOptions();
  }
  std::optional<Decision> decision = chooseDecision(chain, game);
  // One plan is left, which its own critical path has bounded.
  if (!decision)
    return;
  node.average = std::move(game.average);
  if (game.bound >= viaCut)
    node.cut = std::move(game.cut);
  for (bool isAtMost : {true, false}) {
    Node child = node;
    child.number = 2 * numNodes + (isAtMost ? 0 : 1);
    decision->isAtMost = isAtMost;
    child.decisions.push_back(*decision);
    open.insert(std::move(child));
  }
}

TreeSearch::Node TreeSearch::makeRoot() {
  Node first;
  PathCut all;
  all.counts.assign(problem.getNumDurations(), 1);
  OptionList answer;
  root.getLeast(all, &answer);
  std::vector<int64_t> durations =
      getDurations(root.getStages(), answer, problem);
  first.average.assign(durations.begin(), durations.end());
  return first;
}

void TreeSearch::runRoot() {
  if (!root.isEmpty())
    expand(makeRoot());
}

double TreeSearch::run() {
  if (root.isEmpty())
    return incumbent.getLimit();
  open.insert(makeRoot());
  while (!open.empty()) {
    double bound = open.begin()->bound;
    if (bound >= incumbent.getLimit() || incumbent.isOver())
      break;
    incumbent.report(bound);
    Node node = std::move(open.extract(open.begin()).value());
    double known = node.bound;
    std::vector<Decision> decisions = node.decisions;
    expand(std::move(node));
    // What was broken off is not searched.
    if (incumbent.isOver())
      open.insert({known, -1, std::move(decisions), {}, {}});
  }
  return open.empty() ? incumbent.getLimit() : open.begin()->bound;
}

} // namespace mf::plan
