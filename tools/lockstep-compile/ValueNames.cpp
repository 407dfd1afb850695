//===- ValueNames.cpp - Names of values for a reader ----------------------===//

#include "tools/lockstep-compile/ValueNames.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/UserLocation.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace lockstep;
using namespace mlir;

/// An identifier of SSA values: "params/w1" becomes "params_w1".
static std::string identifier(StringRef name) {
  std::string text = name.str();
  for (char &c : text)
    if (!llvm::isAlnum(c))
      c = '_';
  return text.empty() || llvm::isDigit(text.front()) ? "_" + text : text;
}

namespace {

/// Names the values of one function.
class FunctionNamer {
public:
  FunctionNamer(FunctionOpInterface function, std::vector<MemberNames> &members)
      : function(function), members(members) {}

  void run() {
    for (BlockArgument argument : function.getArguments())
      if (auto binding = function.getArgAttrOfType<device::BindingAttr>(
              argument.getArgNumber(), "device.binding"))
        setName(argument, binding.getKind() == device::BindingKind::Rank
                              ? "rank"
                              : identifier(binding.getName()));
    function.walk([&](Operation *op) {
      if (op->hasTrait<OpTrait::ReturnLike>() &&
          op->getParentOp() == function.getOperation())
        nameResults(op);
    });
    // What is exchanged has the name of its variable rather than of the kernel
    // that computes it.
    function.walk<WalkOrder::PreOrder>(
        [&](collective::StartOp start) { nameCollective(start); });
    function.walk([&](device::InvokeOp launch) { nameLaunch(launch); });
  }

private:
  void setName(Value value, const Twine &name) {
    if (!named.insert(value).second)
      return;
    value.setLoc(NameLoc::get(StringAttr::get(value.getContext(), name),
                              value.getLoc()));
  }

  /// Names what the function returns: the new values of variables, and metrics.
  void nameResults(Operation *terminator) {
    for (OpOperand &operand : terminator->getOpOperands()) {
      auto binding = function.getResultAttrOfType<device::BindingAttr>(
          operand.getOperandNumber(), "device.binding");
      if (!binding)
        continue;
      bool isVariable = binding.getKind() == device::BindingKind::Variable;
      if (isVariable)
        variables[operand.get()].insert(binding.getName());
      if (Operation *op = operand.get().getDefiningOp();
          op && op->getNumResults() == 1)
        setName(operand.get(),
                (isVariable ? "new_" : "") + identifier(binding.getName()));
    }
  }

  void nameCollective(collective::StartOp start) {
    auto wait = cast<collective::WaitOp>(*start->user_begin());
    bool isReduction = start.getKindProperties().isReduction;
    MemberNames names;
    for (auto [i, operand] : llvm::enumerate(start.getInputs())) {
      std::string variable = isReduction && i < wait.getNumResults()
                                 ? findVariable(wait.getResult(i))
                                 : "";
      Operation *producer = operand.getDefiningOp();
      if (!variable.empty() && producer && producer->getNumResults() == 1)
        setName(operand, "grad_" + identifier(variable));
      names.variables.push_back(std::move(variable));
    }
    if (wait.getNumResults() == 1 && !names.variables.empty() &&
        !names.variables.front().empty())
      setName(wait.getResult(0),
              "summed_" + identifier(names.variables.front()));
    else if (wait.getNumResults() > 0)
      setName(wait.getResult(0), stringifyKind(start.getKind()));
    setName(start.getPending(), "pending");
    members.push_back(std::move(names));
  }

  /// The variable whose new value is computed from `value`, element by element;
  /// of several, as with the moments of an optimizer, what their names have in
  /// common behind the first slash: "w1" of "params/w1" and "velocity/w1".
  std::string findVariable(Value value) const {
    // Sums of f16 are f32: only the shape stays.
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(value.getType()).getShape();
    auto hasShape = [&](Value other) {
      auto type = dyn_cast<RankedTensorType>(other.getType());
      return type && type.getShape() == shape;
    };
    llvm::SetVector<Value> flow;
    flow.insert(value);
    llvm::SetVector<StringRef> found;
    for (unsigned i = 0; i < flow.size(); ++i) {
      if (auto it = variables.find(flow[i]); it != variables.end())
        found.insert_range(it->second);
      for (Operation *user : flow[i].getUsers())
        for (Value result : user->getResults())
          if (hasShape(result))
            flow.insert(result);
    }
    if (found.size() == 1)
      return found.front().str();
    llvm::SetVector<StringRef> common;
    for (StringRef name : found)
      common.insert(name.split('/').second);
    return common.size() == 1 ? common.front().str() : "";
  }

  /// Names the results of a launch after the kernel, without the function and
  /// the number in its name.
  void nameLaunch(device::InvokeOp launch) {
    if (launch->getNumResults() == 0)
      return;
    StringRef kernel = launch.getKernel();
    kernel.consume_front(function.getName());
    kernel = kernel.ltrim("_0123456789");
    setName(launch->getResult(0), kernel.empty() ? "kernel" : kernel);
  }

  FunctionOpInterface function;
  std::vector<MemberNames> &members;
  llvm::DenseSet<Value> named;
  /// The variables whose new value is a value.
  llvm::DenseMap<Value, llvm::SetVector<StringRef>> variables;
};

} // namespace

std::vector<MemberNames> lockstep::nameValues(ModuleOp module) {
  auto simplify = [](Location location) -> Location {
    if (auto line = findUserLocation(location))
      return *line;
    return UnknownLoc::get(location.getContext());
  };
  module->walk([&](Operation *op) {
    op->setLoc(simplify(op->getLoc()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(simplify(argument.getLoc()));
  });
  std::vector<MemberNames> members;
  module->walk<WalkOrder::PreOrder>([&](FunctionOpInterface function) {
    FunctionNamer(function, members).run();
    return WalkResult::skip();
  });
  return members;
}
