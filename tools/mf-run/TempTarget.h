#include "Options.h"
#include "Processes.h"
#include "mf/Target/Target.h"
#include "mlir/IR/MLIRContext.h"
namespace mf::tools { mlir::FailureOr<target::Target> loadTarget(const Options &options, mlir::MLIRContext &, Messages &messages); }
