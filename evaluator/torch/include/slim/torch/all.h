// The part of <torch/all.h> that kernels' launchers use: tensors, factories, options, checks. The
// rest of it (nn, optim, data, jit, serialize) takes a compiler three times as long to read. What
// needs the rest does not compile and is compiled again with PyTorch's own (slim.py).
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>
