// <torch/extension.h> with the slim <torch/all.h>, and of <torch/python.h> what binds functions
// rather than modules; nothing of it in CUDA sources that bind none.
#pragma once
#include <torch/all.h>
#if !defined(__CUDACC__) || defined(KFORGE_BINDING)
#include <torch/csrc/python_headers.h>

#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_numbers.h>
#include <torch/csrc/utils/python_tuples.h>
#endif
