//===- NextTokenLayers.h - Layers that predict later tokens -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// This file adds the final norm, the head and, between body and head, the
// layers that predict later tokens. The hidden states that the head reads pass
// through all later layers: the arguments of each layer are the newest one,
// followed by the others in unchanged order.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_FRONTEND_IMPORT_NEXTTOKENLAYERS_H
#define MF_LIB_FRONTEND_IMPORT_NEXTTOKENLAYERS_H

#include "CellBuilder.h"

namespace mf {

/// Symbols of the names that Cells register.
inline constexpr llvm::StringLiteral bodyCells = "cells";
inline constexpr llvm::StringLiteral expertCells = "expert_cells";
inline constexpr llvm::StringLiteral nextTokenCells = "next_token_cells";

/// Returns the parameter with the model's table of tokens or of positions.
std::string getTableName(const ModelSpec &spec,
                         ParameterPart table = ParameterPart::Embedding);

/// Returns the axes that cut the rows of a vocabulary's table.
llvm::SmallVector<llvm::StringRef, 2> getVocabularyAxes(VocabularyCut cut);

/// Adds layers to the end of a model.
class NextTokenLayers {
public:
  /// `hidden` is the type of the residual stream between layers.
  NextTokenLayers(mf::ir::ModelOp model, const ModelSpec &spec,
                  mlir::Type hidden)
      : model(model), spec(spec), family(getFamily(spec.family)),
        hidden(hidden) {}

  /// Adds the layers of depth `index`: the embedding of the token `index` + 1
  /// positions later, the layer that joins it with the hidden state, and the
  /// body layer.
  void add(int64_t index);
  /// Adds the norm of each depth, after the final norm.
  void addOutputNorms();

private:
  void addEmbedding(int64_t index);
  void addFuser(int64_t index);
  void addLayer(int64_t index);
  void addWholeLayer(int64_t index);
  /// Returns the Cell of the layer that joins, relative to it.
  std::string getJoinCell(PartList parts) const;
  mlir::Value join(CellBuilder &cells, mlir::Value previous,
                   mlir::Value embedding);
  llvm::SmallVector<mlir::Type> getHiddenTypes(int64_t count) const {
    return llvm::SmallVector<mlir::Type>(static_cast<size_t>(count), hidden);
  }
  llvm::SmallVector<mlir::Type> getResultTypes(int64_t numHidden,
                                               bool hasLoss) const;

  mf::ir::ModelOp model;
  const ModelSpec &spec;
  const FamilyRecord &family;
  mlir::Type hidden;
};

/// Adds the final norm of the first of `numKept` + 1 hidden states.
void addFinalNorm(mf::ir::ModelOp model, const ModelSpec &spec,
                  mlir::Type hidden, int64_t numKept);

/// Adds the head with the loss, and the losses of later tokens.
void addHead(mf::ir::ModelOp model, const ModelSpec &spec, mlir::Type hidden);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_NEXTTOKENLAYERS_H
