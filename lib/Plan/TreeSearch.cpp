//===- TreeSearch.cpp - Branch and bound over sets of plans ---------------===//

#include "TreeSearch.h"
#include "DepthSearch.h"
#include "LocalSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

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

bool TreeSearch::isDone(const OptionChain &chain, const Node &node) const {
  return chain.isEmpty() || node.bound >= incumbent.getLimit();
}

/// The set's own plans on the paths that bound other sets.
void TreeSearch::applyCuts(OptionChain &chain, Node &node) {
  double limit = incumbent.getLimit();
  if (!node.cut.counts.empty())
    node.bound = std::max(node.bound, chain.eliminate(node.cut, limit));
  for (llvm::ArrayRef<PathCut> list : {stageCuts, cuts})
    for (const PathCut &cut : list) {
      if (isDone(chain, node))
        return;
      node.bound = std::max(node.bound, chain.eliminate(cut, limit));
    }
}

/// For each stage, a path that stays on it as long as it can: the longest one of
/// a good plan if that stage were slower.
void TreeSearch::addStageCuts(OptionChain &chain,
                              llvm::ArrayRef<double> durations) {
  constexpr double factors[] = {1.03, 1.3};
  stageCuts.clear();
  for (double factor : factors)
    for (const StageOptions &stage : chain.getStages()) {
      std::vector<int64_t> slower(durations.begin(), durations.end());
      for (int32_t number : stage.durationNumbers)
        slower[number] = static_cast<int64_t>(factor * durations[number]);
      stageCuts.push_back(graph.getCriticalCut(slower));
    }
  int64_t known = -1;
  while (known != chain.getNumArcs() + chain.getNumOptions()) {
    known = chain.getNumArcs() + chain.getNumOptions();
    for (const PathCut &cut : stageCuts)
      chain.eliminate(cut, incumbent.getLimit());
    if (getenv("DBG")) fprintf(stderr, "stage cuts: %ld options %ld arcs\n", (long)chain.getNumOptions(), (long)chain.getNumArcs());
  }
}

/// The longest paths of the last plans, which are exact for these.
void TreeSearch::addCriticalCuts(OptionChain &chain, const GameResult &game,
                                 Node &node) {
  constexpr size_t most = 3;
  for (const PlanSample &sample :
       llvm::ArrayRef(game.samples).take_back(most)) {
    if (isDone(chain, node))
      return;
    PathCut cut = graph.getCriticalCut(
        getDurations(chain.getStages(), sample.options, problem));
    OptionList answer;
    double bound = chain.getLeast(cut, &answer);
    incumbent.offer(chain.getStages(), answer);
    node.bound = std::max(node.bound, bound);
    chain.eliminate(cut, incumbent.getLimit());
    addCut(std::move(cut));
  }
}

void TreeSearch::expand(Node node) {
  constexpr int64_t rootRounds = 100;
  static int64_t rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 30;
  static int64_t choices = getenv("CH") ? atoi(getenv("CH")) : 200;
  static int64_t rootChoices = getenv("RCH") ? atoi(getenv("RCH")) : 2000;
  ++numNodes;
  bool isRoot = node.decisions.empty();
  double b0 = node.bound;
  OptionChain chain = makeChain(node);
  applyCuts(chain, node);
  double b1 = node.bound;
  if (isDone(chain, node))
    return;
  if (isRoot || numNodes % 16 == 0)
    searchLocally(chain, isRoot ? 200 : 60);
  if (isDone(chain, node))
    return;
  GameResult game =
      playPathGame(chain, graph, problem, incumbent, {std::move(node.samples), node.cut}, isRoot ? rootRounds : rounds);
  if (game.bound > node.bound)
    node.cut = std::move(game.cut);
  node.bound = std::max(node.bound, game.bound);
  if (getenv("DBG")) {
    std::vector<int64_t> av(game.average.begin(), game.average.end());
    Decision d = node.decisions.empty() ? Decision() : node.decisions.back();
    fprintf(stderr,
            "node %ld depth %zu stage %zu feature %zu %s %.4g: parent %.5f "
            "viacut %.5f game %.5f primal %.5f opts %ld\n",
            (long)numNodes, node.decisions.size(), d.stage, d.feature,
            d.isAtMost ? "<=" : ">", d.threshold, b0 / incumbent.getTicks(),
            b1 / incumbent.getTicks(), game.bound / incumbent.getTicks(),
            double(graph.getMakespan(av)) / incumbent.getTicks(),
            (long)chain.getNumOptions());
  }
  if (isDone(chain, node))
    return;
  addCriticalCuts(chain, game, node);
  if (isDone(chain, node))
    return;
  if (searchDeep(chain, isRoot ? rootChoices : choices, node))
    return;
  if (isRoot) {
    root = chain;
    optionsLeft = chain.getNumOptions();
  }
  branch(chain, game, std::move(node));
}

/// For good plans.
void TreeSearch::searchLocally(OptionChain &chain, int64_t rounds) {
  constexpr int64_t roundOffs = 20;
  constexpr double near = 1.02;
  GameResult game = playPathGame(chain, graph, problem, incumbent, GameStart(), rounds,
                                 StepRule::Shrinking);
  LocalSearch local(chain, graph, problem, incumbent);
  local.roundOff(game.average, roundOffs);
  if (getenv("DBG")) fprintf(stderr, "%.2f rounded %.4f\n", incumbent.getSeconds(), problem.getTime(local.getBest().ticks));
  if (static_cast<double>(local.getBest().ticks) <
      near * static_cast<double>(incumbent.getTicks()))
    local.changeParts();
  if (numNodes == 1 && !chain.isEmpty() && !local.getBest().options.empty()) {
    std::vector<int64_t> whole =
        getDurations(chain.getStages(), local.getBest().options, problem);
    addStageCuts(chain, std::vector<double>(whole.begin(), whole.end()));
  }
  if (getenv("DBG")) fprintf(stderr, "%.2f changed %.4f\n", incumbent.getSeconds(), problem.getTime(local.getBest().ticks));
}

/// True if no plan of the set is left.
bool TreeSearch::searchDeep(OptionChain &chain, int64_t mostChoices, const Node &node) {
  std::vector<PathCut> all = stageCuts;
  llvm::append_range(all, cuts);
  if (!node.cut.counts.empty())
    all.push_back(node.cut);
  DepthSearch search(chain, graph, problem, incumbent, all);
  bool isDone = search.run(mostChoices);
  if (getenv("DBG")) fprintf(stderr, "deep %d choices %ld\n", isDone, (long)search.getNumChoices());
  for (PathCut &cut : search.takeCuts()) addCut(std::move(cut));
  return isDone;
}

void TreeSearch::branch(OptionChain &chain, const GameResult &game,
                        Node node) {
  GameResult g2 = game;
  if (g2.cut.counts.empty())
    g2.cut = node.cut;
  std::optional<Decision> decision = chooseDecision(chain, g2);
  if (!decision) {
    // One plan is left.
    OptionList answer;
    chain.getLeast(node.cut, &answer);
    incumbent.offer(chain.getStages(), answer);
    return;
  }
  const StageOptions &options = chain.getStages()[decision->stage];
  for (bool isAtMost : {true, false}) {
    decision->isAtMost = isAtMost;
    Node child;
    child.bound = node.bound;
    child.number = 2 * numNodes + (isAtMost ? 0 : 1);
    child.decisions = node.decisions;
    child.decisions.push_back(*decision);
    child.cut = node.cut;
    for (const PlanSample &sample : game.samples)
      if (decision->allows(options, sample.options[decision->stage]))
        child.samples.push_back(sample);
    open.insert(std::move(child));
  }
}

void TreeSearch::runRoot() {
  if (!root.isEmpty())
    expand({});
}

double TreeSearch::run() {
  if (root.isEmpty())
    return incumbent.getLimit();
  open.insert(Node());
  while (!open.empty()) {
    double bound = open.begin()->bound;
    if (bound >= incumbent.getLimit() || incumbent.isOver())
      break;
    incumbent.report(bound);
    Node node = std::move(open.extract(open.begin()).value());
    Node again;
    again.bound = node.bound;
    again.number = node.number;
    again.decisions = node.decisions;
    expand(std::move(node));
    // What was broken off is not searched.
    if (incumbent.isOver())
      open.insert(std::move(again));
  }
  return open.empty() ? incumbent.getLimit() : open.begin()->bound;
}

} // namespace mf::plan
