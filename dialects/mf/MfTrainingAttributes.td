//===- MfTrainingAttributes.td - Settings of a YAML --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of MfAttributes.td.
//
//===----------------------------------------------------------------------===//

def Mf_OptimizerShardAttr : Mf_Attr<"OptimizerShard", "optimizer_shard"> {
  let summary = "how ranks share the state of the optimizer";
  let description = [{
    Ranks with the same part of a parameter divide its storage among themselves
    if the whole parameter has at least `threshold` KB. `weight_shard_size` is the
    number of ranks that share one part, and -1 means all of them. `level` 1
    divides parameters and moments, 2 also accumulated gradients. With 3 a rank
    also gathers the whole weights of a layer only while the layer runs.
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

    `sequence_pieces`: seq_split_num, the number of pieces into which the sequence
    of a micro-batch is cut. They run one after the other.

    `sequence_parallel`: use_seq_parallel, which cuts the residual stream between
    body layers over mp too. `context_parallel`: context_parallel_algo, one of
    colossalai_cp, ulysses_cp and hybrid_cp. The last cuts heads over the axis
    `cp_ds` of the mesh and rows over `cp_co`. `optimizer_shard` is set if
    enable_parallel_optimizer is. `gradients_mean` divides the reduced gradient of
    a parameter by the number of ranks that it is reduced over. `full_batch`: all
    ranks read the global batch and take their rows of each micro-batch, instead
    of reading a batch of their own. `row_blocks`: fine_grain_interleave, the
    number of blocks of rows into which norms and projections of layers are cut.
    `copies`: micro_batch_interleave_num, the number of copies of the model in one
    pass, each on its own rows. `micro_batch_size` of the model counts the rows of
    one copy, and the gradient is that of the sum of the copies' losses.
    `gathers_again`: parallel_optimizer_comm_recompute, which lets recomputed layers
    gather their weights again.
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
                        DefaultValuedParameter<"int64_t", "1">:$copies,
                        DefaultValuedParameter<"bool", "false">:$gathers_again);
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

def Mf_LayerSettingsAttr : Mf_Attr<"LayerSettings", "layer_settings"> {
  let summary = "what the YAML asks of one layer";
  let description = [{
    Each of `requests` is a key of the YAML. `recompute` and `layer_swap` are about the
    whole layer. The other keys have a pattern for names of operators, with `whole` for
    whole paths of Cells. `prefetch` says how long before its first reader a swapped
    value comes back, in kernels, or with `layers` in layers. `unnamed` marks a value of
    the YAML that names no operators (and, with swap on, no layers). The location is that
    in the YAML. `recompute` includes what the patterns of `select_recompute` and
    `select_comm_recompute` name.

    `number` is the layer's number in messages, and `comm_fusion` the group in which its
    gradients are reduced. `swap_on`: the YAML switches swap on. `selects`: it selects
    operators in some layer. `slices`: ranks with the same input of a recomputed layer
    each keep a part of it. `keeps_comm`: recomputed Cells do not run their communication
    again. `kept_operators`: parts of names of operators that do not run again in any
    recomputed Cell.

    ```mlir
    mf.layer @layers.3 body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {settings = #mf.layer_settings<number = 3, requests = [recompute]>} { ... }
    ```

    ```mlir
    mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "feed_forward\\.mul", select_recompute_exclude "attention\\.wo\\.matmul"]>} { ... }
    ```

    ```mlir
    mf.layer @b body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {settings = #mf.layer_settings<swap_on, requests = [layer_swap prefetch 2, op_swap ".*\\.flash_attention" prefetch 1]>} { ... }
    ```
  }];
  let parameters = (ins AttrOrTypeParameter<"::mf::LayerSettings", "",
                                            "const ::mf::LayerSettings &">:$value);
  let hasCustomAssemblyFormat = 1;
}

def Mf_WeightAverageAttr : Mf_Attr<"WeightAverage", "weight_average"> {
  let summary = "the average that PmaAdamW makes of each parameter";
  let description = [{
    Every `interval` steps the average becomes (1 - share) average + share
    parameter, or average + parameter with `sums`. Every `interval` * `fused`
    steps the parameter becomes the average, or average / `fused` with `sums`, and
    the average becomes 0.
  }];
  let parameters = (ins "int64_t":$interval, "int64_t":$fused, Mf_Double<>:$share,
                        DefaultValuedParameter<"bool", "false">:$sums);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Mf_MuonAttr : Mf_Attr<"Muon", "muon"> {
  let summary = "how Muon updates matrices";
  let description = [{
    The momentum of each matrix is divided by its norm + `eps`, made orthogonal by
    one Newton-Schulz iteration per triple of `coefficients`, and multiplied by
    sqrt(larger dimension) * `rms`. AdamW updates parameters that do not have two
    or three dimensions, and those that a pattern of `adamw_include` matches. The
    attribute `matrices` of a parameter says which matrices it holds. With
    `spreads` only one of the ranks with parts or copies of a parameter computes
    its direction, not all of them. With `logit_threshold` weights are scaled down
    after their update as their `logit_clip` says.
  }];
  let parameters = (ins Mf_Double<>:$momentum, "bool":$nesterov, Mf_Double<>:$rms,
                        Mf_Double<>:$eps, "::mlir::ArrayAttr":$coefficients,
                        OptionalParameter<"::mlir::ArrayAttr">:$adamw_include,
                        DefaultValuedParameter<"bool", "false">:$spreads,
                        OptionalParameter<"::mlir::FloatAttr">:$logit_threshold);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns whether Muon, rather than AdamW, updates a parameter of this
    /// rank (number of dimensions).
    bool trains(::llvm::StringRef parameter, int64_t rank);
  }];
}

def Mf_CameAttr : Mf_Attr<"Came", "came"> {
  let summary = "how Came updates parameters";
  let description = [{
    The running mean of the squared gradient + `eps` decays by 1 -
    step^-`decay_rate`. An update whose root mean square is above `clip_threshold`
    is scaled down to it. The running mean of the squared difference between the
    update and the first moment, + `instability_eps`, decays by `beta3` (Luo et
    al., 2023).
  }];
  let parameters = (ins Mf_Double<>:$eps, Mf_Double<>:$instability_eps,
                        Mf_Double<>:$clip_threshold, Mf_Double<>:$decay_rate,
                        Mf_Double<>:$beta3);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Mf_OptimizerAttr : Mf_Attr<"Optimizer", "optimizer"> {
  let summary = "AdamW, Muon or Came, and their constants";
  let description = [{
    `bias_correction` is false for MindSpore's AdamWeightDecay family and true
    for AdamW. With `corrects_eps` eps is added before the correction, as
    iFlytekSpark's AdamWeightDecayX does. A pattern is a part of a parameter's
    name or a wildcard. Weight decay applies to parameters that a pattern of
    `decay_include` matches. Of the others it applies to those that have at least
    two dimensions and that no pattern of `decay_exclude` matches.
    `average` is set for PmaAdamW. With `muon`, all other constants except
    `weight_decay` are those of the AdamW that updates the remaining parameters.
    With `came`, only `beta1` and `weight_decay` are used, and all parameters
    decay.
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

def Mf_ClippingAttr : Mf_Attr<"Clipping", "clipping"> {
  let summary = "gradient clipping by global norm";
  let parameters = (ins Mf_Double<>:$max_norm);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Mf_LrScheduleAttr : Mf_Attr<"LrSchedule", "lr_schedule"> {
  let summary = "learning rate over the steps";
  let description = [{
    `type` and `parameters` have the names of MindSpore Transformers. The runner
    computes the rate of each step and copies it to the device.

    `groups` in `parameters` lists schedules for some parameters of the model.
    Each group has the keys of a schedule and `params`, a list of patterns, each a
    part of a parameter's name or a wildcard. A parameter belongs to the first
    group with a pattern that matches it. With groups the learning rate of a step
    is a vector: first the rate of the parameters without a group, then the rate
    of each group.
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

def Mf_LossScaleUpdateAttr : Mf_Attr<"LossScaleUpdate", "loss_scale_update"> {
  let summary = "how the loss scale follows overflows";
  let description = [{
    A step with a gradient that is not finite divides the scale by `factor`, but
    not below 1. `window` consecutive steps without one multiply the scale by
    `factor`. The runner updates the scale after each step and copies it to the
    device.
  }];
  let parameters = (ins "int64_t":$factor, "int64_t":$window);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Mf_ExpertBalanceAttr : Mf_Attr<"ExpertBalance", "expert_balance"> {
  let summary = "how a step's end balances the load of experts";
  let description = [{
    The bias of each expert rises by `rate` if the expert's load is below
    `target`, and falls by `rate` if it is above, as in TopkBiasBalanceCallback of
    MindSpore Transformers.
  }];
  let parameters = (ins Mf_Double<>:$rate, Mf_Double<>:$target);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Mf_DropRateAttr : Mf_Attr<"DropRate", "drop_rate"> {
  let summary = "how the reported rate of dropped tokens is computed";
  let description = [{
    The rate is the sum over experts of the part of their share of tokens that is
    above `threshold`, as in MoEDropRateCallback of MindSpore Transformers, where
    `threshold` is capacity_factor / expert_num. The first `layers` layers are
    reported.
  }];
  let parameters = (ins Mf_Double<>:$threshold, "int64_t":$layers);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Mf_FusionsAttr : Mf_Attr<"Fusions", "fusions"> {
  let summary = "which groups of operators become one kernel";
  let description = [{
    `rotary` (use_fused_rope): rotary embedding. `swiglu` (use_fused_swiglu): SiLU
    and the product with its result. `group_matmuls` (use_gmm, true by default):
    the products of all experts. `permute_tokens` (use_fused_ops_permute): sorting
    tokens by expert. `route` (use_fused_ops_topkrouter): computing the places of
    tokens in their experts. `hyper_connections` (use_fused_mhc): the two parts of a
    site of residual streams.
  }];
  let builders = [AttrBuilder<(ins), [{
    return $_get($_ctxt, false, false, true, false, false, false);
  }]>];
  let parameters = (ins DefaultValuedParameter<"bool", "false">:$rotary,
                        DefaultValuedParameter<"bool", "false">:$swiglu,
                        DefaultValuedParameter<"bool", "true">:$group_matmuls,
                        DefaultValuedParameter<"bool", "false">:$permute_tokens,
                        DefaultValuedParameter<"bool", "false">:$route,
                        DefaultValuedParameter<"bool", "false">:$hyper_connections);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Mf_TrainingAttr : Mf_Attr<"Training", "training"> {
  let summary = "the settings of the YAML that define a training step";
  let description = [{
    `loss_scale`: the factor of the loss's gradient in the first step. It is
    applied before backward and divided out before clipping, and constant unless
    there is a `loss_scale_update`. `max_device_memory`: bytes, 0 if the YAML does
    not set it. `fusions` is set if the YAML differs from the default.
    `graph_kernel_fusion`: jit_level O1 or enable_graph_kernel, which only changes
    how long vector operators take. `loss_chunks`: chunk_loss_num, the number of
    pieces of the sequence into which the loss is cut. `dynamic_graph`: the YAML is
    one of the dynamic graph. `locations`: the places of
    keys in the YAML, by key, for messages of later passes. The place of a fusion's
    key is under the fusion, and has the name of the key.
  }];
  let parameters = (ins "::mf::ir::ParallelAttr":$parallel,
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
                        DefaultValuedParameter<"bool", "false">:$dynamic_graph,
                        OptionalParameter<"::mlir::DictionaryAttr">:$locations);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Returns a place of `locations`, or null.
    template <typename Place = ::mlir::LocationAttr>
    Place getLocation(::llvm::StringRef key) const {
      ::mlir::DictionaryAttr locations = getLocations();
      return locations ? locations.getAs<Place>(key) : Place();
    }
    /// Returns whether the loss scale can differ from 1.
    bool scalesLoss() const {
      return getLossScaleUpdate() || !getLossScale().isExactlyValue(1.0);
    }
  }];
}
