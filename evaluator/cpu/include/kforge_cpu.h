// All headers that g++ includes before the first line of a candidate. CMake precompiles this file,
// so the standard headers that candidates commonly include cost no time.
//
// KFORGE_CPU_LIGHT leaves out most of the C++ library. g++ instantiates its templates anew in every
// compilation, used or not, which takes longer than a small kernel. The judge chooses it for
// sources that do not name the library (../../judge/cpu/build_cpu.c).
#pragma once
#ifdef KFORGE_CPU_LIGHT
#include <bits/c++config.h>
// Bessel functions and the like, most of the templates in <cmath>.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#endif
#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifndef KFORGE_CPU_LIGHT
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>
#endif
#include "cuda_runtime.h"
#include "cuda_fp16.h"
#include "cuda_bf16.h"
#include "cooperative_groups.h"
