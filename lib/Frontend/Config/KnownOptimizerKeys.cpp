//===- KnownOptimizerKeys.cpp - The optimizer and learning rates ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/KnownKeys.h"

namespace mf {

using namespace known;

using Adam = OptimizerConfig;
using Average = WeightAverageConfig;
using Factored = CameConfig;
using Orthogonal = MuonConfig;
using Rate = LrScheduleConfig;

static constexpr KnownKey optimizerKeys[] = {
    key<&Adam::type>("type", "the class of the optimizer"),
    used("betas", "beta1 and beta2 as a list"),
    key<&Adam::beta1>("beta1", "decay of the first moment"),
    key<&Adam::beta2>("beta2", "decay of the second moment"),
    used("eps", "what is added to the root of the second moment; a list of "
                "three numbers of Came"),
    key<&Adam::weightDecay>("weight_decay",
                            "decay of parameters of rank two and more",
                            notNegative),
    key<&Adam::learningRate>("learning_rate",
                             "no effect: the rate is that of lr_schedule"),
    key<&Adam::swap>("swap", "the state lives on the host",
                     notLowered("the optimizer's state stays on the device")),
    key<&Average::interleaveStep>("interleave_step",
                                  "steps between averages (PmaAdamW)"),
    key<&Average::fusedNum>("fused_num",
                            "averages until parameters take it (PmaAdamW)"),
    key<&Average::emaAlpha>(
        "ema_alpha", "share of the parameter in an average (PmaAdamW)", share),
    used("fused_algo", "ema or sma, the kind of average (PmaAdamW)",
         of<Average>),
    key<&Orthogonal::momentum>("momentum", "decay of the momentum (Muon)",
                               ratio),
    key<&Orthogonal::nesterov>("nesterov",
                               "the direction looks one momentum ahead (Muon)"),
    key<&Orthogonal::matchedAdamWRms>(
        "matched_adamw_rms",
        "the root of the mean square of an update's elements (Muon)", positive),
    used("ns_steps", "Newton-Schulz steps of one triple of coefficients (Muon)",
         of<Orthogonal>),
    used("ns_coefficients",
         "their coefficients, or a list of triples with their steps (Muon)",
         of<Orthogonal>),
    used("adamw_betas", "beta1 and beta2 of what AdamW updates (Muon)",
         of<Orthogonal>),
    used("adamw_eps", "eps of what AdamW updates (Muon)", of<Orthogonal>),
    used("adamw_include", "parameters that AdamW updates (Muon)",
         of<Orthogonal>),
    used("comm_strategy", "who works on which matrix (Muon)", of<Orthogonal>),
    key<&Factored::clipThreshold>(
        "clip_threshold", "the largest root mean square of an update (Came)",
        positive),
    key<&Factored::decayRate>(
        "decay_rate", "squares are averaged with 1 - step^-decay_rate (Came)",
        ratio),
    key<&Factored::beta3>(
        "beta3", "decay of the squares of what updates differ by (Came)",
        ratio),
    used("scale_parameter", "rates follow the parameter's norm (Came)",
         of<Factored>),
    used("relative_step", "rates follow the step's number (Came)",
         of<Factored>),
    used("warmup_init", "rates of relative_step begin low (Came)",
         of<Factored>),
    used("compression", "averages in fp16 (Came)", of<Factored>),
    used("qk_clip_enabled", "weights shrink where logits are large (Muon)",
         of<Orthogonal>),
    used("qk_clip_threshold", "the logit from which on they do (Muon)",
         of<Orthogonal>),
    used("micro_batch_num",
         "what qk_clip_threshold is multiplied by in the static graph (Muon)"),
    notModelled("amsgrad", "False"),
    notModelled("maximize", "False"),
};
static constexpr IrrelevantKeys optimizerRest[] = {
    {sameNumbers, "use_fused"},
};
constexpr KnownSection optimizerSection = {"optimizer", false, optimizerKeys,
                                           optimizerRest};

// After the first key, an item of grouped_lr_schedule has the keys of a
// schedule.
static constexpr KnownKey lrGroupKeys[] = {
    used("params", "parts of names of parameters, or wildcards"),
    key<&Rate::type>("type", "the class of the schedule"),
    key<&Rate::learningRate>("learning_rate", "the highest rate", notNegative),
    key<&Rate::lrEnd>("lr_end", "the last rate", notNegative, orNull),
    key<&Rate::warmupLrInit>("warmup_lr_init", "the first rate of warm-up",
                             notNegative, orNull),
    key<&Rate::warmupSteps>("warmup_steps", "steps of warm-up", from(0),
                            orNull),
    key<&Rate::warmupRatio>("warmup_ratio",
                            "steps of warm-up as a share of the run", ratio,
                            orNull),
    key<&Rate::totalSteps>("total_steps",
                           "steps of the schedule; -1 is the length of the run",
                           orNull, orMinusOne),
    key<&Rate::numCycles>("num_cycles", "waves of a cosine", notNegative,
                          orNull),
    key<&Rate::power>("power", "power of a polynomial", notNegative, orNull),
    key<&Rate::decaySteps>("decay_steps", "steps of decay", from(0), orNull),
    key<&Rate::decayRatio>(
        "decay_ratio", "steps of decay as a share of the run", ratio, orNull),
    key<&Rate::decayStartSteps>("decay_start_steps",
                                "the step where decay starts", from(0), orNull),
    key<&Rate::decayStartRatio>(
        "decay_start_ratio", "that step as a share of the run", ratio, orNull),
    used("base_lr", "learning_rate of the annealing schedules"),
    key<&Rate::tMax>("t_max", "half a period of CosineAnnealingLR", orNull),
    key<&Rate::t0>("t_0", "the first period of CosineAnnealingWarmRestarts",
                   orNull),
    key<&Rate::tMult>(
        "t_mult", "by what each period is longer than the one before", orNull),
    key<&Rate::etaMin>("eta_min", "the lowest rate of annealing", notNegative,
                       orNull),
    notModelled("warmup_epochs", "0|None"),
    notModelled("max_lr"),
    notModelled("min_lr"),
    notModelled("num_iters"),
};
static constexpr IrrelevantKeys lrScheduleRest[] = {
    {unread, "auto_register scale_factor"},
};
constexpr KnownSection lrGroupSection = {"grouped_lr_schedule.grouped", false,
                                         lrGroupKeys, lrScheduleRest};
constexpr KnownSection lrScheduleSection = {
    "lr_schedule", false,
    llvm::ArrayRef<KnownKey>(lrGroupKeys + 1, std::size(lrGroupKeys) - 1),
    lrScheduleRest};

static constexpr KnownKey groupedLrKeys[] = {
    used("default", "the schedule of parameters that no item names"),
    used("grouped", "schedules of other parameters, each with params"),
};
constexpr KnownSection groupedLrSection = {"grouped_lr_schedule", false,
                                           groupedLrKeys};

} // namespace mf
