//===- MfTrainingAttributes.td - Settings of a YAML --------*- tablegen -*-===//
//
// Part of MfAttributes.td.
//
//===----------------------------------------------------------------------===//

// An attribute that has all of a struct of TrainingConfig. The records of the
// struct's members (mf/Frontend/Config/KnownKeys.h) are those of the parameters:
// name, type, default and range come from there.
class Mf_SettingsAttr<string className, string attrMnemonic, string config,
                      string declarations = "">
    : Mf_Attr<className, attrMnemonic> {
  defvar type = "::mf::" # config;
  let parameters = (ins "::mlir::DictionaryAttr":$keys);
  let builders = [AttrBuilder<(ins "const " # type # " &":$config), [{
    return $_get($_ctxt, ::mf::ir::toKeys($_ctxt, config));
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the parameters as a part of a TrainingConfig.
    }] # type # [{ getConfig() const;
  }] # declarations;
  let extraClassDefinition = type # [{ $cppClass::getConfig() const {
      }] # type # [{ config;
      ::mf::ir::fromKeys(getKeys(), config);
      return config;
    }
    ::mlir::Attribute $cppClass::parse(::mlir::AsmParser &parser, ::mlir::Type) {
      }] # type # [{ config;
      if (::mf::ir::parseKeys(parser, config))
        return {};
      return get(parser.getContext(), config);
    }
    void $cppClass::print(::mlir::AsmPrinter &printer) const {
      ::mf::ir::printKeys(printer, getKeys(), &::mf::partId<}] # type # [{>);
    }
    ::llvm::LogicalResult $cppClass::verify(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::mlir::DictionaryAttr keys) {
      }] # type # [{ config;
      return ::mf::ir::verifyKeys(emitError, keys, config);
    }
  }];
}

def Mf_OptimizerShardAttr : Mf_Attr<"OptimizerShard", "optimizer_shard"> {
  let summary = "how ranks share the state of the optimizer";
  let description = [{
    Asks for ranks with the same part of a parameter to share its storage out
    among them, where it has at least `threshold` KB as a whole.
    `weight_shard_size` ranks share one, all for -1. `level` 1 shares out
    parameters and moments, 2 accumulated gradients too, and with 3 a rank has a
    layer's whole weights only while it runs.
  }];
  let parameters = (ins "int64_t":$level, "int64_t":$threshold,
                        DefaultValuedParameter<"int64_t", "-1">:$weight_shard_size);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Mf_ParallelAttr : Mf_Attr<"Parallel", "parallel"> {
  let summary = "layout of a training step on ranks";
  let description = [{
    `stages`: pipeline_stage; `interleave`: pp_interleave_num where the YAML
    switches interleaving on, else 1; `micro_batches`: forward and backward
    passes of one step (micro_batch_num with a pipeline,
    gradient_accumulation_steps without); `offset`: model_config.offset as
    written, an integer, a list or a list of lists; `gradient_groups`:
    gradient_aggregation_group, into how many groups the gradients of a model
    without stages are gathered to be reduced; `scheduler`: the policy by which
    stages order their micro-batches, under the name that the Schedule library
    has for it, from pipeline_scheduler.

    `sequence_pieces`: seq_split_num, into how many pieces of its sequence a
    micro-batch is cut, which run one after the other.

    `sequence_parallel`: use_seq_parallel, the residual stream between body
    layers is cut over mp too; `context_parallel`: context_parallel_algo, one of
    colossalai_cp, ulysses_cp and hybrid_cp. The last cuts heads over the axis
    `cp_ds` of the mesh and rows over `cp_co`. `optimizer_shard` is there where
    enable_parallel_optimizer asks for it. `gradients_mean` divides the reduced
    gradient of a parameter by the ranks that it is reduced over. `full_batch`:
    all ranks read the global batch and take their rows of each micro-batch, not
    a batch of their own. `row_blocks`: fine_grain_interleave, into how many
    blocks of rows norms and projections of layers are cut. `copies`:
    micro_batch_interleave_num, how many copies of the model, each on rows of its
    own, one pass has; `micro_batch_size` of the model is that of one, and the
    gradient that of the sum of their losses.
  }];
  let parameters = (ins "int64_t":$stages, "int64_t":$interleave,
                        "int64_t":$micro_batches,
                        OptionalParameter<"::mlir::Attribute">:$offset,
                        DefaultValuedParameter<"int64_t", "4">:$gradient_groups,
                        StringRefParameter<"", [{"1f1b"}]>:$scheduler,
                        DefaultValuedParameter<"int64_t", "1">:$sequence_pieces,
                        DefaultValuedParameter<"bool", "false">:$sequence_parallel,
                        OptionalParameter<"::mlir::StringAttr">:$context_parallel,
                        OptionalParameter<"::mf::ir::OptimizerShardAttr">:$optimizer_shard,
                        DefaultValuedParameter<"bool", "false">:$gradients_mean,
                        DefaultValuedParameter<"bool", "true">:$full_batch,
                        DefaultValuedParameter<"int64_t", "1">:$row_blocks,
                        DefaultValuedParameter<"int64_t", "1">:$copies);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns whether a gradient is complete after a single backward: there is
    /// one micro-batch in one piece, and one stage.
    bool hasOneBackward() const {
      return getStages() == 1 && getMicroBatches() == 1 &&
             getSequencePieces() == 1;
    }
  }];
}

def Mf_PatternAttr : Mf_Attr<"Pattern", "pattern"> {
  let summary = "one operator pattern of the YAML and the layers it covers";
  let description = [{
    `setting` is a bool, a list of counts per stage, or a list of such lists,
    one per chunk. `location` is where the YAML says so.
  }];
  let parameters = (ins "::mlir::StringAttr":$pattern,
                        "::mlir::Attribute":$setting,
                        OptionalParameter<"::mlir::Attribute">:$location);
  let assemblyFormat = "`<` $pattern `,` $setting (`,` $location^)? `>`";
  let genVerifyDecl = 1;
}

def Mf_RecomputeConfigAttr
    : Mf_SettingsAttr<"RecomputeConfig", "recompute_config", "RecomputeConfig"> {
  let summary = "the YAML's recompute_config";
  let description = [{
    Each value is as the user wrote it: a bool, an array of counts, an array of
    arrays, an array of strings, or an array of `#mf.pattern`. They become
    counts per stage and chunk only where they are applied, since that needs
    the number of layers. `kept_operators`: parts of names of operators that do
    not run again in any recomputed layer.
  }];
}

def Mf_SwapEntryAttr : Mf_Attr<"SwapEntry", "swap_entry"> {
  let summary = "layers whose activations are swapped, and when they come back";
  let description = [{
    `layers` is true for all layers or an array of layer indices; `prefetch`
    the number of kernels between the copy to the device and its first reader.
  }];
  let parameters = (ins "int64_t":$prefetch, "::mlir::Attribute":$layers,
                        OptionalParameter<"::mlir::Attribute">:$location);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Mf_OpSwapAttr : Mf_Attr<"OpSwap", "op_swap"> {
  let summary = "one operator pattern of op_swap and its entries";
  let parameters = (ins "::mlir::StringAttr":$pattern,
                        "::mlir::ArrayAttr":$entries,
                        OptionalParameter<"::mlir::Attribute">:$location);
  let assemblyFormat = "`<` $pattern `,` $entries (`,` $location^)? `>`";
  let genVerifyDecl = 1;
}

def Mf_SwapConfigAttr
    : Mf_SettingsAttr<"SwapConfig", "swap_config", "SwapConfig"> {
  let summary = "the YAML's swap_config";
  let description = [{
    Neither `layer_swap` nor `op_swap` asks for the default policy: flash
    attention of all layers with `default_prefetch`. An empty array is not the
    same: it asks for nothing.
  }];
}

def Mf_WeightAverageAttr
    : Mf_SettingsAttr<"WeightAverage", "weight_average", "WeightAverageConfig"> {
  let summary = "the average that PmaAdamW makes of each parameter";
  let description = [{
    Every `interval` steps the average becomes (1 - share) average + share
    parameter, with `sums` average + parameter; every `fused` times that the
    parameter becomes the average, with `sums` the average / `fused`, and the
    average 0.
  }];
}

def Mf_MuonAttr : Mf_SettingsAttr<"Muon", "muon", "MuonConfig", [{
    /// Returns whether Muon, rather than AdamW, updates a parameter of this
    /// rank (number of dimensions).
    bool trains(::llvm::StringRef parameter, int64_t rank);
  }]> {
  let summary = "how Muon updates matrices";
  let description = [{
    The momentum of each matrix is made orthogonal by a Newton-Schulz step for
    each triple of `coefficients`, behind a division by its norm + `eps`, and
    scaled by sqrt(larger dimension) * `rms`. Parameters of other ranks than two
    and three, and those that a pattern of `adamw_include` means, are AdamW's.
    `matrices` of a parameter says which it holds. `spreads`: each parameter is
    worked on by one of the ranks that have parts or copies of it, not by all of
    them. With `logit_threshold` weights shrink as their `logit_clip` says, behind
    their steps.
  }];
}

def Mf_CameAttr : Mf_SettingsAttr<"Came", "came", "CameConfig"> {
  let summary = "how Came updates parameters";
  let description = [{
    Squares of the gradient + `eps` are averaged with 1 - step^-`decay_rate`;
    updates whose root mean square is above `clip_threshold` are scaled to it;
    squares of what they differ by from the first moment + `instability_eps` are
    averaged with `beta3`.
  }];
}

def Mf_OptimizerAttr : Mf_Attr<"Optimizer", "optimizer"> {
  let summary = "AdamW, Muon or Came, and their constants";
  let description = [{
    `bias_correction` is false for MindSpore's AdamWeightDecay family and true
    for AdamW. With `corrects_eps` eps is added before the correction, as
    iFlytekSpark's AdamWeightDecayX does. Weight decay applies to parameters that
    a pattern of `decay_include` means, as a part of their names or as a wildcard,
    and of the others that none of `decay_exclude` means to those of rank two and
    more.
    `average` is that of PmaAdamW. With `muon` all other constants but
    `weight_decay` are those of the AdamW beside it. With `came` only `beta1` and
    `weight_decay` count, and all parameters decay.
  }];
  let parameters = (ins "::mlir::StringAttr":$type, Mf_Double<>:$beta1,
                        Mf_Double<>:$beta2, Mf_Double<>:$eps, Mf_Double<>:$weight_decay,
                        "bool":$bias_correction,
                        OptionalParameter<"::mf::ir::WeightAverageAttr">:$average,
                        OptionalParameter<"::mf::ir::MuonAttr">:$muon,
                        DefaultValuedParameter<"bool", "false">:$corrects_eps,
                        OptionalParameter<"::mf::ir::CameAttr">:$came,
                        OptionalParameter<"::mlir::ArrayAttr">:$decay_include,
                        OptionalParameter<"::mlir::ArrayAttr">:$decay_exclude);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns whether weight decay applies to a parameter of this rank (number
    /// of dimensions).
    bool decays(::llvm::StringRef parameter, int64_t rank);
  }];
}

def Mf_ClippingAttr
    : Mf_SettingsAttr<"Clipping", "clipping", "ClippingConfig"> {
  let summary = "gradient clipping by global norm";
}

def Mf_LrScheduleAttr : Mf_Attr<"LrSchedule", "lr_schedule"> {
  let summary = "learning rate over the steps";
  let description = [{
    `type` and `parameters` as MindSpore Transformers names them. The runner
    computes the rate of each step and copies it to the device.

    `groups` among the parameters are schedules of parameters whose names have
    one of the patterns `params`, as a part or as a wildcard, and none of a group
    before it, with the keys of a schedule beside them. Then the learning rate of a step is a vector: the
    rate of all others, and that of each group.
  }];
  let parameters = (ins "::mlir::StringAttr":$type,
                        "::mlir::DictionaryAttr":$parameters);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the patterns of each group.
    ::llvm::SmallVector<::mlir::ArrayAttr> getGroupPatterns();
    /// Returns the index of a parameter's learning rate: 0, or that of its
    /// group, from 1.
    int64_t getGroup(::llvm::StringRef parameter);
    /// Returns whether a pattern of a group matches a parameter.
    static bool matches(::llvm::StringRef pattern, ::llvm::StringRef parameter);
  }];
}

def Mf_LossScaleUpdateAttr
    : Mf_SettingsAttr<"LossScaleUpdate", "loss_scale_update", "LossScaleUpdateConfig"> {
  let summary = "how the loss scale follows overflows";
  let description = [{
    A step with a gradient that is not finite divides the scale by `factor`, to
    no less than 1; `window` steps in a row without one multiply it. The runner
    does so after each step and copies the scale to the device.
  }];
}

def Mf_ExpertBalanceAttr : Mf_Attr<"ExpertBalance", "expert_balance"> {
  let summary = "how a step's end balances the load of experts";
  let description = [{
    TopkBiasBalanceCallback: the bias of each expert changes by `rate`, up if
    its load is below `target`.
  }];
  let parameters = (ins Mf_Double<>:$rate, Mf_Double<>:$target);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Mf_DropRateAttr : Mf_Attr<"DropRate", "drop_rate"> {
  let summary = "what is reported as the rate of dropped tokens";
  let description = [{
    MoEDropRateCallback: the sum over experts of what of their share is above
    `threshold`, capacity_factor / expert_num of the callback. It looks at the
    first `layers` layers.
  }];
  let parameters = (ins Mf_Double<>:$threshold, "int64_t":$layers);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Mf_FusionsAttr : Mf_Attr<"Fusions", "fusions"> {
  let summary = "which operators the YAML wants as one kernel";
  let description = [{
    `rotary`: use_fused_rope, rotary embedding; `swiglu`: use_fused_swiglu, SiLU
    and its product; `group_matmuls`: use_gmm, the products of all experts, unless
    the YAML says False; `permute_tokens`: use_fused_ops_permute, sorting tokens
    by expert; `route`: use_fused_ops_topkrouter, the places of tokens among
    those of their experts.
  }];
  let parameters = (ins DefaultValuedParameter<"bool", "false">:$rotary,
                        DefaultValuedParameter<"bool", "false">:$swiglu,
                        DefaultValuedParameter<"bool", "true">:$group_matmuls,
                        DefaultValuedParameter<"bool", "false">:$permute_tokens,
                        DefaultValuedParameter<"bool", "false">:$route);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Mf_TrainingAttr : Mf_Attr<"Training", "training"> {
  let summary = "everything of the YAML that shapes a training step";
  let description = [{
    `loss_scale`: what the loss's gradient is multiplied with before backward
    and divided by before clipping, at the first step; it stays so unless there
    is a `loss_scale_update`. `max_device_memory`: bytes, 0 where the YAML has
    none. `fusions` is there where the YAML asks for other ones than the default.
    `graph_kernel_fusion`: jit_level O1 or enable_graph_kernel, which only changes
    how long vector operators take. `loss_chunks`: chunk_loss_num, into how many
    pieces of the sequence the loss is cut.
    `locations`: where the YAML has the keys that messages of later passes are
    about, by key.
  }];
  let parameters = (ins "::mf::ir::ParallelAttr":$parallel,
                        "::mf::ir::RecomputeConfigAttr":$recompute,
                        "::mf::ir::SwapConfigAttr":$swap,
                        "::mf::ir::OptimizerAttr":$optimizer,
                        "::mf::ir::LrScheduleAttr":$lr_schedule,
                        OptionalParameter<"::mf::ir::ClippingAttr">:$clipping,
                        Mf_Double<>:$loss_scale,
                        OptionalParameter<"::mf::ir::LossScaleUpdateAttr">:$loss_scale_update,
                        "int64_t":$max_device_memory,
                        OptionalParameter<"::mf::ir::ExpertBalanceAttr">:$expert_balance,
                        OptionalParameter<"::mf::ir::DropRateAttr">:$drop_rate,
                        OptionalParameter<"::mf::ir::FusionsAttr">:$fusions,
                        DefaultValuedParameter<"bool", "false">:$graph_kernel_fusion,
                        DefaultValuedParameter<"int64_t", "1">:$loss_chunks,
                        OptionalParameter<"::mlir::DictionaryAttr">:$locations);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Returns whether the loss scale can differ from 1.
    bool scalesLoss() const {
      return getLossScaleUpdate() || !getLossScale().isExactlyValue(1.0);
    }
  }];
}
